"""The page of a verdict: one finding, one figure that carries it, what would overturn it, what to do next.

Every sentence on who is better comes from `stats.verdict`; what is said here describes patients and cases.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

import polars as pl
import polars.selectors as cs

from surgvalid.report.figures import picture
from surgvalid.report.html import page
from surgvalid.report.section import Block, Fold, Point, Points, Prose, ReportTable, Section
from surgvalid.report.words import count_of, plain
from surgvalid.schema.findings import Finding, Severity
from surgvalid.schema.metric_facts import MetricFacts
from surgvalid.schema.tables.shown_tables import p_phrase
from surgvalid.stats.verdict.sentences import amount, evidence_of, gap_amount, sentences_of, title_of
from surgvalid.stats.verdict.unit_differences import PairFinding
from surgvalid.stats.verdict.who_is_better import ModelVerdict

Tables = Mapping[str, pl.DataFrame]
_OVERTURNING = ("one_unit", "overturned", "carried", "fails", "unseen", "also_if_worst", "amount_depends", "few_differ")
"""Statements on what the finding rests on."""
_NUMBERS = ("value", "difference", "low", "high")
"""Columns in the unit of the metric."""
_ASKED = ("relevance", "size")
"""Statements that ask something of the reader."""
_WORST = 3
_FEWEST = 20
"""Cases of a model below which no shares of a hundred are told."""


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
    steps = Points("next", "What to do next", tuple(Point(text) for text in steps_of(judged, tables)[:3]))
    first = Section("verdict", "", (*opening(judged, tables, cases, findings), steps), layer="verdict")
    kind = f"Study \u00b7 {plain(source, limit=60)}" if source else "Study"
    sections = [first, *_further(judged, tables, prose, findings)]
    lead = re.sub(r" \(--unit\)|; say it with .*(?=\.)", "", sentences_of(judged)[0])  # the steps say it
    return page(title_of(judged), kind, evidence(judged), sections, lead=lead)


def evidence(judged: ModelVerdict) -> str:
    """The line for statisticians, with the test behind a dependence and the level of what few patients show."""
    first, line = judged.statements[0], evidence_of(judged)
    if first.code == "depends_on_stratum":
        return f"{line} \u00b7 differences by {first.numbers['column']}, {p_phrase(first.numbers['p'])}"
    if first.code == "too_few" and first.numbers["range_level"]:
        return f"{line} \u00b7 their range is an exact interval of level {first.numbers['range_level']:.4g}"
    return line


def opening(judged: ModelVerdict, tables: Tables, cases: pl.DataFrame, findings: Sequence[Finding]) -> list[Block]:
    """What stands below the finding: the figure that carries it, what limits it, what would overturn it, hard cases.

    Args:
        judged: The verdict.
        tables: Of the study.
        cases: Columns `model`, `case`, `value`: drawn where nobody said what is independent.
        findings: What was noticed about the input.
    """
    spoken = dict(zip((one.code for one in judged.statements), sentences_of(judged), strict=True))
    rest = list(spoken.items())[1:]
    overturning = [sentence for code, sentence in rest if code in _OVERTURNING] + _other_margins(judged)
    known = [one for one in findings if one.code != "few-videos" or judged.unit.is_known]
    limits = [judged.unit.called(_spoken(one)) for one in known if one.severity is not Severity.NOTE]
    limits += [sentence for code, sentence in rest if code not in (*_OVERTURNING, *_ASKED)]
    several = tables["readings"]["sentence"].str.contains("primary metric", literal=True).any()
    limits.append(
        f"{'The primary' if several else 'One'} metric on one set of {count_of(judged.n, judged.unit.word)}: "
        "other hospitals may differ."
    )
    blocks: list[Block] = [
        *figure_of(judged, tables, cases),
        Fold("limits", "What limits this", tuple(dict.fromkeys(limits))),
    ]
    if overturning:
        blocks.append(Points("overturn", "What would overturn it", tuple(Point(text) for text in overturning)))
    return [*blocks, *_in_practice(judged, tables, cases), *_hardest(judged, tables)]


def _spoken(finding: Finding) -> str:
    """A finding without the number of its pitfall and the words of its test, which the methods have."""
    text = re.sub(r": intervals rest on .*", " cannot show a difference.", re.sub(r"^P\d\.\d ", "", finding.text))
    text = re.sub(r" \(rank correlation .*", ": every case counts alike here, so long videos weigh more.", text)
    return re.sub(r"(?<=\w)=(?=\w)", " ", re.sub(r"; (?=\w+=)", " and ", text))


def _other_margins(judged: ModelVerdict) -> list[str]:
    """At which margin the verdict would be another one, of the winner of two whose interval has two ends."""
    if judged.winner is None or len(judged.leading) > 1 or not judged.deciding.bounded:
        return []
    ends = judged.deciding.low, judged.deciding.high
    below, above = (gap_amount(end, judged.metric, like=ends) for end in ends)
    return [f"With a margin below {below} the lead is enough; from {above} on it is too small to matter."]


def _in_practice(judged: ModelVerdict, tables: Tables, cases: pl.DataFrame) -> list[Block]:
    """Of a hundred cases so many are wrong, where each is right or wrong and an interval stands beside it."""
    known, values = cases["value"].drop_nulls(), tables["values"]
    if not judged.unit.is_known or known.len() < _FEWEST * values.height or not known.is_in([0.0, 1.0]).all():
        return []
    failing = 1 - pl.col("value") if judged.metric.sign > 0 else pl.col("value")
    shown = values.drop_nulls("value").head(_WORST).select("model", failing).iter_rows()
    dots = tuple((round(100 * share), plain(model, limit=24)) for model, share in shown)
    return [
        Points("practice", "In practice: so many of 100 cases fail", (Point("Every case counts alike.", dots=dots),))
    ]


def figure_of(judged: ModelVerdict, tables: Tables, cases: pl.DataFrame) -> list[Block]:
    """The one figure that carries the finding: patients of both models, or the leader against each other one.

    Args:
        judged: The verdict.
        tables: Of the study.
        cases: Columns `model`, `case`, `value`: drawn where nobody said what is independent.
    """
    metric, unit, first = judged.metric, judged.unit.word, judged.statements[0]
    units = _scaled(tables["patients"] if judged.unit.is_known else cases.rename({"case": "video"}), metric)
    held = _scaled(tables["values"], metric).select("model", "value", "low", "high").drop_nulls("value")
    name, scale = (f"points of {metric.name}", 100) if metric.is_share else (metric.name, 1)
    values = {model: reached for model, *reached in held.iter_rows()}
    if not judged.leading:
        reached = f"{metric.name} in %" if metric.is_share else name
        shown = {"metric": reached, "unit": unit, "largest_is_best": metric.sign > 0, "values": values}
        return [picture("patient_values", units, title=f"Every {unit}", **shown)]
    if first.code == "same":
        return []
    shared = {"margin": judged.margin and scale * judged.margin, "metric": name, "unit": unit}
    pair = judged.deciding
    if first.code == "depends_on_stratum":
        [condition] = [one for one in judged.strata if one.column == first.numbers["column"]]
        gaps = [(stratum.name, scale * gap) for stratum in condition.strata for gap in stratum.gaps]
        groups = pl.DataFrame(gaps, schema=["group", "difference"], orient="row")
        title = f"Who is ahead, by {plain(condition.column, limit=30)}"
        return [picture("group_leads", groups, leader=pair.model, other=pair.other, title=title, **shared)]
    if len(judged.leading) > 1:
        leader = judged.leading[0].model
        columns = ("other", "difference", "low", "high")
        frame = pl.DataFrame({name: [getattr(pair, name) for pair in judged.leading] for name in columns})
        if judged.kind == "no_unit":
            frame = frame.with_columns(low=pl.lit(None, pl.Float64), high=pl.lit(None, pl.Float64))
        title = f"How far {plain(leader, limit=40)} is ahead of each other model"
        frame = _scaled(frame.rename({"other": "model"}), metric)
        return [picture("lead_intervals", frame, leader=leader, title=title, **shared)]
    options = {
        "leader": pair.model,
        "other": pair.other,
        "larger": metric.sign > 0,
        "interval": _interval(judged, pair),
        "means": tuple(values.get(name, (None,))[0] for name in (pair.other, pair.model)),
    }
    return [picture("paired_patients", units, **options, **shared)]


def _interval(judged: ModelVerdict, pair: PairFinding) -> dict[str, float | None] | None:
    if judged.kind == "no_unit":
        return None
    ends = {name: value if math.isfinite(value) else None for name, value in (("low", pair.low), ("high", pair.high))}
    if judged.kind == "too_few":
        ends = dict.fromkeys(ends)
    scale = 100 if judged.metric.is_share else 1
    return {name: end and scale * end for name, end in {"difference": pair.difference, **ends}.items()}


def _scaled(frame: pl.DataFrame, metric: MetricFacts) -> pl.DataFrame:
    """The numbers of a metric as they are told: shares in hundredths."""
    return frame.with_columns(cs.by_name(_NUMBERS, require_all=False) * 100) if metric.is_share else frame


def _hardest(judged: ModelVerdict, tables: Tables) -> list[Block]:
    worst, word = tables["hard_cases"].head(_WORST), judged.unit.word
    if worst.is_empty() or (tables["hard_cases"].height > _WORST and tables["hard_cases"]["value"].n_unique() == 1):
        return []
    title = f"The {('', 'hardest case', 'two hardest cases', 'three hardest cases')[worst.height]}"
    units = worst["video"].drop_nulls().unique().to_list() if judged.kind != "no_unit" else []
    if len(units) == 1 and worst.height > 1 and units != worst["case"].to_list():
        title += f" are all of {_named(units[0], word)}"
    models = f"in the median of {tables['values'].height} models" if tables["values"].height > 1 else ""
    points = tuple(
        Point(f"{plain(row['case'], limit=60)}: {amount(row['value'], judged.metric)} {models}")
        for row in worst.iter_rows(named=True)
        if row["value"] is not None
    )
    return [Points("hardest", title, points)] if points else []


def steps_of(judged: ModelVerdict, tables: Tables) -> list[str]:
    """What to do next, each with its reason."""
    steps, word, metric = [], judged.unit.word, judged.metric
    spoken = dict(zip((one.code for one in judged.statements), sentences_of(judged), strict=True))
    codes = spoken.keys()
    if "same" in codes:
        return ["Make sure that two models were run: equal scores in every case are mostly one file under two names."]
    if judged.kind == "no_unit":
        steps.append("Name the column that holds the patient (--unit): without it no winner can be named.")
    if "depends_on_missing" in codes:
        steps.append("Say what a score that is not there means, as the next study will count it (--missing).")
    if "relevance" in codes:
        steps.append("Say what difference matters to a patient (--margin): then the page says whether this one does.")
    if "size" in codes:
        steps.append(spoken["size"])
    elif judged.kind in ("open", "too_few") and judged.leading:
        steps.append(f"Plan how many {word}s an answer takes: surgvalid plan size.")
    if codes & {"depends_on_stratum", "amount_depends"}:
        steps.append("Report the groups apart: one number for all of them hides what differs.")
    if "depends_on_metric" in codes:
        steps.append("Say which metric matters to a patient (--metric), and report the others beside it.")
    means = tables["patients"].group_by("video").agg(pl.col("value").mean()).drop_nulls("value").sort("value")
    if means.height > 1 and judged.leading and word != "case" and "depends_on_stratum" not in codes:
        hard = means.row(0 if metric.sign > 0 else -1, named=True)
        apart = abs(means["value"][-1] - means["value"][0])
        gap, models = (
            abs(judged.leading[0].difference),
            "the models" if len(judged.leading) == 1 else "the first two models",
        )
        if apart > gap:
            steps.append(
                f"Look at {_named(hard['video'], word)} before choosing: {word}s differ by up to "
                f"{gap_amount(apart, metric)} in {metric.name}, {models} by {gap_amount(gap, metric)}."
            )
    return steps or ["Write down the next question before its data are there: surgvalid plan register."]


def _named(unit: object, word: str) -> str:
    """One of what is independent, with the word for it where its name does not say it."""
    name = plain(unit, limit=40)
    return name if name.lower().startswith(word) else f"{word} {name}"


def _unit_named(table: pl.DataFrame, word: str) -> pl.DataFrame:
    """A table whose column of units is called as the unit is, unless another one is: then each unit is that."""
    return table if word in table.columns else table.rename({"video": word})


def _further(judged: ModelVerdict, tables: Tables, prose: str, findings: Sequence[Finding]) -> list[Section]:
    metric, unit = judged.metric, f"{judged.unit.word}s"
    values = _scaled(tables["values"], metric).with_columns(n="videos")
    direction = "larger" if metric.sign > 0 else "smaller"
    per_cent = ", %" if metric.is_share else ""
    shown = {
        "estimand": f"{metric.name}{per_cent} ({direction} is better)",
        "unit": unit,
        "largest_is_best": metric.sign > 0,
    }
    drawn = picture("value_intervals", values, title="What each model reaches", **shown)
    sections = [Section("values", "Values of each model", (drawn, _table("values", "Values", tables["values"])))]
    if tables["pairs"].height:
        sections.append(Section("pairs", "Differences of pairs", (_table("pairs", "Differences", tables["pairs"]),)))
    every, worst = (_unit_named(tables[name], judged.unit.word) for name in ("patients", "hard_cases"))
    if every.height:
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
