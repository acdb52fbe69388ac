"""How far a verdict reaches: which units carry it, and which failures so few units may have hidden.

* The fewest units whose removal ends "better" are found by taking out those with the largest advantage one by one;
  that equals the search through all subsets in every claim simulated (1,200 with 8 to 12 units).
* From n units with f outright failures the rate of failures is at most the one-sided 95 % end of Clopper and Pearson
  (1934), `1 - .05^(1/n)` where none was seen.
* A unit fails outright where its value lies in the worst half of the way from the model's median to the bad end of the
  range (at that end, where cases are right or wrong); of a metric without such an end, where it lies farther than five
  times the median beyond the median.
* The chance that a claim is wrong needs a prior, which no data hold. `half-equal`: half of all pairs are equal, the
  others have a difference over SD from Cauchy(0, .7) (Rouder et al. 2009); given the t of V units, noncentral t with
  V - 1 degrees of freedom on 400 points of equal probability. It holds where that is so; where nine of ten pairs are
  equal, claims of .05 to .1 are wrong in .35 to .46.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.special import gammaincinv

from surgvalid.schema.metric_facts import MetricFacts
from surgvalid.stats.planning.closed_forms import videos_for_difference

MOST_NAMED = 3
"""Units up to which those that carry a verdict are named."""
PRIORS = ("half-equal",)
_SPREAD, _POINTS, _STEPS = 0.7, 400, 600
SIZE_CLASSES = ((20, "under 20"), (50, "20 to 50"), (100, "50 to 100"), (500, "100 to 500"))
_TIMES = 5
"""A distance is a failure where it lies so many medians beyond the median."""


def carrying(
    advantages: np.ndarray, holds: Callable[[np.ndarray], bool], *, most: int = MOST_NAMED
) -> list[int] | None:
    """The fewest units without which the verdict changes; None where more than `most` are needed.

    Args:
        advantages: What each unit adds to the difference; NaN where it adds nothing.
        holds: Whether the verdict is the same on the units that a mask keeps.
        most: How many are tried.
    """
    kept = np.isfinite(advantages)
    order = np.argsort(np.where(kept, -advantages, np.inf), kind="stable")[: min(most, int(kept.sum()) - 1)]
    for place, unit in enumerate(order.tolist(), 1):
        kept[unit] = False
        if not holds(kept):
            return [int(one) for one in order[:place]]
    return None


def failing(values: np.ndarray, facts: MetricFacts, *, right_or_wrong: bool = False) -> np.ndarray:
    """Which units fail outright; `values` are those of one model, NaN where it has none."""
    known = values[np.isfinite(values)]
    if not len(known):
        return np.zeros(len(values), dtype=bool)
    median, worst = float(np.median(known)), facts.worst
    with np.errstate(invalid="ignore"):
        if np.isfinite(worst):
            return np.asarray(np.abs(values - worst) <= (0.0 if right_or_wrong else abs(median - worst) / 2))
        return np.asarray(facts.sign * (median - values) > _TIMES * abs(median))


def size_class(effect: float, gaps: Sequence[float] | np.ndarray, *, alpha: float = 0.05) -> str:
    """Roughly how many units like these show an effect four times in five, as a class."""
    wanted = videos_for_difference(effect, float(np.nanvar(gaps, ddof=1)), alpha=alpha)
    return next((text for most, text in SIZE_CLASSES if wanted is not None and wanted <= most), "more than 500")


def chance_wrong(gaps: np.ndarray) -> float:
    """The chance that models are equal, or the other one is better, given the differences of units; 0 without spread.

    Example:
        >>> round(chance_wrong(np.array([3.0, 1.0, 2.0, 4.0, 1.0, 2.0, 3.0])), 3)
        0.037
    """
    units, spread = len(gaps), float(np.std(gaps, ddof=1))
    if not spread > 0:
        return 0.0
    t = abs(float(np.mean(gaps))) / spread * np.sqrt(units)
    effects = _SPREAD * np.tan(np.pi * ((np.arange(_POINTS) + 0.5) / _POINTS - 0.5))
    equal, *others = _t_density(t, units - 1, np.concatenate([[0.0], effects * np.sqrt(units)]))
    return float((equal + np.mean(np.where(effects < 0, others, 0.0))) / (equal + np.mean(others)))


def _t_density(t: float, df: int, shifts: np.ndarray) -> np.ndarray:
    """The density of noncentral t for each shift, up to a factor: the normal one averaged over the spread seen."""
    ends = np.sqrt(2 * gammaincinv(df / 2, [1e-14, 1 - 1e-14]) / df)
    s = np.linspace(ends[0], ends[1], _STEPS)
    logs = (df * np.log(s) - df * s**2 / 2)[:, None] - (t * s[:, None] - shifts) ** 2 / 2
    return np.asarray(np.exp(logs - logs.max()).sum(axis=0))
