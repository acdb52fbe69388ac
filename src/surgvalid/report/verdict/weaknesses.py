"""Where each model fails, as facts: answers that never came, harmful properties, kinds of question it is behind on.

Nothing is tested here that a verb does not test. Effects are those that `failures` fitted for each model by itself,
their p-values corrected (Holm) over all models and properties at once; kinds of question are compared by `compare`
with the mean of the other competitors on the same questions, corrected over all models and kinds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import polars as pl

from surgvalid.errors import SurgvalidError
from surgvalid.report.inputs import ReportInputs, StoredResult
from surgvalid.report.wording import competitors, leaderboards_of
from surgvalid.schema.outcomes import WITHOUT_ANSWER, Status
from surgvalid.schema.tables.missing import Absences
from surgvalid.schema.tables.score_matrix import TRACK, ScoreMatrix, took_no_part
from surgvalid.stats.comparing.comparison import pair_row
from surgvalid.stats.comparing.corrections import adjusted
from surgvalid.stats.intervals.interval_settings import IntervalSettings
from surgvalid.stats.intervals.slices import slices
from surgvalid.stats.mixed.model.design import INTERCEPT
from surgvalid.stats.verdict.sentences import ALPHA

MOST_MODELS = 8
"""Models that are explained on the first page; the best first."""
_KINDS = ("group", "capability", "task")
"""Columns that say what a question asks for, the coarsest first."""
_OTHERS = "the other models"
_FEWEST_VIDEOS = 6
"""Below, no difference could be significant, so a kind of question counts as not examined."""


class Lost(NamedTuple):
    """Questions that a model gave no usable answer to, for one reason."""

    status: Status
    share: float
    """Of its questions."""
    of_wrong: float
    """Of everything it has wrong."""


class Effect(NamedTuple):
    """A property that harms a model."""

    term: str
    odds_ratio: float | None
    estimate: float
    low: float | None
    high: float | None
    p: float
    """Corrected over all models and properties."""


class Behind(NamedTuple):
    """A kind of question on which a model is behind the mean of the others."""

    kind: str
    difference: float
    """By how much, in the better direction; always positive."""
    low: float | None
    high: float | None
    p: float


class Weaknesses(NamedTuple):
    """What was found about one model, the gravest of each sort first."""

    model: str
    lost: tuple[Lost, ...] = ()
    effects: tuple[Effect, ...] = ()
    behind: tuple[Behind, ...] = ()
    properties: int = 0
    """How many properties of it were examined."""
    kinds: int = 0
    """How many kinds of question."""
    wrong: float | None = None
    """Share of its questions that it has wrong; None where scores are no right or wrong."""
    skipped: tuple[str, ...] = ()
    """Kinds of question of which it has no score at all though others do."""
    elsewhere: tuple[str, ...] = ()
    """Tracks in which it took no part."""


class Examined(NamedTuple):
    """What was found about every model, and how much was looked at."""

    models: tuple[Weaknesses, ...]
    effects: int
    """Effects over which was corrected."""
    comparisons: int
    column: str
    """The column of kinds; empty where there is none."""
    more: int
    """Models beyond those explained."""


def weaknesses(inputs: ReportInputs, *, most: int = MOST_MODELS) -> Examined:
    """What the folder shows about why each model fails, the foremost models first."""
    everybody, competing = _ordered(inputs)
    shown = (competing or everybody)[:most]
    effects = _effects(inputs)
    compared_by, behind = _behind(inputs, shown)
    column = compared_by or ("" if inputs.rows.is_empty() else _kinds_column(inputs, inputs.rows))
    apart = {} if inputs.rows.is_empty() else took_no_part(inputs.rows)
    listed = []
    for model in shown:
        of_model = effects.filter(pl.col("model") == model)
        skipped = _skipped(inputs, model, column, apart.get(model, ()))
        kinds = behind.filter((pl.col("model") == model) & ~pl.col("kind").is_in(skipped))
        lost, harmful, worse = _lost(inputs, model, apart.get(model, ())), _harmful(of_model, inputs), _worse(kinds)
        looked_at = of_model["p"].count(), kinds["p"].count()
        listed.append(
            Weaknesses(
                model,
                tuple(lost),
                tuple(harmful),
                tuple(worse),
                *looked_at,
                _wrong(inputs, model),
                skipped,
                apart.get(model, ()),
            )
        )
    return Examined(tuple(listed), effects["p"].count(), behind["p"].count(), column, len(everybody) - len(shown))


def harmful_effects(inputs: ReportInputs) -> dict[str, list[Effect]]:
    """By model, the properties that harm it after correction over all, the surest first."""
    effects = _effects(inputs)
    return {str(model): _harmful(cells, inputs) for (model,), cells in effects.group_by("model", maintain_order=True)}


def _ordered(inputs: ReportInputs) -> tuple[list[str], list[str]]:
    """All models, competitors first by their final ranks on the first leaderboard; and the competitors alone."""
    ranking = inputs.first("rank")
    boards = leaderboards_of(ranking) if ranking is not None else []
    first = competitors(ranking, boards[0]) if ranking is not None and boards else []
    return list(dict.fromkeys([*(first or _by_value(inputs)), *inputs.models])), first


def _by_value(inputs: ReportInputs) -> list[str]:
    live = inputs.live
    if live is None or inputs.better is None or live.intervals[0].is_empty():
        return []
    frame = live.intervals[0].sort("value", descending=inputs.better == "larger", nulls_last=True)
    return frame["model"].to_list()


def _asked(inputs: ReportInputs, elsewhere: Sequence[str]) -> pl.DataFrame:
    """The rows of the cases that a model was tried on: those of tracks in which it took part."""
    rows = inputs.rows
    return rows if not elsewhere else rows.filter(~pl.col(TRACK).cast(pl.String).is_in(elsewhere).fill_null(False))


def _skipped(inputs: ReportInputs, model: str, column: str, elsewhere: Sequence[str]) -> tuple[str, ...]:
    rows = inputs.rows
    if not column or column not in rows.columns:
        return ()
    tried = _asked(inputs, elsewhere).filter(pl.col("value").is_not_null())
    kinds = tried[column].drop_nulls().cast(pl.String).unique().sort()
    mine = set(tried.filter(pl.col("model") == model)[column].drop_nulls().cast(pl.String))
    return tuple(kind for kind in kinds if kind not in mine) if mine else ()


def _lost(inputs: ReportInputs, model: str, elsewhere: Sequence[str]) -> list[Lost]:
    rows = inputs.rows
    if rows.is_empty() or not {"status", "value"} <= set(rows.columns):
        return []
    mine = rows.filter(pl.col("model") == model)
    asked = max(_asked(inputs, elsewhere)["case"].n_unique(), mine.height)
    absent = asked - mine.height
    wrong = mine.filter(pl.col("value").fill_null(0.0) < 1).height + absent
    counts = Counter(mine["status"].to_list())
    counts[Status.MISSING.value] += absent
    kept = {status: counts[status] for status in sorted({*WITHOUT_ANSWER, Status.UNREADABLE}) if counts[status]}
    ordered = sorted(kept.items(), key=lambda pair: (-pair[1], pair[0]))
    return [Lost(Status(status), count / asked, count / max(wrong, 1)) for status, count in ordered]


def _wrong(inputs: ReportInputs, model: str) -> float | None:
    if inputs.metric != "correct" or inputs.rows.is_empty():
        return None
    values = inputs.rows.filter(pl.col("model") == model)["value"].drop_nulls()
    return values.filter(values < 1).len() / len(values) if len(values) else None


_EFFECTS = {
    "model": pl.String,
    "term": pl.String,
    "estimate": pl.Float64,
    "odds_ratio": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "p": pl.Float64,
}


def _effects(inputs: ReportInputs) -> pl.DataFrame:
    """Every property's effect on every model, of analyses whose outcome is the score itself, corrected over all."""
    frames = [
        frame for result in inputs.of("failures") if _is_about(result) and not (frame := _cells(result)).is_empty()
    ]
    if not frames:
        return pl.DataFrame(schema=_EFFECTS)
    cells = pl.concat(frames, how="diagonal_relaxed").unique(["model", "term"], keep="first", maintain_order=True)
    return corrected_over_all(cells).rename({"p_corrected": "p"}).select(list(_EFFECTS))


def corrected_over_all(per_model: pl.DataFrame) -> pl.DataFrame:
    """The effects on each model with `p_corrected`: Holm over all models and properties; without intercepts.

    Args:
        per_model: The table of `failures`, or several below each other.
    """
    cells = per_model.filter(pl.col("term") != INTERCEPT)
    p = cells["p_value"].cast(pl.Float64, strict=False).fill_null(float("nan")).to_numpy()
    return cells.with_columns(p_corrected=pl.Series(adjusted(p, "holm"), dtype=pl.Float64).fill_nan(None))


def _is_about(result: StoredResult) -> bool:
    """Whether larger outcomes of the analysis are better scores, and the fit may be used."""
    fit = result.records.get("fit", {})
    return result.options.get("outcome") in (None, "value", "correct") and fit.get("converged") is not False


def _cells(result: StoredResult) -> pl.DataFrame:
    frame = result.frame("per_model")
    if not {"model", "term", "estimate", "p_value"} <= set(frame.columns):
        return pl.DataFrame()
    absent = [pl.lit(None, dtype=pl.Float64).alias(n) for n in ("odds_ratio", "low", "high") if n not in frame.columns]
    return frame.filter(pl.col("term") != INTERCEPT).with_columns(*absent).drop_nulls("p_value")


def _harmful(cells: pl.DataFrame, inputs: ReportInputs) -> list[Effect]:
    sign = {"larger": 1.0, "smaller": -1.0}.get(inputs.better or "", 0.0)
    kept = cells.filter((pl.col("p") <= ALPHA) & (pl.col("estimate") * sign < 0)).sort("p", "term")
    return [
        Effect(row["term"], row["odds_ratio"], row["estimate"], row["low"], row["high"], row["p"])
        for row in kept.iter_rows(named=True)
    ]


_BEHIND = {
    "model": pl.String,
    "kind": pl.String,
    "difference": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "p": pl.Float64,
}


def _behind(inputs: ReportInputs, models: Sequence[str]) -> tuple[str, pl.DataFrame]:
    """Every model against the mean of the other competitors, kind by kind, corrected over all."""
    empty = pl.DataFrame(schema=_BEHIND)
    matrix = _matrix(inputs)
    column = "" if matrix is None else _kinds_column(inputs, matrix.cases)
    if matrix is None or not column or inputs.better is None:
        return "", empty
    rivals = _rivals(inputs, matrix)
    rows = [row for model in models if model in matrix.models for row in _against(matrix, model, rivals, column)]
    if not rows:
        return column, empty
    p = adjusted(np.array([np.nan if row["p"] is None else row["p"] for row in rows]), "holm")
    frame = pl.DataFrame(rows, schema=_BEHIND)
    return column, frame.with_columns(p=pl.Series(p, dtype=pl.Float64).fill_nan(None))


def _worse(kinds: pl.DataFrame) -> list[Behind]:
    kept = kinds.filter((pl.col("p") <= ALPHA) & (pl.col("difference") > 0)).sort("difference", descending=True)
    return [
        Behind(row["kind"], row["difference"], row["low"], row["high"], row["p"]) for row in kept.iter_rows(named=True)
    ]


def _matrix(inputs: ReportInputs) -> ScoreMatrix | None:
    live = inputs.live
    if live is None or len(live.table.models) < 2:
        return None
    try:
        return live.table.matrix(inputs.metric, missing=live.missing)
    except SurgvalidError:
        return None


def _kinds_column(inputs: ReportInputs, cases: pl.DataFrame) -> str:
    """What a question asks for; of other tables the first condition that splits cases."""
    listed = [*_KINDS, *(inputs.live.strata_columns if inputs.live is not None else [])]
    several = (name for name in listed if name in cases.columns and cases[name].drop_nulls().n_unique() > 1)
    return next(several, "")


def _rivals(inputs: ReportInputs, matrix: ScoreMatrix) -> list[str]:
    ranked = {
        model for result in inputs.of("rank") for model in result.frame("stability").get_column("model", default=())
    }
    return [model for model in matrix.models if model in ranked] or matrix.models


def _against(matrix: ScoreMatrix, model: str, rivals: Sequence[str], column: str) -> list[Mapping[str, object]]:
    """The model minus the mean of its rivals on each kind, as `compare` gives it; positive is behind."""
    others = [place for place, name in enumerate(matrix.models) if name in rivals and name != model]
    mine, theirs = matrix.values[:, matrix.models.index(model)], matrix.values[:, others]
    known = np.isfinite(mine) & np.isfinite(theirs).any(axis=1) & matrix.cases[column].is_not_null().to_numpy()
    if not known.any():
        return []
    both = np.column_stack([np.nanmean(theirs[known], axis=1), mine[known]])
    cases = matrix.where(known)
    pair = replace(cases, values=both, models=[_OTHERS, model], absent=Absences(), statistics=None)
    sign = matrix.metric.sign
    try:
        listed = [pair_row(slice_, IntervalSettings())[0] for slice_ in slices(pair, [column])]
    except SurgvalidError:
        return []
    return [
        {
            "model": model,
            "kind": str(row[column]),
            "difference": sign * row["difference"],
            "low": _signed(row, sign)[0],
            "high": _signed(row, sign)[1],
            "p": row["p_value"],
        }
        for row in listed
        if (row["videos"] or 0) >= _FEWEST_VIDEOS
    ]


def _signed(row: Mapping[str, float | None], sign: float) -> tuple[float | None, float | None]:
    if row["low"] is None or row["high"] is None:
        return None, None
    low, high = sorted((sign * row["low"], sign * row["high"]))
    return low, high
