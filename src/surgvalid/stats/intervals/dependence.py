"""How much rows of one video depend on each other, and what that does to values and intervals.

* `icc`: the share of the variance that lies between videos, from one-way analysis of variance with
  unequal sizes (Donner 1986). It may be slightly negative where videos do not differ.
* `design_effect`: the variance of the mean over rows when whole videos are the unit, divided by the one
  with independent rows (Kish 1965); `effective_cases` is the number of cases divided by it. With rows `x` of mean m,
  N in all, and sums `S_v` over the `n_v` rows of video v the two variances are `sum_v (S_v - m n_v)^2 / N^2` (a ratio
  of totals, linearised: Cochran 1977, section 6.3) and `sum (x - m)^2 / N^2`.
* `influence`: the value on all videos minus the value without one of them (Efron 1982, chapter 3): positive for a video
  that lifts the model.
* `width_ratio`: interval width with videos over width without (Roß et al., "Beyond rankings": dependent test samples
  inflate confidence). Over several models it is summarised in two ways that can differ widely, so both
  are given and named: the median of the models' ratios, and the ratio of the median widths.

`variability` says the same of each model in the numbers of a box plot: how far the values of its videos lie apart
(Tukey's whiskers, 1.5 boxes beyond the quartiles).

The decision a reader would question: the design effect is that of the mean over rows, whatever statistic the two other
tables are asked for, because only a mean has one in closed form.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import polars as pl

from surgvalid.errors import TooFewVideos
from surgvalid.results.request import requested
from surgvalid.results.result import TableResult, as_table
from surgvalid.results.tables.statistics import DEPENDENCE, INFLUENCE, VARIABILITY, WIDTH_RATIO, WIDTH_SUMMARIES
from surgvalid.schema.findings import Finding
from surgvalid.schema.statistic_rules import remark
from surgvalid.schema.tables.score_table import Missing, ScoreMatrix, ScoreTable
from surgvalid.schema.tables.table_facts import Directions
from surgvalid.stats.intervals.engine import values_without
from surgvalid.stats.intervals.interval import interval, known
from surgvalid.stats.intervals.interval_settings import AUTO, percent
from surgvalid.stats.intervals.nesting import Resample, label_of, need_units
from surgvalid.stats.intervals.pooled import POOLED, verb_matrix
from surgvalid.stats.intervals.replicates import ESTIMAND_PROSE, Sample, unit_sums
from surgvalid.stats.intervals.slices import SEPARATOR, Slice, labelled, slices
from surgvalid.stats.intervals.statistic import divided
from surgvalid.stats.intervals.video_jackknife import FEWEST_VIDEOS


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
    names = "lowest whisker_low q25 median q75 whisker_high highest".split()
    if not len(values):
        return {"videos": 0, "mean": None, "sd": None, **dict.fromkeys(names)}
    q25, median, q75 = np.quantile(values, [0.25, 0.5, 0.75])
    reach = 1.5 * (q75 - q25)
    inside = values[(values >= q25 - reach) & (values <= q75 + reach)]
    numbers = (values.min(), inside.min(), q25, median, q75, inside.max(), values.max())
    sd = float(values.std(ddof=1)) if len(values) >= FEWEST_VIDEOS else np.nan
    spread = {name: float(number) for name, number in zip(names, numbers, strict=True)}
    return {"videos": len(values), "mean": float(values.mean()), "sd": known(sd), **spread}


FEWEST_JUDGED = 10
"""Videos below which an intraclass correlation is mostly noise."""


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class DependenceResult(TableResult):
    """Design effects (one row per model), values without each video, and widths of intervals."""

    stem: ClassVar[str] = "dependence"

    @property
    def influence(self) -> pl.DataFrame:
        """The value without each video; one row per video and model, the most influential first."""
        return self.tables["influence"]

    @property
    def widths(self) -> pl.DataFrame:
        """Interval widths with and without videos; one row per slice and model."""
        return self.tables["width_ratio"]

    @property
    def summaries(self) -> pl.DataFrame:
        """`operator` and `width_ratio`: the median of ratios and the ratio of medians, per slice."""
        return self.tables["summaries"]

    def screen(self) -> Mapping[str, pl.DataFrame]:
        """All tables."""
        return {
            "": self.shown,
            "without one of them": self.influence,
            "widths of intervals": self.widths,
            "widths over all models": self.summaries,
        }


class Analysed(NamedTuple):
    """A table and the sentence that says what it is."""

    table: pl.DataFrame
    prose: str


@requested("dependence")
def dependence(
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
) -> DependenceResult:
    """How scores hang together within videos: design effects, values without each video, widths of intervals.

    Args are those of `interval`; `by` and what says how intervals are made concern the widths alone.

    Raises:
        TooFewVideos: With one video nothing can be said.
    """
    scores = as_table(table, columns, better=better, metric=metric)
    effects = design_effects(scores.matrix(metric, missing=missing))
    left_out = without_each_video(scores, statistic=statistic, estimand=estimand, metric=metric, missing=missing)
    common: dict[str, Any] = {
        "statistic": statistic,
        "estimand": estimand,
        "by": by,
        "separator": separator,
        "level": level,
        "replicates": replicates,
        "method": method,
        "seed": seed,
        "metric": metric,
        "missing": missing,
    }
    naive, nested = (interval(scores, resample=units, **common) for units in ("naive", resample))
    frame = _ratios(nested.table, naive.table, [by] if isinstance(by, str) else list(by))
    summaries = _summaries(frame, frame.columns[: frame.columns.index("model")])
    head = "; ".join(
        f"{row['operator']} {row['width_ratio']:.2f}" for row in summaries.to_dicts() if row["width_ratio"]
    )
    how = "" if method == AUTO else f", {replicates:,} replicates, seed {seed}"
    widths = (
        f"Width of {percent(level)} {method} intervals of the {statistic} (estimand: {estimand}) with the units "
        f"{label_of(resample or 'cluster')!r} over that with single rows as units{how}: {head}."
    )
    return DependenceResult.of(
        effects.table,
        f"{effects.prose} {left_out.prose} {widths}",
        list(dict.fromkeys([*_hardly_known(effects.table), *nested.findings])),
        influence=left_out.table,
        width_ratio=WIDTH_RATIO.frame(frame),
        summaries=WIDTH_SUMMARIES.frame(summaries),
    )


def design_effects(matrix: ScoreMatrix) -> Analysed:
    """Intraclass correlation, design effect and effective number of cases of every model.

    Raises:
        TooFewVideos: With one video nothing can be said.
    """
    if not matrix.unit.is_known:
        raise TooFewVideos(matrix.unsaid[0].text)
    if len(matrix.video_names) < 2:
        raise TooFewVideos(matrix.unit.called("dependence: only one video, so nothing varies between videos"))
    sample = Sample.of(matrix, statistic="mean", resample="cluster", estimand="rows")
    scored, mean = np.isfinite(sample.values), sample.point()
    totals, sizes = unit_sums(sample.values, sample.nest.row_starts)
    rows = np.where(scored, sample.values - mean, 0.0)
    effect = divided(((totals - mean * sizes) ** 2).sum(axis=0), (rows**2).sum(axis=0))
    cases = scored.sum(axis=0)
    frame = pl.DataFrame(
        {
            "model": matrix.models,
            "metric": [matrix.metric.name] * len(matrix.models),
            "cases": cases,
            "videos": [len(matrix.video_names)] * len(matrix.models),
            "icc": icc_between_videos(sample.values, sample.nest.row_starts),
            "design_effect": effect,
            "effective_cases": divided(cases.astype(np.float64), effect),
        }
    ).with_columns(pl.col(pl.Float64).fill_nan(None))
    prose = (
        "The intraclass correlation is the one-way analysis-of-variance estimate with the video as group; the design "
        "effect is the variance of the mean over rows with whole videos as unit divided by that of independent rows "
        "(both in closed form), and the effective number of cases is the number of cases divided by it."
    )
    return Analysed(DEPENDENCE.frame(frame), prose)


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


def without_each_video(
    scores: ScoreTable, *, statistic: str = "mean", estimand: str = "rows", metric: str | None, missing: Missing
) -> Analysed:
    """What happens to each model's value when one video is left out, the most influential video first.

    Raises:
        TooFewVideos: The table has a single video.
    """
    matrix = verb_matrix(scores, metric, missing=missing, statistic=statistic, estimand=estimand)
    sample = Sample.of(matrix, statistic=statistic, resample="cluster", estimand=estimand)
    need_units(sample.nest, "influence")
    without, value = values_without(sample), sample.point()
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
    deviations = np.sqrt((len(names) - 1) / len(names) * ((without - without.mean(axis=0)) ** 2).sum(axis=0))
    spread = ", ".join(f"{m!r} {sd:.3g}" for m, sd in zip(matrix.models, deviations, strict=True))
    what = f"The {statistic} of {matrix.metric.name!r} {ESTIMAND_PROSE[estimand]} (estimand: {estimand})"
    prose = (
        f"{what if matrix.statistics is None else f'{matrix.metric.name!r} of all videos together'} was recomputed "
        f"without each of {len(names)} videos in turn. Jackknife standard errors: {spread}."
    )
    return Analysed(INFLUENCE.frame(frame), prose)


def _ratios(nested: pl.DataFrame, naive: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Widths of the intervals of both tables side by side."""
    keys = [*by, "model"]
    width = (pl.col("high") - pl.col("low")).alias("width")
    left = nested.select(*keys, "metric", "statistic", "estimand", "value", width)
    frame = left.join(naive.select(*keys, width.alias("naive_width")), on=keys, nulls_equal=True, how="left")
    ratio = pl.when(pl.col("naive_width") > 0).then(pl.col("width") / pl.col("naive_width"))
    return frame.with_columns(ratio.alias("width_ratio"))


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
