"""Variability across cases: how far the videos of each model lie apart, in numbers and as a box plot draws them.

A question is right or wrong, so the SD over questions says no more than their mean. What varies is the video: its value
is the mean of its cases, and quartiles, SD and whiskers are those of these values (whiskers: the outermost videos
within one and a half boxes of the quartiles). With fewer than three videos there is no SD worth a name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from surgeval.results.table_result import as_table
from surgeval.results.tables.statistics import VARIABILITY
from surgeval.schema.score_table import Missing
from surgeval.stats.interval import known
from surgeval.stats.replicates import Sample
from surgeval.stats.slices import Slice, labelled, slices
from surgeval.stats.video_jackknife import FEWEST_VIDEOS


def variability(
    table: Any, *, by: Sequence[str] = (), metric: str | None = None, missing: Missing = None
) -> pl.DataFrame:
    """One row per slice and model: how the values of the videos are spread.

    Args:
        table: A `ScoreTable`, files, or anything tabular.
        by: Columns whose combinations are reported one by one.
        metric: Which metric of the table.
        missing: As for `interval`.
    """
    matrix = as_table(table, metric=metric).matrix(metric, missing=missing)
    rows = [row for one in slices(matrix, by) for row in _rows(one)]
    return VARIABILITY.frame(rows)


def _rows(one: Slice) -> list[dict[str, Any]]:
    sample = Sample.of(one.matrix, statistic="mean", resample="cluster", estimand="videos")
    within = sample.within_units()
    return [
        labelled(one.labels, {"model": model, "cases": int(np.isfinite(one.matrix.values[:, place]).sum()), **spread})
        for place, model in enumerate(one.matrix.models)
        for spread in [_spread(within[np.isfinite(within[:, place]), place])]
    ]


def _spread(values: np.ndarray) -> dict[str, Any]:
    names = ("lowest", "whisker_low", "q25", "median", "q75", "whisker_high", "highest")
    if not len(values):
        return {"videos": 0, "mean": None, "sd": None, **dict.fromkeys(names)}
    q25, median, q75 = np.quantile(values, [0.25, 0.5, 0.75])
    reach = 1.5 * (q75 - q25)
    inside = values[(values >= q25 - reach) & (values <= q75 + reach)]
    numbers = (values.min(), inside.min(), q25, median, q75, inside.max(), values.max())
    sd = float(values.std(ddof=1)) if len(values) >= FEWEST_VIDEOS else np.nan
    spread = {name: float(number) for name, number in zip(names, numbers, strict=True)}
    return {"videos": len(values), "mean": float(values.mean()), "sd": known(sd), **spread}
