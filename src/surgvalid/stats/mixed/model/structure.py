"""How the random effects of a model hang together, and the order in which they can be eliminated.

Random intercepts give the matrix H = I + L Z' W Z L (L = diagonal of standard deviations). Three shapes in
Z make its factorisation cheap, so they are looked for once per data set:

* a factor with one level per row is eliminated in closed form, row by row;
* a chain of nested factors (instance within image within patient) is a forest, and every node of a forest
  is eliminated with scalars;
* whatever crosses the chain (algorithm, question template) forms the border, a dense matrix whose order is
  the number of border levels; random slopes stand here too, with a value per row. Coupling between nodes and
  border is kept as a list of the (node, level) pairs that occur, so two large crossed factors cost memory by
  pairs, not by the product of their levels.

Cost per factorisation is linear in rows and nodes plus the cube of the border. The chain is the path
through the nesting order that removes the most levels, which leaves the smallest border.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import polars as pl
from scipy import sparse

from surgvalid.errors import Misuse
from surgvalid.stats.mixed.model.formula import Slope

BORDER_LIMIT = 8_000
"""Levels in the border beyond which its dense matrix (512 MB here) is refused."""


@dataclass(frozen=True)
class Factor:
    """A grouping of the rows: `codes[row]` in `0 .. levels - 1`."""

    name: str
    codes: np.ndarray
    labels: pl.Series
    values: np.ndarray | None = None
    """What multiplies the effect of a row's level (a random slope); None for one in every row (an intercept)."""
    slope: Slope | None = None
    """Which column the values are of, and between what its effect varies."""

    @property
    def levels(self) -> int:
        """How many groups there are."""
        return len(self.labels)


@dataclass(frozen=True)
class EliminationLayout:
    """Rows sorted by the chain, nodes numbered from finest to coarsest, border levels as columns."""

    order: np.ndarray
    """Sorted row to original row."""
    factors: int
    row_factor: int
    """Index of the factor with one level per row, or -1."""
    chain: tuple[int, ...]
    """Indices of the chain's factors, finest first; empty when a null root stands in."""
    border: tuple[int, ...]
    leaf: np.ndarray
    """Row to its finest node."""
    node_parent: np.ndarray
    """Node to its parent node, -1 at the top."""
    node_factor: np.ndarray
    node_level: np.ndarray
    """Node to the code of its level within its factor."""
    spans: tuple[tuple[int, int], ...]
    """First and last-plus-one node of every chain factor."""
    columns: np.ndarray
    """`columns[row, f]`: border column of the row under the f-th border factor."""
    values: np.ndarray
    """`values[row, f]`: what multiplies the effect of that column in the row; one for an intercept."""
    column_factor: np.ndarray
    column_level: np.ndarray
    pair_start: np.ndarray
    """CSR pointer: pairs of node g are `pair_start[g] .. pair_start[g + 1]`."""
    pair_column: np.ndarray
    pair_parent: np.ndarray
    """Pair to the pair of the parent node with the same column, -1 at the top."""
    row_pair: np.ndarray
    """`row_pair[row, f]`: the pair of the row's leaf and its f-th border column."""

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(self.order)

    @property
    def nodes(self) -> int:
        """How many nodes the chain has."""
        return len(self.node_parent)

    @property
    def width(self) -> int:
        """How many border columns there are."""
        return len(self.column_factor)

    @cached_property
    def pair_node(self) -> np.ndarray:
        """Pair to its node."""
        return np.repeat(np.arange(self.nodes), np.diff(self.pair_start))

    @cached_property
    def pair_row(self) -> np.ndarray:
        """Row of every entry of `columns`, read row by row."""
        return np.repeat(np.arange(self.rows), self.columns.shape[1])

    @cached_property
    def sizes(self) -> np.ndarray:
        """Levels per factor."""
        sizes = np.bincount(self.node_factor[self.node_factor >= 0], minlength=self.factors)
        sizes = sizes + np.bincount(self.column_factor, minlength=self.factors)
        if self.row_factor >= 0:
            sizes[self.row_factor] = self.rows
        return sizes.astype(float)

    @cached_property
    def indicator(self) -> sparse.csr_array:
        """Rows by border columns: the row's value where it belongs to the column."""
        start = np.arange(self.rows + 1) * self.columns.shape[1]
        return sparse.csr_array((self.values.ravel(), self.columns.ravel(), start), shape=(self.rows, self.width))

    def level_of_row(self, factor: int) -> np.ndarray:
        """For every sorted row, the place of its level in `by_factor` of that factor."""
        if factor == self.row_factor:
            return np.arange(self.rows)
        if factor in self.border:
            position = self.border.index(factor)
            return self.columns[:, position] - int(np.flatnonzero(self.column_factor == factor)[0])
        node = self.leaf
        for start, stop in self.spans:
            if self.node_factor[start] == factor:
                return node - start
            node = self.node_parent[node] if stop < self.nodes else node
        raise Misuse(f"factor {factor} is not part of this layout")


def is_nested(fine: Factor, coarse: Factor) -> bool:
    """Whether every level of `fine` lies within one level of `coarse`.

    Example:
        >>> image = Factor("image", np.array([0, 0, 1, 2]), pl.Series(["a", "b", "c"]))
        >>> patient = Factor("patient", np.array([0, 0, 0, 1]), pl.Series(["p", "q"]))
        >>> is_nested(image, patient), is_nested(patient, image)
        (True, False)
    """
    if fine.levels < coarse.levels:
        return False
    parent = np.zeros(fine.levels, dtype=np.int64)
    parent[fine.codes] = coarse.codes
    return bool(np.array_equal(parent[fine.codes], coarse.codes))


def layout_of(factors: Sequence[Factor], rows: int) -> EliminationLayout:
    """The elimination order for these random intercepts over `rows` rows.

    Raises:
        Misuse: The factors that cross the chain have too many levels together.
    """
    row_factor = next((i for i, f in enumerate(factors) if f.levels == rows and f.values is None), -1)
    chain = _longest_chain(factors, row_factor)
    border = tuple(i for i in range(len(factors)) if i not in chain and i != row_factor)
    width = sum(factors[i].levels for i in border)
    if width > BORDER_LIMIT:
        names = ", ".join(f"{factors[i].name} ({factors[i].levels:,} levels)" for i in border)
        raise Misuse(
            f"random effects {names} cross the nested ones and need a dense matrix of order {width:,} "
            f"(limit {BORDER_LIMIT:,}); leave one out, or nest it by naming it finer:coarser"
        )
    keys = [factors[i].codes for i in chain]
    order = np.lexsort(keys) if keys else np.arange(rows)
    forest = _forest(factors, chain, order)
    pairs = _border(factors, border, forest, order)
    return EliminationLayout(order, len(factors), row_factor, chain, border, *forest, *pairs)


def _longest_chain(factors: Sequence[Factor], row_factor: int) -> tuple[int, ...]:
    """The nested path of intercepts with the most levels, finest factor first."""
    intercepts = [i for i, factor in enumerate(factors) if i != row_factor and factor.values is None]
    free = sorted(intercepts, key=lambda i: (factors[i].levels, i))
    best: dict[int, tuple[int, tuple[int, ...]]] = {}
    for i in free:
        above = [best[j] for j in best if is_nested(factors[i], factors[j])]
        levels, path = max(above, default=(0, ()))
        best[i] = (levels + factors[i].levels, (i, *path))
    return max(best.values(), default=(0, ()))[1]


class _Forest(NamedTuple):
    leaf: np.ndarray
    node_parent: np.ndarray
    node_factor: np.ndarray
    node_level: np.ndarray
    spans: tuple[tuple[int, int], ...]


def _forest(factors: Sequence[Factor], chain: tuple[int, ...], order: np.ndarray) -> _Forest:
    """Nodes of the chain in sorted order; a null root with factor -1 when there is no chain."""
    if not chain:
        zero = np.zeros(1, dtype=np.int64)
        return _Forest(np.zeros(len(order), dtype=np.int64), zero - 1, zero - 1, zero, ((0, 1),))
    ids, first_rows, spans, start = [], [], [], 0
    for i in chain:
        codes = factors[i].codes[order]
        change = np.r_[True, codes[1:] != codes[:-1]]
        ids.append(np.cumsum(change) - 1 + start)
        first_rows.append(np.flatnonzero(change))
        spans.append((start, start + int(change.sum())))
        start = spans[-1][1]
    parents = [ids[level + 1][rows] for level, rows in enumerate(first_rows[:-1])]
    parents.append(np.full(len(first_rows[-1]), -1))
    return _Forest(
        leaf=ids[0],
        node_parent=np.concatenate(parents).astype(np.int64),
        node_factor=np.repeat(np.array(chain), [stop - begin for begin, stop in spans]),
        node_level=np.concatenate([factors[i].codes[order][r] for i, r in zip(chain, first_rows, strict=True)]),
        spans=tuple(spans),
    )


class _Border(NamedTuple):
    columns: np.ndarray
    values: np.ndarray
    column_factor: np.ndarray
    column_level: np.ndarray
    pair_start: np.ndarray
    pair_column: np.ndarray
    pair_parent: np.ndarray
    row_pair: np.ndarray


def _border(factors: Sequence[Factor], border: tuple[int, ...], forest: _Forest, order: np.ndarray) -> _Border:
    """Border columns, and the pairs of node and column that occur at every step of the chain."""
    sizes = [factors[i].levels for i in border]
    offsets = np.cumsum([0, *sizes])
    width = int(offsets[-1])
    columns = np.zeros((len(order), len(border)), dtype=np.int64)
    values = np.ones(columns.shape)
    for f, i in enumerate(border):
        columns[:, f] = factors[i].codes[order] + offsets[f]
        slopes = factors[i].values
        if slopes is not None:
            values[:, f] = slopes[order]
    parent, nodes = forest.node_parent, len(forest.node_parent)
    key = forest.leaf[:, None] * width + columns
    pairs_here, row_pair = np.unique(key, return_inverse=True)
    keys, up, begin = [pairs_here], [], 0
    while len(pairs_here) and parent[pairs_here[0] // width] >= 0:
        pairs_here, inverse = np.unique(parent[pairs_here // width] * width + pairs_here % width, return_inverse=True)
        begin += len(keys[-1])
        up.append(inverse + begin)
        keys.append(pairs_here)
    up.append(np.full(len(pairs_here), -1))
    pairs = np.concatenate(keys)
    node = pairs // max(width, 1)
    return _Border(
        columns=columns,
        values=values,
        column_factor=np.repeat(np.array(border, dtype=np.int64), sizes),
        column_level=np.concatenate([np.arange(size) for size in sizes]) if sizes else np.zeros(0, dtype=np.int64),
        pair_start=np.searchsorted(node, np.arange(nodes + 1)),
        pair_column=pairs % max(width, 1),
        pair_parent=np.concatenate(up).astype(np.int64),
        row_pair=row_pair.reshape(columns.shape),
    )
