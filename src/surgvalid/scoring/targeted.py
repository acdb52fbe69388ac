"""Targeted metrics: how far a wrong answer is off, beside whether it is right.

The ranking uses correctness alone; the FOCUS design keeps targeted metrics for the detailed analysis,
per answer format: sets (Jaccard, set F1, exact), times (absolute error, share within 1 to 30 s),
counts (absolute error, Expected Cost), percentages (error in points). A response that is missing,
unreadable or late has the metric's worst value; the rule stands in words beside every number.

Every value is given under both estimands, by name, with its interval over videos.

Targeted metrics of one answer format over all questions, each with its interval over videos.

Every value is given under both estimands, by name: `rows` is the mean over questions, `videos` the mean over videos of
their means. They differ whenever videos carry unequal numbers of questions. Means have the interval that `interval`
gives on the score table; Expected Cost is no mean of questions once it is divided by the cost of the best constant,
and has that of any other weighted metric (`stats.engine`). The largest reference count, which says what a missing
count costs, stays that of all questions when a video is left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from surgvalid.errors import TooFewVideos
from surgvalid.metrics.answer_errors import (
    count_errors,
    exact,
    expected_cost,
    jaccard,
    memberships,
    percentage_points_errors,
    set_f1,
)
from surgvalid.metrics.times import matched_errors_s, worst_error_s
from surgvalid.results.tables import scoring as tables
from surgvalid.schema.metric_facts import KNOWN_METRICS, TIME_TOLERANCES_S, MetricFacts
from surgvalid.schema.tables.score_matrix import ScoreMatrix
from surgvalid.scoring.slices import codes_of
from surgvalid.scoring.summary import numbered, slice_spread
from surgvalid.stats.intervals.engine import Spread
from surgvalid.stats.intervals.interval import known, prepared_spread
from surgvalid.stats.intervals.interval_settings import IntervalSettings
from surgvalid.stats.intervals.replicates import ESTIMANDS
from surgvalid.stats.intervals.slices import Slice

Floats = npt.NDArray[np.float64]
Columns = dict[str, Floats]

SETTINGS = IntervalSettings()
_HIGHEST_COUNT = 10**15
"""Counts beyond this are read as this: floats hold it exactly, and no surgery reaches it."""


class TargetedItems(NamedTuple):
    """Questions of one format, as columns: references and a model's responses as `AnswerFormat.parse` gives them."""

    format: str
    cases: Sequence[str]
    videos: Sequence[str]
    references: Sequence[Any]
    """None where one breaks its own format."""
    responses: Sequence[Any]
    """None when missing, unreadable or late."""
    windows_s: Sequence[tuple[float, float] | None]
    """Start and end of the stretch each question is about."""


class TargetedResult(NamedTuple):
    """Targeted scores of one model."""

    cases: pl.DataFrame
    """`case, metric, value`: further rows for the score table."""
    summary: pl.DataFrame
    """Per format, metric and estimand: `value`, its interval, `n`, `n_missing`, `videos` and the worst-value rule."""
    counts: pl.DataFrame
    """Counting questions: what `count_table` gives."""


def targeted_scores(formats: Iterable[TargetedItems], *, settings: IntervalSettings = SETTINGS) -> TargetedResult:
    """The targeted metrics of every question whose format has some, and their summary.

    Questions whose reference is None (it breaks its own format) or not finite cannot be scored and are
    left out, as are formats with no targeted metric (binary, free text).

    Args:
        formats: The questions of each format.
        settings: How intervals are made.

    Example:
        >>> items = TargetedItems("number", ["q1", "q2"], ["v", "v"], [3, 1], [5, None], [None, None])
        >>> targeted_scores([items]).cases.rows()
        [('q1', 'count_error', 2.0), ('q2', 'count_error', 2.0)]
    """
    cases, summary, counted = [], [], []
    given = {items.format: items for items in formats}
    for name, columns_of in _COLUMNS.items():
        if name not in given:
            continue
        items = given[name]
        counted += [count_table(items)] if name == "number" else []
        # Closed answers repeat by the thousand: each pair of reference and response is measured once.
        places: dict[Any, int] = {}
        keys = zip(items.references, items.responses, items.windows_s, strict=True)
        codes = np.array([places.setdefault(key, len(places)) for key in keys], dtype=np.intp)
        usable = np.array([_is_scorable(reference) for reference, _, _ in places], dtype=bool)
        if not usable.any():
            continue
        rows = np.flatnonzero(usable[codes])
        codes = (usable.cumsum() - 1)[codes[rows]]
        pairs = [TargetedPair(*key) for key, keep in zip(places, usable.tolist(), strict=True) if keep]
        columns = {metric: values[codes] for metric, values in columns_of(pairs).items()}
        names = pl.Series("case", items.cases, dtype=pl.String).gather(rows)
        cases += [
            pl.DataFrame([names, pl.repeat(metric, len(rows), eager=True).alias("metric"), pl.Series("value", values)])
            for metric, values in columns.items()
        ]
        counts = None
        if name == "number":
            expected, responses = _count_arrays(pairs)
            counts = expected[codes], responses[codes]
        missing = int(np.array([pair.response is None for pair in pairs])[codes].sum())
        where = {"format": name, "n": len(rows), "n_missing": missing}
        videos = pl.Series("video", items.videos, dtype=pl.String).gather(rows)
        summary += [{**where, **row} for row in summary_rows(videos, columns, counts, settings)]
    schema = {"case": pl.String, "metric": pl.String, "value": pl.Float64}
    return TargetedResult(
        pl.concat([pl.DataFrame(schema=schema), *cases]),
        tables.TARGETED.frame(summary),
        counted[0] if counted else tables.COUNTS.frame([]),
    )


def count_table(items: TargetedItems) -> pl.DataFrame:
    """One row per counting question: case, video, reference and response (null where there is no usable one).

    Example:
        >>> count_table(TargetedItems("number", ["q1"], ["v"], [3], [5], [None])).rows()
        [('q1', 'v', 3, 5)]
    """
    references, responses = ([_int64(value) for value in values] for values in (items.references, items.responses))
    columns = {"case": items.cases, "video": items.videos, "reference": references, "response": responses}
    return tables.COUNTS.frame(columns).drop_nulls("reference")


def _int64(count: int | None) -> int | None:
    """The count, or the largest number a column holds."""
    return None if count is None else min(int(count), 2**62)


class TargetedPair(NamedTuple):
    """A reference and a response to it."""

    reference: Any
    response: Any
    window_s: tuple[float, float] | None


# --- per format ----------------------------------------------------------------------------------


def _set_columns(items: Sequence[TargetedPair]) -> Columns:
    references = [item.reference for item in items]
    responses = [item.response or frozenset() for item in items]
    names = sorted({name for members in [*references, *responses] for name in members})
    reference, response = memberships(references, names=names), memberships(responses, names=names)
    given = np.array([item.response is not None for item in items])
    metrics = {"set_jaccard": jaccard, "set_f1": set_f1, "set_exact": exact}
    return {name: np.where(given, metric(reference, response), 0.0) for name, metric in metrics.items()}


def _time_columns(items: Sequence[TargetedPair]) -> Columns:
    latest = max(max(item.reference) for item in items)
    scores = [
        _time_scores(tuple(item.reference), tuple(item.response or ()), item.window_s or (0.0, latest))
        for item in items
    ]
    names = ("time_error_s", *(f"time_within_{t}s" for t in TIME_TOLERANCES_S))
    return dict(zip(names, np.array(scores).T.copy(), strict=True))


@lru_cache(maxsize=1 << 14)
def _time_scores(
    reference: tuple[float, ...], response: tuple[float, ...], window_s: tuple[float, float]
) -> tuple[float, ...]:
    """The error of one answer in seconds, and the share of its points within each tolerance."""
    worst = worst_error_s(reference, window_s=window_s)
    if len(reference) == len(response) == 1 and math.isfinite(reference[0] + response[0]):
        errors = [min(abs(float(reference[0]) - float(response[0])), worst)]
    else:
        errors = matched_errors_s(reference, response, worst_s=worst).tolist()
    within = ([error <= t and error < worst for error in errors] for t in TIME_TOLERANCES_S)
    mean = errors[0] if len(errors) == 1 else float(np.mean(errors))
    return mean, *(sum(one) / len(errors) for one in within)


def _count_columns(items: Sequence[TargetedPair]) -> Columns:
    return {"count_error": count_errors(*_count_arrays(items))}


def _count_arrays(items: Sequence[TargetedPair]) -> tuple[Floats, Floats]:
    references = _floats(min(item.reference, _HIGHEST_COUNT) for item in items)
    given = (None if item.response is None else min(item.response, _HIGHEST_COUNT) for item in items)
    return references, _floats(given)


def _share_columns(items: Sequence[TargetedPair]) -> Columns:
    references = _floats(item.reference for item in items)
    return {"percentage_points_error": percentage_points_errors(references, _floats(i.response for i in items))}


_COLUMNS: dict[str, Callable[[Sequence[TargetedPair]], Columns]] = {
    "fo_class": _set_columns,
    "time": _time_columns,
    "number": _count_columns,
    "percentage": _share_columns,
}
"""Format to its metrics; each maps the items to one column of scores per metric."""
MEASURED = frozenset(_COLUMNS)
"""Formats that have targeted metrics."""


def _floats(values: Iterable[float | None]) -> Floats:
    return np.array([math.nan if value is None else value for value in values], dtype=np.float64)


def _is_scorable(reference: Any) -> bool:
    if reference is None or reference == ():
        return False
    return not isinstance(reference, float) or math.isfinite(reference)


COSTS = (
    "expected_cost_absolute", "normalised_expected_cost_absolute", "expected_cost_squared",
    "normalised_expected_cost_squared",
)  # fmt: skip
_COST = "|i-j| or (i-j)^2 to the farther of 0 and the largest reference count"
_COST_FACTS = MetricFacts("expected_cost", 0.0, math.inf, "smaller")


def summary_rows(
    videos: Sequence[str] | pl.Series,
    columns: Mapping[str, Floats],
    counts: tuple[Floats, Floats] | None,
    settings: IntervalSettings,
) -> list[dict[str, Any]]:
    """One row per metric and estimand.

    Args:
        videos: Of each question.
        columns: The scores of each metric.
        counts: References and responses of counting questions, whose Expected Cost is added.
        settings: How intervals are made.
    """
    names, codes = codes_of(pl.Series(videos, dtype=pl.String))
    rows = []
    for estimand in ESTIMANDS:
        chosen = settings._replace(estimand=estimand)
        where = {"estimand": estimand, "videos": len(names)}
        for metric, scores in columns.items():
            facts = KNOWN_METRICS[metric]
            spread = slice_spread(Slice({}, _matrix(scores, codes, names, facts)), chosen)
            rule = {"better": facts.better, "worst": facts.conventions["missing"]}
            rows.append({**where, "metric": metric, **_numbers(spread, 0), **rule})
        if counts is not None:
            rule = {"better": "smaller", "worst": _COST}
            costs = _cost_spread(*counts, codes, chosen)
            rows += [{**where, "metric": m, **_numbers(costs, place), **rule} for place, m in enumerate(COSTS)]
    return rows


def _matrix(scores: Floats, codes: np.ndarray, names: list[str], facts: MetricFacts) -> ScoreMatrix:
    cases = pl.DataFrame({"case": numbered(len(scores)), "video": pl.Series(names).gather(codes)})
    return ScoreMatrix(scores[:, None], [facts.name], codes, names, cases, facts)


def _numbers(spread: Spread, place: int) -> dict[str, Any]:
    numbers = {"value": spread.value, "low": spread.low, "high": spread.high, "df": spread.df}
    row = {name: known(float(column[place])) for name, column in numbers.items()}
    return {**row, "effective_videos": known(float(spread.effective[place])), "method": spread.method[place]}


@dataclass(frozen=True, slots=True)
class CostStatistic:
    """The four Expected Costs of counting questions; rows are reference, response and the weight of the question."""

    top: float
    """The largest reference count."""

    @property
    def name(self) -> str:
        """What outputs call it."""
        return "expected cost"

    @property
    def is_mean(self) -> bool:
        """It is no mean of rows."""
        return False

    def width(self, values: np.ndarray) -> int:  # noqa: ARG002
        """Absolute and squared, plain and normalised."""
        return len(COSTS)

    def weighted(self, counts: np.ndarray, values: np.ndarray) -> np.ndarray:
        """The costs under each weighting, `[weighting, cost]`; NaN where a constant answers everything right."""
        reference, prediction, share = values.T
        error = count_errors(reference, prediction, top=self.top)
        levels, place = np.unique(reference, return_inverse=True)
        powers = (error, error**2)
        return np.array([self._costs(weights * share, powers, levels, place) for weights in counts])

    def _costs(self, weights: Floats, powers: tuple[Floats, Floats], levels: Floats, place: np.ndarray) -> list[float]:
        total = weights.sum()
        if not total:
            return [math.nan] * len(COSTS)
        heights = np.bincount(place, weights=weights, minlength=len(levels))
        costs = []
        for power, errors in enumerate(powers, start=1):
            cost = float(weights @ errors) / total
            constant = expected_cost(levels, levels, power=power, weights=heights).constant_cost
            costs += [cost, cost / constant if constant > 0 else math.nan]
        return costs


def _cost_spread(reference: Floats, prediction: Floats, codes: np.ndarray, settings: IntervalSettings) -> Spread:
    """Values and intervals of the four costs; no ends with one video, or where nothing is to be drawn."""
    # Questions of one video with one reference and one response are one row with their number as its weight: a million
    # questions are some thousand rows under every one of the weightings behind an interval.
    share = np.ones(len(codes)) if settings.estimand == "rows" else 1.0 / np.bincount(codes)[codes]
    alike = pl.DataFrame({"video": codes, "reference": reference, "prediction": prediction, "share": share})
    alike = alike.group_by("video", "reference", "prediction", maintain_order=True).agg(pl.col("share").sum())
    videos, prepared = alike["video"].to_list(), alike.drop("video").to_numpy()
    statistic = CostStatistic(float(reference.max()))
    try:
        if settings.replicates or not settings.draws:
            return prepared_spread(
                statistic,
                prepared,
                video=videos,
                facts=_COST_FACTS,
                names=COSTS,
                cases=prepared[:, 2],
                level=settings.level,
                replicates=max(1, settings.replicates),
                method=settings.method,
                seed=settings.seed,
            ).spread
    except TooFewVideos:
        pass
    value = statistic.weighted(np.ones((1, len(prepared)), dtype=np.int64), prepared)[0]
    unknown, none = np.full(len(COSTS), np.nan), ("none",) * len(COSTS)
    return Spread(value, unknown, unknown, unknown, unknown, unknown, unknown, none, ())
