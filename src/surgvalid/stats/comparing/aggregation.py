"""Aggregation: how the order of models depends on what is averaged first.

The six strategies of the third experiment of Reinke et al. (2025), "Current validation practice
undermines surgical AI development", with any operator (its own was the 5th
percentile). Ranks are by value, the best first, ties sharing the smallest rank, at every level.

| strategy | what happens |
|---|---|
| frame-wise | operator over all rows |
| video-wise | operator per video, then combined over videos |
| phase-wise | operator per phase, then combined over phases |
| phase-wise video-wise | operator per (phase, video) cell, combined over videos within a phase, then over phases |
| video-wise phase-wise | the same cells, combined over phases within a video, then over videos |
| weighted phase-wise | operator per phase, then the weighted mean over phases |

The study's text combines scores, its programs combine ranks (rank in every cell, mean rank, rank again
at every level); `combine` names the choice. Cells without rows are left out of the mean. Agreement with
the frame-wise order is Kendall's tau-b.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl

from surgvalid.errors import Misuse, UnknownName
from surgvalid.results.request import requested
from surgvalid.results.result import TableResult, as_table
from surgvalid.results.tables.statistics import AGGREGATE
from surgvalid.schema.metric_facts import Better
from surgvalid.schema.statistic_rules import remark
from surgvalid.schema.tables.score_table import Missing, ScoreMatrix
from surgvalid.schema.tables.table_facts import Directions
from surgvalid.schema.tables.units import UNSAID
from surgvalid.stats.comparing.paired_tests import pair_indices
from surgvalid.stats.intervals.interval import known, matrix_notes
from surgvalid.stats.intervals.statistic import Statistic, divided, unweighted

Combine = Literal["scores", "ranks"]
FRAME_WISE = "frame-wise"
STRATEGIES = (
    FRAME_WISE,
    "video-wise",
    "phase-wise",
    "phase-wise video-wise",
    "video-wise phase-wise",
    "weighted phase-wise",
)


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class AggregationResult(TableResult):
    """Rank of every model under every strategy; one row per strategy and model."""

    stem: ClassVar[str] = "aggregation"

    @property
    def agreement(self) -> pl.DataFrame:
        """Per strategy: tau-b with the frame-wise ranks, rank changes, and whether the winner changes."""
        return self.tables["agreement"]

    def screen(self) -> Mapping[str, pl.DataFrame]:
        """The ranks, and how well the strategies agree."""
        return {"": self.shown, "agreement with frame-wise aggregation": self.agreement}


@requested("aggregate")
def aggregate(
    table: Any,
    *,
    operator: str = "mean",
    phase: str = "phase",
    combine: Combine = "scores",
    weights: Mapping[str, float] | None = None,
    metric: str | None = None,
    better: Directions = None,
    missing: Missing = None,
    columns: Mapping[str, str] | None = None,
) -> AggregationResult:
    """The value and rank of every model under every strategy that the table allows.

    Args:
        table: A `ScoreTable`, files, or anything tabular.
        operator: `mean`, `median`, `q05`, ...
        phase: Column with the phase; without it only frame-wise and video-wise remain, and that is said.
        combine: `scores` or `ranks`.
        weights: Weight of each phase, by name; needed for the weighted strategy, which is left out otherwise.
        metric: Which metric of the table.
        better: `larger` or `smaller`, where neither the table nor the name of the metric says it.
        missing: What a score that is not there counts as: `worst`, `drop-case`, `drop-score`, `error` or a number, for
            all or by status; by default the worst value for what the model is to blame for, else an error.
        columns: Our column names to theirs, where files are read.

    Raises:
        DirectionUnknown: Nobody said which values are better.
        Misuse: Weights for unknown phases, phases without a weight, or weights that are no positive numbers.
    """
    if combine not in ("scores", "ranks"):
        raise UnknownName("way to combine", combine, ["scores", "ranks"])
    statistic = Statistic.read(operator)
    scores = as_table(table, columns, better=better, metric=metric)
    matrix = scores.matrix(metric, missing=missing)
    notes = matrix_notes(matrix, has_videos=scores.has_videos)
    has_phase = phase in matrix.cases.columns
    if not has_phase and weights is not None:
        raise UnknownName("phase column", phase, matrix.cases.columns)
    if weights is None:
        without_phase = f"The table has no column {phase!r}, so only frame-wise and video-wise aggregation are shown."
        without_weights = "No weights were given, so the weighted phase-wise strategy is not shown."
        notes.append(remark("strategies-left-out", without_weights if has_phase else without_phase))
    values = strategy_values(matrix, statistic, phase if has_phase else None, combine, weights)
    levels = "videos and phases"
    if not matrix.unit.is_known:
        values, levels = {name: some for name, some in values.items() if "video" not in name}, "phases"
        notes.append(remark("strategies-left-out", f"No strategy that looks at single patients is shown: {UNSAID}."))
    frame, agreement = summarise(
        matrix.models, values, better=better_of_strategies(matrix, combine), default=FRAME_WISE
    )
    prose = (
        f"Models were ranked by the {operator} of {matrix.metric.name!r} under {len(values)} aggregation strategies, "
        f"combining {combine} over {levels}; ties share the smallest rank, and agreement with frame-wise "
        "aggregation is Kendall's tau-b. Ranks and winners follow the values alone: whether models differ by more than "
        "chance, `compare` and `rank` say."
    )
    return AggregationResult.of(frame, prose, tuple(notes), agreement=agreement)


def check_weights(weights: Mapping[str, float], phases: list[str]) -> np.ndarray:
    """The weight of each phase, in the order of `phases`.

    Raises:
        Misuse: With every phase that is unknown or has no weight, and every weight that is no positive number.
    """
    problems = [f"weight for unknown phase {name!r}" for name in weights if name not in phases]
    problems += [f"no weight for phase {name!r}" for name in phases if name not in weights]
    problems += [
        f"weight of {name!r} is {value!r}, not a positive number"
        for name, value in weights.items()
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < np.inf
    ]
    if problems:
        raise Misuse(f"weights: {'; '.join(problems)}; the phases are {', '.join(map(repr, phases))}")
    return np.array([float(weights[name]) for name in phases])


def rank_of(values: np.ndarray, *, better: Better) -> np.ndarray:
    """Ranks along the last axis, the best 1, ties sharing the smallest; NaN stays NaN.

    Example:
        >>> rank_of(np.array([0.2, 0.9, 0.9, np.nan]), better="larger").tolist()
        [3.0, 1.0, 1.0, nan]
    """
    signed = -values if better == "larger" else values
    better_ones = (signed[..., None, :] < signed[..., :, None]).sum(axis=-1)
    return np.where(np.isnan(signed), np.nan, 1.0 + better_ones)


def summarise(
    models: list[str], values: Mapping[str, np.ndarray], *, better: Mapping[str, Better], default: str
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Ranks per strategy and model, and the agreement of every strategy with the default one."""
    ranks = {name: rank_of(values_of, better=better[name]) for name, values_of in values.items()}
    rows, agreement = [], []
    for name, values_of in values.items():
        change = ranks[name] - ranks[default]
        rows += [
            {
                "strategy": name,
                "model": model,
                "value": known(values_of[i]),
                "rank": _whole(ranks[name][i]),
                "rank_change": _whole(change[i]),
            }
            for i, model in enumerate(models)
        ]
        agreement.append({"strategy": name, **_agreement(ranks[name], ranks[default], models)})
    return AGGREGATE.frame(rows), pl.DataFrame(agreement, infer_schema_length=None)


def tau_b(first: np.ndarray, second: np.ndarray) -> float:
    """Kendall's tau-b of two rankings (Kendall 1945); NaN where one of them is constant."""
    if len(first) < 2 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return float("nan")
    pairs = pair_indices(len(first))
    one, other = (np.sign(ranks[pairs[0]] - ranks[pairs[1]]) for ranks in (first, second))
    return float(np.clip((one * other).sum() / np.sqrt(np.abs(one).sum()) / np.sqrt(np.abs(other).sum()), -1.0, 1.0))


def _agreement(ranks: np.ndarray, default: np.ndarray, models: list[str]) -> dict[str, Any]:
    both = np.isfinite(ranks) & np.isfinite(default)
    change = (ranks - default)[both]
    winners = {model for model, rank in zip(models, ranks, strict=True) if rank == 1}
    before = {model for model, rank in zip(models, default, strict=True) if rank == 1}
    size = max(1, len(change))
    return {
        "tau_b": known(tau_b(ranks[both], default[both])),
        "winner": ", ".join(sorted(winners)),
        "winner_changes": not before <= winners,
        "median_absolute_change": float(np.median(np.abs(change))) if len(change) else None,
        "largest_change": int(np.abs(change).max()) if len(change) else None,
        "share_up": float((change < 0).sum() / size),
        "share_down": float((change > 0).sum() / size),
        "share_same": float((change == 0).sum() / size),
    }


def better_of_strategies(matrix: ScoreMatrix, combine: Combine) -> dict[str, Better]:
    """Which final numbers are better: of scores by the metric's direction, of mean ranks the smaller ones."""
    score: Better = "larger" if matrix.metric.sign > 0 else "smaller"
    return {name: score if name == FRAME_WISE or combine == "scores" else "smaller" for name in STRATEGIES}


def strategy_values(
    matrix: ScoreMatrix, statistic: Statistic, phase: str | None, combine: Combine, weights: Mapping[str, float] | None
) -> dict[str, np.ndarray]:
    """The value of every model under every strategy; see `aggregate`.

    Raises:
        Misuse: Cases without a phase, or weights that do not fit the phases.
    """
    better: Better = "larger" if matrix.metric.sign > 0 else "smaller"
    video = matrix.videos
    values = {FRAME_WISE: unweighted(statistic, matrix.values)}
    by_video = _cells(matrix.values, video, statistic)
    values["video-wise"] = _mean(_level(by_video, combine, better))
    if phase is None:
        return values
    if lacking := matrix.cases[phase].null_count():
        raise Misuse(f"{lacking} cases have no phase in column {phase!r}; fill it or drop these cases")
    names, codes = np.unique(matrix.cases[phase].cast(pl.String).to_numpy().astype(str), return_inverse=True)
    by_phase = _level(_cells(matrix.values, codes, statistic), combine, better)
    values["phase-wise"] = _mean(by_phase)
    cells = _grid(matrix.values, codes, video, statistic)
    values["phase-wise video-wise"] = _nested(cells, combine, better)
    values["video-wise phase-wise"] = _nested(cells.transpose(1, 0, 2), combine, better)
    if weights is not None:
        values["weighted phase-wise"] = _mean(by_phase, check_weights(weights, names.tolist()))
    return values


def _cells(values: np.ndarray, codes: np.ndarray, statistic: Statistic) -> np.ndarray:
    """The operator in each group: `[group, model]`."""
    order = np.argsort(codes, kind="stable")
    edges = np.searchsorted(codes[order], np.arange(codes.max() + 2))
    groups = [order[a:b] for a, b in itertools.pairwise(edges)]
    return np.stack([unweighted(statistic, values[rows]) for rows in groups])


def _grid(values: np.ndarray, outer: np.ndarray, inner: np.ndarray, statistic: Statistic) -> np.ndarray:
    """The operator in each (outer, inner) cell, NaN where a cell has no rows: `[outer, inner, model]`."""
    width = int(inner.max()) + 1
    present, codes = np.unique(outer * width + inner, return_inverse=True)
    grid = np.full(((int(outer.max()) + 1) * width, values.shape[1]), np.nan)
    grid[present] = _cells(values, codes, statistic)
    return grid.reshape(-1, width, values.shape[1])


def _level(cells: np.ndarray, combine: Combine, better: Better) -> np.ndarray:
    return rank_of(cells, better=better) if combine == "ranks" else cells


def _nested(cells: np.ndarray, combine: Combine, better: Better) -> np.ndarray:
    """Combine over the second axis, then over the first; ranks are taken again in between."""
    inner = np.stack([_mean(_level(block, combine, better)) for block in cells])
    return _mean(rank_of(inner, better="smaller") if combine == "ranks" else inner)


def _mean(levels: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """The (weighted) mean over the first axis of what is known."""
    weights = np.ones(len(levels)) if weights is None else weights
    known = np.isfinite(levels)
    return divided(weights @ np.where(known, levels, 0.0), weights @ known.astype(np.float64))


def _whole(value: float) -> int | None:
    return None if np.isnan(value) else int(value)
