"""The interval of one value from leaving out one video at a time, for as few as three videos.

Definition. Video v has `n_v` cases (`h_v = n_v / N`) and `theta_-v` is the value without it:

* `var = (V - 1) / V * sum (theta_-v - theta)^2`, about the value and not about the mean of the `theta_-v`
  (MacKinnon, Nielsen and Webb 2023, CV3);
* `df = trace(G)^2 / sum G_uv^2` with `G_uv = (n_u [u = v] - n_u n_v / N) / sqrt((1 - h_u)(1 - h_v))` (Bell and
  McCaffrey 2002), which is `1 / (sum h^2 + (sum g)^2 - sum g^2)` with `g = h^2 / (1 - h)`: V - 1 for equal videos,
  fewer when a few long videos carry the data;
* a metric on [a, b] gets its ends on the logit scale (Dean and Pagano 2015): with `m = (theta - a) / (b - a)`,
  `logit(m) -+ t sqrt(var) / ((b - a) m (1 - m))`;
* a metric on [a, inf) gets the two intervals of `skewed`, united; any other metric its own scale.

Where long videos score differently from short ones, a pooled value is pulled to one side by the few longest videos, and
an interval that is symmetric (on its scale) misses on that side: with 20 and 40 such videos it covered .89-.90, and
nearly all misses lay there. `pulled` adds the second-order term of Efron's accelerated intervals (1987, section 4):
with `e_v = theta - theta_-v` and `a = sum e^3 / (6 (sum e^2)^1.5)`, the end on the side of the sign of `a` moves out by
`|a| (1 + 2 t^2)` standard errors. The other end stays. (On [a, inf) Hall's ends already answer to that skewness.)

For equal videos this is Student's t on V - 1 degrees of freedom, seen on the logit scale. Where every video is at the
limit of the scale the other end is `(alpha / 2)^(1 / V_eff)` of it, because all V videos are perfect with a
probability of at most `m^V`. Where no variation is left anywhere else, or the value is infinite, there is no interval.

The decision a reader would question: no resamples. A percentile bootstrap covers .77-.92 with five to ten videos of
unequal length where this covers .95-.98; the degrees of freedom repair unequal lengths, the logit scale repairs skewed
scores.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit, stdtrit

from surgvalid.stats.intervals.interval_settings import check_level
from surgvalid.stats.intervals.skewed import half_line_ends, skewness
from surgvalid.stats.intervals.statistic import divided

FEWEST_VIDEOS = 3
"""With two videos an interval covers most of the scale and says nothing."""
_FLAT = 1e-12


class Jackknifed(NamedTuple):
    """Values with their intervals, one entry per column; NaN ends where the data carry none."""

    value: np.ndarray
    low: np.ndarray
    high: np.ndarray
    sd: np.ndarray
    df: np.ndarray
    videos: np.ndarray
    effective: np.ndarray
    """`N^2 / sum n_v^2`: how many equally long videos these are worth."""


@np.errstate(invalid="ignore")
def mean_interval(
    totals: np.ndarray,
    sizes: np.ndarray,
    *,
    level: float = 0.95,
    low: float = -math.inf,
    high: float = math.inf,
    pulled: np.ndarray | None = None,
) -> Jackknifed:
    """The interval of the mean of each column from the sums and numbers of cases of each video.

    Args:
        totals: `[video, column]`, the sum of the scores; for a mean over videos, the value of each video.
        sizes: `[video, column]` or `[video]`, the number of cases behind it (1 for a mean over videos); 0 where a
            video has none.
        level: Coverage asked for.
        low: Smallest value the metric can take.
        high: Largest value the metric can take.
        pulled: As for `jackknife_interval`.

    Example:
        >>> found = mean_interval(np.array([[8.0], [6.0], [9.0], [5.0]]), np.full(4, 10.0), low=0, high=1)
        >>> [round(float(end), 3) for end in (found.value[0], found.low[0], found.high[0], found.df[0])]
        [0.7, 0.369, 0.903, 3.0]
    """
    sizes = np.broadcast_to(sizes[:, None] if sizes.ndim == 1 else sizes, totals.shape)
    value = divided(totals.sum(axis=0), sizes.sum(axis=0))
    without = divided(totals.sum(axis=0) - totals, sizes.sum(axis=0) - sizes)
    without = np.where(sizes > 0, without, value)
    return jackknife_interval(value, without, sizes, level=level, low=low, high=high, pulled=pulled)


def jackknife_interval(
    value: np.ndarray,
    without: np.ndarray,
    sizes: np.ndarray,
    *,
    level: float = 0.95,
    low: float = -math.inf,
    high: float = math.inf,
    pulled: np.ndarray | None = None,
) -> Jackknifed:
    """The interval of any values, given the same values without each video.

    Args:
        value: `[column]`.
        without: `[video, column]`; NaN where the value is not defined without the video, which then tells nothing.
        sizes: `[video, column]` or `[video]`, cases of each video.
        level: Coverage asked for.
        low: Smallest value the metric can take.
        high: Largest value the metric can take.
        pulled: `[column]`, whether the end on the side of the most influential videos moves out; none where left out.
    """
    check_level(level)
    sizes = np.broadcast_to(sizes[:, None] if sizes.ndim == 1 else sizes, without.shape)
    videos = (sizes > 0).sum(axis=0)
    held = np.isfinite(without) & (sizes > 0) & np.isfinite(value)
    gaps = np.where(held, without - value, 0.0)
    sd = np.sqrt(divided((videos - 1.0) * (gaps**2).sum(axis=0), videos))
    df, effective = degrees_of_freedom(sizes), effective_videos(sizes)
    lean = 0.0 if pulled is None else np.where(pulled, acceleration(-gaps), 0.0)
    skew = skewness(-(videos - 1) * gaps, held)
    ends = interval_ends(
        value, sd, df, level=level, low=low, high=high, effective=effective, lean=lean, skew=skew, videos=videos
    )
    known = (videos >= FEWEST_VIDEOS) & np.isfinite(value)
    lower, upper = (np.where(known, end, np.nan) for end in ends)
    return Jackknifed(
        value, lower, upper, np.where((videos > 1) & np.isfinite(value), sd, np.nan), df, videos, effective
    )


def acceleration(influence: np.ndarray) -> np.ndarray:
    """A sixth of the skewness of what videos do to a value, along the first axis; 0 where nothing varies."""
    skewness = divided((influence**3).sum(axis=0), (influence**2).sum(axis=0) ** 1.5)
    return np.asarray(np.nan_to_num(skewness) / 6)


def interval_ends(
    value: np.ndarray,
    sd: np.ndarray,
    df: np.ndarray,
    *,
    level: float,
    low: float,
    high: float,
    effective: np.ndarray,
    lean: np.ndarray | float = 0.0,
    skew: np.ndarray | float = 0.0,
    videos: np.ndarray | int = 1,
) -> tuple[np.ndarray, np.ndarray]:
    """The ends of `value -+ t sd`: on the logit scale where the metric is bounded, by `skewed` where only from below.

    `lean` is the acceleration by which one end moves out: the lower one where it is negative. `skew` is that of what
    `videos` videos do to the value; only metrics on a half line ask for both.
    """
    t = stdtrit(np.maximum(df, 1e-3), (1 + level) / 2)
    below, above = (t + np.maximum(side * np.asarray(lean), 0.0) * (1 + 2 * t**2) for side in (-1, 1))
    flat = sd <= _FLAT * np.maximum(1.0, np.abs(value))
    plain = np.clip(value - below * sd, low, high), np.clip(value + above * sd, low, high)
    if math.isfinite(low) and math.isinf(high):
        ends = half_line_ends(value - low, sd, t, np.asarray(skew), np.asarray(videos))
        return np.where(flat, np.nan, low + ends[0]), np.where(flat, np.nan, low + ends[1])
    if not (math.isfinite(low) and math.isfinite(high)):
        return np.where(flat, np.nan, plain[0]), np.where(flat, np.nan, plain[1])
    width = high - low
    share = np.clip((value - low) / width, 0.0, 1.0)
    inside = (share > 0) & (share < 1)
    centre = np.where(inside, share, 0.5)
    step = sd / (width * centre * (1 - centre))
    lower, upper = low + width * expit(logit(centre) - below * step), low + width * expit(logit(centre) + above * step)
    beyond = ((1 - level) / 2) ** (1 / np.maximum(effective, 1.0))
    at_top, at_bottom = flat & (share >= 1 - _FLAT), flat & (share <= _FLAT)
    lower = np.select([at_top, at_bottom, flat, inside], [low + width * beyond, low, np.nan, lower], plain[0])
    upper = np.select([at_top, at_bottom, flat, inside], [high, high - width * beyond, np.nan, upper], plain[1])
    return lower, upper


def degrees_of_freedom(sizes: np.ndarray) -> np.ndarray:
    """Bell and McCaffrey's degrees of freedom of a mean over videos of these sizes, along the first axis.

    Example:
        >>> float(degrees_of_freedom(np.full(8, 20.0))), round(float(degrees_of_freedom(np.array([90.0, 5, 5]))), 3)
        (7.0, 1.111)
    """
    sizes = np.asarray(sizes, dtype=np.float64)
    share = divided(sizes, np.broadcast_to(sizes.sum(axis=0), sizes.shape))
    lever = divided(share**2, 1 - share)
    return divided(np.ones(()), (share**2).sum(axis=0) + lever.sum(axis=0) ** 2 - (lever**2).sum(axis=0))


def effective_videos(sizes: np.ndarray) -> np.ndarray:
    """How many equally long videos these are worth, along the first axis.

    Example:
        >>> float(effective_videos(np.array([30.0, 10.0, 10.0])))
        2.272727272727273
    """
    sizes = np.asarray(sizes, dtype=np.float64)
    return divided(sizes.sum(axis=0) ** 2, (sizes**2).sum(axis=0))
