"""Labels and masks that cannot be meant: columns of scores shifted, masks mirrored, turned or inverted, all alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from surgvalid.evaluation.alignment.classes import FEWEST, class_checks
from surgvalid.evaluation.sanity.sanity_finding import Looked, SanityFinding
from surgvalid.metrics.classification.cases import LabelCases, ScoreCases, SetCases
from surgvalid.metrics.metric import units_of
from surgvalid.schema.findings import Severity
from surgvalid.schema.metric_facts import Metric

POOR_AUROC, AUROC, AUROC_GAIN = 0.65, 0.8, 0.2
ROWS = 20_000
SHIFTS = (1, -1, 2, -2)
NEARLY_ALL, MORE = 0.995, 0.02


def label_checks(cases: LabelCases | SetCases | ScoreCases, names: Sequence[str]) -> Looked:
    """The checks of labels, sets or scores."""
    if isinstance(cases, ScoreCases):
        return {"labels-renamed": scores_shifted(cases, names), "constant-predictions": constant_scores(cases)}
    if isinstance(cases, SetCases):
        return {"constant-predictions": constant_sets(cases, names)}
    units = units_of(cases.unit, len(cases.reference))
    table = np.zeros((len(units.names), cases.classes, cases.classes))
    answered = cases.prediction >= 0
    np.add.at(table, (units.codes[answered], cases.reference[answered], cases.prediction[answered]), 1)
    constant = constant_labels(table.sum(axis=0), names)
    return {
        **(dict.fromkeys(("labels-renamed", "classes-merged")) if constant else class_checks(table, names)),
        "constant-predictions": constant,
    }


def scores_shifted(cases: ScoreCases, names: Sequence[str]) -> SanityFinding | None:
    """Whether columns of scores belong to neighbouring classes."""
    step = max(1, len(cases.scores) // ROWS)
    reference, scores = cases.reference[::step], cases.scores[::step]
    positive = reference.sum(axis=0)
    held = np.flatnonzero((positive >= FEWEST) & (len(reference) - positive >= FEWEST))
    count = len(names)
    if held.size < 2 or count < 3:
        return None
    table = _auroc(reference[:, held], scores)
    values = {0: float(table[np.arange(held.size), held].mean())}
    for shift in SHIFTS:
        inside = np.flatnonzero((held + shift >= 0) & (held + shift < count))
        if inside.size >= 2:
            values[shift] = float(table[inside, held[inside] + shift].mean())
    best = max(values, key=lambda shift: values[shift])
    if values[0] >= POOR_AUROC or values[best] < AUROC or values[best] - values[0] < AUROC_GAIN:
        return None
    evidence = (
        f"The scores fit other classes than those they stand under: the mean AUROC of the classes is {values[0]:.2f}, "
        f"and {values[best]:.2f} with the scores of each class taken from the one {abs(best)} "
        f"{'later' if best > 0 else 'earlier'} in the list."
    )
    hint = "Does one side count classes from 0 and the other from 1?"
    return SanityFinding("labels-renamed", Severity.ERROR, evidence, hint)


def _auroc(reference: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """The AUROC of every column of scores for every class."""
    from scipy.stats import rankdata  # loading scipy.stats takes most of a second

    ranks = rankdata(scores, axis=0)
    positive = reference.sum(axis=0).astype(np.float64)[:, None]
    sums = reference.T.astype(np.float64) @ ranks
    return np.asarray((sums - positive * (positive + 1) / 2) / (positive * (len(reference) - positive)))


def constant_labels(table: np.ndarray, names: Sequence[str]) -> SanityFinding | None:
    """Whether nearly every case has the same prediction, told from counts `table[reference, prediction]`."""
    total = table.sum()
    if not total or (table.sum(axis=1) > 0).sum() < 2:
        return None
    most = int(table.sum(axis=0).argmax())
    predicted, referenced = table[:, most].sum() / total, table[most].sum() / total
    if predicted < 1 and (predicted < NEARLY_ALL or predicted < referenced + MORE):
        return None
    how = "Every prediction is" if predicted == 1 else f"{predicted:.1%} of the predictions are"
    evidence = f"{how} {names[most]!r}, which {referenced:.1%} of the references are."
    hint = f"An accuracy near {referenced:.2f} needs no model; look at balanced_accuracy and the trivial baselines."
    return SanityFinding("constant-predictions", Severity.WARNING, evidence, hint)


def constant_sets(cases: SetCases, names: Sequence[str]) -> SanityFinding | None:
    """Whether every case has the same predicted labels."""
    if len(cases.prediction) < 2 or (cases.reference == cases.reference[0]).all():
        return None
    if not (cases.prediction == cases.prediction[0]).all():
        return None
    labels = [name for name, there in zip(names, cases.prediction[0], strict=True) if there]
    evidence = f"Every case has the same predicted labels: {', '.join(labels) or 'none'}."
    return SanityFinding("constant-predictions", Severity.WARNING, evidence, "The model ignores its input.")


def constant_scores(cases: ScoreCases) -> SanityFinding | None:
    """Whether every case has the same scores."""
    if len(cases.scores) < 2 or (cases.reference == cases.reference[0]).all() or np.ptp(cases.scores, axis=0).any():
        return None
    evidence = "Every case has the same scores."
    return SanityFinding("constant-predictions", Severity.WARNING, evidence, "The model ignores its input.")


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


def mask_checks(pairs: Sequence[Pair]) -> Looked:
    """The checks of the foreground of some label maps."""
    constant = nothing_predicted(pairs)
    return {"masks-elsewhere": None if constant else masks_elsewhere(pairs), "constant-predictions": constant}


def nothing_predicted(pairs: Sequence[Pair]) -> SanityFinding | None:
    """Whether every pixel that was looked at is predicted alike, and the references are not."""
    values = {int(side[1].flat[0]) for side in pairs if side[1].size}
    uniform = len(values) == 1 and all((theirs == theirs.flat[0]).all() for _, theirs in pairs if theirs.size)
    if not uniform or all((ours == ours.flat[0]).all() for ours, _ in pairs if ours.size):
        return None
    evidence = f"Every pixel of the {len(pairs)} predicted masks looked at has the label {values.pop()}."
    return SanityFinding(
        "constant-predictions", Severity.WARNING, evidence, "Was the output thresholded or scaled to 0-1?"
    )


def masks_elsewhere(pairs: Sequence[Pair]) -> SanityFinding | None:
    """Whether the predicted foreground lies on that of the references once it is turned."""
    masks = [(ours != 0, theirs != 0) for ours, theirs in pairs]
    as_read = _overlap(masks)
    square = all(ours.shape[0] == ours.shape[1] for ours, _ in masks)
    values = {
        how: _overlap([(ours, turn(theirs)) for ours, theirs in masks])
        for how, turn in _TURNS.items()
        if square or "rows" not in how
    }
    if len({ours.shape for ours, _ in masks}) == 1 and (shift := _shift(masks)).any():
        moved = f"moved by {-shift[1]} columns and {-shift[0]} rows of {' by '.join(map(str, masks[0][0].shape[::-1]))}"
        values[moved] = _overlap([(ours, np.roll(theirs, -shift, (0, 1))) for ours, theirs in masks])
    how = max(values, key=lambda name: values[name])
    if values[how] < OVERLAP or values[how] < as_read + GAIN:
        return None
    evidence = (
        f"The predicted masks fit the references better {how}: foreground IoU {values[how]:.2f} instead of "
        f"{as_read:.2f} in the {len(pairs)} images looked at."
    )
    return SanityFinding("masks-elsewhere", Severity.ERROR, evidence, "Write the masks as the references are stored.")


def _shift(masks: Sequence[Pair]) -> np.ndarray:
    """By how many rows and columns predicted foregrounds typically lie off, from their middles."""
    both = [pair for pair in masks if pair[0].any() and pair[1].any()]
    away = [np.subtract(*(np.argwhere(side).mean(axis=0) for side in pair[::-1])) for pair in both]
    return np.round(np.median(away, axis=0)).astype(int) if away else np.zeros(2, int)


def _overlap(masks: Sequence[Pair]) -> float:
    shared, union = (sum(int(how(*pair).sum()) for pair in masks) for how in (np.logical_and, np.logical_or))
    return shared / union if union else 0.0


def empty_masks_apart(
    opened: Mapping[str, Metric], both_empty: int, scores: Mapping[str, np.ndarray]
) -> SanityFinding | None:
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
    return SanityFinding(
        "empty-masks-apart", Severity.WARNING, evidence, f"{same}One rule for all is named with --empty."
    )
