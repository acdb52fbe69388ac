"""Labels that cannot be meant: shifted by one, renamed, or the same for every case."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.stats import rankdata

from surgeval.metrics.classification.cases import LabelCases, ScoreCases, SetCases
from surgeval.schema.findings import Severity
from surgeval.scoring.sanity.doubt import Doubt, Looked

FEWEST = 5
"""Cases of a class below which it is not looked at."""
RECALL, RECALL_GAIN = 0.6, 0.4
POOR_AUROC, AUROC, AUROC_GAIN = 0.65, 0.8, 0.2
ROWS = 20_000
SHIFTS = (1, -1, 2, -2)
NEARLY_ALL, MORE = 0.995, 0.02
_SHOWN = 4


def label_checks(cases: LabelCases | SetCases | ScoreCases, names: Sequence[str]) -> Looked:
    """Both checks of labels, sets or scores."""
    if isinstance(cases, ScoreCases):
        return {"labels-renamed": scores_shifted(cases, names), "constant-predictions": constant_scores(cases)}
    if isinstance(cases, SetCases):
        return {"constant-predictions": constant_sets(cases, names)}
    table = np.zeros((cases.classes, cases.classes))
    answered = cases.prediction >= 0
    np.add.at(table, (cases.reference[answered], cases.prediction[answered]), 1)
    return {"labels-renamed": renamed(table, names), "constant-predictions": constant_labels(table, names)}


def renamed(table: np.ndarray, names: Sequence[str]) -> Doubt | None:
    """Whether predictions would agree under other names, told from counts `table[reference, prediction]`."""
    held = np.flatnonzero(table.sum(axis=1) >= FEWEST)
    if held.size < 2 or (table.sum(axis=0) > 0).sum() < 2:
        return None
    recall = table[held] / table[held].sum(axis=1, keepdims=True)
    rows, columns = linear_sum_assignment(recall, maximize=True)
    as_read = float(recall[np.arange(held.size), held].mean())
    better = float(recall[rows, columns].mean())
    if better < RECALL or better - as_read < RECALL_GAIN:
        return None
    references = held[rows]
    evidence = (
        f"The predictions name the classes otherwise than the references: the mean recall of the classes is "
        f"{as_read:.2f}, and {better:.2f} with {_renaming(references, columns, names)}."
    )
    return Doubt("labels-renamed", Severity.ERROR, evidence, _mend(columns - references))


def _renaming(references: np.ndarray, predictions: np.ndarray, names: Sequence[str]) -> str:
    changed = [(ours, theirs) for ours, theirs in zip(references, predictions, strict=True) if ours != theirs]
    listed = [f"{names[theirs]!r} read as {names[ours]!r}" for ours, theirs in changed[:_SHOWN]]
    return ", ".join(listed) + (f" and {len(changed) - _SHOWN} more" if len(changed) > _SHOWN else "")


def _mend(shifts: np.ndarray) -> str:
    steps = set(shifts.tolist())
    if len(steps) == 1:
        step = steps.pop()
        where = "later" if step > 0 else "earlier"
        return (
            f"Every label is {abs(step)} place{'s' if abs(step) > 1 else ''} {where} in the list of classes: does one "
            "side count from 0 and the other from 1? Name the numbers with --prediction-labels."
        )
    return "Were classes listed in another order? Name the numbers with --prediction-labels."


def scores_shifted(cases: ScoreCases, names: Sequence[str]) -> Doubt | None:
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
    return Doubt("labels-renamed", Severity.ERROR, evidence, hint)


def _auroc(reference: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """The AUROC of every column of scores for every class."""
    ranks = rankdata(scores, axis=0)
    positive = reference.sum(axis=0).astype(np.float64)[:, None]
    sums = reference.T.astype(np.float64) @ ranks
    return np.asarray((sums - positive * (positive + 1) / 2) / (positive * (len(reference) - positive)))


def constant_labels(table: np.ndarray, names: Sequence[str]) -> Doubt | None:
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
    hint = f"An accuracy near {referenced:.2f} needs no model; look at balanced_accuracy and the floors."
    return Doubt("constant-predictions", Severity.WARNING, evidence, hint)


def constant_sets(cases: SetCases, names: Sequence[str]) -> Doubt | None:
    """Whether every case has the same predicted labels."""
    if len(cases.prediction) < 2 or (cases.reference == cases.reference[0]).all():
        return None
    if not (cases.prediction == cases.prediction[0]).all():
        return None
    labels = [name for name, there in zip(names, cases.prediction[0], strict=True) if there]
    evidence = f"Every case has the same predicted labels: {', '.join(labels) or 'none'}."
    return Doubt("constant-predictions", Severity.WARNING, evidence, "The model does not look at its input.")


def constant_scores(cases: ScoreCases) -> Doubt | None:
    """Whether every case has the same scores."""
    if len(cases.scores) < 2 or (cases.reference == cases.reference[0]).all() or np.ptp(cases.scores, axis=0).any():
        return None
    evidence = "Every case has the same scores."
    return Doubt("constant-predictions", Severity.WARNING, evidence, "The model does not look at its input.")
