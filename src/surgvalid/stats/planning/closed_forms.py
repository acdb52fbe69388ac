"""What a study of so many videos can show, and how many videos it takes, in closed form.

Definition. A video is the unit. The value of a study is the mean over V videos; its variance is `u / V`, where u, the
variance of one video's share in it, is `between + within / n` with n questions per video (Kish 1965, two-stage means).
Its standard error has `df` degrees of freedom (V - 1 for equal videos). Then

* a difference D is found (two-sided level alpha, on its own side) with the chance `P(T' > t[1 - alpha/2])`, T'
  noncentral t with noncentrality `D / sqrt(u / V)`: the power of the paired t-test (R's `power.t.test`), which the
  exact sign-flip test reaches from about ten videos on. Below the number of videos that lets the sign-flip test pass
  its level at all the chance is 0;
* an interval is no wider than w with the chance `P(chi2[df] <= df (s_w / s)^2)`, `s_w` the standard error that gives
  the width w (Kelley and Maxwell 2003, "assurance"); on the logit scale for bounded metrics, as `interval` has it.

The decision a reader would question: every answer is the number of videos at which the *chance* of reaching the goal
is at least the one asked for, also for widths. Planning for the expected width alone fails in every second study.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.special import bdtr, chdtr, nctdtr, stdtrit

from surgvalid.stats.intervals.sign_flip_interval import videos_needed
from surgvalid.stats.intervals.video_jackknife import FEWEST_VIDEOS

MOST_VIDEOS = 1_000_000
"""Beyond so many videos no number is named."""


def difference_chance(
    difference: np.ndarray | float,
    variance: np.ndarray | float,
    videos: np.ndarray | float,
    *,
    freedom: float = 1.0,
    alpha: float = 0.05,
    tests: int = 1,
) -> np.ndarray:
    """The chance that a true difference is found on its own side by a two-sided test.

    Args:
        difference: The true one.
        variance: u: of one video's share, so that the difference of V videos has the variance `u / V`.
        videos: V.
        freedom: Degrees of freedom per video: `freedom * V - 1` in all; 1 for videos of equal length.
        alpha: Level of all tests together.
        tests: How many comparisons share the level (Bonferroni, the first step of Holm).

    Example:
        >>> round(float(difference_chance(0.5, 1.0, 34)), 4)
        0.8078
    """
    videos = np.asarray(videos, dtype=np.float64)
    df = np.maximum(freedom * videos - 1, 1e-3)
    shift = np.abs(difference) / np.sqrt(np.maximum(variance, 1e-300) / videos)
    edge = stdtrit(df, 1 - alpha / tests / 2)
    with np.errstate(all="ignore"):
        below = nctdtr(df, np.minimum(shift, 1e3), edge)  # beyond that the chance is 1 to the last digit
    chance = np.where(np.isfinite(below), 1 - below, np.where(shift > edge, 1.0, 0.0))
    return np.where(videos >= videos_needed(tests, alpha=alpha), np.clip(chance, 0.0, 1.0), 0.0)


def width_chance(
    width: float,
    value: np.ndarray | float,
    variance: np.ndarray | float,
    videos: np.ndarray | float,
    *,
    freedom: float = 1.0,
    level: float = 0.95,
    low: float = -math.inf,
    high: float = math.inf,
) -> np.ndarray:
    """The chance that the interval of a value is no wider than `width`.

    Args:
        width: From end to end, in the unit of the metric.
        value: The true value; plays a role on the logit scale of bounded metrics only.
        variance: As for `difference_chance`.
        videos: V.
        freedom: As for `difference_chance`.
        level: Coverage of the interval.
        low: Smallest value the metric can have.
        high: Largest one.
    """
    videos = np.asarray(videos, dtype=np.float64)
    df = np.maximum(freedom * videos - 1, 1e-3)
    bearable = width_error(width, value, df, level=level, low=low, high=high)
    chance = chdtr(df, df * bearable**2 / np.maximum(np.asarray(variance) / videos, 1e-300))
    return np.where(videos >= FEWEST_VIDEOS, chance, 0.0)


def width_error(
    width: float,
    value: np.ndarray | float,
    df: np.ndarray | float,
    *,
    level: float,
    low: float = -math.inf,
    high: float = math.inf,
) -> np.ndarray:
    """The standard error at which an interval has exactly that width; infinite where no interval can be wider.

    On the logit scale an interval around the share m with the half-width w has the width
    `q sinh(w) / (1 - q + q cosh(w))` with `q = 2 m (1 - m)`: a quadratic equation in `exp(w)`.
    """
    t = stdtrit(df, (1 + level) / 2)
    if not (math.isfinite(low) and math.isfinite(high)):
        return np.asarray(width / (2 * t))
    span = high - low
    if width >= span:
        return np.full(np.broadcast(value, t).shape, np.inf)
    share, wanted = np.clip((np.asarray(value) - low) / span, 1e-6, 1 - 1e-6), width / span
    q = 2 * share * (1 - share)
    root = np.sqrt((wanted * (1 - q)) ** 2 + q**2 * (1 - wanted**2))
    return np.asarray(span * share * (1 - share) * np.log((wanted * (1 - q) + root) / (q * (1 - wanted))) / t)


def expected_width(
    error: np.ndarray | float,
    value: np.ndarray | float,
    df: np.ndarray | float,
    *,
    level: float,
    low: float = -math.inf,
    high: float = math.inf,
) -> np.ndarray:
    """The width of the interval of a value with that standard error: the inverse of `width_error`."""
    t = stdtrit(df, (1 + level) / 2)
    if not (math.isfinite(low) and math.isfinite(high)):
        return np.asarray(2 * t * error)
    span = high - low
    share = np.clip((np.asarray(value) - low) / span, 1e-6, 1 - 1e-6)
    q, w = 2 * share * (1 - share), np.minimum(t * np.asarray(error) / (span * share * (1 - share)), 700.0)
    return np.asarray(span * q * np.sinh(w) / (1 - q + q * np.cosh(w)))


def fewest_videos(chance: Callable[[int], float], wanted: float, *, least: int = FEWEST_VIDEOS) -> int | None:
    """The smallest number of videos whose chance is at least the wanted one; None beyond `MOST_VIDEOS`.

    Args:
        chance: Of a number of videos; rises with it.
        wanted: Between 0 and 1.
        least: Where the search begins.
    """
    if chance(least) >= wanted:
        return least
    low, high = least, 2 * least
    while chance(high) < wanted:
        low, high = high, 2 * high
        if low > MOST_VIDEOS:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if chance(middle) >= wanted else (middle, high)
    return high


def videos_for_difference(
    difference: float,
    variance: float,
    *,
    alpha: float = 0.05,
    power: float = 0.8,
) -> int | None:
    """The fewest videos that show a difference with that power; None where no number does. Arguments as above.

    Example:
        >>> videos_for_difference(0.5, 1.0)
        34
    """
    if not difference or not math.isfinite(variance):
        return None
    least = videos_needed(1, alpha=alpha)
    return fewest_videos(lambda v: float(difference_chance(difference, variance, v, alpha=alpha)), power, least=least)


def total_for(held: int, share: float, certainty: float) -> int | None:
    """How many videos must be collected so that enough of them hold a subgroup.

    Args:
        held: How many must hold it.
        share: Of all videos that hold it.
        certainty: The chance that the number suffices.

    Example:
        >>> total_for(10, 0.5, 0.8), total_for(10, 1.0, 0.8)
        (24, 10)
    """
    if share <= 0:
        return None
    return fewest_videos(lambda total: float(1 - bdtr(held - 1, total, share)), certainty, least=held)
