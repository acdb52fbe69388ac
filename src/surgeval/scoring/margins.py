"""Margins: how much better a model is than the best system that never looks at the video.

Per slice, model and floors are compared on the same questions: those the model has a score for. A
question the model has no row for counts as wrong; one that was not scored (no verdict, or a reference
that breaks its own format) is left out on both sides and counted. The floor is the best honest one of
that very slice, so margins are cautious; the best oracle constant stands beside it. No interval is
given here: score a floor's answer file as a model and compare the two with `surgeval compare`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from surgeval.errors import TableInvalid
from surgeval.results.tables.scoring import MARGINS
from surgeval.schema.score_table import ScoreTable
from surgeval.scoring.slices import Slices

DESCRIBED = ("case", "video", "format", "bucket", "template")
"""Columns that describe a question; every other one is a floor."""


def margins(cases: pl.DataFrame, score_table: ScoreTable) -> pl.DataFrame:
    """Per model and slice: its accuracy, the best floor, and the margin between them.

    Args:
        cases: The scores of every floor on every question, as `FloorsResult.cases` has them.
        score_table: The models.

    Raises:
        TableInvalid: The table has no metric `correct`, or shares no question with the floors.
    """
    if "correct" not in score_table.metrics:
        raise TableInvalid("score table", [f"no metric 'correct'; it has {', '.join(score_table.metrics)}"])
    scores = score_table.frame.filter(metric="correct").select("model", "case", "value")
    if scores.join(cases, on="case", how="semi").is_empty():
        raise TableInvalid("score table", ["none of its cases is among the questions of the floors"])
    slices = Slices(cases["video"].to_list(), cases["bucket"].to_list(), cases["format"].to_list())
    rows: list[dict[str, Any]] = []
    for model in score_table.models:
        answered = scores.filter(model=model).select("case", "value", present=pl.lit(True))
        joined = cases.select("case").join(answered, on="case", how="left", maintain_order="left")
        rows += _rows(model, joined, cases, slices)
    return MARGINS.frame(rows)


def _rows(model: str, joined: pl.DataFrame, cases: pl.DataFrame, slices: Slices) -> list[dict[str, Any]]:
    predictors = [name for name in cases.columns if name not in DESCRIBED]
    floors = [name for name in predictors if not name.startswith("oracle-")]
    missing = joined["present"].is_null().to_numpy()
    answered = joined["value"].cast(pl.Float64).to_numpy().copy()
    answered[missing] = 0.0
    unscored = np.isnan(answered) | cases[floors[0]].is_null().to_numpy()
    values = slices.values(np.where(unscored, np.nan, answered))
    lacking = slices.values(np.where(unscored, np.nan, missing))
    left_out = slices.values(unscored.astype(float))
    honest = {name: slices.values(_paired(cases, name, unscored)) for name in floors}
    oracle = [slices.values(_paired(cases, name, unscored)) for name in predictors if name not in floors]
    rows = []
    for where, value in values.items():
        if not value.questions:
            continue
        best = max(floors, key=lambda name: (honest[name][where].rows, -floors.index(name)))
        floor, bound = honest[best][where].rows, max(each[where].rows for each in oracle)
        margin = value.rows - floor
        rows.append(
            {
                "model": model,
                "level": where[0],
                "name": where[1],
                "accuracy": value.rows,
                "best_floor": best,
                "floor_accuracy": floor,
                "margin": _or_none(margin),
                "oracle_accuracy": bound,
                "questions": value.questions,
                "videos": value.video_count,
                "missing": lacking[where].right,
                "not_scored": left_out[where].right,
            }
        )
    return rows


def _paired(cases: pl.DataFrame, predictor: str, unscored: npt.NDArray[np.bool_]) -> npt.NDArray[np.float64]:
    return np.where(unscored, np.nan, cases[predictor].to_numpy())


def _or_none(number: float) -> float | None:
    return None if math.isnan(number) else number
