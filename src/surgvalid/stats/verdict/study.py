"""A study from a plain table: who is better and how sure, patient by patient, which cases are hard.

Nothing is computed here that a verb of its own does not compute: values are those of `interval`, differences those of
`compare`, conditions those of `strata`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from surgvalid.errors import DirectionUnknown, SurgvalidError
from surgvalid.results.tables import studies as t
from surgvalid.schema.findings import Finding
from surgvalid.schema.statistic_rules import remark
from surgvalid.schema.tables.score_table import ScoreMatrix, ScoreTable
from surgvalid.schema.tables.table_reading import UNNAMED, read_scores
from surgvalid.schema.tables.units import says_when
from surgvalid.stats.comparing.comparison import pair_matrix, pair_row
from surgvalid.stats.comparing.strata import strata
from surgvalid.stats.intervals.interval import interval
from surgvalid.stats.intervals.interval_settings import IntervalSettings
from surgvalid.stats.intervals.pooled import verb_matrix
from surgvalid.stats.intervals.slices import Slice
from surgvalid.stats.verdict.grounds import why_of
from surgvalid.stats.verdict.joint_flips import MOST_EXACT
from surgvalid.stats.verdict.who_is_better import ModelVerdict, Statement, VerdictQuestion, verdict

HARD_CASES = 20


class Study(NamedTuple):
    """Tables of one metric, with the verdict."""

    tables: dict[str, pl.DataFrame]
    """`values` (the best model first), `pairs`, `patients`, `hard_cases`, `strata` where there are any, `readings`."""
    verdict: ModelVerdict
    prose: str
    findings: tuple[Finding, ...]
    scores: ScoreTable


def study_of(table: Any, question: VerdictQuestion, **read: Any) -> Study:
    """The study of a plain table; arguments and errors are those of `surgvalid.study`."""
    metric, missing, level = question.metric, question.missing, question.level
    reading = read_scores(table, metric=metric, **read)
    given = reading.table
    name = given.chosen_metric(metric)
    facts = given.facts_of(name)
    if facts.better is None and metric is None and name == UNNAMED:
        raise DirectionUnknown(name, otherwise="say which metric the table holds, such as --metric dice")
    judged = verdict(given, question._replace(metric=name))
    asked: dict[str, Any] = {"metric": name, "missing": missing, "level": level}
    values = interval(given, **asked)
    ordered = values.table.sort(pl.col("value") * -facts.sign, maintain_order=True, nulls_last=True)
    matrix = given.matrix(name, missing=missing)
    conditions, unread = _strata(given, asked)
    if len(ordered) == 1:
        judged = replace(judged, statements=(Statement("reaches", ordered.row(0, named=True)),))
    hard, tied = _hard_cases(matrix, facts.sign, _scored(given, name))
    pairs, spoken = _pairs(given, judged, asked)
    tables = {
        "values": t.VALUES.frame(ordered),
        "pairs": pairs,
        "patients": t.PATIENTS.frame(_patients(matrix) if given.unit.is_known else []),
        "hard_cases": t.HARD_CASES.frame(hard),
        **conditions,
        "readings": t.READINGS.frame([{"sentence": sentence} for _, _, sentence in reading.interpreted]),
        "why": t.WHY.frame(why_of(judged)),
    }
    findings = _distinct([*values.findings, *spoken, *unread, *tied])
    prose = f"{values.prose} {_pairs_prose(judged, level)}".strip()
    return Study(tables, judged, prose, findings, given)


def _pairs(table: ScoreTable, judged: ModelVerdict, asked: Mapping[str, Any]) -> tuple[pl.DataFrame, list[Finding]]:
    """The best model with each other one, the next best first, with the intervals that hold together."""
    rows: list[dict[str, Any]] = []
    spoken: list[Finding] = []
    tests, sign, wanted = judged.tests, judged.metric.sign, set(t.PAIRS.columns)
    matrix = verb_matrix(table, asked["metric"], missing=asked["missing"])
    settings = IntervalSettings(level=asked["level"])
    for pair in judged.pairs:
        both = Slice({}, pair_matrix(matrix, pair.model, pair.other))
        numbers, noticed = pair_row(both, settings, approximate=True)
        row = {name: value for name, value in numbers.items() if name in wanted}
        spoken += noticed
        ends = sorted((sign * pair.low, sign * pair.high)) if pair.bounded else (None, None)
        row |= {"low": ends[0], "high": ends[1], "p_corrected": pair.p_adjusted, "tests": tests}
        if pair.units <= MOST_EXACT:
            row["method"] = row["method"].removesuffix(", normal")
        rows.append({**row, "difference_videos": judged.unit.counted(sign * float(np.nanmean(pair.gaps)))})
    return t.PAIRS.frame(rows), spoken


def _pairs_prose(judged: ModelVerdict, level: float) -> str:
    if not judged.pairs or not judged.unit.is_known:
        return ""
    if judged.tests == 1:
        return (
            f"The {level:.0%} interval of the difference holds every one that the exact sign-flip test does not reject."
        )
    beside = f"each other model minus {judged.baseline}, which was named beforehand"
    every = "all pairs of models, since the best one was found on the same data"
    return (
        f"Intervals of differences hold together at {level:.0%} over {beside if judged.baseline else every}: whole "
        "units are flipped for all pairs at once, the smallest p-value of any pair gives the level of each, and an "
        "interval holds every difference that the sign-flip test does not reject there."
    )


def _patients(matrix: ScoreMatrix) -> list[dict[str, Any]]:
    lines = []
    for place, video in enumerate(matrix.video_names):
        rows = matrix.values[matrix.videos == place]
        for column, model in enumerate(matrix.models):
            known = rows[:, column][np.isfinite(rows[:, column])]
            value = float(known.mean()) if len(known) else None
            lines.append({"model": model, "video": video, "value": value, "cases": len(known)})
    return lines


def _scored(table: ScoreTable, metric: str) -> set[tuple[str, str]]:
    """The cases and models with a score of their own; others have a number put in its place, or none."""
    rows = table.frame.filter((pl.col("metric") == metric) & pl.col("value").is_not_null())
    return set(rows.select("case", "model").iter_rows())


def _hard_cases(
    matrix: ScoreMatrix, sign: float, known: Collection[tuple[str, str]]
) -> tuple[list[dict[str, Any]], list[Finding]]:
    """The cases that are worst for the typical model, and what is said where others are as hard as the last one."""
    scored = np.isfinite(matrix.values).any(axis=1)
    typical = np.full(len(scored), np.nan)
    typical[scored] = np.nanmedian(matrix.values[scored], axis=1)
    order = np.argsort(np.where(scored, sign * typical, np.inf), kind="stable")[: min(HARD_CASES, int(scored.sum()))]
    cases = matrix.cases["case"].to_list()
    rows = [
        {
            "case": cases[row],
            "video": matrix.unit.counted(matrix.video_names[matrix.videos[row]]),
            "value": float(typical[row]),
            "worst": _worst_models(sign * matrix.values[row], {m: (cases[row], m) in known for m in matrix.models}),
        }
        for row in order
    ]
    last = typical[order[-1]] if len(order) else np.nan
    equal, shown = int((typical == last).sum()), int((typical[order] == last).sum())
    if equal == shown:
        return rows, []
    message = (
        f"{equal} cases are as hard as the last of the list ({last:g}), which names {shown} of them, in the order of "
        "the table"
    )
    return rows, [remark("hard-cases-tied", message)]


def _worst_models(goodness: np.ndarray, known: Mapping[str, bool]) -> str:
    """Every model that fails most; a model alone is never blamed for a tie, and one without a score is told as such."""
    worst = [
        model if is_known else f"{model} (no score)"
        for (model, is_known), good in zip(known.items(), goodness, strict=True)
        if good == np.nanmin(goodness)
    ]
    return "all models" if 1 < len(worst) == np.isfinite(goodness).sum() else ", ".join(worst)


def _strata(table: ScoreTable, asked: Mapping[str, Any]) -> tuple[dict[str, pl.DataFrame], list[Finding]]:
    """The table of conditions where there are any, what its verb says, and why others are not in it."""
    compared: list[pl.DataFrame] = []
    findings: list[Finding] = []
    for name in table.strata:
        if table.frame[name].n_unique() < 2 or says_when(table.frame[name]):
            continue
        try:
            result = strata(table, [name], **asked)
        except SurgvalidError as error:
            text = f"could not be compared: {error}"
            findings.append(remark("condition-not-compared", text, subject=f"Condition {name}"))
            continue
        compared.append(result.table)
        findings += result.findings
    return ({"strata": t.STRATA.frame(pl.concat(compared))} if compared else {}), findings


def _distinct(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    return tuple({one.text: one for one in findings if one.code != "no-videos"}.values())
