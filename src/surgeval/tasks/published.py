"""What speaks against a printed row: relations that hold between metrics whatever the predictions were.

    one label per case   weighted recall is accuracy: both are the share of cases that are right
    any averages         J <= F1 <= 2J / (1 + J) for the same weights, since F1 = 2J / (1 + J) in each class, which is
                         concave
Printed numbers are rounded, so half of the last digit is allowed on either side.
"""

from __future__ import annotations

from surgeval.tasks.task import Form, PublishedRow, TaskInstance

ROUNDED_BY = 0.005
"""Half of the last digit of two."""
_PAIRS = (("macro_f1", "macro_jaccard"), ("f1_max", "macro_jaccard"), ("weighted_f1", "weighted_jaccard"))


def doubts_of(task: TaskInstance, row: PublishedRow) -> list[str]:
    """Everything that is known against a row: what its file says, and every relation that it breaks."""
    doubts = [row.doubt] if row.doubt else []
    values = row.values
    if task.answer.form is Form.CHOICE and {"accuracy", "weighted_recall"} <= values.keys():
        apart = abs(values["accuracy"] - values["weighted_recall"])
        if apart > 2 * ROUNDED_BY + 1e-9 and not row.doubt:
            doubts.append("accuracy and weighted recall differ, which are one number where a case has one label")
    for f1, jaccard in _PAIRS:
        if {f1, jaccard} <= values.keys() and not agree(values[f1], values[jaccard]):
            doubts.append(f"no classes have the mean {f1} {values[f1]:g} and the mean {jaccard} {values[jaccard]:g}")
    return doubts


def agree(f1: float, jaccard: float) -> bool:
    """Whether a mean F1 and a mean Jaccard of the same classes can stand side by side, rounded as they are.

    Example:
        >>> agree(0.46, 0.34), agree(0.9, 0.5)
        (True, False)
    """
    high = min(1.0, jaccard + ROUNDED_BY)
    most = 2 * high / (1 + high)
    return jaccard - 2 * ROUNDED_BY - 1e-9 <= f1 <= most + ROUNDED_BY + 1e-9
