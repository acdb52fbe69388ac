"""The exact sign-flip test by video.

Definition. D_v is the difference of two models summed over the cases of video v. Were the models
exchangeable within each video, every D_v could have come out with the other sign, so
`p = P(|sum of s_v |D_v|| >= |sum of D_v|)` with independent fair signs s_v. The sum of the squared D_v
does not change under flips, so this is also the test of the studentised mean `sum D / sqrt(sum D^2)`
and stays valid, for many videos, when only the mean accuracies are equal.
Source: Fisher's randomisation test applied to clusters; the studentised form after Janssen (1997) and
Canay, Romano and Shaikh (2017).

The decision a reader would question: no signs are drawn. For integers the distribution of the sum
lives on a lattice, its Fourier transform is a product of cosines, and the tail is one weighted sum of
that product. Small tails, where a sum of cosines would lose digits, are counted with positive terms
only: the flips that keep the sum extreme are those whose flipped part is small. Scores that are no whole numbers may
still lie on a grid (halves, tenths, set overlaps); `grid_of` finds the factor that makes them whole.
"""

from __future__ import annotations

import numpy as np

GRIDS = (1, 2, 3, 4, 5, 6, 10, 12, 20, 30, 60, 100, 420, 1000, 2520, 10000)
"""Factors tried, in this order, to make the scores whole numbers."""
_TOLERANCE = 1e-9


def grid_of(values: np.ndarray) -> int | None:
    """The factor that makes every score a whole number, or None.

    Example:
        >>> grid_of(np.array([0.5, 0.25])), grid_of(np.array([np.pi]))
        (4, None)
    """
    for factor in GRIDS:
        scaled = values * factor
        if np.abs(scaled - np.rint(scaled)).max(initial=0.0) < _TOLERANCE * factor:
            return factor
    return None


LARGEST_LATTICE = 2_000_000
"""Above this sum of absolute differences no exact distribution is attempted."""
_CHUNK = 4_000_000
_SMALL = 1e-6
_REFINEMENT_BUDGET = 1_000_000_000


def exact_p(differences: np.ndarray) -> np.ndarray:
    """Two-sided p-values of the sign-flip test, exact, one per column of `differences[video, pair]`.

    Args:
        differences: Whole numbers.

    Example:
        >>> exact_p(np.array([[1], [1], [1], [2]])).tolist()
        [0.125]
    """
    size = np.abs(np.rint(differences)).astype(np.int64)
    observed = np.abs(np.rint(differences).astype(np.int64).sum(axis=0))
    if common := int(np.gcd.reduce(size, axis=None)) if size.size else 0:
        size, observed = size // common, observed // common
    p = np.ones(size.shape[1])
    undecided = np.flatnonzero(observed > 0)
    for columns in _chunks(undecided, size.sum(axis=0)):
        p[columns] = _lattice_p(size[:, columns], observed[columns])
    small = np.flatnonzero(p < _SMALL)
    _refine(p, small, size, observed)
    return _on_grid(p, (size > 0).sum(axis=0))


def fits_lattice(differences: np.ndarray) -> bool:
    """Whether the exact distribution of these whole-number differences is small enough to compute."""
    size = np.abs(differences)
    largest = float(size.sum(axis=0).max(initial=0.0))
    return largest <= LARGEST_LATTICE and largest * len(np.unique(size)) <= 4e8


def _on_grid(p: np.ndarray, informative: np.ndarray) -> np.ndarray:
    """The p-values as the whole multiples of their smallest step that they are, where doubles can tell."""
    step = np.exp2(1.0 - np.maximum(informative, 1))
    whole = np.where(informative <= 40, np.rint(p / np.maximum(step, 2.0**-40)) * step, p)
    return np.clip(whole, np.maximum(step, np.finfo(float).tiny), 1.0)


def _chunks(columns: np.ndarray, total: np.ndarray) -> list[np.ndarray]:
    """Columns of similar lattice size together, so that little of the work is padding."""
    ordered = columns[np.argsort(total[columns], kind="stable")]
    chunks, start = [], 0
    while start < len(ordered):
        stop = start + 1
        while stop < len(ordered) and _together(total, ordered, start, stop):
            stop += 1
        chunks.append(ordered[start:stop])
        start = stop
    return chunks


def _together(total: np.ndarray, ordered: np.ndarray, start: int, stop: int) -> bool:
    largest = int(total[ordered[stop]])
    return largest * (stop - start) < _CHUNK and largest <= 1.5 * int(total[ordered[start]]) + 64


def _lattice_p(size: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Tails from the characteristic function, to an absolute error around 1e-14.

    The sum S has the parity of `total`, hence at most `total + 1` values, which an odd modulus
    `n > total` keeps apart; an odd modulus also keeps every cosine away from zero.
    `P(|S| < t)` is then the mean of `phi(a) sin((t - 1) a) / sin(a)` over the n angles.
    """
    n = int(size.sum(axis=0).max()) + 1
    n += 1 - n % 2
    distinct, code = _coded(size)
    pairs = size.shape[1]
    flat = code + np.arange(pairs) * len(distinct)
    how_many = np.bincount(flat.ravel(), minlength=pairs * len(distinct)).reshape(pairs, -1).astype(float)
    sine, cosine = _tables(n)
    half = np.arange((n + 1) // 2)
    at = np.outer(distinct, half) % n
    log_phi = how_many @ np.log(np.abs(cosine))[at]
    negative = (how_many @ (cosine < 0).astype(float)[at]) % 2
    phi = np.exp(log_phi) * (1.0 - 2.0 * negative)
    kernel = sine[np.outer(observed - 1, half) % n]
    kernel[:, 1:] /= sine[half[1:]]
    kernel[:, 0] = observed - 1
    inside = (phi[:, 0] * kernel[:, 0] + 2.0 * np.einsum("ij,ij->i", phi[:, 1:], kernel[:, 1:])) / n
    return np.asarray(np.clip(1.0 - inside, 0.0, 1.0))


def _coded(size: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct entries and, for each entry, which one it is; by table where entries are small."""
    if size.max() > 65_536:
        distinct, code = np.unique(size, return_inverse=True)
        return distinct, code.reshape(size.shape)
    present = np.bincount(size.ravel()) > 0
    return np.flatnonzero(present), (np.cumsum(present) - 1)[size]


def _tables(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Sine and cosine of the n angles; the sine is taken where its argument is small."""
    k = np.arange(n)
    folded = np.minimum(k, n - k)
    near = np.minimum(2 * folded, n - 2 * folded)
    sine = np.sin(np.pi * near / n) * np.where(k > n // 2, -1.0, 1.0)
    return sine, np.cos(2.0 * np.pi * k / n)


def _refine(p: np.ndarray, columns: np.ndarray, size: np.ndarray, observed: np.ndarray) -> None:
    """Replace small tails by sums of positive terms, exact in relative terms, while that is affordable."""
    room = (size.sum(axis=0) - observed) // 2
    columns = columns[np.argsort(room[columns], kind="stable")]
    budget = float(_REFINEMENT_BUDGET)
    for group in np.array_split(columns, max(1, -(-len(columns) // 64))):
        if not len(group):
            continue
        largest = int(room[group].max())
        budget -= len(group) * (largest + 1.0) ** 2 * 3
        if budget < 0:
            p[group] = np.maximum(p[group], 1e-13)
        else:
            p[group] = _counted_p(size[:, group], room[group])


def _counted_p(size: np.ndarray, room: np.ndarray) -> np.ndarray:
    """Twice the probability that the flipped part of the sum is at most `room`.

    The flipped part has the generating function `prod (1 + x^d)^n_d / 2^n`; its coefficients up to
    `room` are built one distinct difference d at a time from binomial weights.
    """
    largest = int(room.max())
    share = np.zeros((size.shape[1], largest + 1))
    share[:, 0] = 1.0
    for d in np.unique(size[size > 0]).tolist():
        share = _with_videos_of(d, (size == d).sum(axis=0), share)
    reached = np.arange(largest + 1)[None, :] <= room[:, None]
    return np.asarray(np.minimum(1.0, 2.0 * np.where(reached, share, 0.0).sum(axis=1)))


def _with_videos_of(d: int, videos: np.ndarray, share: np.ndarray) -> np.ndarray:
    """The coefficients after `videos` more videos with difference `d` each."""
    weight = np.exp2(-videos.astype(float))
    out = weight[:, None] * share
    for flipped in range(1, min(int(videos.max()), (share.shape[1] - 1) // d) + 1):
        weight = weight * np.maximum(videos - flipped + 1, 0) / flipped
        out[:, flipped * d :] += weight[:, None] * share[:, : share.shape[1] - flipped * d]
    return np.asarray(out)
