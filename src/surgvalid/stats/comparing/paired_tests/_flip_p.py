"""Two-sided p-values of the sign-flip test for any real differences, without random numbers.

Definition. With `D_v` the difference of two models summed within video v and independent fair signs `s_v`,
`p = P(|sum s_v |D_v|| >= |sum D_v|)`. Write `d` for the absolute differences, `t = |sum D|` and
`room = (sum d - t) / 2`: a pattern is as extreme as the data exactly when the flipped part of the sum is at most
`room`, so `p = 2 P(flipped part <= room)`. Sums that differ by less than 1e-9 of `sum d` are equal.

Four ways, the first that applies:

1. Up to 30 videos, or few enough extreme patterns: counted one by one, each half of the videos listed and the two
   lists met in the middle (Horowitz and Sahni 1974). Exact.
2. Differences on a grid (whole numbers, tenths): the exact lattice of `_sign_flip`.
3. `t > 0.6 sum d`: shares of the flipped part on a grid of `room / 16,384`, positive terms only; the edge is moved by
   the rounding that the extreme patterns expect.
4. Otherwise the signs of the twelve largest differences are listed and the rest gets its tail from the saddlepoint
   formula of Lugannani and Rice (1980), which alone would miss the steps that a few large differences make.

The decision a reader would question: drawn patterns cannot give a p-value below one in their number, so no pair
survives a correction over hundreds of pairs however different the models are. Every way here keeps its relative error
(under 1 %, mostly under 0.1 %) down to 1e-8 and below.
"""

from __future__ import annotations

import numpy as np
from scipy.interpolate import PchipInterpolator
from scipy.special import log_ndtr

from surgvalid.stats.comparing.paired_tests._sign_flip import exact_p, grid_of

COUNTED_VIDEOS = 30
COUNTED_PATTERNS = 2.0**20
LONGEST_LIST = 2**18
LATTICE_WORK = 2e6
"""Lattice points times distinct differences up to which the exact lattice is taken."""
GRID = 16_384
LISTED = 12
"""Largest differences whose signs are listed."""
NODES = 143
_TIE = 1e-9


def flip_p(differences: np.ndarray, *, refined: tuple[float, float] = (0.0, np.inf)) -> np.ndarray:
    """The p-value of every column of `differences[video, pair]`; a single vector is one pair.

    Args:
        differences: Summed within videos.
        refined: P-values outside these bounds are left as the saddlepoint formula alone gives them, mostly within
            15 % of the exact ones beyond 30 videos and far within a factor of 20: for thousands of pairs, most of
            which decide nothing.

    Example:
        >>> flip_p(np.array([0.3, 0.1, 0.25, 0.4, 0.2, 0.15])).tolist()
        [0.03125]
    """
    columns = np.asarray(differences, dtype=np.float64)
    columns = columns[:, None] if columns.ndim == 1 else columns
    size = -np.sort(-np.abs(columns), axis=0)
    total = size.sum(axis=0)
    observed = np.abs(np.sort(columns, axis=0).sum(axis=0))
    informative = (size > 0).sum(axis=0)
    p = np.ones(columns.shape[1])
    undecided = observed > _TIE * total
    for column in np.flatnonzero(undecided & (informative <= COUNTED_VIDEOS)).tolist():
        d = size[: informative[column], column]
        p[column] = _floored(_counted(d, _room(d, observed[column])), len(d))
    many = np.flatnonzero(undecided & (informative > COUNTED_VIDEOS))
    if len(many):
        p[many] = _many_videos(columns[:, many], size[:, many], observed[many], informative[many], refined)
    return p


def smallest_p(informative: np.ndarray | int) -> np.ndarray:
    """The smallest p-value that so many videos with a difference can give.

    Example:
        >>> float(smallest_p(6))
        0.03125
    """
    return np.exp2(1.0 - np.maximum(informative, 1))


def _many_videos(
    differences: np.ndarray,
    size: np.ndarray,
    observed: np.ndarray,
    informative: np.ndarray,
    refined: tuple[float, float],
) -> np.ndarray:
    p = _lattice_p(differences)
    left = np.flatnonzero(np.isnan(p))
    u = _saddlepoints_at(size[:, left], observed[left])
    rough = 2.0 * np.exp(_saddlepoint(size[:, left], u[None, :])[1])
    for column, root, guess in zip(left.tolist(), u.tolist(), rough.tolist(), strict=True):
        d = size[: informative[column], column]
        known = guess < refined[0] or guess > refined[1]
        p[column] = _floored(guess if known else _one(d, float(observed[column]), root, guess), len(d))
    return p


def _one(d: np.ndarray, observed: float, u: float, rough: float) -> float:
    room = _room(d, observed)
    if np.log2(max(rough, 1e-300)) + len(d) - 1 <= np.log2(COUNTED_PATTERNS):
        counted = _counted(d, room)
        if counted is not None:
            return counted
    return _on_grid(d, room, u) if observed > 0.6 * d.sum() else _listed(d, observed)


def _floored(p: float | None, videos: int) -> float:
    """A p-value is never below its smallest step nor above 1."""
    return float(np.clip(1.0 if p is None else p, smallest_p(videos), 1.0))


def _room(d: np.ndarray, observed: float) -> float:
    total = float(d.sum())
    return (total - observed) / 2 + _TIE * total / 2


def _counted(d: np.ndarray, room: float) -> float | None:
    """The share of patterns whose flipped part is at most `room`, both tails; None where the lists grow too long."""
    first, second = _subset_sums(d[::2], room), _subset_sums(d[1::2], room)
    if first is None or second is None:
        return None
    pairs = int(np.searchsorted(second, room - first, side="right").sum())
    return min(1.0, pairs * 2.0 ** (1 - len(d)))


def _subset_sums(d: np.ndarray, room: float) -> np.ndarray | None:
    """The sums of all subsets that are at most `room`, ascending."""
    sums = np.zeros(1)
    for one in d[::-1]:
        grown = sums[: np.searchsorted(sums, room - one, side="right")] + one
        sums = np.sort(np.concatenate([sums, grown]), kind="stable")
        if len(sums) > LONGEST_LIST:
            return None
    return sums


def _lattice_p(differences: np.ndarray) -> np.ndarray:
    """Exact p-values of the columns that lie on a small enough lattice, NaN for the others."""
    p = np.full(differences.shape[1], np.nan)
    factors = [grid_of(column) or 0 for column in differences.T]
    for factor in sorted(set(factors) - {0}):
        columns = np.flatnonzero(np.array(factors) == factor)
        whole = np.rint(differences[:, columns] * factor)
        work = np.abs(whole).sum(axis=0) * [len(np.unique(np.abs(column))) for column in whole.T]
        fits = work <= LATTICE_WORK
        if fits.any():
            p[columns[fits]] = exact_p(whole[:, fits])
    return p


def _on_grid(d: np.ndarray, room: float, u: float) -> float:
    """Twice the share of the flipped part up to `room`, differences rounded to 1/16,384 of it."""
    small = d[d <= room]
    exact = small / room * GRID
    steps = np.rint(exact).astype(np.int64)
    flipped = 1.0 / (1.0 + np.exp(np.minimum(2.0 * u * small, 700.0)))
    edge = GRID + float(((steps - exact) * flipped).sum()) - 0.5
    last = int(edge) + 1
    share = np.zeros(last + 1)
    share[0], reach = 1.0, 0
    for step in np.sort(steps[steps <= last]).tolist():
        reach = min(last, reach + step)
        share[step : reach + 1] += share[: reach + 1 - step].copy()
        share[: reach + 1] *= 0.5
    below = float(share[:last].sum())
    beyond = below + float(share[last])
    inside = below * (beyond / below) ** (edge - (last - 1))
    return float(2.0 * inside * 2.0 ** -float(len(d) - (steps <= last).sum()))


def _listed(d: np.ndarray, observed: float) -> float:
    """Mean over the signs of the largest differences of the tail of all others."""
    patterns = np.arange(2**LISTED)[:, None] >> np.arange(LISTED)
    fixed = (1.0 - 2.0 * (patterns & 1)) @ d[:LISTED]
    return float(2.0 * _tails(d[LISTED:], observed - fixed).mean())


def _tails(d: np.ndarray, x: np.ndarray) -> np.ndarray:
    """`P(sum s d >= x)` for many x, from a table over saddlepoints."""
    spread = np.sqrt((d**2).sum())
    u = np.sinh(np.linspace(0.0, np.arcsinh(40.0), NODES)[1:]) / spread
    at, log_tail = _saddlepoint(d[:, None], u[None, :])
    rising = np.concatenate([[True], np.diff(at) > 1e-12 * spread])
    at, log_tail, u = at[rising], log_tail[rising], u[rising]
    table = PchipInterpolator(np.concatenate([[0.0], at]), np.concatenate([[np.log(0.5)], log_tail]))
    beyond = np.abs(x)
    tail = np.exp(table(np.minimum(beyond, at[-1])) - u[-1] * np.maximum(beyond - at[-1], 0.0))
    tail = np.where(beyond > d.sum() * (1 + _TIE), 0.0, tail)
    return np.where(x < 0, 1.0 - tail, tail)


def _saddlepoints_at(size: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """The solution u of `K'(u) = observed` for every column, by bisection of its logarithm."""
    scale = np.sqrt((size**2).sum(axis=0))
    low, high = np.full(len(observed), -12.0), np.full(len(observed), 12.0)
    for _ in range(20):
        middle = (low + high) / 2
        short = (size * np.tanh(np.exp(middle) / scale * size)).sum(axis=0) < observed
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    return np.asarray(np.exp((low + high) / 2) / scale)


def _saddlepoint(d: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where the saddlepoints `u` lie, `K'(u)`, and the log of the tail beyond; `K(u) = sum log cosh(u d)`."""
    product = u * d
    fall = np.exp(-2.0 * product)
    slope = (1.0 - fall) / (1.0 + fall)
    halves = np.multiply.reduceat(1.0 + fall, np.arange(0, len(fall), 512), axis=0)
    log_cosh = product.sum(axis=0) + np.log(halves).sum(axis=0) - len(d) * np.log(2.0)
    at = (d * slope).sum(axis=0)
    bend = (d * d * (1.0 - slope) * (1.0 + slope)).sum(axis=0)
    u = np.broadcast_to(u, d.shape[:1] + np.broadcast_shapes(u.shape, d.shape)[1:])[0]
    w = np.sqrt(np.maximum(2.0 * (u * at - log_cosh), 1e-300))
    v = u * np.sqrt(np.maximum(bend, 1e-300))
    correction = np.exp(-0.5 * w * w - log_ndtr(-w)) / np.sqrt(2.0 * np.pi) * (1.0 / v - 1.0 / w)
    correction = np.where(w < 1e-4, 0.0, np.maximum(correction, -1.0 + 1e-12))
    return at, np.asarray(log_ndtr(-w) + np.log1p(correction))
