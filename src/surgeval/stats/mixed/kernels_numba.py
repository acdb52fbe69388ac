"""The elimination compiled with numba: same recursion, same results as `kernels`, without temporary arrays.

Only imported when numba is installed and the data are large enough to repay its loading time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from scipy import linalg

from surgeval.stats.mixed.families import Binomial, Family, Terms
from surgeval.stats.mixed.kernels import Effects, Spread, Sums, trace_of
from surgeval.stats.mixed.structure import Layout


class NumbaKernel:
    """The elimination in compiled loops over rows, nodes and pairs."""

    def __init__(self, layout: Layout) -> None:
        self.layout, self.log_determinant = layout, 0.0
        self._weight: Any = None
        self._ones = np.ones(layout.rows)

    def factorise(self, weight: np.ndarray, sd: np.ndarray) -> None:
        """Eliminate rows, nodes and border for these weights and standard deviations."""
        lay = self.layout
        self._row_sd = float(sd[lay.row_factor]) if lay.row_factor >= 0 else 0.0
        if weight is not self._weight or lay.row_factor >= 0:
            self._gathered = _gather(weight, self._row_sd, lay.leaf, lay.columns, lay.row_pair, lay.spans[0][1],
                                     lay.width, lay.pair_start[lay.spans[0][1]])  # fmt: skip
        self._weight = weight
        self._node_var = np.append(sd, 0.0)[lay.node_factor] ** 2
        self._column_sd = sd[lay.column_factor]
        leaf_weight, pair_weight, own, row_logs = self._gathered
        self._below, self._scale, self._coupling, schur, logs = _factorise(
            leaf_weight, pair_weight, own, row_logs, self._node_var, self._column_sd, lay.node_parent,
            lay.pair_start, lay.pair_column, lay.pair_parent,
        )  # fmt: skip
        self._root = linalg.cholesky(schur, lower=True, check_finite=False, overwrite_a=True) if lay.width else schur
        self.log_determinant = float(logs + 2 * np.log(np.diag(self._root)).sum())

    def collect(self, matrix: np.ndarray) -> Sums:
        """The columns of `matrix`, weighted and summed per node and border column."""
        lay = self.layout
        thin = self._weight / (1.0 + self._row_sd**2 * self._weight)
        matrix = np.ascontiguousarray(matrix)
        leaves, columns = _collect(matrix, thin, lay.leaf, lay.columns, lay.spans[0][1], lay.width)
        return Sums(matrix.T @ (thin[:, None] * matrix), leaves, columns)

    def gram(self, sums: Sums) -> tuple[np.ndarray, Effects]:
        """M' (W - W Z L H^-1 L Z' W) M, and the effects of nodes and border for the columns of W M."""
        below, right, border, nodes, _ = self._eliminated(sums.leaves, sums.columns)
        gain = (self._node_var / self._scale)[:, None]
        matrix = sums.square - below.T @ (gain * below) - right.T @ border
        return matrix, Effects(np.zeros((0, below.shape[1])), nodes, border)

    def solve(self, target: np.ndarray) -> tuple[np.ndarray, Effects]:
        """Effects H^-1 L Z' target and the predictor they give."""
        lay = self.layout
        thin = 1.0 / (1.0 + self._row_sd**2 * self._weight) if lay.row_factor >= 0 else self._ones
        leaves, columns = _collect(target[:, None], thin, lay.leaf, lay.columns, lay.spans[0][1], lay.width)
        _, _, border, nodes, path = self._eliminated(leaves, columns)
        predictor, rows = _to_rows(target, path[:, 0], border[:, 0], self._weight, self._row_sd, self._column_sd,
                                   lay.leaf, lay.columns, lay.row_factor >= 0)  # fmt: skip
        return predictor, Effects(rows, nodes[:, 0], border[:, 0])

    def _eliminated(self, leaves: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, ...]:
        lay = self.layout
        below, right = _ascend(leaves, columns, self._node_var, self._scale, self._column_sd, self._coupling,
                               lay.node_parent, lay.pair_start, lay.pair_column)  # fmt: skip
        border = right
        if lay.width:
            border = np.ascontiguousarray(linalg.cho_solve((self._root, True), right, check_finite=False))
        nodes, path = _descend(below, border, self._node_var, self._below, self._scale, self._coupling,
                               lay.node_parent, lay.pair_start, lay.pair_column)  # fmt: skip
        return below, right, border, nodes, path

    def spread(self, *, rows: bool = True) -> Spread:
        """Posterior variances, from the top down."""
        lay = self.layout
        inverse = np.eye(lay.width)
        if lay.width:
            inverse = np.ascontiguousarray(linalg.cho_solve((self._root, True), inverse, check_finite=False))
        predictor, own, nodes = _spread(
            inverse, self._weight, self._row_sd, self._node_var, self._below, self._scale, self._column_sd,
            self._coupling, lay.leaf, lay.node_parent, lay.columns, lay.row_pair, lay.pair_start, lay.pair_column,
            lay.pair_parent, lay.row_factor >= 0, rows,
        )  # fmt: skip
        effects = Effects(own, nodes, np.diag(inverse).copy())
        return Spread(predictor, trace_of(lay, effects), effects)


class CompiledBinomial(Binomial):
    """Binomial with its loops fused."""

    def value(self, eta: np.ndarray, _log_extra: float = 0.0, /) -> float:
        """Log-likelihood relative to the saturated model."""
        return float(_binomial_value(eta, self.hits, self.draws, self.base))

    def terms(self, eta: np.ndarray, _log_extra: float = 0.0, /) -> Terms:
        """Score and weight."""
        return Terms(*_binomial_terms(eta, self.hits, self.draws))

    def slope(self, eta: np.ndarray, _log_extra: float = 0.0, /) -> np.ndarray:
        """Derivative of the weight."""
        return np.asarray(_binomial_slope(eta, self.draws))

    def select(self, rows: np.ndarray) -> CompiledBinomial:
        """The family for a subset or reordering of rows."""
        return CompiledBinomial(self.successes[rows], self.trials[rows], self.weights[rows])


def compiled(family: Family) -> Family:
    """The compiled twin of a family where there is one, else the family itself."""
    if type(family) is Binomial:
        return CompiledBinomial(family.successes, family.trials, family.weights)
    return family


@njit(cache=True)
def _binomial_value(eta, hits, draws, base):  # type: ignore[no-untyped-def]
    total = 0.0
    for i in range(len(eta)):
        total += hits[i] * eta[i] - draws[i] * (max(eta[i], 0.0) + np.log1p(np.exp(-abs(eta[i])))) - base[i]
    return total


@njit(cache=True)
def _binomial_terms(eta, hits, draws):  # type: ignore[no-untyped-def]
    score, weight = np.empty_like(eta), np.empty_like(eta)
    for i in range(len(eta)):
        small = np.exp(-abs(eta[i]))
        share = 1.0 / (1.0 + small)
        p = share if eta[i] >= 0 else small * share
        score[i] = hits[i] - draws[i] * p
        weight[i] = draws[i] * small * share * share
    return score, weight


@njit(cache=True)
def _binomial_slope(eta, draws):  # type: ignore[no-untyped-def]
    slope = np.empty_like(eta)
    for i in range(len(eta)):
        small = np.exp(-abs(eta[i]))
        share = 1.0 / (1.0 + small)
        steep = draws[i] * small * share * share * (1.0 - small) * share
        slope[i] = -steep if eta[i] >= 0 else steep
    return slope


@njit(cache=True)
def _gather(weight, row_sd, leaf, columns, row_pair, leaves, width, pairs):  # type: ignore[no-untyped-def]
    per_row = columns.shape[1]
    below, coupling, own = np.zeros(leaves), np.zeros(pairs), np.zeros((width, width))
    logs, product = 0.0, 1.0
    for i in range(len(weight)):
        thin = weight[i]
        if row_sd > 0:
            d = 1.0 + row_sd * row_sd * weight[i]
            product *= d
            if not 1e-100 < product < 1e100:
                logs, product = logs + np.log(product), 1.0
            thin /= d
        below[leaf[i]] += thin
        for f in range(per_row):
            coupling[row_pair[i, f]] += thin
            for e in range(f + 1):
                own[columns[i, f], columns[i, e]] += thin
    return below, coupling, own, logs + np.log(product)


@njit(cache=True)
def _factorise(leaf_weight, pair_weight, own, logs, node_var, column_sd, parent, pair_start, pair_column, pair_parent):  # type: ignore[no-untyped-def]  # fmt: skip
    nodes, width = len(parent), len(column_sd)
    below, scale, coupling = np.zeros(nodes), np.ones(nodes), np.zeros(len(pair_column))
    schur = np.empty((width, width))
    for k in range(width):
        for m in range(width):
            schur[k, m] = own[k, m] * column_sd[k] * column_sd[m]
        schur[k, k] += 1.0
    below[: len(leaf_weight)] = leaf_weight
    for a in range(len(pair_weight)):
        coupling[a] = pair_weight[a] * column_sd[pair_column[a]]
    for g in range(nodes):
        d = 1.0 + node_var[g] * below[g]
        scale[g] = d
        logs += np.log(d)
        up = parent[g]
        if up >= 0:
            below[up] += below[g] / d
        gain = node_var[g] / d
        for a in range(pair_start[g], pair_start[g + 1]):
            if up >= 0:
                coupling[pair_parent[a]] += coupling[a] / d
            pulled = gain * coupling[a]
            for b in range(pair_start[g], a + 1):
                schur[pair_column[a], pair_column[b]] -= pulled * coupling[b]
    return below, scale, coupling, schur, logs


@njit(cache=True)
def _collect(matrix, thin, leaf, columns, leaves, width):  # type: ignore[no-untyped-def]
    many, per_row = matrix.shape[1], columns.shape[1]
    sums, right = np.zeros((leaves, many)), np.zeros((width, many))
    for i in range(len(thin)):
        own, row, weight = sums[leaf[i]], matrix[i], thin[i]
        for j in range(many):
            own[j] += row[j] * weight
        for f in range(per_row):
            side = right[columns[i, f]]
            for j in range(many):
                side[j] += row[j] * weight
    return sums, right


@njit(cache=True)
def _ascend(leaves, columns, node_var, scale, column_sd, coupling, parent, pair_start, pair_column):  # type: ignore[no-untyped-def]  # fmt: skip
    nodes, many = len(parent), leaves.shape[1]
    sums, right = np.zeros((nodes, many)), np.empty_like(columns)
    sums[: len(leaves)] = leaves
    for k in range(len(columns)):
        right[k] = column_sd[k] * columns[k]
    for g in range(nodes):
        own, shrink = sums[g], 1.0 / scale[g]
        if parent[g] >= 0:
            up = sums[parent[g]]
            for j in range(many):
                up[j] += own[j] * shrink
        for a in range(pair_start[g], pair_start[g + 1]):
            pulled, side = node_var[g] * shrink * coupling[a], right[pair_column[a]]
            for j in range(many):
                side[j] -= pulled * own[j]
    return sums, right


@njit(cache=True)
def _descend(sums, border, node_var, below, scale, coupling, parent, pair_start, pair_column):  # type: ignore[no-untyped-def]  # fmt: skip
    nodes, many = sums.shape
    path, effect = np.empty((nodes, many)), np.empty((nodes, many))
    top = np.zeros(many)
    for g in range(nodes - 1, -1, -1):
        var, sd, weight, shrink = node_var[g], np.sqrt(node_var[g]), below[g], 1.0 / scale[g]
        rest, here, above = effect[g], path[g], path[parent[g]] if parent[g] >= 0 else top
        for j in range(many):
            rest[j] = sums[g, j] - weight * above[j]
        for a in range(pair_start[g], pair_start[g + 1]):
            side, pulled = border[pair_column[a]], coupling[a]
            for j in range(many):
                rest[j] -= pulled * side[j]
        for j in range(many):
            pull = rest[j] * shrink
            here[j] = above[j] + var * pull
            rest[j] = sd * pull
    return effect, path


@njit(cache=True)
def _to_rows(target, path, border, weight, row_sd, column_sd, leaf, columns, has_rows):  # type: ignore[no-untyped-def]
    rows, per_row = len(weight), columns.shape[1]
    predictor, own = np.empty(rows), np.zeros(rows if has_rows else 0)
    for i in range(rows):
        value = path[leaf[i]]
        for f in range(per_row):
            value += column_sd[columns[i, f]] * border[columns[i, f]]
        if has_rows:
            own[i] = row_sd * (target[i] - weight[i] * value) / (1.0 + row_sd * row_sd * weight[i])
            value += row_sd * own[i]
        predictor[i] = value
    return predictor, own


@njit(cache=True)
def _spread(inverse, weight, row_sd, node_var, below, scale, column_sd, coupling, leaf, parent, columns, row_pair, pair_start, pair_column, pair_parent, has_rows, wanted):  # type: ignore[no-untyped-def]  # fmt: skip  # noqa: E501
    nodes, rows, per_row = len(parent), len(weight) if wanted else 0, columns.shape[1]
    path, effect, path_border = np.empty(nodes), np.empty(nodes), np.empty(len(pair_column))
    predictor, own = np.empty(rows), np.empty(rows if has_rows else 0)
    for g in range(nodes - 1, -1, -1):
        up, d, var = parent[g], scale[g], node_var[g]
        above = path[up] if up >= 0 else 0.0
        cross, square = 0.0, 0.0
        for a in range(pair_start[g], pair_start[g + 1]):
            shared = 0.0
            for b in range(pair_start[g], pair_start[g + 1]):
                shared += inverse[pair_column[a], pair_column[b]] * coupling[b]
            met = path_border[pair_parent[a]] if up >= 0 else 0.0
            cross += coupling[a] * met
            square += coupling[a] * shared
            path_border[a] = (met - var * shared) / d
        effect[g] = var / d**2 * (below[g] ** 2 * above + 2 * below[g] * cross + square) + 1 / d
        path[g] = (above + var**2 * square - 2 * var * cross) / d**2 + var / d
    for i in range(rows):
        value = path[leaf[i]]
        for f in range(per_row):
            k = columns[i, f]
            value += 2 * column_sd[k] * path_border[row_pair[i, f]]
            for e in range(per_row):
                m = columns[i, e]
                value += column_sd[k] * column_sd[m] * inverse[k, m]
        if has_rows:
            d = 1.0 + row_sd * row_sd * weight[i]
            own[i] = row_sd**2 * weight[i] ** 2 * value / d**2 + 1 / d
            value = value / d**2 + row_sd**2 / d
        predictor[i] = value
    return predictor, own, effect
