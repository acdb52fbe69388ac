"""The page of a verdict: one finding, one figure that carries it, what would overturn it, what to do next.

Every sentence on who is better comes from `stats.verdict`; what is said here describes patients and cases.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import polars as pl

from surgvalid.report.figures import picture
from surgvalid.report.html import made_with, page
from surgvalid.report.section import Block, Fold, Point, Points, Prose, ReportTable, Section
from surgvalid.report.words import count_of, plain
from surgvalid.schema.findings import Finding, Severity
from surgvalid.stats.verdict.sentences import amount, evidence_of, sentences_of, title_of
from surgvalid.stats.verdict.unit_differences import PairFinding
from surgvalid.stats.verdict.who_is_better import ModelVerdict

Tables = Mapping[str, pl.DataFrame]
_OVERTURNING = ("overturned", "carried", "fails", "unseen", "also_if_worst", "amount_depends", "few_differ")
"""Statements on what the finding rests on."""
_ASKED = ("relevance",)
"""Statements that ask something of the reader."""
_WORST = 3


def verdict_page(
    judged: ModelVerdict, tables: Tables, cases: pl.DataFrame, *, prose: str, findings: Sequence[Finding], source: str
) -> str:
    """The page, complete in itself.

    Args:
        judged: The verdict.
        tables: Of the study: `values`, `pairs`, `patients`, `hard_cases`, `readings`, `why`, and `strata`.
        cases: Columns `model`, `case`, `value`: drawn where nobody said what is independent.
        prose: The paragraph on methods.
        findings: What was noticed about the input.
        source: What the table is called; empty where it has no name.
    """
    sections = [_first(judged, tables, cases, findings), *_further(judged, tables, prose, findings)]
    kind = f"Study \u00b7 {plain(source, limit=60)}" if source else "Study"
    return page(title_of(judged), kind, evidence_of(judged), sections, lead=sentences_of(judged)[0], footer=made_with())


def _first(judged: ModelVerdict, tables: Tables, cases: pl.DataFrame, findings: Sequence[Finding]) -> Section:
    spoken = dict(zip((one.code for one in judged.statements), sentences_of(judged), strict=True))
    rest = list(spoken.items())[1:]
    overturning = [sentence for code, sentence in rest if code in _OVERTURNING]
    limits = [judged.unit.called(one.text) for one in findings if one.severity is not Severity.NOTE]
    limits += [sentence for code, sentence in rest if code not in (*_OVERTURNING, *_ASKED)]
    limits.append(f"One metric on one set of {count_of(judged.n, judged.unit.word)}: other hospitals may differ.")
    blocks: list[Block] = [*figure_of(judged, tables, cases), Fold("limits", "What limits this", tuple(limits))]
    if overturning:
        blocks.append(Points("overturn", "What would overturn it", tuple(Point(text) for text in overturning)))
    blocks += _hardest(judged, tables)
    blocks.append(Points("next", "What to do next", tuple(Point(text) for text in _next(judged, tables)[:3])))
    return Section("verdict", "", tuple(blocks), layer="verdict")


def figure_of(judged: ModelVerdict, tables: Tables, cases: pl.DataFrame) -> list[Block]:
    """The one figure that carries the finding: patients of both models, or the leader against each other one.

    Args:
        judged: The verdict.
        tables: Of the study.
        cases: Columns `model`, `case`, `value`: drawn where nobody said what is independent.
    """
    metric, unit = judged.metric, judged.unit.word
    if not judged.leading:
        shown = {"metric": metric.name, "unit": unit, "largest_is_best": metric.sign > 0}
        return [picture("patient_values", tables["patients"], title=f"Every {unit}", **shown)]
    if judged.statements[0].code == "same":
        return []
    shared = {"margin": judged.margin, "metric": metric.name, "unit": unit}
    if len(judged.leading) > 1:
        leader = judged.leading[0].model
        columns = ("other", "difference", "low", "high")
        frame = pl.DataFrame({name: [getattr(pair, name) for pair in judged.leading] for name in columns})
        if judged.kind == "no_unit":
            frame = frame.with_columns(low=pl.lit(None, pl.Float64), high=pl.lit(None, pl.Float64))
        title = f"How far {plain(leader, limit=40)} is ahead of each other model"
        return [picture("lead_intervals", frame.rename({"other": "model"}), leader=leader, title=title, **shared)]
    pair = judged.leading[0]
    options = {
        "leader": pair.model,
        "other": pair.other,
        "larger": metric.sign > 0,
        "interval": _interval(judged, pair),
    }
    units = tables["patients"] if judged.kind != "no_unit" else cases.rename({"case": "video"})
    return [picture("paired_patients", units, **options, **shared)]


def _interval(judged: ModelVerdict, pair: PairFinding) -> dict[str, float | None] | None:
    if judged.kind == "no_unit":
        return None
    ends = {name: value if math.isfinite(value) else None for name, value in (("low", pair.low), ("high", pair.high))}
    if judged.kind == "too_few":
        ends = dict.fromkeys(ends)
    return {"difference": pair.difference, **ends}


def _hardest(judged: ModelVerdict, tables: Tables) -> list[Block]:
    worst, word = tables["hard_cases"].head(_WORST), judged.unit.word
    if worst.is_empty():
        return []
    title = f"The {('', 'hardest case', 'two hardest cases', 'three hardest cases')[worst.height]}"
    units = worst["video"].drop_nulls().unique().to_list() if judged.kind != "no_unit" else []
    if len(units) == 1 and worst.height > 1 and units != worst["case"].to_list():
        title += f" are all of {word} {plain(units[0], limit=40)}"
    points = tuple(
        Point(f"{plain(row['case'], limit=60)}: {amount(row['value'], judged.metric)} in the median of models")
        for row in worst.iter_rows(named=True)
        if row["value"] is not None
    )
    return [Points("hardest", title, points)] if points else []


def _next(judged: ModelVerdict, tables: Tables) -> list[str]:
    """What to do, each with its reason."""
    steps, word, metric = [], judged.unit.word, judged.metric
    codes = {one.code for one in judged.statements}
    if judged.kind == "no_unit":
        steps.append("Name the column that holds the patient (--unit): without it no winner can be named.")
    if "relevance" in codes:
        steps.append("Say what difference matters to a patient (--margin): then the page says whether this one does.")
    if judged.kind in ("open", "too_few"):
        steps.append(f"Plan how many {word}s an answer takes: surgvalid plan size.")
    if codes & {"depends_on_stratum", "amount_depends"}:
        steps.append("Report the groups apart: one number for all of them hides what differs.")
    means = tables["patients"].group_by("video").agg(pl.col("value").mean()).drop_nulls("value").sort("value")
    if means.height > 1 and judged.leading and word != "case":
        hard = means.row(0 if metric.sign > 0 else -1, named=True)
        apart = abs(means["value"][-1] - means["value"][0])
        gap, models = (
            abs(judged.leading[0].difference),
            "the models" if len(judged.leading) == 1 else "the first two models",
        )
        if apart > gap:
            steps.append(
                f"Look at {word} {plain(hard['video'], limit=40)} before choosing: {word}s differ by up to "
                f"{amount(apart, metric)} in {metric.name}, {models} by {amount(gap, metric)}."
            )
    return steps or ["Write down the next question before its data are there: surgvalid plan register."]


def _unit_named(table: pl.DataFrame, word: str) -> pl.DataFrame:
    """A table whose column of units is called as the unit is, unless another one is: then each unit is that."""
    return table if word in table.columns else table.rename({"video": word})


def _further(judged: ModelVerdict, tables: Tables, prose: str, findings: Sequence[Finding]) -> list[Section]:
    metric, unit = judged.metric, f"{judged.unit.word}s"
    values = tables["values"].with_columns(n="videos")
    direction = "larger" if metric.sign > 0 else "smaller"
    shown = {"estimand": f"{metric.name} ({direction} is better)", "unit": unit, "largest_is_best": metric.sign > 0}
    drawn = picture("value_intervals", values, title="What each model reaches", **shown)
    sections = [Section("values", "Values of each model", (drawn, _table("values", "Values", tables["values"])))]
    if tables["pairs"].height:
        sections.append(Section("pairs", "Differences of pairs", (_table("pairs", "Differences", tables["pairs"]),)))
    every, worst = (_unit_named(tables[name], judged.unit.word) for name in ("patients", "hard_cases"))
    sections.append(Section("patients", f"All {unit}", (_table("patients", f"Every {unit[:-1]}", every),)))
    hard = ReportTable("hard-cases", "Hardest for the typical model", worst, "Median over models.")
    sections.append(Section("cases", "Which cases are hard", (hard,)))
    if "strata" in tables:
        blocks = picture("strata_deltas", tables["strata"]), _table("strata", "By condition", tables["strata"])
        sections.append(Section("conditions", "Under which conditions", blocks))
    read = [Prose(f"{sentence[0].upper()}{sentence[1:]}.") for sentence in tables["readings"]["sentence"]]
    noted = [Prose(one.text) for one in findings if one.severity is Severity.NOTE]
    sections.append(
        Section("methods", "Methods, and how this table was read", (Prose(judged.unit.called(prose)), *read, *noted))
    )
    sections.append(Section("why", "Why each sentence is said", (_table("why", "Rule and source", tables["why"]),)))
    return [_folded(section) for section in sections]


def _folded(section: Section) -> Section:
    return Section(section.name, section.title, section.blocks, folded=True, layer="appendix", view=section.title)


def _table(name: str, title: str, frame: pl.DataFrame) -> ReportTable:
    kept = [column for column in frame.columns if frame[column].null_count() < frame.height]
    return ReportTable(name, title, frame.select(kept))
