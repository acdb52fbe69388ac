"""Means of metrics that are bounded on one side only (distances, seconds): intervals for skewed values, and the median.

Definition. Of V units with mean m, standard error se and skewness g (adjusted Fisher-Pearson, of the jackknife's
pseudo-values `V m - (V - 1) m_-v`), and t the quantile of Student's t with the jackknife's degrees of freedom:

    log:   m exp(-+ t se / m)
    Hall:  a = g / (6 sqrt V),  f(z) = (cbrt(1 + 6 a (z - a)) - 1) / (2 a),  ends m - se f(t) and m - se f(-t)

(P. Hall, "On the removal of skewness by transformation", JRSS B 1992; the log scale is the delta method.) The interval
runs from the lower of both low ends to the higher of both high ends, and not below the bound.

The decision a reader would question: two intervals are united, because neither holds by itself (log .90 on inverse
Gaussian, Hall .91 on log-normal values with 5 to 10 units; together .93 and more, 1.1 to 1.7 times as wide as plain t,
which covers .85-.93). Where 8 % of the units lie ten times as far, nothing of use covers the mean with fewer than 40
units: that is what the median beside it and the finding about a single unit are for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import bdtr, betaincinv

from surgvalid.schema.findings import Finding
from surgvalid.schema.statistic_rules import remark

FEWEST_FOR_MEDIAN = 6
"""Fewer units give no 95 % interval of a median."""
LARGEST_SHARE = 0.4
"""Of the sum of all units, beyond which one unit is named."""
FAR_OFF = 5.0
"""Medians away from the median that make a unit an outright failure."""
_STRAIGHT = 1e-6


class MedianInterval(NamedTuple):
    """The median over units between two order statistics; NaN ends below `FEWEST_FOR_MEDIAN` units."""

    median: float
    low: float
    high: float


def skewness(pseudo: np.ndarray, held: np.ndarray) -> np.ndarray:
    """Adjusted Fisher-Pearson skewness of the values that are `held`, along the first axis; 0 where nothing varies."""
    count = held.sum(axis=0).astype(np.float64)
    mean = np.where(held, pseudo, 0.0).sum(axis=0) / np.maximum(count, 1)
    gaps = np.where(held, pseudo - mean, 0.0)
    sd = np.sqrt((gaps**2).sum(axis=0) / np.maximum(count - 1, 1))
    known = (count > 2) & (sd > 0)
    third = (gaps**3).sum(axis=0) / np.where(known, sd, 1.0) ** 3
    return np.asarray(np.where(known, third * count / np.maximum((count - 1) * (count - 2), 1), 0.0))


def half_line_ends(
    value: np.ndarray, sd: np.ndarray, t: np.ndarray, skew: np.ndarray, units: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Both ends of means of values that cannot be negative.

    Args:
        value: Means, at least 0.
        sd: Their standard errors.
        t: Quantile of Student's t.
        skew: Of the units behind each mean.
        units: How many these are.

    Example:
        >>> found = half_line_ends(*(np.array([x]) for x in (4.0, 1.0, 2.262, 1.5, 10.0)))
        >>> [round(end.item(), 2) for end in found]
        [2.27, 13.36]
    """
    above = value > 0
    scale = np.where(above, value, 1.0)
    step = np.minimum(t * sd / scale, 700.0)
    log = np.where(above, scale * np.exp(-step), 0.0), np.where(above, scale * np.exp(step), value + t * sd)
    a = skew / (6 * np.sqrt(units))
    straight = np.abs(a) < _STRAIGHT
    divisor = np.where(straight, 1.0, a)
    hall = [value - sd * np.where(straight, z, (np.cbrt(1 + 6 * a * (z - a)) - 1) / (2 * divisor)) for z in (t, -t)]
    return np.maximum(np.minimum(log[0], hall[0]), 0.0), np.maximum(log[1], hall[1])


def median_interval(values: np.ndarray, *, level: float = 0.95) -> MedianInterval:
    """The median over units between the order statistics k and V + 1 - k, with the largest k that holds the level.

    Exact for independent units of any distribution: the median lies outside with a probability of at most
    `2 P(Binomial(V, 1/2) < k)` (W. R. Thompson 1936).

    Example:
        >>> median_interval(np.array([2.0, 3.0, 4.0, 5.0, 9.0, 40.0]))
        MedianInterval(median=4.5, low=2.0, high=40.0)
    """
    ordered = np.sort(values[np.isfinite(values)])
    count = len(ordered)
    if not count:
        return MedianInterval(math.nan, math.nan, math.nan)
    outside = 2 * bdtr(np.arange(count), count, 0.5)
    k = int((outside <= (1 - level) * (1 + 1e-12)).sum())
    if not k or count < FEWEST_FOR_MEDIAN:
        return MedianInterval(float(np.median(ordered)), math.nan, math.nan)
    return MedianInterval(float(np.median(ordered)), float(ordered[k - 1]), float(ordered[-k]))


def unseen_rate(units: int, failures: int = 0) -> float:
    """The largest failure rate that goes with so many in so many units (Clopper and Pearson 1934, one-sided, 95 %).

    Example:
        >>> [round(unseen_rate(units), 3) for units in (6, 12, 40)]
        [0.393, 0.221, 0.072]
    """
    return 1.0 if failures >= units else float(betaincinv(failures + 1, units - failures, 0.95))


def unit_findings(totals: np.ndarray, sizes: np.ndarray, labels: Sequence[str], *, where: str) -> list[Finding]:
    """What is said beside every mean of an unbounded metric: a unit that carries it, and failures that none shows.

    Args:
        totals: The sum of the scores of each unit.
        sizes: Cases behind each sum.
        labels: Names of the units.
        where: What the value is of.
    """
    held = np.flatnonzero(sizes > 0)
    values, whole = totals[held] / sizes[held], float(totals[held].sum())
    if len(held) < 3 or not whole > 0:
        return []
    middle, largest = float(np.median(values)), int(held[np.argmax(totals[held])])
    share, failures = float(totals[largest]) / whole, int((np.abs(values - middle) > FAR_OFF * middle).sum())
    rate, out = f"{100 * unseen_rate(len(held), failures):.2g} %", []
    if share > LARGEST_SHARE:
        text = f"{labels[largest]} alone makes up {100 * share:.0f} % of the mean; the median is {middle:.3g}."
        out.append(remark("one-unit-carries", text, where=where))
    text = f"An outright failure in up to {rate} of videos could have gone unseen in the {len(held)} with scores"
    if failures:
        text = f"{failures} of {len(held)} videos failed outright, and up to {rate} may"
    out.append(remark("unseen-failures", f"{text}; no interval knows of what no video shows.", where=where))
    return out
