"""Masks that cannot be meant: mirrored, turned or inverted, classes under other numbers, nothing predicted at all.

Some pairs are looked at, evenly spread over all, so that this costs the same however many masks there are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from surgeval.schema.findings import Severity
from surgeval.schema.metric import Metric
from surgeval.scoring.sanity.doubt import Doubt, Looked
from surgeval.scoring.sanity.labels import renamed

IMAGES = 30
OVERLAP, GAIN = 0.5, 0.3
Pair = tuple[np.ndarray, np.ndarray]
_TURNS: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {
    "mirrored left to right": lambda mask: mask[:, ::-1],
    "upside down": lambda mask: mask[::-1],
    "turned by 180 degrees": lambda mask: mask[::-1, ::-1],
    "with rows and columns swapped": lambda mask: mask.T,
    "with foreground and background swapped": lambda mask: ~mask,
}
_BOTH_EMPTY = "both masks empty"


def mask_checks(ours: Mapping[str, Any], theirs: Mapping[str, Any], classes: Sequence[int]) -> Looked:
    """The checks of label maps that have the same names on both sides."""
    names = sorted(ours)
    chosen = [names[place] for place in np.unique(np.linspace(0, len(names) - 1, IMAGES).astype(np.intp))]
    pairs = [(np.asarray(ours[name]), np.asarray(theirs[name])) for name in chosen]
    constant = nothing_predicted(pairs)
    turned = None if constant else masks_elsewhere(pairs)
    return {
        "masks-elsewhere": turned,
        "labels-renamed": None if constant or turned else mask_labels_renamed(pairs, classes),
        "constant-predictions": constant,
    }


def nothing_predicted(pairs: Sequence[Pair]) -> Doubt | None:
    """Whether every pixel that was looked at is predicted alike, and the references are not."""
    values = {int(side[1].flat[0]) for side in pairs if side[1].size}
    uniform = len(values) == 1 and all((theirs == theirs.flat[0]).all() for _, theirs in pairs if theirs.size)
    if not uniform or all((ours == ours.flat[0]).all() for ours, _ in pairs if ours.size):
        return None
    evidence = f"Every pixel of the {len(pairs)} predicted masks looked at has the label {values.pop()}."
    return Doubt("constant-predictions", Severity.WARNING, evidence, "Was the output thresholded or scaled to 0-1?")


def masks_elsewhere(pairs: Sequence[Pair]) -> Doubt | None:
    """Whether the predicted foreground lies on that of the references once it is turned."""
    masks = [(ours != 0, theirs != 0) for ours, theirs in pairs]
    as_read = _overlap(masks)
    square = all(ours.shape[0] == ours.shape[1] for ours, _ in masks)
    values = {
        how: _overlap([(ours, turn(theirs)) for ours, theirs in masks])
        for how, turn in _TURNS.items()
        if square or "rows" not in how
    }
    how = max(values, key=lambda name: values[name])
    if values[how] < OVERLAP or values[how] < as_read + GAIN:
        return None
    evidence = (
        f"The predicted masks fit the references better {how}: foreground IoU {values[how]:.2f} instead of "
        f"{as_read:.2f} in the {len(pairs)} images looked at."
    )
    return Doubt("masks-elsewhere", Severity.ERROR, evidence, "Write the masks as the references are stored.")


def _overlap(masks: Sequence[Pair]) -> float:
    shared, union = (sum(int(how(*pair).sum()) for pair in masks) for how in (np.logical_and, np.logical_or))
    return shared / union if union else 0.0


def mask_labels_renamed(pairs: Sequence[Pair], classes: Sequence[int]) -> Doubt | None:
    """Whether pixels of each class are predicted under the number of another one."""
    if len(classes) < 2:
        return None
    numbers = np.array(sorted(classes))
    table = np.zeros((numbers.size, numbers.size))
    for ours, theirs in pairs:
        inside = np.isin(ours, numbers) & np.isin(theirs, numbers)
        at = (np.searchsorted(numbers, ours[inside]), np.searchsorted(numbers, theirs[inside]))
        np.add.at(table, at, 1)
    return renamed(table, [str(number) for number in numbers])


def empty_masks_apart(opened: Mapping[str, Metric], both_empty: int, scores: Mapping[str, np.ndarray]) -> Doubt | None:
    """Whether images with two empty masks count in some metrics and not in others."""
    rules = {name: metric.facts.conventions.get(_BOTH_EMPTY) for name, metric in opened.items()}
    counted = [name for name, rule in rules.items() if rule == "one"]
    left_out = [name for name, rule in rules.items() if rule == "not scored"]
    if not both_empty or not counted or not left_out:
        return None
    evidence = (
        f"{both_empty:,} images have two empty masks: they count as 1 in {', '.join(counted)} and are left out of "
        f"{', '.join(left_out)}, so these means are over different images."
    )
    held = next((~np.isnan(scores[name]) for name in left_out if name in scores), None)
    values = [
        f"{name} {np.nanmean(scores[name][held]):.4f}"
        for name in counted
        if held is not None and name in scores and not np.isnan(scores[name][held]).all()
    ]
    same = f"On the images that {left_out[0]} scores: {', '.join(values)}. " if values else ""
    return Doubt("empty-masks-apart", Severity.WARNING, evidence, f"{same}One rule for all is named with --empty.")
