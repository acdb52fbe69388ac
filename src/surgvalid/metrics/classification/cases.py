"""What classification metrics take: labels, sets of labels, or scores, each with the unit of every case.

Every problem of an input is listed at once. A case without an answer is not dropped: `NO_ANSWER` in the
predicted labels counts against the reference class and in favour of none.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from surgvalid.errors import InputInvalid
from surgvalid.metrics.metric import Floats, Indices, MetricUnits, units_of

NO_ANSWER = -1
"""The predicted label of a case that was not answered, failed or was refused."""

Bools = npt.NDArray[np.bool_]
UnitNames = Sequence[Hashable] | npt.NDArray[Any] | None


@dataclass(frozen=True)
class LabelCases:
    """One label per case, as indices into the declared classes.

    Args:
        reference: The reference class of each case, 0 to `classes` - 1.
        prediction: The predicted class of each case, or `NO_ANSWER`.
        classes: How many classes were declared. Part of the metric: it is never guessed from the data.
        unit: The unit of each case, usually its video; each case its own if left out.

    Raises:
        InputInvalid: With every problem.
    """

    reference: Indices
    prediction: Indices
    classes: int
    unit: UnitNames = None
    units: MetricUnits = field(init=False)

    def __post_init__(self) -> None:
        problems: list[str] = []
        reference = _labels(self.reference, "reference", 0, self.classes, problems)
        prediction = _labels(self.prediction, "prediction", NO_ANSWER, self.classes, problems)
        if len(reference) != len(prediction):
            problems.append(f"{len(reference)} references but {len(prediction)} predictions")
        _finish(self, problems, reference=reference, prediction=prediction)


@dataclass(frozen=True)
class SetCases:
    """Any number of labels per case, as membership arrays.

    Args:
        reference: `member[case, class]`.
        prediction: `member[case, class]`.
        unit: The unit of each case; each case its own if left out.

    Raises:
        InputInvalid: With every problem.
    """

    reference: Bools
    prediction: Bools
    unit: UnitNames = None
    units: MetricUnits = field(init=False)

    def __post_init__(self) -> None:
        problems: list[str] = []
        reference = _members(self.reference, "reference", problems)
        prediction = _members(self.prediction, "prediction", problems)
        if reference.shape != prediction.shape:
            problems.append(f"references have shape {reference.shape}, predictions {prediction.shape}")
        _finish(self, problems, reference=reference, prediction=prediction)

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return int(self.reference.shape[1])


@dataclass(frozen=True)
class ScoreCases:
    """Scores of every class for every case, larger meaning more likely.

    Args:
        reference: Class indices (one label per case) or `member[case, class]` (several).
        scores: `scores[case, class]`; finite.
        unit: The unit of each case; each case its own if left out.

    Raises:
        InputInvalid: With every problem.
    """

    reference: Bools
    """`member[case, class]`, whichever way it was given."""
    scores: Floats
    unit: UnitNames = None
    single_label: bool = field(init=False)
    """Whether references were given as one class index per case."""
    units: MetricUnits = field(init=False)

    def __post_init__(self) -> None:
        problems: list[str] = []
        scores = _scores(self.scores, problems)
        given = np.asarray(self.reference)
        object.__setattr__(self, "single_label", given.ndim == 1)
        if given.ndim == 1:
            labels = _labels(given, "reference", 0, scores.shape[1], problems)
            reference = labels[:, None] == np.arange(scores.shape[1])
        else:
            reference = _members(given, "reference", problems)
        if reference.shape != scores.shape:
            problems.append(f"references have shape {reference.shape}, scores {scores.shape}")
        _finish(self, problems, reference=reference, scores=scores)

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return int(self.scores.shape[1])


def _finish(cases: LabelCases | SetCases | ScoreCases, problems: list[str], **arrays: np.ndarray) -> None:
    rows = len(arrays["reference"])
    if cases.unit is not None and len(cases.unit) != rows:
        problems.append(f"{rows} cases but {len(cases.unit)} units")
    if problems:
        raise InputInvalid("cases", problems)
    for name, array in arrays.items():
        object.__setattr__(cases, name, array)
    object.__setattr__(cases, "units", units_of(cases.unit, rows))


def _labels(given: npt.ArrayLike, name: str, low: int, classes: int, problems: list[str]) -> Indices:
    if classes < 1:
        problems.append(f"at least one class must be declared, got {classes}")
    labels = np.asarray(given)
    if labels.ndim != 1 or (labels.size and not np.issubdtype(labels.dtype, np.integer)):
        problems.append(f"{name} must be one list of class indices, got {labels.dtype} of shape {labels.shape}")
        return np.zeros(len(labels) if labels.ndim else 0, dtype=np.intp)
    wrong = np.flatnonzero((labels < low) | (labels >= classes))
    if wrong.size:
        first = f"first: case {wrong[0]}, {labels[wrong[0]]}"
        problems.append(f"{name} has {wrong.size} labels outside {low} to {classes - 1} ({first})")
    return labels.astype(np.intp)


def _members(given: npt.ArrayLike, name: str, problems: list[str]) -> Bools:
    members = np.asarray(given)
    if members.ndim != 2:
        problems.append(f"{name} must be cases by classes, got shape {members.shape}")
        return np.zeros((len(members) if members.ndim else 0, 0), dtype=bool)
    if members.dtype != bool:
        wrong = np.argwhere((members != 0) & (members != 1))
        if wrong.size:
            case, column = wrong[0]
            problems.append(
                f"{name} has {len(wrong)} entries other than 0 and 1 "
                f"(first: case {case}, class {column}, {members[case, column]})"
            )
    return members.astype(bool)


def _scores(given: npt.ArrayLike, problems: list[str]) -> Floats:
    scores = np.asarray(given, dtype=np.float64)
    if scores.ndim != 2:
        problems.append(f"scores must be cases by classes, got shape {scores.shape}")
        return np.zeros((len(scores) if scores.ndim else 0, 1))
    wrong = np.argwhere(~np.isfinite(scores))
    if wrong.size:
        case, column = wrong[0]
        problems.append(f"{len(wrong)} scores are NaN or infinite (first: case {case}, class {column})")
    return scores
