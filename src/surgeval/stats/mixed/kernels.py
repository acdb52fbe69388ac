"""Elimination of random intercepts in numpy: the definition that the compiled twin must equal.

With t_g the weight below node g, c_g its coupling to the border and s its standard deviation:
D_g = 1 + s^2 t_g, the parent receives t_g / D_g and c_g / D_g, and the border loses s^2 c_g c_g' / D_g.
Going back down, with A_g the sum of effects on the path from the top to g,
A_g = (A_parent + s^2 (y_g - c_g' b)) / D_g, which yields modes, covariances and traces in one pass.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy import linalg, sparse

from surgeval.stats.mixed.products import inner, outer
from surgeval.stats.mixed.structure import Layout


class Effects(NamedTuple):
    """Spherical random effects (standard deviation one) of rows, nodes and border columns."""

    rows: np.ndarray
    nodes: np.ndarray
    border: np.ndarray


class Sums(NamedTuple):
    """A matrix of row values summed up for elimination: all that `gram` and `effects` need of it."""

    square: np.ndarray
    """Its Gram matrix under the weights left after eliminating row effects."""
    leaves: np.ndarray
    columns: np.ndarray
    """Sums per border column, not yet scaled by its standard deviation."""


class Spread(NamedTuple):
    """Posterior spread of the effects."""

    predictor: np.ndarray
    """Variance of every row's linear predictor."""
    trace: np.ndarray
    """Sum of the posterior variances of the spherical effects, per factor."""
    effects: Effects
    """Posterior variance of every spherical effect."""


class Remainder(NamedTuple):
    """What of the columns of a matrix is left where the random effects that they stand for are taken off."""

    rest: np.ndarray
    """M - Z L H^-1 L Z' W M, divided by 1 + s^2 w where rows have effects of their own."""
    square: np.ndarray
    """Per row r of `rest`: r' middle r."""


class Kernel(Protocol):
    """Factorises H for given weights, then solves with it and inverts what is needed of it."""

    layout: Layout
    log_determinant: float

    def factorise(self, weight: np.ndarray, sd: np.ndarray) -> None:
        """Eliminate everything; afterwards `solve` and `spread` refer to these weights."""
        ...

    def collect(self, matrix: np.ndarray) -> Sums:
        """The columns of `matrix`, weighted and summed per node and border column."""
        ...

    def gram(self, sums: Sums, *, effects: bool = True) -> tuple[np.ndarray, Effects]:
        """M' (W - W Z L H^-1 L Z' W) M of the matrix M, and if wanted the effects H^-1 L Z' W M without rows'."""
        ...

    def solve(self, target: np.ndarray) -> tuple[np.ndarray, Effects]:
        """Effects H^-1 L Z' target, and the linear predictor Z L effects that they give."""
        ...

    def spread(self, *, rows: bool = True) -> Spread:
        """Posterior variances of the effects and, if `rows`, of the rows' predictors and row effects."""
        ...

    def remainder(self, matrix: np.ndarray, effects: Effects, sd: np.ndarray, middle: np.ndarray) -> Remainder:
        """What of a matrix its effects leave over, and per row r of that r' middle r."""
        ...

    def bend(self, weights: np.ndarray, slopes: np.ndarray, sd: np.ndarray) -> np.ndarray:
        """c - W Z L H^-1 L Z' c with c = v * slope, v the posterior variance of the predictor; for every column."""
        ...


def remainder_of(
    layout: Layout, matrix: np.ndarray, effects: Effects, sd: np.ndarray, weight: np.ndarray, middle: np.ndarray
) -> Remainder:
    """What of a matrix its effects leave over, and per row r of that r' middle r."""
    rest = matrix - predictor_of(layout, effects, sd, rows=False)
    if layout.row_factor >= 0:
        rest /= (1.0 + float(sd[layout.row_factor]) ** 2 * weight)[:, None]
    return Remainder(rest, np.einsum("ij,ij->i", outer(rest, middle), rest))


class NumpyKernel:
    """The elimination written with whole-array operations."""

    def __init__(self, layout: Layout) -> None:
        self.layout, self.log_determinant = layout, 0.0
        self._weight: Any = None
        self._leaf_starts = np.searchsorted(layout.leaf, np.arange(layout.spans[0][1]))
        self._child_starts = [
            np.searchsorted(layout.node_parent[start:stop], np.arange(*after))
            for (start, stop), after in zip(layout.spans[:-1], layout.spans[1:], strict=True)
        ]
        self._pair_spans = [(layout.pair_start[a], layout.pair_start[b]) for a, b in layout.spans]

    def factorise(self, weight: np.ndarray, sd: np.ndarray) -> None:
        """Eliminate rows, nodes and border for these weights and standard deviations."""
        lay = self.layout
        self._row_sd = float(sd[lay.row_factor]) if lay.row_factor >= 0 else 0.0
        self._node_var = np.r_[sd, 0.0][lay.node_factor] ** 2
        self._column_sd = sd[lay.column_factor]
        if weight is not self._weight or lay.row_factor >= 0:
            self._gather(weight)
        self._below = np.empty(lay.nodes)
        self._coupling = np.empty(len(lay.pair_column))
        self._scale = np.empty(lay.nodes)
        self._eliminate_nodes()
        if min(self._scale.min(), self._row_scale.min()) <= 0:
            raise linalg.LinAlgError("negative weights leave H indefinite")
        self._eliminate_border()
        self.log_determinant = float(
            np.log(self._row_scale).sum() + np.log(self._scale).sum() + 2 * np.log(np.diag(self._root)).sum()
        )

    def _gather(self, weight: np.ndarray) -> None:
        """Sum the weights per leaf, pair and border columns; kept while the weights stay the same."""
        lay = self.layout
        self._weight, self._row_scale = weight, 1.0 + self._row_sd**2 * weight
        thin = weight / self._row_scale
        self._leaf_weight = np.add.reduceat(thin, self._leaf_starts)
        each = thin[lay.pair_row] * lay.values.ravel()
        self._pair_weight = np.bincount(lay.row_pair.ravel(), each, minlength=self._pair_spans[0][1])
        if lay.width:
            rows = lay.indicator
            gathered = rows.T @ sparse.csr_array((each, rows.indices, rows.indptr), shape=rows.shape)
            self._own_weight = gathered.toarray()

    def _eliminate_nodes(self) -> None:
        lay, below = self.layout, self._leaf_weight
        coupling = self._pair_weight * self._column_sd[lay.pair_column[: self._pair_spans[0][1]]]
        for step, ((start, stop), (first, last)) in enumerate(zip(lay.spans, self._pair_spans, strict=True)):
            self._below[start:stop], self._coupling[first:last] = below, coupling
            self._scale[start:stop] = 1.0 + self._node_var[start:stop] * below
            if stop == lay.nodes:
                break
            below = np.add.reduceat(below / self._scale[start:stop], self._child_starts[step])
            after, end = self._pair_spans[step + 1]
            passed = coupling / self._scale[lay.pair_node[first:last]]
            coupling = np.bincount(lay.pair_parent[first:last] - after, passed, minlength=end - after)

    def _eliminate_border(self) -> None:
        lay, width = self.layout, self.layout.width
        shape = (lay.nodes, width)
        self._pairs = sparse.csr_array((self._coupling, lay.pair_column, lay.pair_start), shape=shape)
        schur = np.eye(width)
        if width:
            schur += self._own_weight * np.outer(self._column_sd, self._column_sd)
            gain = (self._node_var / self._scale)[lay.pair_node] * self._coupling
            scaled = sparse.csr_array((gain, lay.pair_column, lay.pair_start), shape=shape)
            schur -= (self._pairs.T @ scaled).toarray()
        self._root = linalg.cholesky(schur, lower=True, check_finite=False) if width else schur

    def collect(self, matrix: np.ndarray) -> Sums:
        """The columns of `matrix`, weighted and summed per node and border column."""
        thin = self._weight / self._row_scale
        return Sums(inner(matrix, matrix, thin), *self._collected(thin[:, None] * matrix))

    def _collected(self, thin: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.add.reduceat(thin, self._leaf_starts, axis=0), np.asarray(self.layout.indicator.T @ thin)

    def gram(self, sums: Sums, *, effects: bool = True) -> tuple[np.ndarray, Effects]:
        """M' (W - W Z L H^-1 L Z' W) M, and if wanted the effects of nodes and border for the columns of W M."""
        below, right = self._ascend(sums.leaves, sums.columns)
        border = self._border_solution(right)
        nodes = self._descend(below, border)[0] if effects else np.zeros((0, below.shape[1]))
        matrix = sums.square - inner(below, below, self._node_var / self._scale) - inner(right, border)
        return matrix, Effects(np.zeros((0, below.shape[1])), nodes, border)

    def solve(self, target: np.ndarray) -> tuple[np.ndarray, Effects]:
        """Effects H^-1 L Z' target and the predictor they give."""
        lay = self.layout
        below, right = self._ascend(*self._collected((target / self._row_scale)[:, None]))
        border = self._border_solution(right)
        nodes, path = (column[:, 0] for column in self._descend(below, border))
        border = border[:, 0]
        predictor = path[lay.leaf]
        if lay.width:
            predictor += lay.indicator @ (self._column_sd * border)
        rows = np.zeros(0)
        if lay.row_factor >= 0:
            rows = self._row_sd * (target - self._weight * predictor) / self._row_scale
            predictor += self._row_sd * rows
        return predictor, Effects(rows, nodes, border)

    def _ascend(self, leaves: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        lay = self.layout
        sums, below = np.empty((lay.nodes, leaves.shape[1])), leaves
        for step, (start, stop) in enumerate(lay.spans):
            sums[start:stop] = below
            if stop < lay.nodes:
                below = np.add.reduceat(below / self._scale[start:stop, None], self._child_starts[step], axis=0)
        right = self._column_sd[:, None] * columns
        if lay.width:
            right -= self._pairs.T @ ((self._node_var / self._scale)[:, None] * sums)
        return sums, right

    def _border_solution(self, right: np.ndarray) -> np.ndarray:
        if not self.layout.width:
            return right
        return np.asarray(linalg.cho_solve((self._root, True), right, check_finite=False))

    def _descend(self, sums: np.ndarray, border: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        lay = self.layout
        rest = sums - self._pairs @ border if lay.width else sums
        path, nodes = np.zeros_like(sums), np.zeros_like(sums)
        for start, stop in reversed(lay.spans):
            span = slice(start, stop)
            above = path[lay.node_parent[span]] if stop < lay.nodes else 0.0
            pull = (rest[span] - self._below[span, None] * above) / self._scale[span, None]
            path[span] = above + self._node_var[span, None] * pull
            nodes[span] = np.sqrt(self._node_var[span, None]) * pull
        return nodes, path

    def spread(self, *, rows: bool = True) -> Spread:
        """Posterior variances, from the top down."""
        lay = self.layout
        inverse = self._border_solution(np.eye(lay.width))
        shared = self._sampled_product(inverse)
        square = np.bincount(lay.pair_node, self._coupling * shared, minlength=lay.nodes)
        path_border = np.empty(len(lay.pair_column))
        path, nodes = np.zeros(lay.nodes), np.zeros(lay.nodes)
        for (start, stop), (first, last) in zip(reversed(lay.spans), reversed(self._pair_spans), strict=True):
            span, pairs = slice(start, stop), slice(first, last)
            scale, var, below = self._scale[span], self._node_var[span], self._below[span]
            above: np.ndarray = np.zeros(stop - start)
            met: np.ndarray = np.zeros(last - first)
            if stop < lay.nodes:
                above, met = path[lay.node_parent[span]], path_border[lay.pair_parent[pairs]]
            cross = np.bincount(lay.pair_node[pairs] - start, self._coupling[pairs] * met, minlength=stop - start)
            nodes[span] = var / scale**2 * (below**2 * above + 2 * below * cross + square[span]) + 1 / scale
            path[span] = (above + var**2 * square[span] - 2 * var * cross) / scale**2 + var / scale
            at = lay.pair_node[pairs]
            path_border[pairs] = (met - self._node_var[at] * shared[pairs]) / self._scale[at]
        if not rows:
            effects = Effects(np.zeros(0), nodes, np.diag(inverse).copy())
            return Spread(np.zeros(0), trace_of(lay, effects), effects)
        return self._spread_rows(inverse, path, path_border, nodes)

    def _spread_rows(self, inverse: np.ndarray, path: np.ndarray, path_border: np.ndarray, nodes: np.ndarray) -> Spread:
        lay = self.layout
        predictor = path[lay.leaf]
        for f in range(lay.columns.shape[1]):
            column = lay.columns[:, f]
            reach = self._column_sd[column] * lay.values[:, f]
            predictor = predictor + 2 * reach * path_border[lay.row_pair[:, f]]
            for other in range(lay.columns.shape[1]):
                second = lay.columns[:, other]
                far = self._column_sd[second] * lay.values[:, other]
                predictor = predictor + reach * far * inverse[column, second]
        rows = np.zeros(0)
        if lay.row_factor >= 0:
            rows = self._row_sd**2 * self._weight**2 * predictor / self._row_scale**2 + 1 / self._row_scale
            predictor = predictor / self._row_scale**2 + self._row_sd**2 / self._row_scale
        effects = Effects(rows, nodes, np.diag(inverse).copy())
        return Spread(predictor, trace_of(lay, effects), effects)

    def remainder(self, matrix: np.ndarray, effects: Effects, sd: np.ndarray, middle: np.ndarray) -> Remainder:
        """What of a matrix its effects leave over, and per row r of that r' middle r."""
        return remainder_of(self.layout, matrix, effects, sd, self._weight, middle)

    def bend(self, weights: np.ndarray, slopes: np.ndarray, sd: np.ndarray) -> np.ndarray:
        """How log|H| bends the gradient, for every column of weights and slopes of weights."""
        return bent_one_by_one(self, weights, slopes, sd)

    def _sampled_product(self, inverse: np.ndarray) -> np.ndarray:
        """Entries of coupling times inverse, only where a pair occurs, in blocks that fit in memory."""
        lay = self.layout
        result = np.empty(len(lay.pair_column))
        block = max(1, 4_000_000 // max(lay.width, 1))
        for start in range(0, lay.nodes if lay.width else 0, block):
            stop = min(start + block, lay.nodes)
            first, last = lay.pair_start[start], lay.pair_start[stop]
            dense = self._pairs[start:stop] @ inverse
            result[first:last] = dense[lay.pair_node[first:last] - start, lay.pair_column[first:last]]
        return result


def bent_one_by_one(kernel: Kernel, weights: np.ndarray, slopes: np.ndarray, sd: np.ndarray) -> np.ndarray:
    """`Kernel.bend` with one factorisation per column."""
    result = np.empty_like(weights)
    for k in range(weights.shape[1]):
        weight = np.ascontiguousarray(weights[:, k])
        kernel.factorise(weight, sd)
        change = kernel.spread().predictor * slopes[:, k]
        result[:, k] = change - weight * kernel.solve(change)[0]
    return result


def trace_of(layout: Layout, effects: Effects) -> np.ndarray:
    """Sum of an array of effects per factor.

    The same sums serve traces, squared norms and inner products.
    """
    total = np.bincount(layout.node_factor + 1, effects.nodes, minlength=layout.factors + 1)[1:]
    total = total + np.bincount(layout.column_factor, effects.border, minlength=layout.factors)
    if layout.row_factor >= 0:
        total[layout.row_factor] += effects.rows.sum()
    return np.asarray(total)


def path_of(layout: Layout, effects: Effects, sd: np.ndarray) -> np.ndarray:
    """Per node, what it and all nodes above it add to the linear predictor; effects may have several columns."""
    wide = (slice(None), *[None] * (effects.border.ndim - 1))
    path = np.append(sd, 0.0)[layout.node_factor][wide] * effects.nodes
    for start, stop in reversed(layout.spans[:-1]):
        path[start:stop] += path[layout.node_parent[start:stop]]
    return np.asarray(path)


def predictor_of(layout: Layout, effects: Effects, sd: np.ndarray, *, rows: bool = True) -> np.ndarray:
    """What all factors together add to the linear predictor of the sorted rows; not the row effects if `rows` is off.

    Effects may have several columns, which then give as many predictors.
    """
    wide = (slice(None), *[None] * (effects.border.ndim - 1))
    result = path_of(layout, effects, sd)[layout.leaf]
    border = sd[layout.column_factor][wide] * effects.border
    for column, value in zip(layout.columns.T, layout.values.T, strict=True):
        result += value[wide] * border[column]
    if layout.row_factor >= 0 and rows:
        result += sd[layout.row_factor] * effects.rows
    return np.asarray(result)


def parts_of(layout: Layout, effects: Effects, sd: np.ndarray) -> list[np.ndarray]:
    """What every factor adds to the linear predictor of the sorted rows."""
    parts = []
    for factor in range(layout.factors):
        if factor == layout.row_factor:
            effect = effects.rows
        elif factor in layout.border:
            effect = effects.border[layout.column_factor == factor]
        else:
            effect = effects.nodes[layout.node_factor == factor]
        predictor = sd[factor] * effect[layout.level_of_row(factor)]
        parts.append(
            predictor * layout.values[:, layout.border.index(factor)] if factor in layout.border else predictor
        )
    return parts


def share_of(layout: Layout, effects: Effects, middle: np.ndarray) -> np.ndarray:
    """Per factor, the trace of E' E middle, with E as many columns of its effects as `middle` has."""
    shares, many = np.zeros(layout.factors), len(middle)
    for start, stop in layout.spans:
        effect = effects.nodes[start:stop, :many]
        if layout.chain:
            shares[layout.node_factor[start]] = np.sum(inner(effect, effect) * middle)
    for factor in layout.border:
        effect = effects.border[layout.column_factor == factor, :many]
        shares[factor] = np.sum(inner(effect, effect) * middle)
    return shares


def product_of(left: Effects, right: Effects) -> Effects:
    """Elementwise product of two sets of effects."""
    return Effects(left.rows * right.rows, left.nodes * right.nodes, left.border * right.border)
