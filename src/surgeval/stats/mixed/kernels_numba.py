"""The elimination compiled with numba: same recursion, same results as `kernels`, without temporary arrays.

Only imported when numba is installed and the data are large enough to repay its loading time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from scipy import linalg

from surgeval.stats.mixed import loops
from surgeval.stats.mixed.families import NONE, Binomial, Family, Terms
from surgeval.stats.mixed.kernels import Effects, Remainder, Spread, Sums, bent_one_by_one, path_of, trace_of
from surgeval.stats.mixed.lanes import LANES, bend
from surgeval.stats.mixed.products import inner
from surgeval.stats.mixed.structure import Layout


class NumbaKernel:
    """The elimination in compiled loops over rows, nodes and pairs."""

    def __init__(self, layout: Layout) -> None:
        self.layout, self.log_determinant = layout, 0.0
        self._weight: Any = None
        self._small = layout.width <= loops.SMALL_BORDER
        self._first = np.searchsorted(layout.leaf, np.arange(layout.spans[0][1]))
        self._matrix: Any = None
        self._leaf_rows: np.ndarray | None = None

    def factorise(self, weight: np.ndarray, sd: np.ndarray) -> None:
        """Eliminate rows, nodes and border for these weights and standard deviations."""
        lay = self.layout
        self._row_sd = float(sd[lay.row_factor]) if lay.row_factor >= 0 else 0.0
        if weight is not self._weight or lay.row_factor >= 0:
            self._gathered = loops.gather(weight, self._row_sd, lay.leaf, lay.columns, lay.values, lay.row_pair,
                                          lay.spans[0][1], lay.width, lay.pair_start[lay.spans[0][1]])  # fmt: skip
        self._weight = weight
        self._node_var, self._column_sd = self._deviations(sd)
        leaf_weight, pair_weight, cross, row_logs = self._gathered
        self._below, self._scale, self._coupling, schur, logs = loops.factorise(
            leaf_weight, pair_weight, cross, row_logs, self._node_var, self._column_sd, lay.node_parent, lay.pair_start,
            lay.pair_column, lay.pair_parent,
        )  # fmt: skip
        self._root, half = self._border_root(schur)
        if not np.isfinite(logs + half):
            raise linalg.LinAlgError("negative weights leave H indefinite")
        self.log_determinant = float(logs + 2 * half)

    def _deviations(self, sd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Variance of every node and standard deviation of every border column."""
        return np.append(sd**2, 0.0)[self.layout.node_factor], sd[self.layout.column_factor]

    def _border_root(self, schur: np.ndarray) -> tuple[np.ndarray, float]:
        if self._small:
            root, half = loops.cholesky(schur)
            return root, float(half)
        root = linalg.cholesky(schur, lower=True, check_finite=False, overwrite_a=True)
        return root, float(np.log(np.diag(root)).sum())

    def _border_solution(self, right: np.ndarray) -> np.ndarray:
        if self._small:
            return np.asarray(loops.root_solve(self._root, right))
        return np.ascontiguousarray(linalg.cho_solve((self._root, True), right, check_finite=False))

    def collect(self, matrix: np.ndarray) -> Sums:
        """The columns of `matrix`, weighted and summed per node and border column."""
        lay = self.layout
        if (rows := self._by_leaf(matrix)) is not None:
            leaf_weight, pair_weight = self._gathered[:2]
            leaves, columns = loops.collect_leaves(
                rows, leaf_weight, pair_weight, lay.pair_start, lay.pair_column, lay.width
            )
            return Sums(inner(rows, rows, leaf_weight), leaves, columns)
        thin = self._weight / (1.0 + self._row_sd**2 * self._weight)
        matrix = np.ascontiguousarray(matrix)
        leaves, columns = loops.collect(matrix, thin, lay.leaf, lay.columns, lay.values, lay.spans[0][1], lay.width)
        return Sums(inner(matrix, matrix, thin), leaves, columns)

    def _by_leaf(self, matrix: np.ndarray) -> np.ndarray | None:
        """One row of each leaf where the columns do not change inside leaves, as properties of units do not.

        Asked of the same matrix again and again, it looks once.
        """
        if matrix is not self._matrix:
            rows = np.ascontiguousarray(matrix[self._first])
            alike = 2 * len(rows) <= len(matrix) and np.array_equal(rows[self.layout.leaf], matrix)
            self._matrix, self._leaf_rows = matrix, rows if alike else None
        return self._leaf_rows

    def gram(self, sums: Sums, *, effects: bool = True) -> tuple[np.ndarray, Effects]:
        """M' (W - W Z L H^-1 L Z' W) M, and if wanted the effects of nodes and border for the columns of W M."""
        lay, many = self.layout, len(sums.square)
        below, right = loops.ascend(sums.leaves, sums.columns, self._node_var, self._scale, self._column_sd,
                                    self._coupling, lay.node_parent, lay.pair_start, lay.pair_column)  # fmt: skip
        border, nodes = self._border_solution(right), np.zeros((0, many))
        if effects:
            nodes, _ = loops.descend(below, border, self._node_var, self._below, self._scale, self._coupling,
                                     lay.node_parent, lay.pair_start, lay.pair_column)  # fmt: skip
        matrix = sums.square - inner(below, below, self._node_var / self._scale) - inner(right, border)
        return matrix, Effects(np.zeros((0, many)), nodes, border)

    def solve(self, target: np.ndarray) -> tuple[np.ndarray, Effects]:
        """Effects H^-1 L Z' target and the predictor they give."""
        lay = self.layout
        sums, right = loops.ascend_one(
            target, self._weight, self._row_sd, lay.leaf, lay.columns, lay.values, self._node_var, self._scale,
            self._column_sd, self._coupling, lay.node_parent, lay.pair_start, lay.pair_column,
        )  # fmt: skip
        border = self._border_solution(right)
        predictor, rows, nodes = loops.descend_one(
            sums, border, target, self._weight, self._row_sd, lay.row_factor >= 0, lay.leaf, lay.columns,
            lay.values, self._node_var, self._below, self._scale, self._column_sd, self._coupling, lay.node_parent,
            lay.pair_start, lay.pair_column,
        )  # fmt: skip
        return predictor, Effects(rows, nodes, border[:, 0])

    def spread(self, *, rows: bool = True) -> Spread:
        """Posterior variances, from the top down."""
        lay = self.layout
        inverse = self._border_solution(np.eye(lay.width))
        predictor, row_effects, nodes = loops.spread(
            inverse, self._weight, self._row_sd, self._node_var, self._below, self._scale, self._column_sd,
            self._coupling, lay.leaf, lay.node_parent, lay.columns, lay.values, lay.row_pair, lay.pair_start,
            lay.pair_column, lay.pair_parent, lay.row_factor >= 0, rows,
        )  # fmt: skip
        effects = Effects(row_effects, nodes, np.diag(inverse).copy())
        return Spread(predictor, trace_of(lay, effects), effects)

    def remainder(self, matrix: np.ndarray, effects: Effects, sd: np.ndarray, middle: np.ndarray) -> Remainder:
        """What of a matrix its effects leave over, and per row r of that r' middle r."""
        lay = self.layout
        border = sd[lay.column_factor][:, None] * effects.border
        path, rows = path_of(lay, effects, sd), self._by_leaf(matrix)
        loop, given = (loops.remainder, matrix) if rows is None else (loops.remainder_leaves, rows)
        return Remainder(*loop(np.ascontiguousarray(given), path, border, self._weight, self._row_sd, lay.leaf,
                               lay.columns, lay.values, middle))  # fmt: skip

    def bend(self, weights: np.ndarray, slopes: np.ndarray, sd: np.ndarray) -> np.ndarray:
        """How log|H| bends the gradient, for every column of weights and slopes of weights."""
        lay, many = self.layout, weights.shape[1]
        if not self._small:
            return bent_one_by_one(self, weights, slopes, sd)
        row_sd = float(sd[lay.row_factor]) if lay.row_factor >= 0 else 0.0
        node_var, column_sd = self._deviations(sd)
        result = np.empty_like(weights)
        for start in range(0, many, LANES):
            lanes = bend(_lanes(weights, start), _lanes(slopes, start), row_sd, lay.leaf, lay.columns, lay.values,
                        lay.row_pair, node_var, column_sd, lay.node_parent, lay.pair_start, lay.pair_column,
                        lay.pair_parent)  # fmt: skip
            result[:, start : start + LANES] = lanes[:, : many - start]
        return result


def _lanes(matrix: np.ndarray, start: int) -> np.ndarray:
    """As many columns as there are lanes, the last repeated where they run out, row by row in memory."""
    if matrix.shape[1] == LANES:
        return np.ascontiguousarray(matrix)
    chosen = np.minimum(np.arange(start, start + LANES), matrix.shape[1] - 1)
    return np.ascontiguousarray(matrix[:, chosen])


class CompiledBinomial(Binomial):
    """Binomial with its loops fused; exponentials stay with numpy, whose are vectorised."""

    def __init__(self, plain: Binomial) -> None:
        vars(self).update(vars(plain))

    def value(self, eta: np.ndarray, _nuisance: np.ndarray = NONE, /) -> float:
        """Log-likelihood relative to the saturated model."""
        soft = np.log1p(np.exp(-np.abs(eta)))
        return float(_binomial_value(eta, soft, self.hits, self.draws, self.base))

    def terms(self, eta: np.ndarray, _nuisance: np.ndarray = NONE, /) -> Terms:
        """Score and weight."""
        return Terms(*_binomial_terms(eta, np.exp(-np.abs(eta)), self.hits, self.draws))

    def slope(self, eta: np.ndarray, _nuisance: np.ndarray = NONE, /) -> np.ndarray:
        """Derivative of the weight."""
        return np.asarray(_binomial_slope(eta, np.exp(-np.abs(eta)), self.draws))


def compiled(family: Family) -> Family:
    """The compiled twin of a family where there is one, else the family itself."""
    if type(family) is Binomial:
        return CompiledBinomial(family)
    return family


@njit(cache=True, error_model="numpy")
def _binomial_value(eta, soft, hits, draws, base):  # type: ignore[no-untyped-def]
    total = 0.0
    for i in range(len(eta)):
        total += hits[i] * eta[i] - draws[i] * (max(eta[i], 0.0) + soft[i]) - base[i]
    return total


@njit(cache=True, error_model="numpy")
def _binomial_terms(eta, small, hits, draws):  # type: ignore[no-untyped-def]
    score, weight = np.empty_like(eta), np.empty_like(eta)
    for i in range(len(eta)):
        share = 1.0 / (1.0 + small[i])
        p = share if eta[i] >= 0 else small[i] * share
        score[i] = hits[i] - draws[i] * p
        weight[i] = draws[i] * small[i] * share * share
    return score, weight


@njit(cache=True, error_model="numpy")
def _binomial_slope(eta, small, draws):  # type: ignore[no-untyped-def]
    slope = np.empty_like(eta)
    for i in range(len(eta)):
        share = 1.0 / (1.0 + small[i])
        steep = draws[i] * small[i] * share * share * (1.0 - small[i]) * share
        slope[i] = -steep if eta[i] >= 0 else steep
    return slope
