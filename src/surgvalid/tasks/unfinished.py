"""Runs in which cases were never answered because of the server, the machine or the money: no value is given of them.

What a model failed at is finished and wrong. What nobody could ask it stands in the scores without a value, with the
status that says why, so every verb stops there until somebody says what such cases count as; and the table carries a
mark that the verbs repeat whatever was said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import polars as pl

from surgvalid.evaluation.result import EvaluationResult
from surgvalid.models import ModelTrouble, Outcome
from surgvalid.schema.findings import Finding
from surgvalid.schema.outcomes import Status
from surgvalid.schema.tables.read_rows import UNFINISHED
from surgvalid.schema.tables.score_table import ScoreTable
from surgvalid.schema.tables.units import Interpreted
from surgvalid.tasks.scores import Scoring

_VALUES = ("value", "low", "high")
_KEPT = ("metrics", "policies")
"""Tables that are there without their values: others would show numbers of half a run."""


def unasked_cases(cases: Sequence[str], outcomes: Mapping[str, Sequence[Outcome]]) -> dict[str, Status]:
    """The cases that can still be answered, and why they have not been."""
    unasked = {}
    for case in cases:
        asked = outcomes.get(case, ())
        if not asked or any(one.trouble is ModelTrouble.BUDGET for one in asked):
            unasked[case] = Status.NOT_ASKED
        elif any(one.trouble is ModelTrouble.TRANSIENT for one in asked):
            unasked[case] = Status.INFRASTRUCTURE
    return unasked


def held_back(
    made: EvaluationResult,
    policies: pl.DataFrame,
    scoring: Scoring,
    unasked: Mapping[str, Status],
    findings: Sequence[Finding],
) -> EvaluationResult:
    """The result of a run without any value that unasked cases would take part in."""
    tables = {
        name: frame.with_columns(pl.lit(None, pl.Float64).alias(one) for one in _VALUES if one in frame.columns)
        for name, frame in {**made.tables, "policies": policies}.items()
        if name in _KEPT
    }
    scores = _scores(made.scores, scoring, unasked)
    return replace(made, tables=tables, findings=tuple(findings), scores=scores, boards=())


def _scores(scores: ScoreTable, scoring: Scoring, unasked: Mapping[str, Status]) -> ScoreTable:
    """The scores of answered cases; rows of a video count for all of its cases."""
    cases = scoring.cases.table
    asked = cases.filter(~pl.col("case").is_in(list(unasked)))
    material = replace(scoring, cases=replace(scoring.cases, table=asked)).material()
    answered = [] if material is None or material.scores is None else material.scores["case"].to_list()
    videos = set(cases["video"]) - set(cases.filter(pl.col("case").is_in(list(unasked)))["video"])
    whole = pl.col("case").is_in([*answered, *videos])
    status = Status.INFRASTRUCTURE if Status.INFRASTRUCTURE in unasked.values() else Status.NOT_ASKED
    frame = scores.frame.with_columns(
        pl.when(whole).then(pl.col("value")).alias("value"),
        pl.when(whole).then(pl.col("status")).otherwise(pl.lit(status.value)).alias("status"),
    )
    return unfinished(replace(scores, frame=frame, statistics=None), asked.height, cases.height)


def unfinished(scores: ScoreTable, answered: int, cases: int) -> ScoreTable:
    """The scores with the mark that they are half a run's, which goes where they go."""
    sentence = (
        f"the run of {scores.models[0]!r} is not finished: {answered:,} of {cases:,} cases were answered, and "
        f"{cases - answered:,} are still to be asked"
    )
    return replace(scores, read_as=scores.read_as.marked(Interpreted(UNFINISHED, "", sentence)))
