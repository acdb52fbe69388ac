"""The interval of a mean over classes when some classes are rare: class by class, leaving out one video at a time.

Definition. The classes with a value in the full sample are fixed: a sample without a class is not a data set about that
class. `theta_k` is the value of class k, `L_vk` the same without video v (carried where the class is lost with it),
`J_vk = theta_k - L_vk`, `b_vk` the cases of class k in video v. Over the K2 classes that occur in two or more videos

* `var = (V - 1) / V * sum_v (sum_k J_vk)^2 / K2^2`,
* `df = (sum u_k)^2 / sum_k (u_k^2 / max(m_k - 1, 1))` within [1, V - 1], with `u_k = (V - 1) / V * sum_v J_vk^2` and
  `m_k = (sum_v b_vk)^2 / sum_v b_vk^2` (Satterthwaite 1946, Welch 1947),

and the ends stand on the scale that `video_jackknife` takes for the metric, differences of two models on their own. One
class alone is a plain value and gets the interval of `video_jackknife`.

A class in a single video has a spread that these data cannot show. It may be anything on the scale: the interval is
widened by that, and a second one speaks of the K2 other classes alone. Where more than a fifth of the classes are
such, only the second one is given. Buckets or strata in the place of classes work the same.

A mean over classes is made of what each class adds: its value, or what a rule says for a class without one (0 where
undefined classes count, nothing where they are left out). Which classes count, and what a class adds that no reference
here has, is fixed by the full sample and never by a weighting. A class that still has references and lost its value,
such as the precision of a class that is then predicted nowhere, adds what the rule says; classes without any reference
do not widen the interval, since how well they would be found cannot be learned here, and a finding says so.

The decision a reader would question: nothing is smoothed. Weights that never lose a class (Bayesian bootstrap,
stratified resamples) make a class of one or two videos look certain; deleting a video shows that it is not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from scipy.special import stdtr, stdtrit

from surgvalid.schema.findings import Finding
from surgvalid.schema.metric_facts import MetricFacts
from surgvalid.stats.intervals import few_videos as notice
from surgvalid.stats.intervals.interval_settings import check_level
from surgvalid.stats.intervals.replicates import BLOCK_CELLS
from surgvalid.stats.intervals.skewed import skewness
from surgvalid.stats.intervals.video_jackknife import (
    FEWEST_VIDEOS,
    degrees_of_freedom,
    effective_videos,
    interval_ends,
)

LABEL = "jackknife by class"


@runtime_checkable
class ClassWise(Protocol):
    """A metric that may be the mean of the values of its classes."""

    def class_values(self, statistics: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """`[weighting, class]`."""

    def class_support(self, statistics: np.ndarray) -> np.ndarray:
        """`[row, class]`: reference cases of each class behind each row."""


@runtime_checkable
class CountsClasses(ClassWise, Protocol):
    """One with a rule for classes that have no value."""

    def class_terms(self, statistics: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """`[weighting, class]`: what each class adds to the mean; NaN for one that is left out."""


class ClassTerms(NamedTuple):
    """What the classes of one model add to its mean."""

    terms: Callable[[np.ndarray], np.ndarray]
    """`weights[weighting, row]` to `[weighting, class]`; NaN for classes that a weighting lacks or that are fixed."""
    fixed: np.ndarray
    """What classes without any reference add."""
    support: np.ndarray
    """`[row, class]`."""
    counted: np.ndarray
    """Which classes count, `[class]`."""


def class_terms(metric: object, statistics: np.ndarray, value: float, *, fewest: int = 2) -> ClassTerms | None:
    """What the classes of a metric add to its value; None where it is no plain mean over `fewest` or more classes."""
    if not isinstance(metric, ClassWise):
        return None
    added = metric.class_terms if isinstance(metric, CountsClasses) else metric.class_values
    support = np.asarray(metric.class_support(statistics), dtype=np.float64)
    whole = np.asarray(added(statistics, np.ones((1, len(support)), dtype=np.int64))[0])
    counted, present = np.isfinite(whole), support.sum(axis=0) > 0
    if counted.sum() < fewest or not math.isclose(float(whole[counted].mean()), value, rel_tol=1e-9, abs_tol=1e-12):
        return None

    def terms(weights: np.ndarray) -> np.ndarray:
        kept = (weights @ support > 0) & counted & present
        return np.where(kept, added(statistics, weights), np.nan)

    return ClassTerms(terms, whole[counted & ~present], support, counted)


def macro_spread(
    class_values: Callable[[np.ndarray], np.ndarray],
    support: np.ndarray,
    owners: np.ndarray,
    facts: MetricFacts,
    *,
    level: float,
    classes: Sequence[str],
    name: str | None = None,
    what: str = "classes",
    difference: bool = False,
) -> tuple[MacroInterval, tuple[Finding, ...]]:
    """The interval of a mean over classes, and what must be said about it.

    Args:
        class_values: `weights[weighting, case]` to `[weighting, class]`; NaN for a class that a weighting lacks.
        support: `[case, class]`, reference cases of each class.
        owners: The video of each case, by number.
        facts: Range of a class value.
        level: Coverage asked for.
        classes: Names of the classes.
        name: What is measured, for the findings.
        what: What the classes are, in words.
        difference: Whether `class_values` are differences of two models.
    """
    videos = int(owners.max()) + 1
    by_video = np.zeros((videos, support.shape[1]))
    np.add.at(by_video, owners, support)
    values = class_values(np.ones((1, len(owners)), dtype=np.int64))[0]
    without = in_blocks(class_values, owners, support.shape[1])
    if difference:
        macro = macro_difference_interval(values, without, by_video, level=level, width=facts.high - facts.low)
    else:
        macro = macro_interval(values, without, by_video, level=level, low=facts.low, high=facts.high)
    refused = math.isnan(macro.every.low) and not math.isnan(macro.repeated.low)
    single = [classes[place] for place in macro.single]
    spoken = [
        notice.few_videos(videos, macro.every.df, where=name),
        notice.single_video_classes(single, macro.every.classes, refused=refused, what=what, where=name),
    ]
    if _silent(macro.repeated, videos):
        spoken.append(notice.no_variation(where=name))
    return macro, tuple(one for one in spoken if one is not None)


def with_fixed(row: MacroRow, fixed: np.ndarray) -> MacroRow:
    """The mean over further classes that add the same whatever the videos."""
    number = row.classes + len(fixed)
    share, shift = row.classes / number, float(fixed.sum()) / number
    value, low, high = (share * one + shift for one in (row.value, row.low, row.high))
    return MacroRow(value, low, high, share * row.sd, row.df, number)


def p_value(macro: MacroInterval, width: float) -> float:
    """Two-sided p-value of a difference: the largest level at which its interval touches 0.

    Classes in one video only may lie anywhere, so they take their widest difference off the evidence of the others.
    """
    row, single = macro.repeated, len(macro.single)
    if math.isnan(macro.every.low) or not row.sd > 0:
        return math.nan
    beyond = abs(row.value) - (single * width / row.classes if single else 0.0)
    return 2.0 * float(stdtr(row.df, -beyond / row.sd)) if beyond > 0 else 1.0


def in_blocks(values: Callable[[np.ndarray], np.ndarray], owners: np.ndarray, width: int) -> np.ndarray:
    """Values under the weightings that leave out one unit each, some units at a time."""
    units = int(owners.max()) + 1
    out = np.empty((units, width))
    step = max(1, BLOCK_CELLS // max(1, len(owners)))
    for start in range(0, units, step):
        chosen = np.arange(start, min(start + step, units))
        out[chosen] = values((owners[None, :] != chosen[:, None]).astype(np.int64))
    return out


def _silent(row: MacroRow, videos: int) -> bool:
    """Whether classes in two or more videos leave no interval for want of variation."""
    return videos >= FEWEST_VIDEOS and row.classes > 0 and math.isnan(row.low)


MOST_SINGLE = 0.2
"""Share of single-video classes beyond which no interval over all classes is given."""


class MacroRow(NamedTuple):
    """A mean over some classes with its interval; NaN ends where the data carry none."""

    value: float
    low: float
    high: float
    sd: float
    df: float
    classes: int


class MacroInterval(NamedTuple):
    """The mean over all classes, and over those that occur in two or more videos."""

    every: MacroRow
    repeated: MacroRow
    single: tuple[int, ...]
    """The classes that occur in one video only, by number."""
    videos: int


def macro_interval(
    values: np.ndarray,
    without: np.ndarray,
    support: np.ndarray,
    *,
    level: float = 0.95,
    low: float = 0.0,
    high: float = 1.0,
) -> MacroInterval:
    """The interval of the mean over classes.

    Args:
        values: The value of each class, NaN where it has none in the full sample.
        without: `[video, class]`, the same without each video; NaN where the class is lost.
        support: `[video, class]`, the cases of each class in each video.
        level: Coverage asked for.
        low: Smallest value a class can take.
        high: Largest value a class can take.
    """
    return _macro(values, without, support, level, low, high, bounded=math.isfinite(low) and math.isfinite(high))


def macro_difference_interval(
    values: np.ndarray,
    without: np.ndarray,
    support: np.ndarray,
    *,
    level: float = 0.95,
    width: float = 1.0,
) -> MacroInterval:
    """The interval of the difference of two models; `values` and `without` are differences of class values.

    Args:
        values: First minus second model, each class.
        without: The same without each video.
        support: As for `macro_interval`.
        level: Coverage asked for.
        width: Largest difference a class can show.
    """
    return _macro(values, without, support, level, -width, width, bounded=False)


def _macro(
    values: np.ndarray,
    without: np.ndarray,
    support: np.ndarray,
    level: float,
    low: float,
    high: float,
    *,
    bounded: bool,
) -> MacroInterval:
    check_level(level)
    held = np.isfinite(values)
    present = (support > 0).sum(axis=0)
    repeated, single = np.flatnonzero(held & (present >= 2)), np.flatnonzero(held & (present == 1))
    lost = np.flatnonzero(held & (present == 0))
    row = _row(values[repeated], without[:, repeated], support[:, repeated], level, low, high, bounded)
    number = int(held.sum())
    mean = float(values[held].mean()) if number else math.nan
    every = _widened(row, mean, len(single) + len(lost), number, low, high)
    return MacroInterval(every, row, (*single.tolist(), *lost.tolist()), len(without))


def _row(
    values: np.ndarray,
    without: np.ndarray,
    support: np.ndarray,
    level: float,
    low: float,
    high: float,
    bounded: bool,
) -> MacroRow:
    videos, classes = len(without), len(values)
    if videos < FEWEST_VIDEOS or not classes:
        value = float(values.mean()) if classes else math.nan
        return MacroRow(value, math.nan, math.nan, math.nan, math.nan, classes)
    mean = float(values.mean())
    gaps = np.where(np.isfinite(without), values - without, 0.0)
    factor = (videos - 1) / videos
    sd = math.sqrt(factor * float((gaps.sum(axis=1) ** 2).sum())) / classes
    df = _freedom(factor * (gaps**2).sum(axis=0), support, videos)
    if sd <= 1e-12 * max(1.0, abs(mean)):
        return MacroRow(mean, *_flat_ends(values, support, level, low, high, bounded), 0.0, df, classes)
    if bounded or (math.isfinite(low) and math.isinf(high)):
        pulls = (videos - 1) * gaps.sum(axis=1, keepdims=True)
        ends = interval_ends(
            *(np.array([number]) for number in (mean, sd, df)),
            level=level,
            low=low,
            high=high,
            effective=np.ones(1),
            skew=skewness(pulls, np.ones_like(pulls, dtype=bool)),
            videos=videos,
        )
        return MacroRow(mean, float(ends[0][0]), float(ends[1][0]), sd, df, classes)
    reach = float(stdtrit(df, (1 + level) / 2)) * sd
    return MacroRow(mean, max(low, mean - reach), min(high, mean + reach), sd, df, classes)


def _freedom(spread: np.ndarray, support: np.ndarray, videos: int) -> float:
    """Welch's degrees of freedom of a sum over classes; Bell and McCaffrey's for one class."""
    if support.shape[1] == 1:
        return float(degrees_of_freedom(support)[0])
    if not spread.any():
        return float(videos - 1)
    weight = spread**2 / np.maximum(effective_videos(support) - 1, 1.0)
    return float(np.clip(spread.sum() ** 2 / weight.sum(), 1.0, videos - 1.0))


def _flat_ends(
    values: np.ndarray, support: np.ndarray, level: float, low: float, high: float, bounded: bool
) -> tuple[float, float]:
    """The ends where nothing varies: classes at the limit of the scale leave room, a fixed mix of limits does not.

    All classes perfect in every video happens with a probability of at most `m^V` for each class, as in
    `video_jackknife`. Classes at opposite limits are what a constant answer gives, whatever the videos.
    """
    if not bounded:
        return math.nan, math.nan
    top, bottom = np.isclose(values, high, rtol=0, atol=1e-12), np.isclose(values, low, rtol=0, atol=1e-12)
    room = (high - low) * (1 - ((1 - level) / 2) ** (1 / effective_videos(support)))
    if top.all():
        return float((high - room).mean()), high
    if bottom.all():
        return low, float((low + room).mean())
    if (top | bottom).all():
        return float(values.mean()), float(values.mean())
    return math.nan, math.nan


def _widened(row: MacroRow, mean: float, single: int, number: int, low: float, high: float) -> MacroRow:
    if not single:
        return row
    if single > MOST_SINGLE * number:
        return MacroRow(mean, math.nan, math.nan, math.nan, math.nan, number)
    share = row.classes / number
    ends = share * row.low + single * low / number, share * row.high + single * high / number
    return MacroRow(mean, *ends, row.sd * share, row.df, number)
