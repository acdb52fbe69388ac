"""Targeted metrics of one answer format over all questions, each with its interval over videos.

Every value is given under both estimands, by name: `rows` is the mean over questions, `videos` the mean over videos of
their means. They differ whenever videos carry unequal numbers of questions. Means have the interval that `interval`
gives on the score table; Expected Cost is no mean of questions once it is divided by the cost of the best constant,
and has that of any other weighted metric (`stats.engine`). The largest reference count, which says what a missing
count costs, stays that of all questions when a video is left out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from surgeval.errors import TooFewVideos
from surgeval.metrics.counts import count_errors, expected_cost
from surgeval.schema.metric_facts import KNOWN_METRICS, MetricFacts
from surgeval.schema.score_matrix import ScoreMatrix
from surgeval.scoring.slices import codes_of
from surgeval.scoring.summary import numbered, slice_spread
from surgeval.stats.engine import Spread
from surgeval.stats.interval import Settings, known, prepared_spread
from surgeval.stats.replicates import ESTIMANDS
from surgeval.stats.slices import Slice

Floats = npt.NDArray[np.float64]

COSTS = (
    "expected_cost_absolute", "normalised_expected_cost_absolute", "expected_cost_squared",
    "normalised_expected_cost_squared",
)  # fmt: skip
_COST = "|i-j| or (i-j)^2 to the farther of 0 and the largest reference count"
_COST_FACTS = MetricFacts("expected_cost", 0.0, math.inf, "smaller")


def summary_rows(
    videos: Sequence[str], columns: Mapping[str, Floats], counts: tuple[Floats, Floats] | None, settings: Settings
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
            costs = _cost_spread(*counts, videos, codes, chosen)
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


def _cost_spread(
    reference: Floats, prediction: Floats, videos: Sequence[str], codes: np.ndarray, settings: Settings
) -> Spread:
    """Values and intervals of the four costs; no ends with one video, or where nothing is to be drawn."""
    share = np.ones(len(codes)) if settings.estimand == "rows" else 1.0 / np.bincount(codes)[codes]
    prepared, statistic = np.column_stack([reference, prediction, share]), CostStatistic(float(reference.max()))
    cases = np.ones(len(codes)) if settings.estimand == "rows" else share
    try:
        if settings.replicates or not settings.draws:
            return prepared_spread(
                statistic, prepared, video=videos, facts=_COST_FACTS, names=COSTS, cases=cases, level=settings.level,
                replicates=max(1, settings.replicates), method=settings.method, seed=settings.seed,
            ).spread  # fmt: skip
    except TooFewVideos:
        pass
    value = statistic.weighted(np.ones((1, len(codes)), dtype=np.int64), prepared)[0]
    unknown, none = np.full(len(COSTS), np.nan), ("none",) * len(COSTS)
    return Spread(value, unknown, unknown, unknown, unknown, unknown, unknown, none, ())
