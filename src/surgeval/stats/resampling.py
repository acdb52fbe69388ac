"""Resampling kernels in numpy: counts of drawn units, counts of drawn rows, and sums over drawn rows.

Each function has a compiled twin in `_compiled.py` that reads the same draws and returns equal arrays;
`engine="auto"` takes it where it is installed and the work is worth its start-up. Cost is linear in
rows and replicates, and memory is bounded by the blocks of `draws.blocks`, whatever the table's size.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from typing import Any, Literal

import numpy as np

from surgeval.errors import ExtraNeeded, UnknownName
from surgeval.stats.draws import blocks, picks, unit_keys
from surgeval.stats.nesting import Nest

Engine = Literal["auto", "numpy", "numba"]
WORTH_COMPILING = 50_000_000
"""Draws from which the compiled twin pays for loading it."""
SMALL_PRODUCT = 200_000
"""Multiplications in a matrix product that stays on one thread."""
BLOCK_CELLS = 8_000_000
"""Counts held at once where a statistic needs all rows of a replicate together."""


def use_compiled(engine: Engine, draws: int) -> bool:
    """Whether to take the compiled twin.

    Raises:
        ExtraNeeded: `engine="numba"` without numba.
        UnknownName: No such engine.
    """
    if engine not in ("auto", "numpy", "numba"):
        raise UnknownName("engine", engine, ["auto", "numpy", "numba"])
    present = engine != "numpy" and find_spec("numba") is not None
    if engine == "numba" and not present:
        raise ExtraNeeded("engine 'numba'", "numba", "fast")
    return present and (engine == "numba" or draws >= WORTH_COMPILING)


def child_counts(
    keys: np.ndarray,
    level: int,
    parents: np.ndarray,
    starts: np.ndarray,
    *,
    engine: Engine = "auto",
) -> np.ndarray:
    """How often each child is drawn, `[replicate, child]`, given how often its parents were.

    Args:
        keys: One per replicate.
        level: Number of the parents' level; 0 for the whole.
        parents: `[replicate, parent]` counts.
        starts: Where the children of each parent begin.
        engine: Which twin works.
    """
    counts = np.zeros((len(keys), int(starts[-1])), dtype=np.int32)
    if use_compiled(engine, counts.size):
        from surgeval.stats import _compiled

        in_threads(_compiled.count_children, len(keys), keys, level, parents, starts, counts)
        return counts
    for first, last, size in equal_runs(starts):
        names = unit_keys(keys, level, np.arange(first, last))
        for rows, units in blocks(len(keys), last - first, size):
            drawn = parents[rows, first:last][:, units]
            picked = picks(names[rows, units], drawn, size)
            flat = (picked.children + picked.cell[:, None] * size).ravel()
            begin = int(starts[first]) + units.start * size
            counts[rows, begin : begin + drawn.shape[1] * size] = np.bincount(
                flat, minlength=drawn.size * size
            ).reshape(len(drawn), -1)
    return counts


def unit_counts(nest: Nest, keys: np.ndarray, *, engine: Engine = "auto") -> np.ndarray:
    """How often each smallest named unit is drawn, `[replicate, unit]`; a naive nest's whole: once."""
    counts = np.ones((len(keys), 1), dtype=np.int32)
    named = len(nest.levels) - nest.draws_rows
    for level in range(named):
        counts = child_counts(keys, level, counts, nest.starts[level], engine=engine)
    return counts


def row_counts(nest: Nest, keys: np.ndarray, *, engine: Engine = "auto") -> np.ndarray:
    """How often each row is drawn, `[replicate, row]`, rows in canonical order."""
    units = unit_counts(nest, keys, engine=engine)
    if nest.draws_rows:
        return child_counts(keys, len(nest.starts) - 1, units, nest.starts[-1], engine=engine)
    return units[:, nest.row_units]


def row_count_blocks(nest: Nest, keys: np.ndarray, *, engine: Engine = "auto") -> Iterator[tuple[slice, np.ndarray]]:
    """Row counts for some replicates at a time, so that memory stays bounded."""
    at_once = max(1, BLOCK_CELLS // max(1, len(nest.order)))
    whole = engine if engine != "auto" else ("numba" if use_compiled("auto", len(keys) * len(nest.order)) else "numpy")
    for begin in range(0, len(keys), at_once):
        rows = slice(begin, min(begin + at_once, len(keys)))
        yield rows, row_counts(nest, keys[rows], engine=whole)


def drawn_sums(
    nest: Nest,
    keys: np.ndarray,
    values: np.ndarray,
    scale: np.ndarray | None = None,
    *,
    engine: Engine = "auto",
) -> np.ndarray:
    """Sums over drawn rows, `[replicate, column]`, each row times the scale of its unit.

    Args:
        nest: A nest that draws rows.
        keys: One per replicate.
        values: `[row, column]` in canonical order, finite.
        scale: Per smallest named unit (one number for a naive nest); 1 when left out.
        engine: Which twin works.
    """
    starts = nest.starts[-1]
    scale = np.ones(len(starts) - 1) if scale is None else scale
    compiled = use_compiled(engine, len(keys) * len(values))
    inner: Engine = "numba" if compiled else "numpy"
    level = len(nest.starts) - 1
    binary = bool(((values == 0) | (values == 1)).all())
    sums = np.zeros((len(keys), values.shape[1]))
    at_once = max(1, BLOCK_CELLS // max(1, len(starts)))
    for begin in range(0, len(keys), at_once):
        rows = slice(begin, begin + at_once)
        parents = unit_counts(nest, keys[rows], engine=inner)
        if compiled and binary:
            sums[rows] = _packed_sums(keys[rows], level, parents, starts, values, scale)
        else:
            sums[rows] = _weighted_sums(keys[rows], level, parents, starts, values, scale, binary, inner)
    return sums


def _weighted_sums(
    keys: np.ndarray,
    level: int,
    parents: np.ndarray,
    starts: np.ndarray,
    values: np.ndarray,
    scale: np.ndarray,
    binary: bool,
    engine: Engine,
) -> np.ndarray:
    """Counts as weights times values, unit by unit; whole numbers are exact in single precision."""
    real = np.float32 if binary and np.diff(starts).max(initial=0) * parents.max(initial=0) < 2**22 else np.float64
    values = np.ascontiguousarray(values, dtype=real)
    sums = np.zeros((len(keys), values.shape[1]))
    for first, last, size in equal_runs(starts):
        group = np.zeros_like(sums)
        names = unit_keys(keys, level, np.arange(first, last))
        for rows, units in blocks(len(keys), last - first, size):
            drawn = parents[rows, first:last][:, units]
            begin = int(starts[first]) + units.start * size
            weights = _weights(names[rows, units], drawn, size, engine).astype(real)
            group[rows] += _product(weights.reshape(len(drawn), -1), values[begin : begin + drawn.shape[1] * size])
        sums += group * scale[first]
    return sums


def _product(weights: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The matrix product in pieces small enough that BLAS starts no threads: they cost more than they do."""
    step = max(1, SMALL_PRODUCT // max(1, values.size))
    return np.concatenate([weights[row : row + step] @ values for row in range(0, len(weights), step)])


def _weights(keys: np.ndarray, counts: np.ndarray, size: int, engine: Engine) -> np.ndarray:
    if engine == "numba":
        from surgeval.stats import _compiled

        return np.asarray(_compiled.weights(np.ascontiguousarray(keys), np.ascontiguousarray(counts), size))
    picked = picks(keys, counts, size)
    return np.bincount((picked.children + picked.cell[:, None] * size).ravel(), minlength=counts.size * size)


def _packed_sums(
    keys: np.ndarray, level: int, parents: np.ndarray, starts: np.ndarray, values: np.ndarray, scale: np.ndarray
) -> np.ndarray:
    """Sums of 0/1 values, several models to a 64-bit word."""
    from surgeval.stats import _compiled

    largest = int(np.diff(starts).max(initial=0))
    lane = np.uint8 if largest < 2**8 else np.uint16 if largest < 2**16 else np.uint32
    bits = np.dtype(lane).itemsize * 8
    columns = -(-values.shape[1] * bits // 64) * (64 // bits)
    lanes = np.zeros((len(values), columns), dtype=lane)
    lanes[:, : values.shape[1]] = values
    packed = np.ascontiguousarray(lanes.view(np.uint64).T)
    out = np.zeros((len(keys), columns))
    by_unit = np.ascontiguousarray(parents.T)
    in_threads(_compiled.sum_packed, len(keys), keys, level, by_unit, starts, packed, np.zeros(1, lane), scale, out)
    return out[:, : values.shape[1]]


def equal_runs(starts: np.ndarray) -> Iterator[tuple[int, int, int]]:
    """Runs of neighbouring units of equal size: (first, one past the last, size)."""
    sizes = np.diff(starts)
    edges = np.flatnonzero(np.diff(sizes)) + 1
    for first, last in zip([0, *edges.tolist()], [*edges.tolist(), len(sizes)], strict=True):
        if first < last:
            yield first, last, int(sizes[first])


def in_threads(kernel: Callable[..., Any], replicates: int, *arguments: Any) -> None:
    """Run a compiled kernel over ranges of replicates; each writes its own rows, so any split is equal."""
    threads = max(1, min(thread_count(), replicates // 16))
    edges = np.linspace(0, replicates, threads + 1).astype(np.int64)
    if threads == 1:
        kernel(0, replicates, *arguments)
        return
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda i: kernel(edges[i], edges[i + 1], *arguments), range(threads)))


def thread_count() -> int:
    """Threads to use: SURGEVAL_THREADS, or the cores this process may run on."""
    asked = os.environ.get("SURGEVAL_THREADS", "")
    if asked.isdigit() and int(asked) > 0:
        return int(asked)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
