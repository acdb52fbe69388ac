"""Elimination of random intercepts in numpy: the definition that the compiled twin must equal.

With t_g the weight below node g, c_g its coupling to the border and s its standard deviation:
D_g = 1 + s^2 t_g, the parent receives t_g / D_g and c_g / D_g, and the border loses s^2 c_g c_g' / D_g.
Going back down, with A_g the sum of effects on the path from the top to g,
A_g = (A_parent + s^2 (y_g - c_g' b)) / D_g, which yields modes, covariances and traces in one pass.

The decision a reader would question: one class, of which the compiled twin (`kernels_numba`) replaces the walks over
rows and nodes only and is the faster one. Variants for columns that are constant inside leaves, for single columns and
for several sets of weights at once were taken out: each was a second definition of the same numbers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse

from surgvalid.stats.mixed.fit.products import inner, outer
from surgvalid.stats.mixed.model.structure import EliminationLayout


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


class Kernel:
    """Factorises H for given weights, then solves with it and inverts what is needed of it."""

    def __init__(self, layout: EliminationLayout) -> None:
        self.layout, self.log_determinant = layout, 0.0
        self._weight: Any = None
        self._leaf_starts = np.searchsorted(layout.leaf, np.arange(layout.spans[0][1]))
        self._child_starts = [
            np.searchsorted(layout.node_parent[start:stop], np.arange(*after))
            for (start, stop), after in zip(layout.spans[:-1], layout.spans[1:], strict=True)
        ]
        self._pair_spans = [(layout.pair_start[a], layout.pair_start[b]) for a, b in layout.spans]
        # Matrices of one shape take new values in place: scipy's checks of a new one cost more than the products.
        self._rows, self._rows_weighted = layout.indicator, layout.indicator.copy()
        self._rows_down = self._rows.T.tocsr()
        numbered = np.arange(len(layout.pair_column), dtype=float), layout.pair_column, layout.pair_start
        self._pairs = sparse.csr_array(numbered, shape=(layout.nodes, layout.width))
        self._pairs_gained, self._pairs_down = self._pairs.copy(), self._pairs.T.tocsr()
        self._turned = self._pairs_down.data.astype(np.intp)

    def factorise(self, weight: np.ndarray, sd: np.ndarray) -> None:
        """Eliminate rows, nodes and border; afterwards everything refers to these weights and deviations."""
        lay = self.layout
        self._row_sd = float(sd[lay.row_factor]) if lay.row_factor >= 0 else 0.0
        self._node_var = np.append(sd, 0.0)[lay.node_factor] ** 2
        self._column_sd = sd[lay.column_factor]
        if weight is not self._weight or lay.row_factor >= 0:
            self._weight, self.row_scale = weight, 1.0 + self._row_sd**2 * weight
            self._gather(weight / self.row_scale)
        schur = self._eliminate()
        if min(self._scale.min(), self.row_scale.min()) <= 0:
            raise linalg.LinAlgError("negative weights leave H indefinite")
        self._root = linalg.cholesky(schur, lower=True, check_finite=False) if lay.width else schur
        self.log_determinant = float(np.log(self._scale).sum() + 2 * np.log(np.diag(self._root)).sum())
        if lay.row_factor >= 0:
            self.log_determinant += float(np.log(self.row_scale).sum())

    def _gather(self, thin: np.ndarray) -> None:
        """Sum the weights per leaf, pair and two border columns; kept while the weights stay the same."""
        lay = self.layout
        self._leaf_weight = np.add.reduceat(thin, self._leaf_starts)
        each = thin[lay.pair_row] * lay.values.ravel()
        self._pair_weight = np.bincount(lay.row_pair.ravel(), each, minlength=self._pair_spans[0][1])
        if lay.width:
            self._rows_weighted.data = each
            self._own_weight = (self._rows_down @ self._rows_weighted).toarray()

    def _eliminate(self) -> np.ndarray:
        """Eliminate every node: weights and couplings met, pivots; gives what is left of the border."""
        lay, below = self.layout, self._leaf_weight
        self._below, self._scale = np.empty(lay.nodes), np.empty(lay.nodes)
        self._coupling = np.empty(len(lay.pair_column))
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
        schur = np.eye(lay.width)
        if lay.width:
            schur += self._own_weight * np.outer(self._column_sd, self._column_sd)
            self._pairs.data, self._pairs_down.data = self._coupling, self._coupling[self._turned]
            self._pairs_gained.data = (self._node_var / self._scale)[lay.pair_node] * self._coupling
            schur -= (self._pairs_down @ self._pairs_gained).toarray()
        return schur

    def collect(self, matrix: np.ndarray) -> Sums:
        """The columns of `matrix`, weighted and summed per node and border column."""
        thin = self._weight / self.row_scale
        return Sums(inner(matrix, matrix, thin), *self._collected(matrix, thin))

    def _collected(self, matrix: np.ndarray, thin: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Columns weighted by `thin` and summed per leaf and per border column."""
        thinned = thin[:, None] * matrix
        return np.add.reduceat(thinned, self._leaf_starts, axis=0), np.asarray(self._rows_down @ thinned)

    def gram(self, sums: Sums, *, effects: bool = True) -> tuple[np.ndarray, Effects]:
        """M' (W - W Z L H^-1 L Z' W) M of the matrix M, and if wanted the effects H^-1 L Z' W M without rows'."""
        below, right = self._ascend(sums.leaves, sums.columns)
        border = self._border_solution(right)
        nodes = self._descend(below, border)[0] if effects else np.zeros((0, below.shape[1]))
        matrix = sums.square - inner(below, below, self._node_var / self._scale) - inner(right, border)
        return matrix, Effects(np.zeros((0, below.shape[1])), nodes, border)

    def solve(self, target: np.ndarray) -> tuple[np.ndarray, Effects]:
        """Effects H^-1 L Z' target, and the linear predictor Z L effects that they give."""
        lay = self.layout
        below, right = self._ascend(*self._collected(target[:, None], 1.0 / self.row_scale))
        border = self._border_solution(right)
        nodes, path = (column[:, 0] for column in self._descend(below, border))
        border = border[:, 0]
        predictor = path[lay.leaf]
        if lay.width:
            predictor += self._rows @ (self._column_sd * border)
        rows = np.zeros(0)
        if lay.row_factor >= 0:
            rows = self._row_sd * (target - self._weight * predictor) / self.row_scale
            predictor += self._row_sd * rows
        return predictor, Effects(rows, nodes, border)

    def _ascend(self, leaves: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Sums per node with what its children pass on, and the right-hand side left for the border."""
        lay = self.layout
        sums, below = np.empty((lay.nodes, leaves.shape[1])), leaves
        for step, (start, stop) in enumerate(lay.spans):
            sums[start:stop] = below
            if stop < lay.nodes:
                below = np.add.reduceat(below / self._scale[start:stop, None], self._child_starts[step], axis=0)
        right = self._column_sd[:, None] * columns
        if lay.width:
            right -= self._pairs_down @ ((self._node_var / self._scale)[:, None] * sums)
        return sums, right

    def _border_solution(self, right: np.ndarray) -> np.ndarray:
        if not self.layout.width:
            return right
        return np.ascontiguousarray(linalg.cho_solve((self._root, True), right, check_finite=False))

    def _descend(self, sums: np.ndarray, border: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Spherical effects per node, and the sum of effects on the path from the top."""
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

    def predictor(self, effects: Effects, sd: np.ndarray, *, rows: bool = True) -> np.ndarray:
        """What all factors together add to the linear predictor of the sorted rows; no row effects if `rows` is off.

        Effects may have several columns, which then give as many predictors.
        """
        lay = self.layout
        nodes = effects.nodes.reshape(lay.nodes, -1)
        border = effects.border.reshape(lay.width, nodes.shape[1])
        path = np.append(sd, 0.0)[lay.node_factor][:, None] * nodes
        for start, stop in reversed(lay.spans[:-1]):
            path[start:stop] += path[lay.node_parent[start:stop]]
        result = self._to_rows(path, sd[lay.column_factor][:, None] * border).reshape(-1, *effects.nodes.shape[1:])
        return np.asarray(result + sd[lay.row_factor] * effects.rows if lay.row_factor >= 0 and rows else result)

    def _to_rows(self, path: np.ndarray, border: np.ndarray) -> np.ndarray:
        """For every row what its path and its border columns add up to."""
        result = path[self.layout.leaf]
        for column, value in zip(self.layout.columns.T, self.layout.values.T, strict=True):
            result += value[:, None] * border[column]
        return np.asarray(result)

    def spread(self, *, rows: bool = True) -> Spread:
        """Posterior variances of the effects and, if `rows`, of the rows' predictors and row effects."""
        lay = self.layout
        inverse = self._border_solution(np.eye(lay.width))
        nodes, path, path_border = self._node_spread(inverse)
        predictor, of_rows = np.zeros(0), np.zeros(0)
        if rows:
            predictor = self._row_spread(inverse, path, path_border)
        if rows and lay.row_factor >= 0:
            of_rows = self._row_sd**2 * self._weight**2 * predictor / self.row_scale**2 + 1 / self.row_scale
            predictor = predictor / self.row_scale**2 + self._row_sd**2 / self.row_scale
        effects = Effects(of_rows, nodes, np.diag(inverse).copy())
        return Spread(predictor, trace_of(lay, effects), effects)

    def _node_spread(self, inverse: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Variances of nodes and of the paths to them, and covariances of paths with border columns, top down."""
        lay = self.layout
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
        return nodes, path, path_border

    def _row_spread(self, inverse: np.ndarray, path: np.ndarray, path_border: np.ndarray) -> np.ndarray:
        """Variance of every row's predictor, without the row's own effect."""
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
        return np.asarray(predictor)

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


def bent(kernel: Kernel, weights: np.ndarray, slopes: np.ndarray, sd: np.ndarray) -> np.ndarray:
    """c - W Z L H^-1 L Z' c with c = v * slope, v the posterior variance of the predictor; for every column."""
    result = np.empty_like(weights)
    for k in range(weights.shape[1]):
        weight = np.ascontiguousarray(weights[:, k])
        kernel.factorise(weight, sd)
        change = kernel.spread().predictor * slopes[:, k]
        result[:, k] = change - weight * kernel.solve(change)[0]
    return result


def remainder(kernel: Kernel, matrix: np.ndarray, effects: Effects, sd: np.ndarray, middle: np.ndarray) -> Remainder:
    """What of a matrix its effects leave over where the kernel is factorised, and per row r of that r' middle r."""
    rest = matrix - kernel.predictor(effects, sd, rows=False)
    if kernel.layout.row_factor >= 0:
        rest /= kernel.row_scale[:, None]
    return Remainder(rest, np.einsum("ij,ij->i", outer(rest, middle), rest))


def trace_of(layout: EliminationLayout, effects: Effects) -> np.ndarray:
    """Sum of an array of effects per factor.

    The same sums serve traces, squared norms and inner products.
    """
    total = np.bincount(layout.node_factor + 1, effects.nodes, minlength=layout.factors + 1)[1:]
    total = total + np.bincount(layout.column_factor, effects.border, minlength=layout.factors)
    if layout.row_factor >= 0:
        total[layout.row_factor] += effects.rows.sum()
    return np.asarray(total)


def parts_of(layout: EliminationLayout, effects: Effects, sd: np.ndarray) -> list[np.ndarray]:
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


def share_of(layout: EliminationLayout, effects: Effects, middle: np.ndarray) -> np.ndarray:
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
