"""What questions without a verdict count as in a score: the rules of score tables, applied before they are written.

An abstention that is left out pays: an answer that confuses the judges costs nothing, a wrong one does. So it counts
as worst unless somebody says otherwise, as in every verb that reads a score table. What nobody judged is nobody's
mistake: it has no value, and a mean over questions of which some were not judged is not given until somebody decides.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import NamedTuple

import numpy as np
import polars as pl

from surgeval.schema.findings import Finding, Severity
from surgeval.schema.missing import Missing, Rule, missing_rules
from surgeval.schema.outcomes import Status
from surgeval.scoring.summary import BOARDS

WORST = 0.0
"""Of correctness."""


class MissingRules(NamedTuple):
    """What becomes of questions without response, and of those without verdict."""

    refuses_absent: bool
    by_status: dict[Status, Rule]

    @classmethod
    def of(cls, given: Missing) -> MissingRules:
        """The rules as a user gives them: `wrong`, `error` (refuse absent responses), and rules of score tables.

        Example:
            >>> MissingRules.of(["error", "not_judged=drop-score"]).by_status[Status.NOT_JUDGED]
            'drop-score'
        """
        words = [given] if isinstance(given, str) else given
        if words is None or isinstance(words, int | float | dict) or not isinstance(words, list | tuple):
            return cls(False, missing_rules(words))
        rest = [word for word in words if word not in ("wrong", "error")]
        return cls("error" in words, missing_rules(rest or None))


class Counted(NamedTuple):
    """Every question as it counts."""

    values: np.ndarray
    """1 right, 0 wrong, NaN left out."""
    blocked: np.ndarray
    """Questions whose rule forbids a mean that contains them."""


def counted(frame: pl.DataFrame, rules: MissingRules) -> Counted:
    """What every row of `results` counts as, under the rule for its status where it has no verdict."""
    values = frame["correctness"].cast(pl.Float64).to_numpy().copy()
    unscored, blocked = np.isnan(values), np.zeros(len(values), dtype=bool)
    for status in frame["status"].filter(pl.Series(unscored)).unique():
        rule, rows = rules.by_status[Status(status)], unscored & (frame["status"] == status).to_numpy()
        if rule == "worst":
            values[rows] = WORST
        elif not isinstance(rule, str):
            values[rows] = rule
        blocked |= rows & (rule == "error")
    return Counted(values, blocked)


def as_counted(frame: pl.DataFrame, values: np.ndarray) -> pl.DataFrame:
    """The results with verdicts as they count, where that is right or wrong."""
    value = pl.lit(pl.Series(values))
    return frame.with_columns(correctness=pl.when(value.is_in([0.0, 1.0])).then(value == 1.0))


def without_blocked(
    summary: pl.DataFrame, slices: dict[tuple[str, str], np.ndarray], blocked: np.ndarray
) -> pl.DataFrame:
    """The summary without the values of slices that hold a blocked question; a headline rests on all its buckets."""
    if not blocked.any():
        return summary
    hit = {slice_ for slice_, rows in slices.items() if blocked[rows].any()}
    hit |= {name for board, names in BOARDS.items() if any(level == board for level, _ in hit) for name in names}
    stopped = [pair in hit for pair in summary.select("level", "name").iter_rows()]
    return summary.with_columns(
        pl.when(pl.Series(stopped)).then(math.nan).otherwise(pl.col(name)).alias(name)
        for name in ("accuracy", "low", "high", "df")
    )


def stopped(frame: pl.DataFrame, blocked: np.ndarray) -> list[Finding]:
    """Why there is no headline, where there is none."""
    if not blocked.any():
        return []
    counts = Counter(frame.filter(pl.Series(blocked))["status"].to_list())
    listed = ", ".join(f"{status}: {count}" for status, count in sorted(counts.items()))
    first = min(counts)
    text = (
        f"no headline: {int(blocked.sum())} of {frame.height} questions have no verdict ({listed}), and nobody said "
        f"what they count as; judge them, or pass --missing {first}=worst or {first}=drop-score"
    )
    return [Finding("no-headline", Severity.ERROR, text)]
