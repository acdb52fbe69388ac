"""Compiled twins of the numpy kernels: the same draws, equal results, a fraction of the time.

Imported only where numba is installed and the work is large. Every kernel takes the range of replicates
to work on first, so that threads can share the work without sharing anything else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from surgeval.stats.draws import GOLDEN as _GOLDEN
from surgeval.stats.draws import LEVEL_SHIFT
from surgeval.stats.draws import STRIDE as _STRIDE

GOLDEN = np.uint64(_GOLDEN)
STRIDE = np.uint64(_STRIDE)
MULTIPLY_1 = np.uint64(0xBF58476D1CE4E5B9)
MULTIPLY_2 = np.uint64(0x94D049BB133111EB)
LOW = np.uint64(0xFFFFFFFF)
ONE, TWO = np.uint64(1), np.uint64(2)
S27, S30, S31, S32 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)
SHIFT = np.uint64(LEVEL_SHIFT)

Kernel = Callable[..., Any]


def compiled(function: Kernel) -> Kernel:
    """The function compiled on first use, with the result kept on disk."""
    return njit(cache=True, nogil=True, boundscheck=False)(function)


@compiled
def mix(z):  # type: ignore[no-untyped-def]
    """The SplitMix64 finaliser."""
    z = (z ^ (z >> S30)) * MULTIPLY_1
    z = (z ^ (z >> S27)) * MULTIPLY_2
    return z ^ (z >> S31)


@compiled
def unit_key(key, level, unit):  # type: ignore[no-untyped-def]
    """The key of one unit in one replicate."""
    return mix(key + ((np.uint64(level) << SHIFT) + np.uint64(unit) + ONE) * STRIDE)


@compiled
def fill_picks(base, size, buffer):  # type: ignore[no-untyped-def]
    """The children one copy of a unit draws, written into `buffer`, which holds one more than an odd size."""
    n = np.uint64(size)
    for pair in range((size + 1) // 2):
        k = np.uint64(pair)
        z = mix(base + (k + ONE) * GOLDEN)
        buffer[TWO * k] = ((z & LOW) * n) >> S32
        buffer[TWO * k + ONE] = ((z >> S32) * n) >> S32


@compiled
def add_counts(buffer, size, first, counts):  # type: ignore[no-untyped-def]
    """Count drawn children into `counts[first:]`."""
    offset = np.uint64(first)
    for draw in range(size):
        counts[offset + buffer[np.uint64(draw)]] += 1


@compiled
def room(starts):  # type: ignore[no-untyped-def]
    """A buffer for the draws of the largest unit."""
    largest = 1
    for unit in range(len(starts) - 1):
        largest = max(largest, starts[unit + 1] - starts[unit])
    return np.empty(largest + 1, dtype=np.uint64)


@compiled
def count_children(begin, end, keys, level, parents, starts, counts):  # type: ignore[no-untyped-def]
    """Counts of drawn children, added into `counts[replicate, child]`."""
    buffer = room(starts)
    for replicate in range(begin, end):
        for unit in range(len(starts) - 1):
            copies = parents[replicate, unit]
            if copies == 0:
                continue
            size = starts[unit + 1] - starts[unit]
            key = unit_key(keys[replicate], level, unit)
            step = np.uint64((size + 1) // 2) * GOLDEN
            for copy in range(copies):
                fill_picks(key + np.uint64(copy) * step, size, buffer)
                add_counts(buffer, size, starts[unit], counts[replicate])


@compiled
def weights(keys, counts, size):  # type: ignore[no-untyped-def]
    """Counts of drawn children for a block of equally large units, flat as (replicate, unit, child)."""
    replicates, units = counts.shape
    flat = np.zeros(replicates * units * size, dtype=np.int64)
    buffer = np.empty(size + 1, dtype=np.uint64)
    step = np.uint64((size + 1) // 2) * GOLDEN
    for replicate in range(replicates):
        for unit in range(units):
            cell = (replicate * units + unit) * size
            for copy in range(counts[replicate, unit]):
                fill_picks(keys[replicate, unit] + np.uint64(copy) * step, size, buffer)
                add_counts(buffer, size, cell, flat)
    return flat


@compiled
def unpack_8(word, at, totals):  # type: ignore[no-untyped-def]
    """Add the eight columns of one word; the width is written out because a constant is twice as fast."""
    for lane in range(8):
        totals[at + lane] += np.int64((word >> np.uint64(8 * lane)) & np.uint64(0xFF))


@compiled
def unpack_16(word, at, totals):  # type: ignore[no-untyped-def]
    """Add the four columns of one word."""
    for lane in range(4):
        totals[at + lane] += np.int64((word >> np.uint64(16 * lane)) & np.uint64(0xFFFF))


@compiled
def unpack_32(word, at, totals):  # type: ignore[no-untyped-def]
    """Add the two columns of one word."""
    for lane in range(2):
        totals[at + lane] += np.int64((word >> np.uint64(32 * lane)) & LOW)


@compiled
def add_lanes(counts, size, packed, first, bits, totals):  # type: ignore[no-untyped-def]
    """Add counts times rows: each 64-bit word carries several columns, wide enough not to spill."""
    for word in range(packed.shape[0]):
        rows = packed[word, first : first + size]
        total = np.uint64(0)
        for row in range(size):
            total += np.uint64(counts[row]) * rows[row]
        if bits == 8:
            unpack_8(total, word * 8, totals)
        elif bits == 16:
            unpack_16(total, word * 4, totals)
        else:
            unpack_32(total, word * 2, totals)


@compiled
def sum_packed(begin, end, keys, level, parents, starts, packed, lane, scale, out):  # type: ignore[no-untyped-def]
    """Scaled sums of 0/1 rows; units of equal size are scaled together, as in numpy."""
    units = len(starts) - 1
    buffer = room(starts)
    counts = np.zeros(len(buffer), dtype=lane.dtype)
    bits = lane.itemsize * 8
    totals = np.zeros(out.shape[1], dtype=np.int64)
    for replicate in range(begin, end):
        totals[:] = 0
        waiting = 0
        for unit in range(units):
            size = starts[unit + 1] - starts[unit]
            copies = parents[replicate, unit]
            key = unit_key(keys[replicate], level, unit) if copies else np.uint64(0)
            step = np.uint64((size + 1) // 2) * GOLDEN
            waiting += copies
            for copy in range(copies):
                counts[:size] = 0
                fill_picks(key + np.uint64(copy) * step, size, buffer)
                add_counts(buffer, size, 0, counts)
                add_lanes(counts, size, packed, starts[unit], bits, totals)
            if waiting and (unit == units - 1 or starts[unit + 2] - starts[unit + 1] != size):
                waiting = 0
                for column in range(len(totals)):
                    out[replicate, column] += totals[column] * scale[unit]
                    totals[column] = 0
