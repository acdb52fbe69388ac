"""Random draws: independent named streams, and resamples as counts instead of copies.

A resample is a vector of counts, so every statistic of it is a weighted statistic of the original rows
and no resample is ever written out. All models share the counts, which makes every comparison paired
by construction.

A replicate is one 64-bit key. Its draws are a function of (key, level, unit, position): word `k` of a
unit is the SplitMix64 finaliser (Steele, Lea, Flood 2014, "Fast splittable pseudorandom number
generators") of the unit's key plus `k` times the golden ratio, and each word gives two 32-bit draws,
mapped to `0..n-1` by multiply and shift. So a draw depends neither on the block it is computed in, nor
on the number of threads, nor on whether numpy or the compiled twin computes it. The mapping favours
some indices by a relative `n / 2**32`: for a video of a thousand questions 2e-7, far below what any
number of replicates could show.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from surgvalid.errors import Misuse

GOLDEN = 0x9E3779B97F4A7C15
"""Step between the words of one unit."""
STRIDE = 0xD1342543DE82EF95
"""Step between the units of one replicate."""
LEVEL_SHIFT = 40
"""Units of one level are numbered below 2**40; the level sits above."""
BLOCK_DRAWS = 1 << 17
"""Draws worked on at once: about a megabyte, so that they stay in the cache."""
MOST_REPLICATES = 10_000_000
"""Far more than any interval needs; beyond it memory would run out before an answer comes."""


def stream(seed: int, *purpose: str) -> np.random.Generator:
    """The random stream for one purpose, independent of every other purpose under the same seed.

    The name decides the stream, not the order of the calls: asking for one slice more never changes
    the result of another.

    Raises:
        Misuse: A seed that is negative or needs more than 63 bits.

    Example:
        >>> stream(42, "bootstrap", "overall").integers(0, 100, 3).tolist()
        [77, 69, 68]
    """
    check_seed(seed)
    digest = hashlib.blake2b("\x1f".join(purpose).encode(), digest_size=16).digest()
    words = np.frombuffer(digest, dtype=np.uint32).tolist()
    return np.random.default_rng(np.random.SeedSequence([seed, *words]))


def check_seed(seed: int) -> None:
    """Refuse a seed that no stream can start from or no table can hold.

    Raises:
        Misuse: Negative, or of more than 63 bits.
    """
    if not 0 <= seed < 2**63:
        raise Misuse(f"seed must lie between 0 and 2**63 - 1, got {seed}")


def check_replicates(replicates: int, *, least: int = 2) -> None:
    """Refuse a number of resamples that says nothing or cannot be worked off.

    Raises:
        Misuse: Fewer than `least`, or more than `MOST_REPLICATES`.
    """
    if not least <= replicates <= MOST_REPLICATES:
        raise Misuse(f"the number of resamples must lie between {least} and {MOST_REPLICATES:,}, got {replicates}")


def replicate_keys(replicates: int, rng: np.random.Generator) -> np.ndarray:
    """One 64-bit key per replicate; everything a replicate draws follows from its key.

    Example:
        >>> replicate_keys(2, stream(0, "example")).dtype
        dtype('uint64')
    """
    return rng.integers(0, 2**64, size=replicates, dtype=np.uint64)


def mixed(words: np.ndarray) -> np.ndarray:
    """The SplitMix64 finaliser of each word, in place."""
    words ^= words >> np.uint64(30)
    words *= np.uint64(0xBF58476D1CE4E5B9)
    words ^= words >> np.uint64(27)
    words *= np.uint64(0x94D049BB133111EB)
    words ^= words >> np.uint64(31)
    return words


def unit_keys(keys: np.ndarray, level: int, units: np.ndarray) -> np.ndarray:
    """The key of each unit in each replicate: `[replicate, unit]`."""
    numbers = (units.astype(np.uint64) + np.uint64(1 + (level << LEVEL_SHIFT))) * np.uint64(STRIDE)
    return mixed(keys[:, None] + numbers[None, :])


class Picks(NamedTuple):
    """Children drawn by every copy of some units of one size."""

    cell: np.ndarray
    """For each copy, `replicate * units + unit`, both counted within the block; ascending."""
    children: np.ndarray
    """`[copy, draw]`: the child drawn, counted within its unit."""


def picks(keys: np.ndarray, counts: np.ndarray, size: int) -> Picks:
    """What the drawn copies of equally large units draw: `size` of their `size` children each.

    Args:
        keys: Unit keys, `[replicate, unit]`.
        counts: How often each unit was drawn, `[replicate, unit]`.
        size: Children per unit.
    """
    flat = counts.ravel()
    cell = np.repeat(np.arange(flat.size), flat)
    if size == 1:
        return Picks(cell, np.zeros((cell.size, 1), dtype=np.int64))
    copy = np.arange(cell.size) - np.repeat(np.cumsum(flat) - flat, flat)
    half = (size + 1) // 2
    base = keys.ravel()[cell] + copy.astype(np.uint64) * np.uint64(half) * np.uint64(GOLDEN)
    steps = np.arange(1, half + 1, dtype=np.uint64) * np.uint64(GOLDEN)
    words = mixed(base[:, None] + steps)
    children = words.view(np.uint32)[:, :size].astype(np.uint64)
    children *= np.uint64(size)
    children >>= np.uint64(32)
    return Picks(cell, children.view(np.int64))


def blocks(replicates: int, units: int, size: int, *, limit: int = BLOCK_DRAWS) -> Iterator[tuple[slice, slice]]:
    """Slices of replicates and units whose draws together stay near `limit`."""
    some = max(1, min(units, limit // max(size, 1)))
    rows = max(1, min(replicates, limit // max(size * some, 1)))
    for unit in range(0, units, some):
        for replicate in range(0, replicates, rows):
            yield slice(replicate, min(replicate + rows, replicates)), slice(unit, min(unit + some, units))


def video_counts(videos: int, replicates: int, rng: np.random.Generator) -> np.ndarray:
    """How often each video is drawn in each replicate: `counts[replicate, video]`, rows sum to `videos`.

    This is for callers that need nothing but videos; rows within videos are drawn by `resampling`. Counting
    single draws is ten times faster here than one multinomial draw per replicate.

    Example:
        >>> video_counts(3, 2, stream(0, "example")).sum(axis=1).tolist()
        [3, 3]
    """
    counts = np.empty((replicates, videos), dtype=np.int64)
    rows = max(1, BLOCK_DRAWS // max(videos, 1))
    for first in range(0, replicates, rows):
        block = counts[first : first + rows]
        cells = rng.integers(0, videos, size=block.shape)
        cells += videos * np.arange(len(block))[:, None]
        block[:] = np.bincount(cells.ravel(), minlength=block.size).reshape(block.shape)
    return counts
