"""The one place that chooses how a value or a difference gets its interval: `method="auto"`.

| asked for | method | least videos |
|---|---|---|
| mean, pooled or over videos | jackknife on the logit scale (`video_jackknife`) | 3 |
| the same of a metric on [0, inf) | jackknife on the log scale and by Hall's transformation (`skewed`) | 3 |
| mean over videos of anything within them | the same, on the videos' values | 3 |
| pooled quantile | every value tested (`pooled_quantile`) | 6, and 2 videos' worth beyond it |
| mean over classes | class-wise jackknife (`macro_interval`) | 3, each class in 2 |
| any other weighted metric | jackknife of its values without each video | 3 |
| difference of means | inverted sign-flip test (`sign_flip_interval`) | 6; 3-5 by jackknife |
| difference of means over classes | class-wise jackknife, plain scale; p-value from the same t | 3, each class in 2 |
| difference of any other metric | the same, not by class | 3 |

Nothing here draws, so a value has the same interval wherever it is shown. Units are the largest of the resample:
videos, or centres where the hierarchy begins with them; rows where each case stands for itself. The method
`bootstrap` is made by `replicates`.

The decision a reader would question: the difference of two pooled quantiles gets no interval, because no method tried
holds its level; the estimand `videos` answers the question.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import stdtr

from surgvalid.schema.findings import Finding
from surgvalid.schema.metric_facts import MetricFacts
from surgvalid.schema.statistic_rules import remark
from surgvalid.stats.comparing.paired_tests import smallest_p
from surgvalid.stats.intervals import few_videos as notice
from surgvalid.stats.intervals.interval_settings import BOOTSTRAP
from surgvalid.stats.intervals.macro_interval import (
    LABEL,
    ClassTerms,
    MacroInterval,
    class_terms,
    in_blocks,
    macro_spread,
    p_value,
    with_fixed,
)
from surgvalid.stats.intervals.nesting import ROWS
from surgvalid.stats.intervals.pooled import PooledStatistic
from surgvalid.stats.intervals.pooled_quantile import pooled_quantile_interval
from surgvalid.stats.intervals.replicates import Sample, bounds, replicate_sd, unit_sums
from surgvalid.stats.intervals.sign_flip_interval import FEWEST_TESTED, difference_interval
from surgvalid.stats.intervals.skewed import MedianInterval, median_interval, unit_findings
from surgvalid.stats.intervals.statistic import OfMetric, Statistic, divided, is_smooth
from surgvalid.stats.intervals.video_jackknife import (
    FEWEST_VIDEOS,
    Jackknifed,
    degrees_of_freedom,
    effective_videos,
    jackknife_interval,
    mean_interval,
)

MOST_EXACT = 1000
"""Units beyond which the ends of a difference are those of the normal form of the test, which is then the same."""


class Spread(NamedTuple):
    """Values with their intervals, one entry per column; NaN ends where the data carry none, and why as findings.

    A finding names the column it is about in `where`.
    """

    value: np.ndarray
    low: np.ndarray
    high: np.ndarray
    sd: np.ndarray
    df: np.ndarray
    videos: np.ndarray
    effective: np.ndarray
    method: tuple[str, ...]
    findings: tuple[Finding, ...]
    medians: tuple[MedianInterval, ...] = ()
    """Over the units of each column, where the metric is bounded from below only."""


class Difference(NamedTuple):
    """One difference with its interval and p-value."""

    value: float
    low: float
    high: float
    sd: float
    df: float
    videos: int
    effective: float
    p_value: float
    smallest_p: float
    method: str
    findings: tuple[Finding, ...]

    @property
    def testable(self) -> bool:
        """Whether so many videos can show any difference: below six nobody may be called better."""
        return self.videos >= FEWEST_TESTED


def auto_spread(
    sample: Sample, facts: MetricFacts, *, level: float, names: Sequence[str], cases: np.ndarray | None = None
) -> Spread:
    """The value and interval of every column of a sample.

    Args:
        sample: Scores or prepared statistics with their nest, statistic and estimand.
        facts: Range of the metric.
        level: Coverage asked for.
        names: What each column is, for the findings.
        cases: For prepared statistics, how many cases are behind each row, `[row]` or `[row, column]`; else 1.
    """
    quantile = _pooled_quantile(sample)
    if quantile is not None:
        return _quantiles(sample, quantile, facts, level, names)
    if sample.estimand == "rows" and not sample.statistic.is_mean:
        if (columns := _class_terms(sample)) is not None:
            return _over_classes(sample, columns, facts, level, names)
        without, sizes = _left_out(sample, cases)
        jackknifed = jackknife_interval(sample.point(), without, sizes, level=level, low=facts.low, high=facts.high)
        return _with_findings(jackknifed, facts, [()] * len(jackknifed.value), names)
    totals, sizes = unit_totals(sample)
    means, pooled = divided(totals, sizes), sample.estimand == "rows"
    extra = [
        (notice.long_videos_differ(sizes[:, place], means[:, place], where=name) if pooled else None,)
        for place, name in enumerate(names)
    ]
    pulled = np.array([one is not None for (one,) in extra])
    jackknifed = mean_interval(totals, sizes, level=level, low=facts.low, high=facts.high, pulled=pulled)
    spread = _with_findings(jackknifed, facts, extra, names)
    if not half_line(facts):
        return spread
    spoken = [
        finding
        for place, name in enumerate(names)
        for finding in unit_findings(totals[:, place], sizes[:, place], sample.nest.names, where=name)
    ]
    medians = tuple(median_interval(column, level=level) for column in means.T)
    return spread._replace(findings=(*spread.findings, *spoken), medians=medians)


def auto_difference(sample: Sample, facts: MetricFacts, *, level: float, approximate: bool = False) -> Difference:
    """The first column of a sample minus the second, with interval and p-value.

    Args:
        sample: Two columns scored on the same rows.
        facts: Range of the metric.
        level: Coverage asked for.
        approximate: As for `difference_interval`.
    """
    width = facts.high - facts.low
    if _pooled_quantile(sample) is not None or not is_smooth(sample.statistic):
        return _no_difference(sample)
    if sample.estimand == "rows" and not sample.statistic.is_mean:
        columns = _class_terms(sample)
        by_class = columns and _class_difference(sample, columns, facts, level)
        return by_class or _weighted_difference(sample, width, level)
    totals, sizes = unit_totals(sample)
    gaps, sizes = totals[:, :1] - totals[:, 1:2], sizes[:, :1]
    many = int((sizes > 0).sum()) > MOST_EXACT
    jackknifed = difference_interval(gaps, sizes, level=level, approximate=approximate or many)
    value, low, high, sd, df, videos, effective, p, floor = (column.item() for column in jackknifed[:9])
    spoken = _on_videos(videos, df, low, None, notice.skewed_differences(divided(gaps, sizes)[:, 0]))
    if math.isinf(low) or math.isinf(high):
        spoken.append(notice.open_interval(videos, level))
        low, high = max(low, -width), min(high, width)
    method = jackknifed.method[0]
    return Difference(value, low, high, sd, df, videos, effective, p, floor, method, _given(spoken))


def drawn_spread(sample: Sample, draws: np.ndarray, *, level: float, names: Sequence[str], flat: bool = True) -> Spread:
    """What the bootstrap gave, with the number of videos behind it and a finding where these are few.

    Draws that are all equal show no spread, not certainty; unless `flat`, they give no interval.
    """
    value = sample.point()
    sizes = _unit_sizes(sample, len(value))
    videos, effective = (sizes > 0).sum(axis=0), effective_videos(sizes)
    spoken = [
        notice.percentile_too_narrow(int(videos[place]), float(effective[place]), where=name)
        for place, name in enumerate(names)
    ]
    unknown = np.full(len(value), np.nan)
    (low, high), sd = bounds(draws, level=level), replicate_sd(draws)
    hidden = (sd == 0) & (not flat)
    spoken += [notice.no_variation(where=names[place]) for place in np.flatnonzero(hidden).tolist()]
    low, high = np.where(hidden, np.nan, low), np.where(hidden, np.nan, high)
    method = tuple("none" if none else BOOTSTRAP for none in hidden)
    return Spread(value, low, high, sd, unknown, videos, effective, method, _given(spoken))


def unit_totals(sample: Sample) -> tuple[np.ndarray, np.ndarray]:
    """Sums and numbers behind a mean, per largest unit: two arrays `[unit, column]`.

    For the estimand `videos` the sum is that of the videos' values, and the number that of the videos with one.
    """
    if sample.estimand == "videos":
        within = sample.within_units()
        known = np.isfinite(within)
        totals, sizes = np.where(known, within, 0.0), known.astype(np.float64)
        return (totals, sizes) if sample.nest.levels == (ROWS,) else _by_owner(top_units(sample), totals, sizes)
    if sample.nest.levels == (ROWS,):
        scored = np.isfinite(sample.values)
        return np.where(scored, sample.values, 0.0), scored.astype(np.float64)
    return _by_owner(top_units(sample), *unit_sums(sample.values, sample.nest.row_starts))


def values_without(sample: Sample) -> np.ndarray:
    """The value of each column without each largest unit of a sample: `[unit, column]`."""
    if sample.estimand == "videos" or sample.statistic.is_mean:
        totals, sizes = unit_totals(sample)
        return divided(totals.sum(axis=0) - totals, sizes.sum(axis=0) - sizes)
    weighted, values = sample.statistic.weighted, sample.values
    return in_blocks(lambda weights: weighted(weights, values), row_owners(sample), sample.columns)


def top_units(sample: Sample) -> np.ndarray:
    """For each smallest named unit, the largest unit it lies in."""
    starts = sample.nest.starts[1 : len(sample.nest.levels) - sample.nest.draws_rows]
    owners = np.arange(sample.nest.units)
    for level in reversed(starts):
        owners = (np.searchsorted(level, owners, side="right") - 1).astype(owners.dtype)
    return owners


def row_owners(sample: Sample) -> np.ndarray:
    """The largest unit of each row."""
    if sample.nest.levels == (ROWS,):
        return np.arange(len(sample.values))
    return np.asarray(np.repeat(top_units(sample), sample.nest.sizes))


def pooled_cases(sample: Sample) -> np.ndarray | None:
    """The cases behind each row of a pooled metric, which is a whole video; None where not known or not pooled."""
    if not isinstance(sample.statistic, PooledStatistic) or sample.statistic.cases is None:
        return None
    return np.asarray(sample.statistic.cases[sample.values])


def _unit_sizes(sample: Sample, width: int) -> np.ndarray:
    """Cases of each largest unit behind each column: `[unit, column]`."""
    if sample.estimand == "videos":
        return unit_totals(sample)[1]
    owners = row_owners(sample)
    if not isinstance(sample.statistic, Statistic):
        return np.repeat(np.bincount(owners, weights=pooled_cases(sample))[:, None], width, axis=1)
    return _by_owner(owners, sample.values, np.isfinite(sample.values).astype(np.float64))[1]


def _by_owner(owners: np.ndarray, totals: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    units = int(owners.max(initial=-1)) + 1
    if units == len(owners):
        return totals, np.asarray(sizes, dtype=np.float64)
    sums, numbers = np.zeros((units, totals.shape[1])), np.zeros((units, totals.shape[1]))
    np.add.at(sums, owners, totals)
    np.add.at(numbers, owners, sizes)
    return sums, numbers


def _pooled_quantile(sample: Sample) -> float | None:
    statistic = sample.statistic
    return statistic.quantile if isinstance(statistic, Statistic) and sample.estimand == "rows" else None


def _quantiles(sample: Sample, quantile: float, facts: MetricFacts, level: float, names: Sequence[str]) -> Spread:
    owners, value = row_owners(sample), sample.point()
    scored = np.isfinite(sample.values)
    sizes = np.stack([np.bincount(owners[column], minlength=int(owners.max()) + 1) for column in scored.T], axis=1)
    videos, spoken, ends = (sizes > 0).sum(axis=0), [], np.full((2, len(value)), np.nan)
    for place, column in enumerate(sample.values.T):
        inverted = pooled_quantile_interval(column, owners, quantile, level=level, low=facts.low, high=facts.high)
        ends[:, place] = inverted.low, inverted.high
        spoken.append(notice.thin_quantile(inverted.beyond, int(videos[place]), where=names[place]))
        if inverted.open_low or inverted.open_high:
            spoken.append(notice.open_interval(int(videos[place]), level, where=names[place]))
    unknown = np.full(len(value), np.nan)
    df, effective = degrees_of_freedom(sizes), effective_videos(sizes)
    method = tuple("none" if math.isnan(low) else "sign-flip" for low in ends[0])
    return Spread(value, ends[0], ends[1], unknown, df, videos, effective, method, _given(spoken))


def _class_terms(sample: Sample) -> list[ClassTerms] | None:
    """What classes add to the value of each column; None where some column is no mean over classes."""
    if not isinstance(sample.statistic, OfMetric):
        return None
    metric, values = sample.statistic.metric, sample.point().tolist()
    terms = [
        class_terms(metric, statistics, value)
        for statistics, value in zip(sample.statistic.prepared_rows(sample.values), values, strict=True)
    ]
    every = [one for one in terms if one is not None]
    return every if len(every) == len(terms) else None


def _over_classes(
    sample: Sample, columns: list[ClassTerms], facts: MetricFacts, level: float, names: Sequence[str]
) -> Spread:
    """The intervals of a metric that is the mean of its classes."""
    owners, rows, sizes, methods, spoken = row_owners(sample), [], [], [], []
    for one, name in zip(columns, names, strict=True):
        macro, findings = macro_spread(
            one.terms, one.support, owners, facts, level=level, classes=_numbered(one), name=name
        )
        row = with_fixed(macro.every, one.fixed)
        spoken += [*findings, *_class_notes(macro, one, facts, name)]
        methods.append("none" if math.isnan(row.low) else LABEL + _scale(facts))
        sizes.append(_by_owner(owners, one.support, one.support.sum(axis=1, keepdims=True))[1][:, 0])
        rows.append((row.low, row.high, row.sd, row.df))
    low, high, sd, df = np.array(rows).T
    videos = np.full(len(columns), int(owners.max()) + 1)
    effective = effective_videos(np.stack(sizes, axis=1))
    return Spread(sample.point(), low, high, sd, df, videos, effective, tuple(methods), _given(spoken))


def _class_difference(sample: Sample, columns: list[ClassTerms], facts: MetricFacts, level: float) -> Difference | None:
    """The difference of two means over the same classes; None where the two models count different ones."""
    first, second = columns
    if not (np.array_equal(first.counted, second.counted) and np.array_equal(first.support, second.support)):
        return None
    owners, value = row_owners(sample), sample.point()
    macro, findings = macro_spread(
        lambda weights: first.terms(weights) - second.terms(weights),
        first.support,
        owners,
        facts,
        level=level,
        classes=_numbered(first),
        difference=True,
    )
    row, videos = with_fixed(macro.every, first.fixed - second.fixed), int(owners.max()) + 1
    sizes = np.bincount(owners, weights=first.support.sum(axis=1))
    p = _floored(p_value(macro, facts.high - facts.low), videos)
    spoken = _given([*findings, *_class_notes(macro, first, facts, None)])
    numbers = float(value[0] - value[1]), row.low, row.high, row.sd, row.df, videos, float(effective_videos(sizes))
    return Difference(*numbers, p, _floor(videos), "none" if math.isnan(row.low) else LABEL, spoken)


def _numbered(one: ClassTerms) -> list[str]:
    return [f"number {place + 1}" for place in range(one.support.shape[1])]


def _class_notes(macro: MacroInterval, one: ClassTerms, facts: MetricFacts, name: str | None) -> list[Finding | None]:
    repeated = macro.single and not math.isnan(macro.repeated.low)
    return [
        notice.repeated_classes(macro.repeated, where=name) if repeated else None,
        notice.classes_without_reference(len(one.fixed), int(one.counted.sum()), facts.worst, where=name),
    ]


def _weighted_difference(sample: Sample, width: float, level: float) -> Difference:
    value, (without, sizes) = sample.point(), _left_out(sample)
    sizes = sizes if sizes.ndim == 1 else sizes[:, 0]
    gap, gaps = value[:1] - value[1:2], without[:, :1] - without[:, 1:2]
    jackknifed = jackknife_interval(gap, gaps, sizes, level=level)
    apart, low, high, sd, df, videos, effective = (column.item() for column in jackknifed)
    spoken, none = _given(_on_videos(videos, df, low, None)), math.isnan(low)
    p = math.nan if none or not sd > 0 else 2.0 * float(stdtr(df, -abs(apart) / sd))
    numbers = apart, max(low, -width), min(high, width), sd, df, videos, effective
    return Difference(*numbers, _floored(p, videos), _floor(videos), "none" if none else "jackknife", spoken)


def _floor(videos: int) -> float:
    """The least p-value of a t test: below six videos that of the sign-flip test, which nothing may undercut."""
    return float(smallest_p(videos)) if videos < FEWEST_TESTED else math.nan


def _floored(p: float, videos: int) -> float:
    floor = _floor(videos)
    return p if math.isnan(p) or math.isnan(floor) else max(p, floor)


def _no_difference(sample: Sample) -> Difference:
    value, owners = sample.point(), row_owners(sample)
    sizes = np.bincount(owners).astype(np.float64)
    text = (
        "The difference of two pooled quantiles has no interval that holds; use estimand='videos', "
        "or ask for method='bootstrap'."
    )
    finding, apart, unknown = remark("no-method", text), float(value[0] - value[1]), math.nan
    spread = unknown, unknown, unknown, unknown
    videos, effective = len(sizes), float(effective_videos(sizes))
    return Difference(apart, *spread, videos, effective, unknown, unknown, "none", (finding,))


def _left_out(sample: Sample, cases: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """The values without each unit, `[unit, column]`, and the cases of each unit."""
    owners, without = row_owners(sample), values_without(sample)
    cases = pooled_cases(sample) if cases is None else cases
    if cases is None:
        return without, np.bincount(owners).astype(np.float64)
    table = cases.reshape(len(owners), -1).astype(np.float64)
    return without, np.broadcast_to(_by_owner(owners, table, table)[1], without.shape)


def _with_findings(
    jackknifed: Jackknifed, facts: MetricFacts, extra: Sequence[Sequence[Finding | None]], names: Sequence[str]
) -> Spread:
    spoken: list[Finding | None] = []
    for place, name in enumerate(names):
        value, low, _, _, df, videos, _ = (column[place].item() for column in jackknifed)
        spoken += _on_videos(videos, df, low if math.isfinite(value) else math.inf, name, *extra[place])
    method = tuple("none" if np.isnan(low) else "jackknife" + _scale(facts) for low in jackknifed.low)
    return Spread(*jackknifed, method, _given(spoken))


def _scale(facts: MetricFacts) -> str:
    """What a method is called beside the jackknife, by the range of the metric."""
    if half_line(facts):
        return ", log and Hall"
    return ", logit" if math.isfinite(facts.high - facts.low) else ""


def half_line(facts: MetricFacts) -> bool:
    """Whether a metric is bounded from below only, such as a distance."""
    return math.isfinite(facts.low) and math.isinf(facts.high)


def _on_videos(videos: int, df: float, low: float, name: str | None, *more: Finding | None) -> list[Finding | None]:
    """What is said of any jackknife: few videos, whatever else there is, and why enough of them give no interval."""
    silent = math.isnan(low) and videos >= FEWEST_VIDEOS
    return [
        notice.few_videos(videos, df, where=name),
        *more,
        notice.no_variation(where=name) if silent else None,
    ]


def _given(spoken: Sequence[Finding | None]) -> tuple[Finding, ...]:
    return tuple(finding for finding in spoken if finding is not None)
