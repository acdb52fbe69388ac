"""Leave-one-out influence: what each video does to the value of each model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from surgeval.results.request import requested
from surgeval.results.table_result import TableResult, as_table
from surgeval.results.tables.statistics import INFLUENCE
from surgeval.schema.score_table import Missing
from surgeval.schema.table_facts import Directions
from surgeval.stats.interval import matrix_notes
from surgeval.stats.jackknife import jackknife_sd, leave_one_out
from surgeval.stats.nesting import need_units
from surgeval.stats.pooled import POOLED, verb_matrix
from surgeval.stats.replicates import ESTIMAND_PROSE, Sample


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class InfluenceResult(TableResult):
    """The value without each video; one row per video and model, the most influential first."""

    stem: ClassVar[str] = "influence"


@requested("influence")
def influence(
    table: Any,
    *,
    statistic: str = "mean",
    estimand: str = "rows",
    metric: str | None = None,
    better: Directions = None,
    missing: Missing = None,
    columns: Mapping[str, str] | None = None,
) -> InfluenceResult:
    """What happens to each model's value when one video is left out.

    `influence` is the value on all videos minus the value without this one: positive for a video that
    lifts the model. Arguments are those of `interval`.

    Raises:
        TooFewVideos: The table has a single video.
    """
    scores = as_table(table, columns, better=better, metric=metric)
    matrix = verb_matrix(scores, metric, missing=missing, statistic=statistic, estimand=estimand)
    sample = Sample.of(matrix, statistic=statistic, resample="cluster", estimand=estimand)
    need_units(sample.nest, "influence")
    without = leave_one_out(sample)
    value = sample.point()
    first_rows = sample.nest.order[sample.nest.row_starts[:-1]]
    names = [matrix.video_names[code] for code in matrix.videos[first_rows]]
    frame = pl.DataFrame(
        {
            "video": np.repeat(names, len(matrix.models)),
            "model": matrix.models * len(names),
            "statistic": [sample.statistic.name if matrix.statistics is None else POOLED] * without.size,
            "estimand": [estimand] * without.size,
            "value": np.tile(value, len(names)),
            "value_without": without.ravel(),
            "influence": (value - without).ravel(),
        }
    )
    frame = frame.sort(pl.col("influence").abs(), "video", "model", descending=[True, False, False])
    spread = ", ".join(f"{m} {sd:.3g}" for m, sd in zip(matrix.models, jackknife_sd(without), strict=True))
    what = f"The {statistic} of {matrix.metric.name!r} {ESTIMAND_PROSE[estimand]} (estimand: {estimand})"
    prose = (
        f"{what if matrix.statistics is None else f'{matrix.metric.name!r} of all videos together'} was recomputed "
        f"without each of {len(names)} videos in turn. Jackknife standard errors: {spread}."
    )
    return InfluenceResult.of(INFLUENCE.frame(frame), prose, matrix_notes(matrix, has_videos=scores.has_videos))
