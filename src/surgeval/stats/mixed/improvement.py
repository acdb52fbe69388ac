"""How many videos would show that an algorithm got better on some cases, planned with the models at hand.

The new algorithm does not exist yet, so how its scores will differ from the old one's is not known. Two of the models
at hand on the same cases stand in for them: the pair whose differences vary as those of the middle pair do. With one
model only, old and new are taken as independent, which needs more videos than any pair that fails on the same cases.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

import numpy as np
import polars as pl

from surgeval.errors import SurgevalError
from surgeval.schema.score_table import ScoreTable
from surgeval.stats.planning.settings import PlanSettings
from surgeval.stats.planning.sizes import closed_answer
from surgeval.stats.planning.sources import of_pilot

MOST_MODELS = 12
"""Beyond, pairs of the first models stand for all."""


class Needed(NamedTuple):
    """Videos that show an improvement."""

    held: int | None
    """Videos with the property."""
    videos: int | None
    """Videos to be collected so that enough of them have it."""
    low: int | None
    high: int | None
    independent: bool
    """Whether there was one model only."""


def needed_videos(scores: pl.DataFrame, improvement: float, *, level: float = 0.95) -> Needed | None:
    """How many videos find an improvement on the cases of a subgroup four times in five; None where nobody knows.

    Args:
        scores: Columns `model`, `case`, `video`, `value` and `subgroup` (whether the case belongs to it).
        improvement: In the unit of `value`.
        level: One minus that of the test.
    """
    means = scores.group_by("model", "case", "video", maintain_order=True).agg(
        pl.col("value").mean(), pl.col("subgroup").first().cast(pl.Int8).cast(pl.String)
    )
    pair = _middle_pair(means.filter(pl.col("subgroup") == "1"))
    table = ScoreTable.of(means.with_columns(metric=pl.lit("loss")), better="smaller")
    wanted = PlanSettings(difference=improvement, models=pair or (), subgroup="subgroup=1", level=level)
    asked = wanted if pair else replace(wanted, difference=None, width=1.0, models=(str(means["model"][0]),))
    try:
        source = of_pilot(table, asked, metric="loss", missing="drop-case", estimand="rows")
    except SurgevalError:
        return None
    if pair is None:
        doubled = replace(source.spread, between=2 * source.spread.between, within=2 * source.spread.within)
        source = replace(source, spread=doubled, value=improvement)
    return Needed(*closed_answer(source, wanted), independent=pair is None)


def _middle_pair(means: pl.DataFrame) -> tuple[str, str] | None:
    """The two models whose differences vary as the middle ones of all pairs do, on the cases that both have."""
    wide = means.pivot("model", index=["video", "case"], values="value", maintain_order=True)
    models = [name for name in wide.columns if name not in ("video", "case")][:MOST_MODELS]
    spreads: list[tuple[float, tuple[str, str]]] = []
    for a, b in combinations(models, 2):
        by_video = wide.drop_nulls([a, b]).group_by("video").agg((pl.col(a) - pl.col(b)).mean().alias("difference"))
        if by_video.height > 1:
            spreads.append((float(np.var(by_video["difference"].to_numpy(), ddof=1)), (a, b)))
    spreads.sort()
    return spreads[len(spreads) // 2][1] if spreads else None
