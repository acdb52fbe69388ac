"""The two-stage bootstrap of a mean of video means without random numbers.

One drawn video contributes the mean of `n_v` rows drawn from it, divided by the number of videos `V`.
Its characteristic function is the average over videos of `(sum_k s_vk exp(i t x_k / (n_v V)))**n_v`,
where `s_vk` is the share of rows of video `v` with score `x_k`: a binomial for 0/1 scores, a trinomial
for the difference of two models. `V` independent draws raise it to the power `V`, and a Fourier series
over a stretch of standard deviations turns it into the distribution that infinitely many replicates
would approach. The variance is `sum_v [(m_v - m)**2 + s2_v / n_v] / V**2`, with `m_v` the mean and
`s2_v` the variance of the rows of video `v`.

Scores with few distinct values (up to `MOST_VALUES`) are what this is for.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from surgeval.errors import Misuse

FREQUENCIES = 96
"""Most terms of the Fourier series; few videos need them, with many the terms vanish after about 24."""
TERMS_AT_ONCE = 24
NEGLIGIBLE = 1e-12
REACH_SD = 8.0
"""Half the stretch, in standard deviations, outside which nothing is assumed to lie."""
MOST_VALUES = 64


class Distribution(NamedTuple):
    """The bootstrap distribution of one mean."""

    value: float
    sd: float
    real: np.ndarray
    """Fourier terms of the distribution function."""
    imaginary: np.ndarray

    def below(self, points: np.ndarray) -> np.ndarray:
        """The probability of falling below each point."""
        if self.sd == 0:
            return (np.asarray(points) >= self.value).astype(np.float64)
        step = np.pi / (REACH_SD * self.sd)
        offset = np.asarray(points, dtype=np.float64) - self.value
        angle = np.arange(1, len(self.real) + 1) * step * offset[..., None]
        wave = np.sin(angle) * self.real - (np.cos(angle) - 1) * self.imaginary
        plain = (offset / (REACH_SD * self.sd) + 1) / 2
        raw: np.ndarray = plain + self._at_left() + wave.sum(axis=-1)
        return np.clip(np.where(plain <= 0, 0.0, np.where(plain >= 1, 1.0, raw)), 0.0, 1.0)

    def quantiles(self, shares: np.ndarray) -> np.ndarray:
        """The points below which the given shares lie, by bisection."""
        low = np.full(len(shares), self.value - REACH_SD * self.sd)
        high = np.full(len(shares), self.value + REACH_SD * self.sd)
        for _ in range(45 if self.sd > 0 else 0):
            middle = (low + high) / 2
            under = self.below(middle) < shares
            low, high = np.where(under, middle, low), np.where(under, high, middle)
        return np.asarray((low + high) / 2)

    def _at_left(self) -> float:
        """What makes the series zero at the left end of the stretch."""
        signs = np.where(np.arange(1, len(self.real) + 1) % 2, -1.0, 1.0)
        return float(((signs - 1) * self.imaginary).sum())


def two_stage_distribution(values: np.ndarray, starts: np.ndarray, *, frequencies: int = FREQUENCIES) -> Distribution:
    """The distribution of the two-stage bootstrap of the mean of video means.

    Args:
        values: Scores of one model (or differences of two), rows of a video together.
        starts: Where the rows of each video begin.
        frequencies: Terms of the series.

    Raises:
        Misuse: Scores are missing, or take more than `MOST_VALUES` values.
    """
    if not np.isfinite(values).all():
        raise Misuse("deterministic intervals need every case scored; choose missing='worst' or method='percentile'")
    support, codes = np.unique(values, return_inverse=True)
    if len(support) > MOST_VALUES:
        raise Misuse(
            f"deterministic intervals are for scores with few distinct values (such as 0 and 1), got {len(support)}; "
            "use method='percentile'"
        )
    sizes = np.diff(starts)
    videos = len(sizes)
    owner = np.repeat(np.arange(videos), sizes)
    counts = np.bincount(owner * len(support) + codes, minlength=videos * len(support)).reshape(videos, -1)
    shares = counts / sizes[:, None]
    value, sd = _moments(support, shares, sizes)
    if sd == 0:
        return Distribution(value, 0.0, np.zeros(0), np.zeros(0))
    phi = _terms(support - value, shares, sizes, np.pi / (REACH_SD * sd), frequencies)
    order = np.arange(1, len(phi) + 1)
    return Distribution(value, sd, phi.real / (np.pi * order), phi.imag / (np.pi * order))


def _moments(support: np.ndarray, shares: np.ndarray, sizes: np.ndarray) -> tuple[float, float]:
    means = shares @ support
    spread = shares @ support**2 - means**2
    variance = float((((means - means.mean()) ** 2) + np.maximum(spread, 0.0) / sizes).sum()) / len(sizes) ** 2
    return float(means.mean()), float(np.sqrt(variance)) if variance > 1e-30 else 0.0


def _terms(support: np.ndarray, shares: np.ndarray, sizes: np.ndarray, step: float, most: int) -> np.ndarray:
    """The characteristic function at multiples of `step`, until it has died out."""
    parts: list[np.ndarray] = []
    for first in range(1, most + 1, TERMS_AT_ONCE):
        times = np.arange(first, min(first + TERMS_AT_ONCE, most + 1)) * step
        parts.append(_characteristic(support, shares, sizes, times))
        if np.abs(parts[-1]).max() < 1 and np.abs(parts[-1][-TERMS_AT_ONCE // 4 :]).max() < NEGLIGIBLE:
            break
    return np.concatenate(parts)


def _characteristic(support: np.ndarray, shares: np.ndarray, sizes: np.ndarray, times: np.ndarray) -> np.ndarray:
    """The characteristic function of the centred mean at each time; equal videos are computed once."""
    videos = len(sizes)
    kinds, multiplicity = np.unique(np.column_stack([sizes, shares]), axis=0, return_counts=True)
    rows = kinds[:, 0]
    angle = times[:, None] / (rows * videos)
    inner = np.zeros((len(times), len(kinds)), dtype=np.complex128)
    for place, score in enumerate(support):
        inner += kinds[:, 1 + place] * np.exp(1j * (angle * score))
    one_video = (np.exp(rows * np.log(inner)) * (multiplicity / videos)).sum(axis=1)
    return np.asarray(np.exp(videos * np.log(one_video)))
