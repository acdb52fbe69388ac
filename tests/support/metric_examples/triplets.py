"""Examples of triplet metrics. Raw units: (references, scores) of the frames of one short video, few triplets."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from metric_examples.example import Example
from surgvalid.metrics.triplets import TripletCases, TripletMap

TINY = TripletMap(
    "tiny", ((0, 0, 0), (0, 1, 0), (0, 1, 1), (1, 0, 1), (1, 1, 1), (0, 2, 2), (1, 2, 2)), frozenset({5, 6})
)
COUNT = len(TINY.triplets)
KEYS = {
    "ivt": lambda k: k,
    "i": lambda k: TINY.triplets[k][0],
    "v": lambda k: TINY.triplets[k][1],
    "t": lambda k: TINY.triplets[k][2],
    "iv": lambda k: TINY.triplets[k][:2],
    "it": lambda k: TINY.triplets[k][::2],
}


def random_video(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    frames = int(rng.integers(1, 7))
    reference = rng.random((frames, COUNT)) < 0.25
    scores = (rng.random((frames, COUNT)) + 0.4 * reference).round(1)
    return reference.astype(int), scores


def perfect_video(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    reference = np.eye(COUNT, dtype=int)
    return reference, reference * 0.8 + rng.random((COUNT, COUNT)) * 0.1


def spoilt_video(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    reference, scores = random_video(rng)
    scores[0, 0] = math.nan
    return reference, scores


def stray_video(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Only triplets of one instrument in the reference, all scored."""
    reference, scores = perfect_video(rng)
    reference[:, 3:] = 0
    return reference, scores


def cases(units: list) -> TripletCases:
    video = [index for index, unit in enumerate(units) for _ in unit[0]]
    reference = np.concatenate([np.zeros((0, COUNT), int), *(unit[0] for unit in units)])
    scores = np.concatenate([np.zeros((0, COUNT)), *(unit[1] for unit in units)])
    return TripletCases(reference, scores, video)


def mean(values: list[float]) -> float:
    known = [value for value in values if not math.isnan(value)]
    return sum(known) / len(known) if known else math.nan


def class_aps(component: str, absent: float, reference: np.ndarray, scores: np.ndarray) -> list[float]:
    from sklearn.metrics import average_precision_score

    found = []
    for one in sorted({KEYS[component](k) for k in range(COUNT)}):
        own = [k for k in range(COUNT) if KEYS[component](k) == one]
        truth = reference[:, own].max(axis=1)
        found.append(float(average_precision_score(truth, scores[:, own].max(axis=1))) if truth.any() else absent)
    return found


def oracle_global(component: str, absent: float, units: list) -> float:
    if not units:
        return math.nan
    reference, scores = (np.concatenate([unit[side] for unit in units]) for side in (0, 1))
    return mean(class_aps(component, absent, reference, scores))


def oracle_videos(component: str, absent: float, units: list) -> float:
    rows = [class_aps(component, absent, *unit) for unit in units]
    return mean([mean(list(column)) for column in zip(*rows, strict=True)])


def example(oracle, component: str, absent: float = math.nan) -> Example:
    return Example(
        random_video,
        perfect_video,
        cases,
        partial(oracle, component, absent),
        "scikit-learn",
        spoilt=spoilt_video,
        absent=stray_video,
        options={"triplets": TINY},
    )


EXAMPLES = {
    **{f"triplet_map_{c}": example(oracle_global, c) for c in KEYS},
    **{f"triplet_map_{c}_videos": example(oracle_videos, c) for c in KEYS},
    "triplet_map_ivt_ivtmetrics-0.1.5": example(oracle_global, "ivt", 0.0),
    "triplet_map_ivt_videos_ivtmetrics-0.1.5": example(oracle_videos, "ivt", 0.0),
}
