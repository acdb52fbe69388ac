"""Whether a submission is better than the last one that counted by more than guessing at the same questions explains.

Whoever sees the value of every attempt on the same questions learns from it without looking at a video: random
answers, weighted by their values, are right in Phi(sqrt(k / n)) of n yes-or-no questions after k attempts. The Ladder
(Blum and Hardt, ICML 2015, in the variant whose step is a standard error) shows a new value only where it lies above
the best one shown by more than a step, here a number of standard errors of the paired difference.

Questions, not videos, are what varies in that error: a prober guesses at these very questions, and nothing is
concluded about other patients.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from scipy.special import ndtr

from surgvalid.results.result import as_table
from surgvalid.schema.tables.table_files import read_frame
from surgvalid.stats.ranking._focus.buckets import prepare
from surgvalid.stats.ranking._options import RankOptions

STEP = 1.64
"""Standard errors above the value that is shown. 29 probes of 64 questions come out at .58, in place of .75 (tests)."""


class LadderStep(NamedTuple):
    """How far the mean over buckets rose from one submission to the next."""

    difference: float
    standard_error: float

    @property
    def counts(self) -> bool:
        """Whether the later one takes the place of the earlier."""
        return self.difference > STEP * self.standard_error


def ladder_step(before: Path, after: Path, options: RankOptions) -> LadderStep:
    """The rise between two folders of scores of the same questions, on the leaderboard that `options` name.

    Raises:
        SurgvalidError: The tables cannot be ranked.
    """
    named = [read_frame(one).with_columns(pl.lit(name).alias("model")) for name, one in (("0", before), ("1", after))]
    board = prepare(as_table(pl.concat(named, how="diagonal_relaxed")), options).boards[0]
    rises = [bucket.scores.values[:, 1] - bucket.scores.values[:, 0] for bucket in board.buckets]
    variance = sum(float(np.var(one)) / len(one) for one in rises) / len(rises) ** 2
    return LadderStep(float(np.mean([one.mean() for one in rises])), math.sqrt(variance))


def blind_reach(questions: int, submissions: int) -> float:
    """Share of yes-or-no questions that a prober who looks at nothing gets right with the last of so many submissions.

    Expected, where every value is shown exactly; the last submission is the weighted vote of those before.

    Example:
        >>> round(blind_reach(64, 30), 2), round(blind_reach(500, 10), 2), blind_reach(64, 1)
        (0.75, 0.55, 0.5)
    """
    return float(ndtr(math.sqrt((submissions - 1) / questions)))
