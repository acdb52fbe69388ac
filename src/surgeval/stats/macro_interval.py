"""The interval of a mean over classes when some classes are rare: class by class, leaving out one video at a time.

Definition. The classes with a value in the full sample are fixed: a sample without a class is not a data set about that
class. `theta_k` is the value of class k, `L_vk` the same without video v (carried where the class is lost with it),
`J_vk = theta_k - L_vk`, `b_vk` the cases of class k in video v. Over the K2 classes that occur in two or more videos

* `var = (V - 1) / V * sum_v (sum_k J_vk)^2 / K2^2`,
* `df = (sum u_k)^2 / sum_k (u_k^2 / max(m_k - 1, 1))` within [1, V - 1], with `u_k = (V - 1) / V * sum_v J_vk^2` and
  `m_k = (sum_v b_vk)^2 / sum_v b_vk^2` (Satterthwaite 1946, Welch 1947),

and the ends stand on the logit scale as in `video_jackknife`; differences of two models on their own scale. One class
alone is a plain value and gets the interval of `video_jackknife`.

A class in a single video has a spread that these data cannot show. It may be anything on the scale: the interval is
widened by that, and a second one speaks of the K2 other classes alone. Where more than a fifth of the classes are
such, only the second one is given. Buckets or strata in the place of classes work the same.

The decision a reader would question: nothing is smoothed. Weights that never lose a class (Bayesian bootstrap,
stratified resamples) make a class of one or two videos look certain; deleting a video shows that it is not.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from surgeval.stats.intervals import check_level
from surgeval.stats.video_jackknife import (
    FEWEST_VIDEOS,
    degrees_of_freedom,
    effective_videos,
    interval_ends,
)

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
    if bounded:
        ends = interval_ends(
            np.array([mean]), np.array([sd]), np.array([df]), level=level, low=low, high=high, effective=np.ones(1)
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
