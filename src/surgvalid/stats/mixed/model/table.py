"""The table of a failure analysis: read, joined with properties, cut to one metric, averaged over models.

Properties are matched by value, not by how a file happens to write it: the number 7 of one table is the 7.0 of another,
and text is compared as text. The columns of the table keep their own types. Tables of instances, images and videos are
joined one after the other, each by the columns it shares with the table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from surgvalid.errors import Misuse, TableInvalid, UnknownName
from surgvalid.results.registered_data import note_cases
from surgvalid.results.result import rows_of
from surgvalid.schema.findings import Finding
from surgvalid.schema.metric_facts import MetricFacts, facts_by_name
from surgvalid.schema.statistic_rules import remark
from surgvalid.schema.tables.column_words import MODELS, identifying, named_by
from surgvalid.schema.tables.missing import Missing
from surgvalid.schema.tables.read_rows import ReadAs, is_quantity, thirds
from surgvalid.schema.tables.score_columns import on_its_side
from surgvalid.schema.tables.score_table import ScoreTable
from surgvalid.schema.tables.table_facts import Directions, TableFacts, facts_beside, merged
from surgvalid.schema.tables.table_reading import are_paths, read_scores
from surgvalid.stats.mixed.model.design import Design
from surgvalid.stats.mixed.model.failure_settings import FailureSettings
from surgvalid.stats.mixed.model.formula import ModelFormula, column_of

_ROW = "row of the table"


def with_properties(frame: pl.DataFrame, properties: Any, where: str) -> pl.DataFrame:
    """The table with its properties beside it, matched by the columns both have.

    Args:
        frame: The table.
        properties: One table, or several: of instances, of images, of videos. Those with equal columns are stacked.
        where: What to call the table in error messages.

    Raises:
        TableInvalid: The tables share no column, the properties say something twice, or not one row finds its own.
    """
    joined, columns = frame, frame.columns
    for more in _stacked(properties):
        if again := [name for name in more.columns if name in joined.columns and name not in columns]:
            raise TableInvalid("properties", [f"column {name!r} is in several tables" for name in again])
        keys = [name for name in more.columns if name in columns]
        if not keys:
            raise TableInvalid(where, [f"shares no column with the properties ({', '.join(map(repr, more.columns))})"])
        joined = _matched(joined, more, keys, where)
    return joined


def _stacked(properties: Any) -> list[pl.DataFrame]:
    """Tables of properties, those with equal columns as one."""
    several = isinstance(properties, list | tuple) and not any(isinstance(one, Mapping) for one in properties)
    tables = [rows_of(one) for one in (properties if several else [] if properties is None else [properties])]
    alike: dict[frozenset[str], list[pl.DataFrame]] = {}
    for table in tables:
        alike.setdefault(frozenset(table.columns), []).append(table)
    return [pl.concat(group, how="diagonal_relaxed") if len(group) > 1 else group[0] for group in alike.values()]


def _matched(frame: pl.DataFrame, more: pl.DataFrame, keys: Sequence[str], where: str) -> pl.DataFrame:
    """The table with the columns of `more` whose keys equal its own."""
    named = {key: f"\0{key}" for key in keys}
    left, right = (
        table.with_columns(_comparable(table[key], other[key]).alias(name) for key, name in named.items())
        for table, other in ((frame, more), (more, frame))
    )
    on, shown = list(named.values()), ", ".join(map(repr, keys))
    if repeated := int(right.select(on).is_duplicated().sum()):
        raise TableInvalid("properties", [f"{repeated} rows repeat a combination of {shown}"])
    if left.height and left.join(right, on=on, how="semi").is_empty():
        firsts = "; ".join(f"{key}: {frame[key][0]!r} here, {more[key][0]!r} there" for key in keys if len(more))
        raise TableInvalid(
            where, [f"no row has the {shown} of any row of the properties ({firsts or 'they are empty'})"]
        )
    return left.join(right.drop(keys), on=on, how="left").drop(on)


def _comparable(series: pl.Series, other: pl.Series) -> pl.Series:
    """A key as numbers where both sides hold numbers, else as text."""
    numbers = series.dtype.is_numeric() and other.dtype.is_numeric()
    if numbers and not (series.dtype.is_integer() and other.dtype.is_integer()):
        return series.cast(pl.Float64)
    return series.cast(pl.Int64, strict=False) if numbers else series.cast(pl.String)


def of_metric(
    frame: pl.DataFrame,
    metric: str | None,
    outcome: str | None,
    where: str,
    *,
    main: str | None = None,
    called: str = "value",
) -> pl.DataFrame:
    """The rows of one metric, where the table holds several: the one chosen, the main one of the table, or `correct`.

    Args:
        frame: The table.
        metric: As the user gave it.
        outcome: The column that is explained; `value` is the score of a metric.
        where: What to call the table in error messages.
        main: The metric to take where none is chosen.
        called: What the user calls the score, where the table has no column `metric`.

    Raises:
        UnknownName: The table has no such metric.
        TableInvalid: It has several, and none was chosen.
    """
    if "metric" not in frame.columns:
        if metric not in (None, called, outcome):
            raise UnknownName("metric", metric, [called])
        return frame
    known = frame["metric"].cast(pl.String).unique().drop_nulls().sort().to_list()
    if metric is None and (len(known) < 2 or outcome != "value"):
        return frame
    metric = metric or next((name for name in (main, "correct") if name in known), None)
    if metric is None:
        raise TableInvalid(
            where, [f"holds {len(known)} metrics ({', '.join(known[:5])}); choose one with metric (--metric)"]
        )
    if metric not in known:
        raise UnknownName("metric", metric, known)
    return frame.filter(pl.col("metric").cast(pl.String) == metric)


def metric_in(frame: pl.DataFrame, called: str) -> str:
    """The name of the metric whose scores the rows hold; `called` where no column or several names say it."""
    if "metric" not in frame.columns:
        return called
    names = frame["metric"].cast(pl.String).drop_nulls().unique().to_list()
    return str(names[0]) if len(names) == 1 else called


def better_values(name: str, facts: Mapping[str, MetricFacts], better: Directions) -> str | None:
    """Which values of an outcome are better, as its facts, its name or the user say; None where nobody does.

    Raises:
        UnknownName: A direction that is none.
        Misuse: A direction against what is known.
    """
    known = facts[name] if name in facts else facts_by_name(name)
    stated = better if isinstance(better, str) else (better or {}).get(name)
    return known.better if stated is None else known.directed(stated).better


def scored_by_case(frame: pl.DataFrame) -> bool:
    """Whether rows are the scores of models on cases, one each, so that a score that is not there can be seen."""
    if not {"model", "case"} <= set(frame.columns):
        return False
    keys = [name for name in ("metric", "task", "model", "case") if name in frame.columns]
    return not frame.select(keys).is_duplicated().any()


def stated_facts(table: Any) -> TableFacts:
    """The facts of metrics that the files of a table carry; those of a score table in memory."""
    if not are_paths(table):
        return TableFacts(table.facts, table.main) if isinstance(table, ScoreTable) else TableFacts()
    paths = table if isinstance(table, list | tuple) else [table]
    return merged({str(path): facts_beside(Path(path)) for path in paths})


def completed(
    frame: pl.DataFrame,
    facts: Mapping[str, MetricFacts],
    better: Directions,
    missing: Missing,
    where: str,
    *,
    metric: str = "value",
) -> tuple[pl.DataFrame, tuple[Finding, ...]]:
    """The rows of a score table with a value for every model and case as the rule for missing scores says.

    Columns that describe a case, such as its video, are those of the case; what describes a single answer is empty in
    rows that were not there.

    Raises:
        TableInvalid: Not a score table, or a rule that cannot be followed.
    """
    named = frame if "metric" in frame.columns else frame.with_columns(pl.lit(metric).alias("metric"))
    # Columns are what the formula says they are: no patient becomes the video here.
    table = ScoreTable.of(named, facts=facts, better=better, where=where, read_as=ReadAs())
    matrix = table.matrix(missing=missing)
    findings = (*matrix.borrowed, *matrix.findings())
    if not matrix.absent.counts:
        return frame, findings
    key = [name for name in ("task", "case") if name in matrix.cases.columns]
    grid = pl.concat(
        matrix.cases.with_columns(pl.lit(model).alias("model"), pl.Series("value", matrix.values[:, place]))
        for place, model in enumerate(matrix.models)
    ).with_columns(pl.col("value").fill_nan(None))
    more = [name for name in table.frame.columns if name not in grid.columns]
    rows = grid.join(table.frame.select("model", *key, *more), on=["model", *key], how="left", nulls_equal=True)
    return rows.filter(pl.col("value").is_not_null()), findings


def with_quantities(frame: pl.DataFrame, fixed: Sequence[str]) -> tuple[pl.DataFrame, tuple[Finding, ...]]:
    """The table with amounts (age, BMI) as numbers, and in thirds of the patients where categories were asked for.

    With each value of an amount as a category, most would be of one patient, and its effect that patient's. Text that
    holds nothing but such numbers counts as them.
    """
    findings = []
    unit = next((frame[name] for name in ("patient", "video") if name in frame.columns), pl.Series(range(frame.height)))
    for name in dict.fromkeys(piece.strip() for term in fixed for piece in term.split(":")):
        column = column_of(name)
        numbers = (
            frame[column].cast(pl.Float64, strict=False) if column in frame.columns else pl.Series([], dtype=pl.String)
        )
        if not is_quantity(numbers) or numbers.null_count() > frame[column].null_count():
            continue
        if name == column and frame.schema[column] == pl.String:
            frame = frame.with_columns(numbers.alias(column))
        elif name != column:
            parted = thirds(numbers, unit)
            parted = thirds(numbers, pl.Series(range(frame.height))) if parted is None else parted
            frame = frame.with_columns(numbers.alias(column) if parted is None else parted.alias(column))
            findings.append(remark("quantity-in-thirds", f"{column} is an amount and enters in thirds", column))
    return frame, tuple(findings)


class Rows(NamedTuple):
    """The rows of an analysis with their properties, and what is known about their outcome."""

    frame: pl.DataFrame
    metric: str
    """What the outcome is, where it is the score of a metric."""
    better: str | None
    """Which values of the outcome are better; None where nobody said."""
    complete: bool
    """Whether scores that are not there were counted by their rule."""
    findings: tuple[Finding, ...]
    """What became of them."""
    amounts: tuple[Finding, ...] = ()
    """Numbers that entered in thirds."""


def analysed_rows(table: Any, asked: FailureSettings, *, where: str, unit: str | None = None) -> Rows:
    """The rows that an analysis is made of: read, cut to one metric, completed, joined with their properties.

    Args:
        table: As for `failures`.
        asked: With our names of columns.
        where: What to call the table in error messages.
        unit: What is independent, where somebody says it.
    """
    outcome, columns = asked.outcome, dict(asked.columns or {})
    as_read = None if asked.random or asked.successes or isinstance(table, ScoreTable) else outcome
    repeat = columns.pop("repeat", None) if as_read else None
    named = [name for name in columns if any(name in term for term in asked.terms)]
    stated, called = stated_facts(table), columns.get("value", "value")
    rows = note_cases(rows_of(table, columns, where=where, roles=named), used=False)
    frame = of_metric(rows, asked.metric, outcome, where, main=stated.main, called=called)
    if as_read:
        frame = as_scores(frame, as_read, asked, unit, repeat)
    findings: tuple[Finding, ...] = ()
    scored = metric_in(frame, called) if outcome == "value" else ""
    good = better_values(scored or outcome, stated.metrics, asked.better) if outcome else "larger"
    complete = outcome == "value" and (asked.missing is not None or "status" in frame.columns or scored_by_case(frame))
    if complete:
        frame, findings = completed(frame, stated.metrics, asked.better, asked.missing, where, metric=scored)
    frame, amounts = with_quantities(with_properties(frame, asked.properties, where), asked.fixed)
    return Rows(frame, scored, good, complete, findings, amounts)


def as_scores(
    frame: pl.DataFrame, outcome: str, asked: FailureSettings, unit: str | None = None, repeat: str | None = None
) -> pl.DataFrame:
    """The rows as every verb reads them: models by whatever column, repeats averaged, percentages as shares.

    What describes the rows stays beside their scores; of repeats, what describes the first.
    """
    frame = frame if (upright := on_its_side(frame)) is None else upright
    rows = frame.with_columns(pl.format("row {}", pl.int_range(pl.len())).alias(_ROW))
    asked_for = {column_of(variable) for term in asked.terms for variable in term.split(":")} - {outcome}
    known = outcome in frame.columns
    read = read_scores(
        rows.select(
            ~pl.selectors.by_name(asked_for - identifying(asked_for), require_all=False) | ~pl.selectors.numeric()
        ),
        scores=(outcome,) if known else (),
        metric=None if known else outcome,
        condition=(_ROW,),
        unit=unit,
        repeat=repeat,
        pooled=True,
    )
    if not known and read.metric != outcome:
        return frame  # no column is called so, which is said where columns are looked up
    scores = read.table.frame.filter(pl.col("metric") == read.metric)
    model = [] if named_by(frame.columns, MODELS) or scores["model"].n_unique() == 1 else ["model"]
    model += [name for name in ("class",) if name in scores.columns and name not in frame.columns]  # of class columns
    return scores.select(*model, _ROW, pl.col("value").alias(outcome)).join(rows.drop(outcome, strict=False), on=_ROW)


def averaged_over_models(design: Design) -> tuple[pl.DataFrame, ModelFormula]:
    """One row per unit, and the model of it: sums of counts, means of a continuous outcome.

    0/1 answers become successes of answers. Events of a Poisson model are summed over the models that saw the unit,
    and the number of those becomes the offset.
    """
    model, many = design.model, f"rows({design.model.outcome})"
    values = [name for name in (model.outcome, model.trials) if name is not None]
    keys = [name for name in design.frame.columns if name not in values]
    if not keys:
        raise Misuse("aggregating over models needs the units that remain; name them as random effects")
    scores = model.family in ("gaussian", "ordered-beta")
    total = pl.col(values).mean() if scores else pl.col(values).cast(pl.Float64).sum()
    frame = design.frame.group_by(keys, maintain_order=True).agg(total, pl.len().alias(many))
    if model.family == "poisson":
        exposure = f"log({many})"
        return frame.with_columns(pl.col(many).log().alias(exposure)), replace(model, offset=exposure)
    return frame, model if scores or model.trials else replace(model, trials=many)
