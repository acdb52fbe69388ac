"""How much rows of one video depend on each other, and what that does to an interval.

* `icc`: the share of the variance that lies between videos, from one-way analysis of variance with
  unequal sizes (Donner 1986). It may be slightly negative where videos do not differ.
* `design_effect`: the variance of the mean over rows when whole videos are the unit, divided by the one
  with independent rows (Kish 1965); `effective_cases` is the number of cases divided by it.
* `width_ratio`: interval width with videos over width without (seed experiment "dependent test samples
  inflate confidence"). Over several models it is summarised in two ways that can differ widely, so both
  are given and named: the median of the models' ratios, and the ratio of the median widths.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from surgeval.errors import TooFewVideos
from surgeval.results.request import requested
from surgeval.results.table_result import TableResult, as_table
from surgeval.results.tables.statistics import DEPENDENCE, WIDTH_RATIO, WIDTH_SUMMARIES
from surgeval.schema.findings import Finding
from surgeval.schema.score_table import Missing
from surgeval.schema.statistic_rules import remark
from surgeval.schema.table_facts import Directions
from surgeval.stats.closed_form import mean_sd
from surgeval.stats.engine import AUTO
from surgeval.stats.interval import chosen_resample, interval, matrix_notes
from surgeval.stats.intervals import percent
from surgeval.stats.labels import SEPARATOR
from surgeval.stats.nesting import Resample, label_of
from surgeval.stats.replicates import Sample, unit_sums
from surgeval.stats.statistic import divided

FEWEST_JUDGED = 10
"""Videos below which an intraclass correlation is mostly noise."""


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class DependenceResult(TableResult):
    """ICC, design effect and effective number of cases; one row per model."""

    stem: ClassVar[str] = "dependence"


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class WidthRatioResult(TableResult):
    """Interval widths with and without videos; one row per slice and model."""

    stem: ClassVar[str] = "width_ratio"

    @property
    def summaries(self) -> pl.DataFrame:
        """`operator` and `width_ratio`: the median of ratios and the ratio of medians, per slice."""
        return self.tables["summaries"]

    def screen(self) -> Mapping[str, pl.DataFrame]:
        """The widths, and both summaries over models."""
        return {"": self.shown, "over all models": self.summaries}


@requested("dependence")
def dependence(
    table: Any,
    *,
    metric: str | None = None,
    better: Directions = None,
    missing: Missing = None,
    columns: Mapping[str, str] | None = None,
) -> DependenceResult:
    """How strongly the scores of each model hang together within videos; arguments as for `interval`.

    Raises:
        TooFewVideos: With one video nothing can be said.
    """
    scores = as_table(table, columns, better=better, metric=metric)
    matrix = scores.matrix(metric, missing=missing)
    if len(matrix.video_names) < 2:
        raise TooFewVideos("dependence: only one video, so nothing varies between videos")
    cluster = Sample.of(matrix, statistic="mean", resample="cluster", estimand="rows")
    naive = Sample.of(matrix, statistic="mean", resample="naive", estimand="rows")
    effect = divided(mean_sd(cluster) ** 2, mean_sd(naive) ** 2)
    cases = np.isfinite(matrix.values).sum(axis=0)
    frame = pl.DataFrame(
        {
            "model": matrix.models,
            "metric": [matrix.metric.name] * len(matrix.models),
            "cases": cases,
            "videos": [len(matrix.video_names)] * len(matrix.models),
            "icc": icc_between_videos(cluster.values, cluster.nest.row_starts),
            "design_effect": effect,
            "effective_cases": divided(cases.astype(np.float64), effect),
        }
    ).with_columns(pl.col(pl.Float64).fill_nan(None))
    prose = (
        "The intraclass correlation is the one-way analysis-of-variance estimate with the video as group; the design "
        "effect is the variance of the mean over rows with whole videos as unit divided by that of independent rows "
        "(both in closed form), and the effective number of cases is the number of cases divided by it."
    )
    notes = [*matrix_notes(matrix, has_videos=scores.has_videos), *_hardly_known(frame)]
    return DependenceResult.of(DEPENDENCE.frame(frame), prose, notes)


def _hardly_known(frame: pl.DataFrame) -> list[Finding]:
    """What must be said of estimates from few videos, and of those that dependence cannot give."""
    out, videos = [], int(frame["videos"][0])
    if videos < FEWEST_JUDGED:
        text = f"{videos} videos: the spread between videos is hardly known, and with it every figure here."
        out.append(remark("few-videos", text))
    below = frame.filter(pl.col("design_effect") < 1)["model"].to_list()
    if below:
        text = (
            "Videos are more alike than chance makes them: the table is not worth more than its cases; read the design "
            "effect as 1."
        )
        out.append(remark("design-effect-below-one", text, subject=", ".join(below)))
    return out


def icc_between_videos(values: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """The share of variance between videos for each column; NaN where nothing varies or sizes are all one."""
    totals, sizes = unit_sums(values, starts)
    squares, _ = unit_sums(values**2, starts)
    number, groups = sizes.sum(axis=0), (sizes > 0).sum(axis=0)
    between = divided(totals**2, sizes)
    between = np.where(np.isfinite(between), between, 0.0).sum(axis=0) - divided(totals.sum(axis=0) ** 2, number)
    within = squares.sum(axis=0) - np.where(sizes > 0, divided(totals**2, sizes), 0.0).sum(axis=0)
    mean_between = divided(between, (groups - 1).astype(np.float64))
    mean_within = divided(within, number - groups)
    size = divided(number - divided((sizes**2).sum(axis=0), number), (groups - 1).astype(np.float64))
    total = mean_between + (size - 1) * mean_within
    return divided(mean_between - mean_within, total)


@requested("width-ratio")
def width_ratio(
    table: Any,
    *,
    statistic: str = "mean",
    resample: Resample | None = None,
    estimand: str = "rows",
    by: Sequence[str] = (),
    separator: str = SEPARATOR,
    level: float = 0.95,
    replicates: int = 1000,
    method: str = AUTO,
    seed: int = 42,
    metric: str | None = None,
    better: Directions = None,
    missing: Missing = None,
    columns: Mapping[str, str] | None = None,
) -> WidthRatioResult:
    """How much wider intervals are when videos are respected; arguments as for `interval`."""
    common: dict[str, Any] = {
        "statistic": statistic, "estimand": estimand, "by": by, "separator": separator, "level": level,
        "replicates": replicates, "method": method, "seed": seed, "metric": metric, "missing": missing,
    }  # fmt: skip
    table = as_table(table, columns, better=better, metric=metric)
    keys = [*by, "model"] if not isinstance(by, str) else [by, "model"]
    width = (pl.col("high") - pl.col("low")).alias("width")
    naive = interval(table, resample="naive", **common)
    nested = interval(table, resample=resample, **common)
    left = nested.table.select(*keys, "metric", "statistic", "estimand", "value", width)
    frame = left.join(naive.table.select(*keys, width.alias("naive_width")), on=keys, nulls_equal=True, how="left")
    ratio = pl.when(pl.col("naive_width") > 0).then(pl.col("width") / pl.col("naive_width"))
    frame = frame.with_columns(ratio.alias("width_ratio"))
    summaries = _summaries(frame, keys[:-1])
    head = "; ".join(
        f"{row['operator']} {row['width_ratio']:.2f}" for row in summaries.to_dicts() if row["width_ratio"]
    )
    units = label_of(chosen_resample(resample, method))
    how = "" if method == AUTO else f", {replicates:,} replicates, seed {seed}"
    prose = (
        f"Width of {percent(level)} {method} intervals of the {statistic} (estimand: {estimand}) with the units "
        f"{units!r} over that with single rows as units{how}: {head}."
    )
    return WidthRatioResult.of(
        WIDTH_RATIO.frame(frame), prose, nested.findings, summaries=WIDTH_SUMMARIES.frame(summaries)
    )


def _summaries(frame: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    known = frame.filter(pl.col("width_ratio").is_not_null())
    operators = {
        "median of ratios": pl.col("width_ratio").median(),
        "ratio of medians": pl.col("width").median() / pl.col("naive_width").median(),
    }
    parts = []
    for name, value in operators.items():
        column = value.alias("width_ratio")
        summary = known.group_by(by).agg(column).sort(by) if by else known.select(column)
        parts.append(summary.with_columns(pl.lit(name).alias("operator")))
    return pl.concat(parts).select(*by, "operator", "width_ratio")
