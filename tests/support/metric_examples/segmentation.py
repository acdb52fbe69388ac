"""Examples of segmentation metrics. Raw units: a pair of small masks, or a pair of short lists of them."""

from __future__ import annotations

import itertools
import math
from functools import partial

import numpy as np
import surface_distance
from scipy import ndimage

from metric_examples.example import Example
from surgvalid.metrics.segmentation.masks import MaskCases
from surgvalid.metrics.segmentation.overlap import MaskVideo

CLASSES = (1, 2, 3)
SHAPE = (9, 12)


def random_mask(rng: np.random.Generator, empty: float = 0.15) -> np.ndarray:
    smooth = ndimage.gaussian_filter(rng.normal(size=SHAPE), 1.2)
    return (smooth > 0.1) & (rng.random() >= empty)


def random_pair(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    return random_mask(rng), random_mask(rng)


def perfect_pair(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    mask = random_mask(rng, empty=0.0)
    mask[3, 4] = True
    return mask, mask.copy()


def random_labels(rng: np.random.Generator) -> np.ndarray:
    labels = np.zeros(SHAPE, dtype=np.uint8)
    for label in rng.permutation(CLASSES)[: rng.integers(0, 4)]:
        labels[random_mask(rng)] = label
    return labels


def random_label_pair(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    return random_labels(rng), random_labels(rng)


def perfect_label_pair(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    labels = random_labels(rng)
    labels[0, 0] = 2
    return labels, labels.copy()


def cases(units: list) -> MaskCases:
    return MaskCases([unit[0] for unit in units], [unit[1] for unit in units])


def mean(scores: list[float]) -> float:
    known = [score for score in scores if not math.isnan(score)]
    return sum(known) / len(known) if known else math.nan


def oracle_dsc(units: list) -> float:
    """Coordinates as sets; both empty 1."""
    sets = [[set(map(tuple, np.argwhere(mask))) for mask in unit] for unit in units]
    return mean([2 * len(a & b) / (len(a) + len(b)) if a or b else 1.0 for a, b in sets])


def oracle_iou(units: list) -> float:
    sets = [[set(map(tuple, np.argwhere(mask))) for mask in unit] for unit in units]
    return mean([len(a & b) / len(a | b) if a or b else 1.0 for a, b in sets])


def oracle_pooled(units: list) -> float:
    from sklearn.metrics import jaccard_score

    if not units:
        return math.nan
    left, right = (np.concatenate([unit[side].ravel() for unit in units]) for side in (0, 1))
    present = [c for c in CLASSES if (left == c).any() or (right == c).any()]
    return mean([jaccard_score(left == c, right == c) for c in present])


def oracle_per_image(units: list) -> float:
    return mean([oracle_pooled([unit]) for unit in units])


def brute_distances(left: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distances between border pixels, all pairs."""
    borders = [np.argwhere(mask & ~ndimage.binary_erosion(mask)) for mask in (left, right)]
    table = np.sqrt(((borders[0][:, None] - borders[1][None]) ** 2).sum(-1))
    return table.min(axis=1), table.min(axis=0)


def one_border_nsd(left: np.ndarray, right: np.ndarray, tolerance: float = 1.5) -> float:
    if not left.any() or not right.any():
        return math.nan if not left.any() and not right.any() else 0.0
    near = np.concatenate(brute_distances(left, right)) <= tolerance
    return float(near.mean())


def oracle_border_nsd(units: list) -> float:
    return mean([one_border_nsd(*unit) for unit in units])


def oracle_contour_nsd(units: list) -> float:
    scores = []
    for left, right in units:
        if left.any() or right.any():
            found = deepmind_distances(left, right)
            scores.append(float(surface_distance.compute_surface_dice_at_tolerance(found, 1.5)))
    return mean(scores)


def deepmind_distances(left: np.ndarray, right: np.ndarray) -> dict:
    """Its release still says np.Inf and scipy.ndimage.filters, which current versions took away."""
    import types
    import unittest.mock as mock
    import warnings

    gone = types.SimpleNamespace(
        filters=ndimage, morphology=ndimage, **{name: getattr(ndimage, name) for name in ndimage.__all__}
    )
    module = surface_distance.metrics
    replaced = mock.patch.object(module, "ndimage", gone), mock.patch.object(np, "Inf", np.inf, create=True)
    with replaced[0], replaced[1], warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return surface_distance.compute_surface_distances(left, right, (1.0, 1.0))


def oracle_hd95(units: list) -> float:
    scores = []
    for left, right in units:
        if left.any() and right.any():
            scores.append(max(np.percentile(side, 95) for side in brute_distances(left, right)))
        else:
            scores.append(math.hypot(*SHAPE) if left.any() or right.any() else 0.0)
    return mean(scores)


def one_multi_instance(score, left: np.ndarray, right: np.ndarray) -> float:
    """All matchings tried one by one; the pairs of the best sum of DSC are scored by `score`."""
    ours, theirs = sorted(set(left[left > 0])), sorted(set(right[right > 0]))
    if not ours:
        return math.nan
    if not theirs:
        return 0.0
    size = max(len(ours), len(theirs))
    padded = [*ours, *[None] * (size - len(ours))]
    best, value = -1.0, 0.0
    for order in itertools.permutations([*theirs, *[None] * (size - len(theirs))]):
        pairs = [(left == a, right == b) for a, b in zip(padded, order, strict=True) if None not in (a, b)]
        total = sum(oracle_dsc([pair]) for pair in pairs)
        if total > best + 1e-12:
            best = total
            value = sum(score(*pair) if (pair[0] & pair[1]).any() else 0.0 for pair in pairs) / size
    return value


def oracle_multi(score, units: list) -> float:
    return mean([one_multi_instance(score, *unit) for unit in units])


def of_class(score, units: list, label: int, *, only_predicted: bool = True) -> list[float]:
    """The scores of the images that hold a class, by its masks alone."""
    pairs = [(unit[0] == label, unit[1] == label) for unit in units]
    return [score(*pair) for pair in pairs if pair[0].any() or (only_predicted and pair[1].any())]


def oracle_classes(score, units: list, *, only_predicted: bool = True) -> float:
    """The mean over classes of the mean over images that hold the class."""
    return mean([mean(of_class(score, units, label, only_predicted=only_predicted)) for label in CLASSES])


def one_dsc(left: np.ndarray, right: np.ndarray) -> float:
    return oracle_dsc([(left, right)])


def oracle_monai_images(units: list) -> float:
    classes = [[of_class(one_dsc, [unit], label, only_predicted=False) for label in CLASSES] for unit in units]
    return mean([mean([score for scores in unit for score in scores]) for unit in classes])


def one_assd(left: np.ndarray, right: np.ndarray) -> float:
    if not left.any() or not right.any():
        return math.hypot(*SHAPE)
    return float(np.concatenate(brute_distances(left, right)).mean())


def oracle_stability(units: list) -> float:
    gaps = []
    for reference, prediction in units:
        for t in range(len(reference) - 1):
            own = [oracle_iou([(masks[t], masks[t + 1])]) for masks in (reference, prediction)]
            gaps.append(abs(own[0] - own[1]))
    return mean(gaps)


def random_video(rng: np.random.Generator) -> tuple[list, list]:
    frames = int(rng.integers(1, 4))
    return [random_mask(rng) for _ in range(frames)], [random_mask(rng) for _ in range(frames)]


def perfect_video(rng: np.random.Generator) -> tuple[list, list]:
    masks = [random_mask(rng) for _ in range(3)]
    return masks, masks


def videos(units: list) -> list[MaskVideo]:
    return [MaskVideo(*unit) for unit in units]


def stray_pair(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Nothing in the reference, something in the prediction."""
    return np.zeros(SHAPE, dtype=bool), perfect_pair(rng)[1]


def stray_label_pair(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A class that is only predicted, and one that is in neither map."""
    reference, prediction = np.zeros(SHAPE, np.uint8), np.zeros(SHAPE, np.uint8)
    reference[random_mask(rng)] = prediction[random_mask(rng)] = 1
    prediction[4:6, 3:7] = 2
    return reference, prediction


def stray_video(rng: np.random.Generator) -> tuple[list, list]:
    return [np.zeros(SHAPE, dtype=bool)] * 2, [perfect_pair(rng)[1] for _ in range(2)]


def near_label_pair(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A map and itself but for a row or column, so that most segments match, and not fully."""
    reference, prediction = (side.copy() for side in perfect_label_pair(rng))
    prediction[:, int(rng.integers(prediction.shape[1]))] = int(rng.integers(0, max(CLASSES) + 1))
    return reference, prediction


def oracle_panoptic(units: list) -> dict[str, list[float]]:
    """PQ, SQ and RQ of every class by counting segments one by one."""
    values: dict[str, list[float]] = {"pq": [], "sq": [], "rq": []}
    for label in CLASSES:
        overlaps, alone = [], 0
        for unit in units:
            left, right = unit[0] == label, unit[1] == label
            if (left & right).sum() > 0.5 * (left | right).sum() > 0:
                overlaps.append((left & right).sum() / (left | right).sum())
            else:
                alone += int(left.any()) + int(right.any())
        if overlaps or alone:
            values["pq"].append(sum(overlaps) / (len(overlaps) + alone / 2))
            values["rq"].append(len(overlaps) / (len(overlaps) + alone / 2))
            values["sq"] += [sum(overlaps) / len(overlaps)] if overlaps else []
    return values


binary = partial(Example, random_pair, perfect_pair, cases, absent=stray_pair)
labelled = partial(Example, random_label_pair, perfect_label_pair, cases, absent=stray_label_pair)
nearly = partial(Example, near_label_pair, perfect_label_pair, cases, absent=stray_label_pair)
declared = {"classes": CLASSES}
near = {"tolerance_px": 1.5}

EXAMPLES = {
    "dsc": binary(oracle_dsc),
    "dsc_foreground": binary(oracle_dsc),
    "dsc_classes": labelled(partial(oracle_classes, one_dsc), options=declared),
    "dsc_classes_monai": labelled(oracle_monai_images, options=declared),
    "dsc_classes_monai_batch": labelled(partial(oracle_classes, one_dsc, only_predicted=False), options=declared),
    "nsd_classes": labelled(partial(oracle_classes, one_border_nsd), options={**declared, **near}),
    "hd95_classes_px": labelled(partial(oracle_classes, lambda a, b: oracle_hd95([(a, b)])), options=declared),
    "assd_classes_px": labelled(partial(oracle_classes, one_assd), options=declared),
    "hd95_classes_mm": labelled(
        lambda units: 0.3 * oracle_classes(lambda a, b: oracle_hd95([(a, b)]), units),
        options={**declared, "mm_per_px": 0.3},
    ),
    "assd_classes_mm": labelled(
        lambda units: 0.3 * oracle_classes(one_assd, units), options={**declared, "mm_per_px": 0.3}
    ),
    "iou": binary(oracle_iou),
    "miou_pooled": labelled(oracle_pooled, "scikit-learn", options=declared),
    "miou_per_image": labelled(oracle_per_image, "scikit-learn", options=declared),
    "nsd_border": binary(oracle_border_nsd, options=near),
    "nsd_contour": binary(oracle_contour_nsd, "surface-distance", options=near),
    "hd95_px": binary(oracle_hd95),
    "mi_dsc": labelled(partial(oracle_multi, lambda a, b: oracle_dsc([(a, b)]))),
    "mi_nsd": labelled(partial(oracle_multi, one_border_nsd), options=near),
    "panoptic_quality": nearly(lambda units: mean(oracle_panoptic(units)["pq"]), options=declared),
    "segmentation_quality": nearly(lambda units: mean(oracle_panoptic(units)["sq"]), options=declared),
    "recognition_quality": nearly(lambda units: mean(oracle_panoptic(units)["rq"]), options=declared),
    "mask_stability_gap": Example(random_video, perfect_video, videos, oracle_stability, absent=stray_video),
}
