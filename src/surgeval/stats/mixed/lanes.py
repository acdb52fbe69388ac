"""The elimination for several sets of weights at once, one per lane of a vector register.

Standard errors need the gradient of log|H| at as many sets of weights as there are coefficients. The structure is the
same in all of them, so one walk through rows and nodes serves `LANES` sets, and the processor works on them together.
"""

from __future__ import annotations

import numpy as np
from numba import njit

LANES = 6


@njit(cache=True, error_model="numpy")
def bend(weight, slope, row_sd, leaf, columns, values, row_pair, node_var, column_sd, parent, pair_start, pair_column, pair_parent):  # type: ignore[no-untyped-def]  # fmt: skip  # noqa: E501
    """c - W Z L H^-1 L Z' c with c = (posterior variance of the predictor) * slope, for `LANES` sets of weights."""
    below, scale, coupling, inverse = _eliminate(weight, row_sd, leaf, columns, values, row_pair, node_var, column_sd,
                                                 parent, pair_start, pair_column, pair_parent)  # fmt: skip
    _invert(inverse)
    change = _variances(weight, row_sd, leaf, columns, values, row_pair, node_var, column_sd, parent, pair_start,
                        pair_column, pair_parent, scale, coupling, inverse)  # fmt: skip
    for i in range(len(change)):
        for q in range(LANES):
            change[i, q] *= slope[i, q]
    _deflate(change, weight, row_sd, leaf, columns, values, node_var, column_sd, parent, pair_start, pair_column, below,
             scale, coupling, inverse)  # fmt: skip
    return change


@njit(cache=True, error_model="numpy")
def _eliminate(weight, row_sd, leaf, columns, values, row_pair, node_var, column_sd, parent, pair_start, pair_column, pair_parent):  # type: ignore[no-untyped-def]  # fmt: skip  # noqa: E501
    nodes, width, per_row = len(parent), len(column_sd), columns.shape[1]
    below, scale = np.zeros((nodes, LANES)), np.empty((nodes, LANES))
    coupling, schur = np.zeros((len(pair_column), LANES)), np.zeros((width, width, LANES))
    thin, shrink = np.empty(LANES), np.empty(LANES)
    for i in range(len(weight)):
        for q in range(LANES):
            thin[q] = weight[i, q] / (1.0 + row_sd * row_sd * weight[i, q])
            below[leaf[i], q] += thin[q]
        for f in range(per_row):
            k = columns[i, f]
            reach = column_sd[k] * values[i, f]
            for q in range(LANES):
                coupling[row_pair[i, f], q] += thin[q] * reach
            for e in range(f + 1):
                m = columns[i, e]
                both = reach * column_sd[m] * values[i, e]
                for q in range(LANES):
                    schur[k, m, q] += thin[q] * both
    for k in range(width):
        schur[k, k] += 1.0
    for g in range(nodes):
        up, var = parent[g], node_var[g]
        for q in range(LANES):
            scale[g, q] = 1.0 + var * below[g, q]
            shrink[q] = 1.0 / scale[g, q]
            if up >= 0:
                below[up, q] += below[g, q] * shrink[q]
        for a in range(pair_start[g], pair_start[g + 1]):
            if up >= 0:
                for q in range(LANES):
                    coupling[pair_parent[a], q] += coupling[a, q] * shrink[q]
            if var > 0:
                for q in range(LANES):
                    thin[q] = var * shrink[q] * coupling[a, q]
                for b in range(pair_start[g], a + 1):
                    k, m = pair_column[a], pair_column[b]
                    for q in range(LANES):
                        schur[k, m, q] -= thin[q] * coupling[b, q]
    for k in range(width):
        for m in range(k):
            schur[m, k] = schur[k, m]
    return below, scale, coupling, schur


@njit(cache=True, error_model="numpy")
def _invert(matrix):  # type: ignore[no-untyped-def]
    """Positive definite matrices inverted in place, by sweeping out one column after the other."""
    width, pivot, factor = len(matrix), np.empty(LANES), np.empty(LANES)
    for k in range(width):
        for q in range(LANES):
            pivot[q] = 1.0 / matrix[k, k, q]
            matrix[k, k, q] = 1.0
        for j in range(width):
            for q in range(LANES):
                matrix[k, j, q] *= pivot[q]
        for i in range(width):
            if i != k:
                for q in range(LANES):
                    factor[q] = matrix[i, k, q]
                    matrix[i, k, q] = 0.0
                for j in range(width):
                    for q in range(LANES):
                        matrix[i, j, q] -= factor[q] * matrix[k, j, q]


@njit(cache=True, error_model="numpy")
def _variances(weight, row_sd, leaf, columns, values, row_pair, node_var, column_sd, parent, pair_start, pair_column, pair_parent, scale, coupling, inverse):  # type: ignore[no-untyped-def]  # fmt: skip  # noqa: E501
    """Posterior variance of every row's predictor."""
    nodes, per_row, rows = len(parent), columns.shape[1], len(weight)
    path, path_border = np.zeros((nodes, LANES)), np.zeros((len(pair_column), LANES))
    result, cross, square, shared = np.empty((rows, LANES)), np.empty(LANES), np.empty(LANES), np.empty(LANES)
    for g in range(nodes - 1, -1, -1):
        up, var = parent[g], node_var[g]
        cross[:] = 0.0
        square[:] = 0.0
        for a in range(pair_start[g], pair_start[g + 1]):
            shared[:] = 0.0
            for b in range(pair_start[g], pair_start[g + 1]):
                k, m = pair_column[a], pair_column[b]
                for q in range(LANES):
                    shared[q] += inverse[k, m, q] * coupling[b, q]
            for q in range(LANES):
                met = path_border[pair_parent[a], q] if up >= 0 else 0.0
                cross[q] += coupling[a, q] * met
                square[q] += coupling[a, q] * shared[q]
                path_border[a, q] = (met - var * shared[q]) / scale[g, q]
        for q in range(LANES):
            above = path[up, q] if up >= 0 else 0.0
            d = 1.0 / scale[g, q]
            path[g, q] = ((above + var * var * square[q] - 2 * var * cross[q]) * d + var) * d
    for i in range(rows):
        for q in range(LANES):
            result[i, q] = path[leaf[i], q]
        for f in range(per_row):
            k = columns[i, f]
            reach = column_sd[k] * values[i, f]
            for q in range(LANES):
                result[i, q] += 2 * reach * path_border[row_pair[i, f], q]
            for e in range(per_row):
                m = columns[i, e]
                both = reach * column_sd[m] * values[i, e]
                for q in range(LANES):
                    result[i, q] += both * inverse[k, m, q]
        if row_sd > 0:
            for q in range(LANES):
                d = 1.0 / (1.0 + row_sd * row_sd * weight[i, q])
                result[i, q] = (result[i, q] * d + row_sd * row_sd) * d
    return result


@njit(cache=True, error_model="numpy")
def _deflate(change, weight, row_sd, leaf, columns, values, node_var, column_sd, parent, pair_start, pair_column, below, scale, coupling, inverse):  # type: ignore[no-untyped-def]  # fmt: skip  # noqa: E501
    """`change` less W times the predictor that solving with it gives, in place."""
    nodes, width, per_row, rows = len(parent), len(column_sd), columns.shape[1], len(weight)
    sums, right, border = np.zeros((nodes, LANES)), np.zeros((width, LANES)), np.zeros((width, LANES))
    rest, pull = np.empty(LANES), np.empty(LANES)
    for i in range(rows):
        for q in range(LANES):
            rest[q] = change[i, q] / (1.0 + row_sd * row_sd * weight[i, q])
            sums[leaf[i], q] += rest[q]
        for f in range(per_row):
            k = columns[i, f]
            reach = column_sd[k] * values[i, f]
            for q in range(LANES):
                right[k, q] += reach * rest[q]
    for g in range(nodes):
        up, var = parent[g], node_var[g]
        for q in range(LANES):
            pull[q] = sums[g, q] / scale[g, q]
            if up >= 0:
                sums[up, q] += pull[q]
        for a in range(pair_start[g], pair_start[g + 1]):
            k = pair_column[a]
            for q in range(LANES):
                right[k, q] -= var * pull[q] * coupling[a, q]
    for k in range(width):
        for m in range(width):
            for q in range(LANES):
                border[k, q] += inverse[k, m, q] * right[m, q]
    for g in range(nodes - 1, -1, -1):
        up, var = parent[g], node_var[g]
        for q in range(LANES):
            rest[q] = sums[g, q] - (below[g, q] * sums[up, q] if up >= 0 else 0.0)
        for a in range(pair_start[g], pair_start[g + 1]):
            k = pair_column[a]
            for q in range(LANES):
                rest[q] -= coupling[a, q] * border[k, q]
        for q in range(LANES):
            sums[g, q] = (sums[up, q] if up >= 0 else 0.0) + var * rest[q] / scale[g, q]
    for i in range(rows):
        for q in range(LANES):
            rest[q] = sums[leaf[i], q]
        for f in range(per_row):
            k = columns[i, f]
            reach = column_sd[k] * values[i, f]
            for q in range(LANES):
                rest[q] += reach * border[k, q]
        for q in range(LANES):
            d = 1.0 + row_sd * row_sd * weight[i, q]
            value = rest[q] + row_sd * row_sd * (change[i, q] - weight[i, q] * rest[q]) / d
            change[i, q] -= weight[i, q] * value
