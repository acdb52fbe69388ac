"""What every metric here shares: units, weights, means over cases, and statistics that are no plain table of numbers.

What every metric here shares: units, weights, and statistics that cannot be a plain table of numbers.

A metric is `prepare(cases) -> statistics` and `combine(statistics, weights) -> values` (the protocol is
`surgvalid.schema.metric_facts.Metric`). The first axis of the statistics runs over *units*: whatever is drawn as
a whole, usually a video, an image or a frame. `prepare` runs once; a bootstrap, a jackknife or a stratum is
then a vector of weights, one number per unit, and any number of them are combined in one call.

The law: a weight of k means that the unit is there k times. `combine` under whole-number weights equals
`prepare` and `combine` on cases in which every unit is written out that often, each copy a unit of its own.

Statistics that are sums (counts, confusion matrices) are plain arrays. Where a value depends on an order
over all units (ranks of scores, of detections), the order is found once and kept in a shared store, and the
statistics are an array of `Ticket`s into it. They can be taken, reordered and repeated like any array.

Metrics that are a mean of one score per case: what they share.

    value = sum over units of weight * sum of scores / sum over units of weight * number of scored cases
A case without a score (NaN) is left out above and below; how many there are is told by `not_scored`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
from scipy import sparse

from surgvalid.errors import Misuse
from surgvalid.metrics.packing import packed, plain_statistics, rebuilt
from surgvalid.schema.metric_facts import Better, MetricFacts, Packed
from surgvalid.schema.metric_facts import Metric as Metric

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]
UnitStatistics = np.ndarray
"""Statistics whose first axis runs over the units."""

BLOCK_CELLS = 4_000_000
"""Numbers held at once while many weightings are combined; bounds memory, never changes a value."""


LARGEST_FACTOR = 12
"""Up to which factor weights are tried to be scaled to whole numbers."""


class WeightedMetric(ABC):
    """A metric that says only how statistics become values under checked weights."""

    takes: ClassVar[tuple[str, ...]] = ()
    """Forms of cases that `prepare` takes; `evaluate` offers a metric where one of them fits."""
    row: ClassVar[str] = "video"
    pooled: ClassVar[bool] = True
    """Whether the value of all units is another number than the mean of the units' own."""
    smooth: bool = True
    """Whether the value changes little by little with the units; a quantile or maximum does not, and is resampled."""
    store: ClassVar[type | None] = None
    """What the statistics are tickets into, where they are."""
    for_preparing: ClassVar[tuple[str, ...]] = ()
    """Options that do nothing once statistics are prepared, so that they need not be known to combine them."""

    def declared(
        self,
        name: str,
        low: float = 0.0,
        high: float = 1.0,
        better: Better = "larger",
        estimand: str = "mean over cases",
        conventions: Mapping[str, str] | None = None,
        *,
        unit: str = "",
        pooled: bool | None = None,
    ) -> MetricFacts:
        """Facts with what holds for the whole class: the form of its cases, and what a row of scores is."""
        whole = self.pooled if pooled is None else pooled
        return MetricFacts(name, low, high, better, estimand, conventions or {}, self.row, unit, whole, self.takes)

    @property
    @abstractmethod
    def facts(self) -> MetricFacts:
        """Name, range, direction, estimand and conventions."""

    @abstractmethod
    def prepare(self, cases: Any) -> UnitStatistics:
        """The statistics of every unit, in the order of the units."""

    @abstractmethod
    def values(self, statistics: UnitStatistics, weights: Floats) -> Floats:
        """The value under each weighting: `weights[weighting, unit]` in, `values[weighting]` out."""

    def combine(self, statistics: UnitStatistics, weights: npt.ArrayLike) -> Floats:
        """The value under each weighting; NaN where it is undefined.

        Args:
            statistics: What `prepare` gave, or rows of it in any order.
            weights: One number per unit, or one row of them per weighting. Finite and not negative.
        """
        rows = weight_rows(weights, len(statistics))
        if not len(statistics):
            return np.full(np.shape(weights)[:-1], np.nan)
        return np.asarray(self.values(statistics, rows), dtype=np.float64).reshape(np.shape(weights)[:-1])

    def pack(self, statistics: UnitStatistics) -> Packed:
        """The statistics as plain arrays.

        Raises:
            Misuse: They are objects that are no tickets into the store of this class.
        """
        return packed(statistics, tickets=self.store is not None)

    def unpack(self, given: Packed) -> UnitStatistics:
        """Statistics that combine as those that were packed.

        Raises:
            Misuse: The arrays are not those of this metric.
        """
        if self.store is None:
            return plain_statistics(given)
        if not given.units:
            return np.empty(0, dtype=object)
        store, places = rebuilt(self.store, given)
        if any(not 0 <= place < store.units for place in places):
            raise Misuse("its statistics name units that are not there")
        return tickets(store, store.units)[places]


def weight_rows(weights: npt.ArrayLike, units: int) -> Floats:
    """Weights as checked rows, `rows[weighting, unit]`; a single vector becomes one row.

    Raises:
        Misuse: Not one number per unit, or a number that is negative, infinite or NaN.

    Example:
        >>> weight_rows([1, 2], 2).tolist()
        [[1.0, 2.0]]
    """
    rows = np.asarray(weights, dtype=np.float64)
    if rows.ndim not in (1, 2) or rows.shape[-1] != units:
        raise Misuse(f"expected one weight for each of {units} units, got an array of shape {rows.shape}")
    if not np.isfinite(rows).all() or (rows < 0).any():
        raise Misuse("weights must be finite and not negative")
    return np.atleast_2d(rows)


def value_of(metric: Metric, cases: Any) -> float:
    """The value of a metric on some cases, every unit counted once."""
    statistics = metric.prepare(cases)
    return float(metric.combine(statistics, np.ones((1, len(statistics))))[0])


class MetricUnits(NamedTuple):
    """The units of some rows, in order of first appearance."""

    names: tuple[Hashable, ...]
    codes: Indices
    """The unit of each row, as an index into `names`."""


def units_of(unit: Sequence[Hashable] | npt.NDArray[Any] | None, rows: int) -> MetricUnits:
    """The units that rows belong to; with None each row is a unit of its own.

    Raises:
        Misuse: Not one unit per row.

    Example:
        >>> units_of(["b", "a", "b"], 3)
        MetricUnits(names=('b', 'a'), codes=array([0, 1, 0]))
    """
    if unit is None:
        return MetricUnits(tuple(range(rows)), np.arange(rows))
    if len(unit) != rows:
        raise Misuse(f"expected the unit of each of {rows} rows, got {len(unit)} units")
    if isinstance(unit, np.ndarray) and unit.ndim == 1 and unit.dtype.kind in "iu":
        return _numbered_units(unit)
    listed = unit.tolist() if isinstance(unit, np.ndarray) else list(unit)
    place = {name: index for index, name in enumerate(dict.fromkeys(listed))}
    return MetricUnits(tuple(place), np.fromiter((place[name] for name in listed), np.intp, rows))


def _numbered_units(unit: npt.NDArray[Any]) -> MetricUnits:
    """The same for whole numbers, without looking at every row by itself."""
    names, first, codes = np.unique(unit, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty(len(order), dtype=np.intp)
    place[order] = np.arange(len(order))
    return MetricUnits(tuple(names[order].tolist()), place[codes.reshape(-1)])


@dataclass(frozen=True, slots=True)
class Ticket:
    """One unit of statistics that live in a shared store."""

    store: Any
    index: int


def tickets(store: Any, units: int) -> UnitStatistics:
    """Statistics of `units` units that all live in one store."""
    rows = np.empty(units, dtype=object)
    rows[:] = [Ticket(store, index) for index in range(units)]
    return rows


class Redeemed(NamedTuple):
    """A store, and the weights of its own units."""

    store: Any
    weights: Floats


def redeem(statistics: UnitStatistics, weights: Floats, units: int | None = None) -> Redeemed:
    """The store behind some tickets, and weights for the units as the store numbers them.

    A unit that is listed twice gets the sum of its weights, one that is left out gets 0.

    Args:
        statistics: Tickets of one store, at least one.
        weights: One row per weighting, one column per ticket.
        units: How many units the store has; found as `store.units` if left out.

    Raises:
        Misuse: The tickets belong to several stores.
    """
    store = statistics[0].store
    if any(ticket.store is not store for ticket in statistics):
        raise Misuse("these statistics were prepared separately; prepare all cases of one comparison together")
    count = store.units if units is None else units
    places = np.fromiter((ticket.index for ticket in statistics), np.intp, len(statistics))
    if len(places) == count and (places == np.arange(count)).all():
        return Redeemed(store, weights)
    spread = np.zeros((count, len(weights)))
    np.add.at(spread, places, weights.T)
    return Redeemed(store, np.ascontiguousarray(spread.T))


class ExactWeights(NamedTuple):
    """Weights whose sums do not round, as far as there are such."""

    weights: Floats
    exact: npt.NDArray[np.bool_]
    """Whether each row consists of whole numbers now."""


def exact_weights(weights: Floats) -> ExactWeights:
    """The same weights, each row scaled to whole numbers where a small factor does that.

    Scaling changes no share. Where a value jumps when a share reaches a level, counts divided by anything then
    behave exactly as the counts.

    Example:
        >>> exact_weights(np.array([[2 / 5, 3 / 5], [0.1, 0.123456789]])).weights.tolist()
        [[2.0, 3.0], [0.1, 0.123456789]]
    """
    least = np.where(weights > 0, weights, np.inf).min(axis=1, initial=np.inf, keepdims=True)
    scaled = weights / np.where(np.isfinite(least), least, 1.0)
    rounded, exact = weights.copy(), np.zeros(len(weights), dtype=bool)
    for factor in range(1, LARGEST_FACTOR + 1):
        left = np.flatnonzero(~exact)
        whole = np.round(factor * scaled[left])
        fits = (np.abs(factor * scaled[left] - whole) <= 1e-9 * whole).all(axis=1)
        rounded[left[fits]], exact[left[fits]] = whole[fits], True
    return ExactWeights(rounded, exact)


def blocks(weights: Floats, cells_per_row: int) -> Iterator[slice]:
    """Slices of the weightings such that `cells_per_row` numbers for each of them fit in memory."""
    step = max(1, BLOCK_CELLS // max(cells_per_row, 1))
    for start in range(0, len(weights), step):
        yield slice(start, start + step)


def weighted_sums(statistics: UnitStatistics, weights: Floats) -> Floats:
    """Sums of the statistics of all units under each weighting: `sums[weighting, ...]`.

    Whole-number statistics and weights are summed exactly, in whatever order.

    Example:
        >>> weighted_sums(np.array([[1, 10], [2, 20]]), np.array([[1.0, 0.0], [2.0, 1.0]])).tolist()
        [[1.0, 10.0], [4.0, 40.0]]
    """
    width = int(np.prod(statistics.shape[1:]))
    table = statistics.reshape(len(statistics), width)
    sums = np.zeros((len(weights), width))
    step = max(1, BLOCK_CELLS // max(width, 1))
    for start in range(0, len(statistics), step):
        sums += weights[:, start : start + step] @ table[start : start + step].astype(np.float64)
    return sums.reshape(len(weights), *statistics.shape[1:])


def incidence(rows: Indices, units: Indices, shape: tuple[int, int], values: npt.ArrayLike = 1.0) -> sparse.csr_array:
    """A sparse table `[row, unit]` that adds up `values`; times weights it gives one line of sums per row."""
    data = np.broadcast_to(np.asarray(values, dtype=np.float64), rows.shape)
    return sparse.coo_array((data, (rows, units)), shape=shape).tocsr()


def ratio(numerator: npt.ArrayLike, whole: npt.ArrayLike, *, empty: float = np.nan) -> Floats:
    """`part / whole`, and `empty` where the whole is 0.

    Example:
        >>> ratio([1, 0], [2, 0]).tolist()
        [0.5, nan]
    """
    top, bottom = np.broadcast_arrays(np.asarray(numerator, np.float64), np.asarray(whole, np.float64))
    return np.asarray(np.divide(top, bottom, out=np.full(top.shape, empty), where=bottom != 0))


def mean_known(scores: Floats) -> Floats:
    """The mean over the last axis of what is known; NaN where nothing is."""
    known = ~np.isnan(scores)
    return ratio(np.where(known, scores, 0.0).sum(axis=-1), known.sum(axis=-1))


class RatioOfSums(WeightedMetric):
    """A metric whose statistics are two columns per unit: its value is the sum of the first over that of the second."""

    def values(self, statistics: UnitStatistics, weights: Floats) -> Floats:
        """The quotient of the sums under each weighting."""
        above, below = weighted_sums(statistics, weights).T
        return ratio(above, below)


class GroupedCases(Protocol):
    """Cases that may be drawn in groups."""

    @property
    def unit(self) -> Sequence[Hashable] | None:
        """What each case is drawn with; each alone if None."""


class StoredScores(NamedTuple):
    """Scores of cases, or `[case, class]`, that were computed before, NaN where there is none, and their units."""

    scores: Floats
    unit: Sequence[Hashable] | npt.NDArray[Any] | None = None


class CaseMean(RatioOfSums):
    """A metric that says only how one case is scored."""

    row = "case"
    pooled = False

    @abstractmethod
    def scores(self, cases: Any) -> Floats:
        """The score of every case, NaN where it is not scored: what a score table holds."""

    def prepare(self, cases: GroupedCases | StoredScores) -> UnitStatistics:
        """Sum and number of the scores of every unit."""
        scores = cases.scores if isinstance(cases, StoredScores) else self.scores(cases)
        units = units_of(cases.unit, len(scores))
        scored = ~np.isnan(scores)
        filled = np.where(scored, scores, 0.0)
        kinds = len(units.names)
        columns = [np.bincount(units.codes, weight, minlength=kinds) for weight in (filled, scored)]
        return np.stack(columns, axis=1)

    def not_scored(self, cases: Any) -> int:
        """How many cases have no score, and are in no mean."""
        return int(np.isnan(self.scores(cases)).sum())
