"""Studies drawn from a spread and put through the tests and intervals of this package: does a plan hold?

Scores are drawn as they are: 0/1 scores beta-binomial, differences of 0/1 scores
with their share of disagreements, other bounded scores as beta means, everything else normal. The numbers go through
`flip_p` and `mean_interval`, the same code that will judge the real study.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import erfc

from surgvalid.stats.comparing.paired_tests import flip_p, smallest_p, studentised_z
from surgvalid.stats.intervals.video_jackknife import mean_interval
from surgvalid.stats.planning.spread import Spread

_SURE = ((0.01, 2.0), (0.0, 8.0))
"""From which level on, a normal p-value so many times away from it needs no exact one."""
_FEW = 12
"""Up to so many videos every p-value is counted."""
_CELLS = 4_000_000


class Design(NamedTuple):
    """What is drawn."""

    spread: Spread
    videos: int
    questions: float
    value: float
    """The true value, or the true difference."""
    zero_one: bool = False
    """Whether single scores are 0 or 1."""
    low: float = -math.inf
    high: float = math.inf


def difference_found(design: Design, studies: int, rng: np.random.Generator, *, alpha: float = 0.05) -> float:
    """The share of drawn studies in which the sign-flip test finds the difference on its own side."""
    hits = 0
    for count in _blocks(design.videos, studies):
        totals, _ = differences(design, count, rng)
        sums = totals.sum(axis=0)
        hits += int((is_found(totals, alpha) & (np.sign(sums) == np.sign(design.value))).sum())
    return hits / studies


def is_found(totals: np.ndarray, alpha: float) -> np.ndarray:
    """Whether the exact sign-flip test rejects at the level, for each column of `totals[video, study]`."""
    rough = erfc(np.abs(studentised_z(totals.sum(axis=0), (totals**2).sum(axis=0))) / math.sqrt(2))
    rejected = rough <= alpha
    sure = next(factor for least, factor in _SURE if alpha >= least)
    near = (rough < alpha * sure) & (rough > alpha / sure) | (len(totals) <= _FEW)
    if near.any():
        rejected[near] = flip_p(totals[:, near], refined=(alpha / 1.2, alpha * 1.2)) <= alpha * (1 + 1e-12)
    return np.asarray(rejected & (smallest_p((totals != 0).sum(axis=0)) <= alpha * (1 + 1e-12)))


def widths(design: Design, studies: int, rng: np.random.Generator, *, level: float = 0.95) -> np.ndarray:
    """The widths of the intervals of the value in drawn studies; NaN where a study has none."""
    made = []
    for count in _blocks(design.videos, studies):
        totals, sizes = values(design, count, rng)
        around = mean_interval(totals, sizes, level=level, low=design.low, high=design.high)
        made.append(around.high - around.low)
    return np.concatenate(made)


def values(design: Design, studies: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Sums of scores and numbers of questions, `[video, study]` each."""
    sizes = _sizes(design, studies, rng)
    between, within = design.spread.between_cases, float(design.spread.within[0])
    bounded = math.isfinite(design.low) and math.isfinite(design.high)
    span = design.high - design.low
    share = (design.value - design.low) / span if bounded else 0.5
    if design.zero_one and 0 < share < 1:
        chances = _beta(share, between, sizes.shape, rng)
        return rng.binomial(sizes.astype(np.int64), chances).astype(np.float64), sizes
    variance = between + within / sizes
    if bounded and 0 < share < 1:
        return sizes * (design.low + span * _beta(share, variance / span**2, sizes.shape, rng)), sizes
    return sizes * (design.value + np.sqrt(variance) * rng.standard_normal(sizes.shape)), sizes


def differences(design: Design, studies: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Sums of paired differences and numbers of questions, `[video, study]` each."""
    sizes = _sizes(design, studies, rng)
    between, within = design.spread.between_cases, float(design.spread.within[0])
    apart = within + between + design.value**2
    if design.zero_one and abs(design.value) < apart <= 1:
        won = _beta((1 + design.value / apart) / 2, between / (4 * apart**2), sizes.shape, rng)
        differing = rng.binomial(sizes.astype(np.int64), apart)
        return 2.0 * rng.binomial(differing, won) - differing, sizes
    variance = between + within / sizes
    return sizes * (design.value + np.sqrt(variance) * rng.standard_normal(sizes.shape)), sizes


def _sizes(design: Design, studies: int, rng: np.random.Generator) -> np.ndarray:
    mix = np.asarray(design.spread.mix)
    drawn = rng.choice(mix, (design.videos, studies)) if len(mix) > 1 else np.ones((design.videos, studies))
    return np.maximum(np.rint(drawn * design.questions), 1.0)


def _beta(mean: float, variance: np.ndarray | float, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Beta numbers of that mean and variance; constants where the variance is 0, two points where it is too large."""
    room = mean * (1 - mean)
    size = np.maximum(room / np.clip(variance, 1e-12, room * (1 - 1e-6)) - 1, 1e-6)
    return rng.beta(mean * size, (1 - mean) * size, shape)


def _blocks(videos: int, studies: int) -> list[int]:
    step = max(1, min(studies, _CELLS // max(videos, 1)))
    return [min(step, studies - start) for start in range(0, studies, step)]
