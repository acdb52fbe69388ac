"""A ranking by the mean of the middle scores: one ruined video neither makes nor breaks a model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.stats import trim_mean

from surgvalid.schema.tables.score_table import ScoreTable
from surgvalid.stats.ranking import RankOptions, RankResult, RankRule
from surgvalid.stats.ranking.aggregate_then_rank import aggregate_then_rank

SHARE = 0.1
"""Of the scores at either end that are left out."""
NAME = "trimmed-mean-then-rank"


def trimmed_mean(scores: np.ndarray) -> float:
    """The mean without the lowest and the highest tenth."""
    return float(trim_mean(scores, SHARE))


def run(table: ScoreTable, options: RankOptions) -> RankResult:
    """The ranking of each task by the trimmed mean, under the name of this rule."""
    return replace(aggregate_then_rank(table, replace(options, aggregate=trimmed_mean)), rule=NAME)


RULE = RankRule(NAME, "mean of the middle 80 % of the scores of each task, ranked", run, ("aggregate",))
