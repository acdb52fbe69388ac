"""The elimination compiled with numba: same recursion, same results as `kernels`, without temporary arrays.

Only imported when numba is installed and the data are large enough to repay its loading time. The loops walk over rows,
nodes and pairs of node and border column; all else is that of the numpy kernel.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from surgvalid.stats.mixed.fit.kernels import Kernel
from surgvalid.stats.mixed.model.structure import EliminationLayout


class Shape(NamedTuple):
    """The arrays of a layout that the loops walk through."""

    leaf: np.ndarray
    columns: np.ndarray
    values: np.ndarray
    row_pair: np.ndarray
    node_parent: np.ndarray
    pair_start: np.ndarray
    pair_column: np.ndarray
    pair_parent: np.ndarray


class Pivots(NamedTuple):
    """What eliminating every node leaves behind."""

    below: np.ndarray
    scale: np.ndarray
    coupling: np.ndarray
    node_var: np.ndarray
    column_sd: np.ndarray


class NumbaKernel(Kernel):
    """The elimination in compiled loops over rows, nodes and pairs."""

    def __init__(self, layout: EliminationLayout) -> None:
        super().__init__(layout)
        self._shape = Shape(*(getattr(layout, name) for name in Shape._fields))

    def _gather(self, thin: np.ndarray) -> None:
        leaves, width = self.layout.spans[0][1], self.layout.width
        self._gathered = _gather(self._shape, thin, leaves, width)

    def _eliminate(self) -> np.ndarray:
        self._below, self._scale, self._coupling, schur = _eliminate(
            self._shape, self._gathered, self._node_var, self._column_sd
        )
        self._pivots = Pivots(self._below, self._scale, self._coupling, self._node_var, self._column_sd)
        return np.asarray(schur)

    def _collected(self, matrix: np.ndarray, thin: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        leaves, width = self.layout.spans[0][1], self.layout.width
        collected: Any = _collect(self._shape, np.ascontiguousarray(matrix), thin, leaves, width)
        return collected  # type: ignore[no-any-return]

    def _ascend(self, leaves: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return _ascend(self._shape, self._pivots, leaves, columns)  # type: ignore[no-any-return]

    def _descend(self, sums: np.ndarray, border: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return _descend(self._shape, self._pivots, sums, border)  # type: ignore[no-any-return]

    def _to_rows(self, path: np.ndarray, border: np.ndarray) -> np.ndarray:
        return np.asarray(_to_rows(self._shape, path, border))

    def _node_spread(self, inverse: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return _node_spread(self._shape, self._pivots, inverse)  # type: ignore[no-any-return]

    def _row_spread(self, inverse: np.ndarray, path: np.ndarray, path_border: np.ndarray) -> np.ndarray:
        return np.asarray(_row_spread(self._shape, self._column_sd, inverse, path, path_border))


@njit(cache=True, error_model="numpy")
def _gather(shape, thin, leaves, width):  # type: ignore[no-untyped-def]
    """Weights left after eliminating row effects, summed per leaf, per pair and per two border columns."""
    below, coupling = np.zeros(leaves), np.zeros(shape.pair_start[leaves])
    border = np.zeros((width, width))
    for i in range(len(thin)):
        below[shape.leaf[i]] += thin[i]
        for f in range(shape.columns.shape[1]):
            share = thin[i] * shape.values[i, f]
            coupling[shape.row_pair[i, f]] += share
            for e in range(f + 1):
                border[shape.columns[i, f], shape.columns[i, e]] += share * shape.values[i, e]
    return below, coupling, border


@njit(cache=True, error_model="numpy")
def _eliminate(shape, gathered, node_var, column_sd):  # type: ignore[no-untyped-def]
    """Every node eliminated: weights met, pivots, couplings met, and what is left of the border (lower half)."""
    leaf_weight, pair_weight, cross = gathered
    nodes, width = len(shape.node_parent), len(column_sd)
    below, scale, coupling = np.zeros(nodes), np.ones(nodes), np.zeros(len(shape.pair_column))
    schur = np.empty((width, width))
    for k in range(width):
        for m in range(width):
            schur[k, m] = cross[k, m] * column_sd[k] * column_sd[m]
        schur[k, k] += 1.0
    below[: len(leaf_weight)] = leaf_weight
    for a in range(len(pair_weight)):
        coupling[a] = pair_weight[a] * column_sd[shape.pair_column[a]]
    for g in range(nodes):
        scale[g] = 1.0 + node_var[g] * below[g]
        up, shrink = shape.node_parent[g], 1.0 / scale[g]
        first, last = shape.pair_start[g], shape.pair_start[g + 1]
        if up >= 0:
            below[up] += below[g] * shrink
            for a in range(first, last):
                coupling[shape.pair_parent[a]] += coupling[a] * shrink
        gain = node_var[g] * shrink
        if gain > 0:
            for a in range(first, last):
                pulled, row = gain * coupling[a], schur[shape.pair_column[a]]
                for b in range(first, a + 1):
                    row[shape.pair_column[b]] -= pulled * coupling[b]
    return below, scale, coupling, schur


@njit(cache=True, error_model="numpy")
def _collect(shape, matrix, thin, leaves, width):  # type: ignore[no-untyped-def]
    """Columns weighted by `thin` and summed per leaf and per border column."""
    many = matrix.shape[1]
    sums, right = np.zeros((leaves, many)), np.zeros((width, many))
    for i in range(len(thin)):
        total, row = sums[shape.leaf[i]], matrix[i]
        for j in range(many):
            total[j] += row[j] * thin[i]
        for f in range(shape.columns.shape[1]):
            side, share = right[shape.columns[i, f]], thin[i] * shape.values[i, f]
            for j in range(many):
                side[j] += row[j] * share
    return sums, right


@njit(cache=True, error_model="numpy")
def _ascend(shape, pivots, leaves, columns):  # type: ignore[no-untyped-def]
    """Sums per node with what its children pass on, and the right-hand side left for the border."""
    nodes, many = len(shape.node_parent), leaves.shape[1]
    sums, right = np.zeros((nodes, many)), np.empty_like(columns)
    sums[: len(leaves)] = leaves
    for k in range(len(columns)):
        right[k] = pivots.column_sd[k] * columns[k]
    for g in range(nodes):
        total, shrink = sums[g], 1.0 / pivots.scale[g]
        if shape.node_parent[g] >= 0:
            up = sums[shape.node_parent[g]]
            for j in range(many):
                up[j] += total[j] * shrink
        for a in range(shape.pair_start[g], shape.pair_start[g + 1]):
            pulled, side = pivots.node_var[g] * shrink * pivots.coupling[a], right[shape.pair_column[a]]
            for j in range(many):
                side[j] -= pulled * total[j]
    return sums, right


@njit(cache=True, error_model="numpy")
def _descend(shape, pivots, sums, border):  # type: ignore[no-untyped-def]
    """Spherical effects per node, and the sum of effects on the path from the top."""
    nodes, many = sums.shape
    path, effect, top = np.empty((nodes, many)), np.empty((nodes, many)), np.zeros(many)
    for g in range(nodes - 1, -1, -1):
        var, sd, shrink = pivots.node_var[g], np.sqrt(pivots.node_var[g]), 1.0 / pivots.scale[g]
        rest, above = effect[g], path[shape.node_parent[g]] if shape.node_parent[g] >= 0 else top
        for j in range(many):
            rest[j] = sums[g, j] - pivots.below[g] * above[j]
        for a in range(shape.pair_start[g], shape.pair_start[g + 1]):
            side, pulled = border[shape.pair_column[a]], pivots.coupling[a]
            for j in range(many):
                rest[j] -= pulled * side[j]
        for j in range(many):
            pull = rest[j] * shrink
            path[g, j] = above[j] + var * pull
            rest[j] = sd * pull
    return effect, path


@njit(cache=True, error_model="numpy")
def _to_rows(shape, path, border):  # type: ignore[no-untyped-def]
    """For every row what its path and its border columns add up to."""
    result = np.empty((len(shape.leaf), path.shape[1]))
    for i in range(len(result)):
        row, node = result[i], path[shape.leaf[i]]
        for j in range(len(row)):
            row[j] = node[j]
        for f in range(shape.columns.shape[1]):
            value, side = shape.values[i, f], border[shape.columns[i, f]]
            if value != 0.0:
                for j in range(len(row)):
                    row[j] += value * side[j]
    return result


@njit(cache=True, error_model="numpy")
def _node_spread(shape, pivots, inverse):  # type: ignore[no-untyped-def]
    """Variances of nodes and of the paths to them, and covariances of paths with border columns, top down."""
    nodes = len(shape.node_parent)
    path, effect, path_border = np.empty(nodes), np.empty(nodes), np.empty(len(shape.pair_column))
    for g in range(nodes - 1, -1, -1):
        up, d, var, weight = shape.node_parent[g], pivots.scale[g], pivots.node_var[g], pivots.below[g]
        above = path[up] if up >= 0 else 0.0
        cross, square = 0.0, 0.0
        for a in range(shape.pair_start[g], shape.pair_start[g + 1]):
            shared = 0.0
            for b in range(shape.pair_start[g], shape.pair_start[g + 1]):
                shared += inverse[shape.pair_column[a], shape.pair_column[b]] * pivots.coupling[b]
            met = path_border[shape.pair_parent[a]] if up >= 0 else 0.0
            cross += pivots.coupling[a] * met
            square += pivots.coupling[a] * shared
            path_border[a] = (met - var * shared) / d
        effect[g] = var / d**2 * (weight**2 * above + 2 * weight * cross + square) + 1 / d
        path[g] = (above + var**2 * square - 2 * var * cross) / d**2 + var / d
    return effect, path, path_border


@njit(cache=True, error_model="numpy")
def _row_spread(shape, column_sd, inverse, path, path_border):  # type: ignore[no-untyped-def]
    """Variance of every row's predictor, without the row's own effect."""
    predictor = np.empty(len(shape.leaf))
    for i in range(len(predictor)):
        value = path[shape.leaf[i]]
        for f in range(shape.columns.shape[1]):
            k = shape.columns[i, f]
            reach = column_sd[k] * shape.values[i, f]
            value += 2 * reach * path_border[shape.row_pair[i, f]]
            for e in range(shape.columns.shape[1]):
                m = shape.columns[i, e]
                value += reach * column_sd[m] * shape.values[i, e] * inverse[k, m]
        predictor[i] = value
    return predictor
