"""Stage 5, tolerance: how far apart the time answers of careful people may lie.

It is the least distance within which two raters of a question agree with the chance asked for, every question
counting once (`stats.agreement.tolerance`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import polars as pl

from surgvalid.errors import Misuse, TableInvalid
from surgvalid.questions.stages.box_tables import needed_columns
from surgvalid.stats.agreement.tolerance import RaterPairs, rater_sd


class Tolerance(NamedTuple):
    """How far two careful people may be apart."""

    tolerance_s: float
    sd_s: float
    """Of one rater around the mean of a question."""
    questions: int
    pairs: int


def tolerance_from_spread(table: Any, *, chance: float = 0.95) -> Tolerance:
    """The tolerance of time answers that two raters keep with the chance asked for.

    Args:
        table: One row per rater and question: question, rater, seconds.
        chance: How often two raters of a question are to agree.

    Raises:
        TableInvalid: Times that are no numbers, a rater who answered twice, or no question with two raters.
        Misuse: The chance is none.
    """
    if not 0 < chance < 1:
        raise Misuse(f"a chance lies between 0 and 1, got {chance}")
    frame = needed_columns(table, ("question", "rater", "seconds"), "ratings of times")
    frame = frame.with_columns(pl.col("seconds").cast(pl.Float64, strict=False))
    problems = []
    if bad := int((~frame["seconds"].is_finite()).fill_null(True).sum()):
        problems.append(f"column 'seconds' has {bad} entries that are no finite number")
    twice = frame.group_by("question", "rater").len().filter(pl.col("len") > 1).sort("question", "rater")
    problems += [f"rater {r['rater']!r} answered {r['question']!r} {r['len']} times" for r in twice.to_dicts()]
    several = [
        answers["seconds"].to_numpy()
        for _, answers in frame.group_by("question", maintain_order=True)
        if answers.height > 1
    ]
    if not problems and not several:
        problems.append("no question was answered by two raters")
    if problems:
        raise TableInvalid("ratings of times", problems)
    pairs = RaterPairs.of(several)
    return Tolerance(pairs.tolerance(chance), rater_sd(several), len(several), len(pairs.distance))
