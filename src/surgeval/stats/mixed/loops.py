"""Compiled loops of the elimination, over rows, nodes and pairs of node and border column.

The recursion is that of `kernels`; here it is written node by node, without temporary arrays. A single column is
solved by loops of its own (`ascend_one`, `descend_one`), because the mode of the random effects asks for little else.
"""

from __future__ import annotations

import numpy as np
from numba import njit

SMALL_BORDER = 64
"""Border columns up to which the loops here factorise it; LAPACK takes over beyond."""


@njit(cache=True, error_model="numpy")
def gather(weight, row_sd, leaf, columns, values, row_pair, leaves, width, pairs):  # type: ignore[no-untyped-def]
    """Weights left after eliminating row effects, summed per leaf, per pair and per two border columns."""
    per_row = columns.shape[1]
    below, coupling, border = np.zeros(leaves), np.zeros(pairs), np.zeros((width, width))
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
            share = thin * values[i, f]
            coupling[row_pair[i, f]] += share
            for e in range(f + 1):
                border[columns[i, f], columns[i, e]] += share * values[i, e]
    return below, coupling, border, logs + np.log(product)


@njit(cache=True, error_model="numpy")
def factorise(leaf_weight, pair_weight, cross, logs, node_var, column_sd, parent, pair_start, pair_column, pair_parent):  # type: ignore[no-untyped-def]  # fmt: skip
    """Every node eliminated: weights and couplings met, pivots, what is left of the border (lower half), log|H|."""
    nodes, width = len(parent), len(column_sd)
    below, scale, coupling = np.zeros(nodes), np.ones(nodes), np.zeros(len(pair_column))
    schur = np.empty((width, width))
    for k in range(width):
        for m in range(width):
            schur[k, m] = cross[k, m] * column_sd[k] * column_sd[m]
        schur[k, k] += 1.0
    below[: len(leaf_weight)] = leaf_weight
    for a in range(len(pair_weight)):
        coupling[a] = pair_weight[a] * column_sd[pair_column[a]]
    product = 1.0
    for g in range(nodes):
        d = 1.0 + node_var[g] * below[g]
        scale[g] = d
        if not d > 0:
            return below, scale, coupling, schur, np.nan
        product *= d
        if product > 1e100:
            logs, product = logs + np.log(product), 1.0
        up, shrink = parent[g], 1.0 / d
        if up >= 0:
            below[up] += below[g] * shrink
            for a in range(pair_start[g], pair_start[g + 1]):
                coupling[pair_parent[a]] += coupling[a] * shrink
        gain = node_var[g] * shrink
        if gain > 0:
            for a in range(pair_start[g], pair_start[g + 1]):
                pulled, row = gain * coupling[a], schur[pair_column[a]]
                for b in range(pair_start[g], a + 1):
                    row[pair_column[b]] -= pulled * coupling[b]
    return below, scale, coupling, schur, logs + np.log(product)


@njit(cache=True, error_model="numpy")
def cholesky(matrix):  # type: ignore[no-untyped-def]
    """Lower root of a small matrix, in place from its lower half, with half its log-determinant (NaN: indefinite)."""
    half = 0.0
    for j in range(len(matrix)):
        pivot = matrix[j, j]
        for k in range(j):
            pivot -= matrix[j, k] * matrix[j, k]
        if not pivot > 0:
            return matrix, np.nan
        root = np.sqrt(pivot)
        matrix[j, j] = root
        half += np.log(root)
        for i in range(j + 1, len(matrix)):
            value = matrix[i, j]
            for k in range(j):
                value -= matrix[i, k] * matrix[j, k]
            matrix[i, j] = value / root
            matrix[j, i] = 0.0
    return matrix, half


@njit(cache=True, error_model="numpy")
def root_solve(root, right):  # type: ignore[no-untyped-def]
    """The columns of `right` divided by root root', in a new array."""
    result = right.copy()
    width, many = right.shape
    for i in range(width):
        for k in range(i):
            for j in range(many):
                result[i, j] -= root[i, k] * result[k, j]
        for j in range(many):
            result[i, j] /= root[i, i]
    for i in range(width - 1, -1, -1):
        for k in range(i + 1, width):
            for j in range(many):
                result[i, j] -= root[k, i] * result[k, j]
        for j in range(many):
            result[i, j] /= root[i, i]
    return result


@njit(cache=True, error_model="numpy")
def collect(matrix, thin, leaf, columns, values, leaves, width):  # type: ignore[no-untyped-def]
    """Columns weighted by `thin` and summed per leaf and per border column."""
    many, per_row = matrix.shape[1], columns.shape[1]
    sums, right = np.zeros((leaves, many)), np.zeros((width, many))
    for i in range(len(thin)):
        total, row, weight = sums[leaf[i]], matrix[i], thin[i]
        for j in range(many):
            total[j] += row[j] * weight
        for f in range(per_row):
            side, share = right[columns[i, f]], weight * values[i, f]
            for j in range(many):
                side[j] += row[j] * share
    return sums, right


@njit(cache=True, error_model="numpy")
def collect_leaves(matrix, leaf_weight, pair_weight, pair_start, pair_column, width):  # type: ignore[no-untyped-def]
    """`collect` of columns that do not change inside leaves, from one row of each and what was gathered."""
    leaves, many = matrix.shape
    sums, right = np.empty((leaves, many)), np.zeros((width, many))
    for g in range(leaves):
        row, total, weight = matrix[g], sums[g], leaf_weight[g]
        for j in range(many):
            total[j] = row[j] * weight
        for a in range(pair_start[g], pair_start[g + 1]):
            side, share = right[pair_column[a]], pair_weight[a]
            for j in range(many):
                side[j] += row[j] * share
    return sums, right


@njit(cache=True, error_model="numpy")
def remainder_leaves(matrix, path, border, weight, row_sd, leaf, columns, values, middle):  # type: ignore[no-untyped-def]
    """`remainder` of columns that do not change inside leaves: what a leaf and a border column add is found once."""
    many, per_row, width = matrix.shape[1], columns.shape[1], len(border)
    reach = border @ middle
    both = reach @ border.T
    rest, square = np.empty((len(leaf), many)), np.empty(len(leaf))
    base, met, alone, last = np.empty(many), np.empty(width), 0.0, -1
    for i in range(len(leaf)):
        if leaf[i] != last:
            last, alone = leaf[i], 0.0
            for j in range(many):
                base[j] = matrix[last, j] - path[last, j]
            for j in range(many):
                lower = 0.0
                for k in range(j):
                    lower += middle[j, k] * base[k]
                alone += base[j] * (2.0 * lower + middle[j, j] * base[j])
            met[:] = np.nan
        row, thin, total = rest[i], 1.0 / (1.0 + row_sd * row_sd * weight[i]), alone
        for j in range(many):
            row[j] = base[j]
        for f in range(per_row):
            value, column = values[i, f], columns[i, f]
            if value == 0.0:
                continue
            if np.isnan(met[column]):
                met[column] = 0.0
                for j in range(many):
                    met[column] += reach[column, j] * base[j]
            total -= 2.0 * value * met[column]
            for e in range(per_row):
                total += value * values[i, e] * both[column, columns[i, e]]
            side = border[column]
            for j in range(many):
                row[j] -= value * side[j]
        for j in range(many):
            row[j] *= thin
        square[i] = max(total, 0.0) * thin * thin
    return rest, square


@njit(cache=True, error_model="numpy")
def remainder(matrix, path, border, weight, row_sd, leaf, columns, values, middle):  # type: ignore[no-untyped-def]
    """Rows less what nodes and border add to them, thinned by row effects, and r' middle r of every row r."""
    many, per_row = matrix.shape[1], columns.shape[1]
    rest, square = np.empty_like(matrix), np.empty(len(leaf))
    for i in range(len(leaf)):
        row, thin = rest[i], 1.0 / (1.0 + row_sd * row_sd * weight[i])
        node_row = path[leaf[i]]
        for j in range(many):
            row[j] = matrix[i, j] - node_row[j]
        for f in range(per_row):
            value, side = values[i, f], border[columns[i, f]]
            if value != 0.0:
                for j in range(many):
                    row[j] -= value * side[j]
        total = 0.0
        for j in range(many):
            row[j] *= thin
        for j in range(many):
            lower = 0.0
            for k in range(j):
                lower += middle[j, k] * row[k]
            total += row[j] * (2.0 * lower + middle[j, j] * row[j])
        square[i] = total
    return rest, square


@njit(cache=True, error_model="numpy")
def ascend(leaves, columns, node_var, scale, column_sd, coupling, parent, pair_start, pair_column):  # type: ignore[no-untyped-def]  # fmt: skip
    """Sums per node with what its children pass on, and the right-hand side left for the border."""
    nodes, many = len(parent), leaves.shape[1]
    sums, right = np.zeros((nodes, many)), np.empty_like(columns)
    sums[: len(leaves)] = leaves
    for k in range(len(columns)):
        right[k] = column_sd[k] * columns[k]
    for g in range(nodes):
        total, shrink = sums[g], 1.0 / scale[g]
        if parent[g] >= 0:
            up = sums[parent[g]]
            for j in range(many):
                up[j] += total[j] * shrink
        for a in range(pair_start[g], pair_start[g + 1]):
            pulled, side = node_var[g] * shrink * coupling[a], right[pair_column[a]]
            for j in range(many):
                side[j] -= pulled * total[j]
    return sums, right


@njit(cache=True, error_model="numpy")
def descend(sums, border, node_var, below, scale, coupling, parent, pair_start, pair_column):  # type: ignore[no-untyped-def]  # fmt: skip
    """Spherical effects per node, and the sum of effects on the path from the top."""
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


@njit(cache=True, error_model="numpy")
def ascend_one(target, weight, row_sd, leaf, columns, values, node_var, scale, column_sd, coupling, parent, pair_start, pair_column):  # type: ignore[no-untyped-def]  # fmt: skip  # noqa: E501
    """`collect` and `ascend` of a single column."""
    nodes, per_row = len(parent), columns.shape[1]
    sums, right = np.zeros(nodes), np.zeros((len(column_sd), 1))
    for i in range(len(target)):
        value = target[i]
        if row_sd > 0:
            value /= 1.0 + row_sd * row_sd * weight[i]
        sums[leaf[i]] += value
        for f in range(per_row):
            right[columns[i, f], 0] += value * values[i, f]
    for k in range(len(column_sd)):
        right[k, 0] *= column_sd[k]
    for g in range(nodes):
        total = sums[g] / scale[g]
        if parent[g] >= 0:
            sums[parent[g]] += total
        total *= node_var[g]
        for a in range(pair_start[g], pair_start[g + 1]):
            right[pair_column[a], 0] -= coupling[a] * total
    return sums, right


@njit(cache=True, error_model="numpy")
def descend_one(sums, border, target, weight, row_sd, has_rows, leaf, columns, values, node_var, below, scale, column_sd, coupling, parent, pair_start, pair_column):  # type: ignore[no-untyped-def]  # fmt: skip  # noqa: E501
    """`descend` of a single column and its way to the rows: predictor, row effects, node effects."""
    nodes, rows, per_row = len(parent), len(target), columns.shape[1]
    path, effect = np.empty(nodes), np.empty(nodes)
    predictor, row_effects = np.empty(rows), np.zeros(rows if has_rows else 0)
    for g in range(nodes - 1, -1, -1):
        above = path[parent[g]] if parent[g] >= 0 else 0.0
        rest = sums[g] - below[g] * above
        for a in range(pair_start[g], pair_start[g + 1]):
            rest -= coupling[a] * border[pair_column[a], 0]
        rest /= scale[g]
        path[g] = above + node_var[g] * rest
        effect[g] = np.sqrt(node_var[g]) * rest
    for i in range(rows):
        value = path[leaf[i]]
        for f in range(per_row):
            value += values[i, f] * column_sd[columns[i, f]] * border[columns[i, f], 0]
        if has_rows:
            row_effects[i] = row_sd * (target[i] - weight[i] * value) / (1.0 + row_sd * row_sd * weight[i])
            value += row_sd * row_effects[i]
        predictor[i] = value
    return predictor, row_effects, effect


@njit(cache=True, error_model="numpy")
def spread(inverse, weight, row_sd, node_var, below, scale, column_sd, coupling, leaf, parent, columns, values, row_pair, pair_start, pair_column, pair_parent, has_rows, wanted):  # type: ignore[no-untyped-def]  # fmt: skip  # noqa: E501
    """Posterior variances of predictors, row effects and node effects, from the top down."""
    nodes, rows, per_row = len(parent), len(weight) if wanted else 0, columns.shape[1]
    path, effect, path_border = np.empty(nodes), np.empty(nodes), np.empty(len(pair_column))
    predictor, row_spread = np.empty(rows), np.empty(rows if has_rows else 0)
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
            reach = column_sd[k] * values[i, f]
            value += 2 * reach * path_border[row_pair[i, f]]
            for e in range(per_row):
                m = columns[i, e]
                value += reach * column_sd[m] * values[i, e] * inverse[k, m]
        if has_rows:
            d = 1.0 + row_sd * row_sd * weight[i]
            row_spread[i] = row_sd**2 * weight[i] ** 2 * value / d**2 + 1 / d
            value = value / d**2 + row_sd**2 / d
        predictor[i] = value
    return predictor, row_spread, effect
