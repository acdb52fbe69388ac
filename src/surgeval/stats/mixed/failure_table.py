"""Several failure analyses side by side, as Table 2 of seed 001: outcomes (precision, recall) by groups of rows.

Every cell of the published table is a symbol of one fit: one outcome, one group (images with one instrument, images
with several). Each fit is the one `failures` makes of these rows alone, so nothing is shared between cells: a property
that does not vary in a group is `x` there, and Holm's correction counts the properties of one fit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, NamedTuple

import polars as pl

from surgeval.errors import Misuse, TableInvalid
from surgeval.results.request import requested
from surgeval.results.table_result import TableResult, rows_of
from surgeval.results.tables import failures as tables
from surgeval.schema.findings import Finding
from surgeval.schema.missing import Missing
from surgeval.schema.score_table import ScoreTable
from surgeval.schema.statistic_rules import remark
from surgeval.schema.table_facts import Directions
from surgeval.stats.mixed.design import INTERCEPT
from surgeval.stats.mixed.design_checks import check_columns
from surgeval.stats.mixed.failures import SeparationRule, failures, renamed_term, renamed_terms
from surgeval.stats.mixed.fit import Engine
from surgeval.stats.mixed.formula import FamilyName
from surgeval.stats.mixed.report import FailuresResult, unassessed
from surgeval.stats.mixed.request import Spec
from surgeval.stats.mixed.symbols import NOT_ASSESSABLE
from surgeval.stats.mixed.table import stated_facts, with_properties

MOST_GROUPS = 12
_THRESHOLD = re.compile(r"(.+?)\s*>\s*(-?\d+(?:\.\d+)?)")


class Cell(NamedTuple):
    """One fit of the table: an outcome in a group of rows."""

    outcome: str
    group: str

    def __str__(self) -> str:
        return ", ".join(text for text in self if text)


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class FailureTableResult(TableResult):
    """Effects of properties by outcome and group; one row per fit and coefficient."""

    stem: ClassVar[str] = "failure_table"

    @property
    def shown(self) -> pl.DataFrame:
        """A row per property and a column of symbols per fit; a blank is not significant, x not assessable."""
        rows = self.table.filter(pl.col("term") != INTERCEPT)
        cell = pl.concat_str("outcome", "group", separator=", ").str.strip_suffix(", ").alias("cell")
        return rows.with_columns(cell).pivot("cell", index="term", values="symbol", maintain_order=True)

    @property
    def converged(self) -> bool:
        """Whether every fit did."""
        return not any(finding.code == "not-converged" for finding in self.findings)


@requested("failure-table", files=("table", "properties"))
def failure_table(
    table: Any,
    *,
    outcomes: Mapping[str, str],
    split: str | None = None,
    fixed: str | Sequence[str] = (),
    random: str | Sequence[str] = (),
    spec: Spec = "default",
    family: Literal["auto"] | FamilyName = "auto",
    properties: Any = None,
    metric: str | None = None,
    better: Directions = None,
    missing: Missing = None,
    symmetric: bool = False,
    unit: str | None = None,
    inference: Literal["auto", "reml-t", "wald-z"] = "auto",
    slopes: bool | Sequence[str] = True,
    separation: SeparationRule = "auto",
    level: float = 0.95,
    columns: Mapping[str, str] | None = None,
    engine: Engine = "auto",
    where: str = "table",
) -> FailureTableResult:
    """Which properties make models fail, for several outcomes and groups of rows at once.

    Args:
        table: A `ScoreTable`, rows (polars, pandas, Arrow, dictionary), or paths of CSV or Parquet files.
        outcomes: What to call each outcome, and what it is: successes of trials, such as `{"precision":
            "tp / predicted", "recall": "tp / reference"}`, or a column.
        split: A column whose values part the rows into groups, or a threshold such as `instruments > 1`, which parts
            them into two; each group is fitted by itself.
        fixed: As in `failures`, like every option below.
        random: Random intercepts.
        spec: `default` or `paper`.
        family: What the outcomes are.
        properties: Tables of properties.
        metric: Rows of a score table to use.
        better: Which values are better.
        missing: What a score that is not there counts as.
        symmetric: Use symbol bins that mirror each other on the log scale.
        unit: The finest unit.
        inference: `reml-t` or `wald-z`.
        slopes: Whether effects may differ between videos.
        separation: What becomes of properties that separate the outcome.
        level: Of the intervals.
        columns: Our column names to theirs.
        engine: Of the fits.
        where: What to call the table in error messages.

    Raises:
        Misuse: No outcome, one that cannot be read, or a split into more than `MOST_GROUPS` groups.
        TableInvalid: The table does not fit the options in any cell; lists every problem.
    """
    if not outcomes:
        raise Misuse("no outcome; write for example {'precision': 'tp / predicted', 'recall': 'tp / reference'}")
    ours = {theirs: mine for mine, theirs in (columns or {}).items()}
    asked = {label: _outcome(label, text, ours) for label, text in outcomes.items()}
    scored = [label for label, what in asked.items() if what.outcome == "value"]
    frame = with_properties(rows_of(table, columns, where=where), properties, where)
    facts = stated_facts(table)
    if scored and "metric" not in frame.columns and (called := (columns or {}).get("value", "value")) != "value":
        frame = frame.with_columns(pl.lit(called).alias("metric"))
    metric = metric if "metric" in frame.columns else None
    fixed, random = renamed_terms(fixed, ours), renamed_terms(random, ours)
    unit = renamed_term(unit, ours) if unit else None
    made: dict[Cell, FailuresResult | TableInvalid] = {}
    groups = list(_groups(frame, split, ours, where))
    for label, what in asked.items():
        for group, rows in groups:
            cell = Cell(label, group)
            try:
                scores = bool(facts.metrics) and what.outcome == "value"
                source = ScoreTable.of(rows, facts=facts.metrics) if scores else rows
                made[cell] = failures(
                    source, outcome=what.outcome, successes=what.successes, trials=what.trials, fixed=fixed,
                    random=random, spec=spec, family=family, metric=metric, better=better,
                    missing=missing if label in scored or not scored else None,
                    symmetric=symmetric, unit=unit, inference=inference, slopes=slopes, separation=separation,
                    level=level, engine=engine, where=f"{where} ({cell})",
                )  # fmt: skip
            except TableInvalid as error:
                made[cell] = error
    return _result(made, fixed, where)


class _Outcome(NamedTuple):
    """The options of `failures` that an outcome stands for."""

    outcome: str | None = None
    successes: str | None = None
    trials: str | None = None


def _outcome(label: str, text: str, ours: Mapping[str, str]) -> _Outcome:
    parts = [renamed_term(name.strip(), ours) for name in text.split("/")]
    if not label or len(parts) > 2 or not all(parts):
        raise Misuse(f"outcome {label!r}: {text!r} is neither a column nor successes / trials")
    return _Outcome(parts[0]) if len(parts) == 1 else _Outcome(None, *parts)


def _groups(
    frame: pl.DataFrame, split: str | None, ours: Mapping[str, str], where: str
) -> Iterator[tuple[str, pl.DataFrame]]:
    """The groups of rows with their names; rows without a value of the column are in none."""
    if not split:
        yield "", frame
        return
    limit = _THRESHOLD.fullmatch(split.strip())
    name = renamed_term(limit[1].strip() if limit else split.strip(), ours)
    check_columns(frame, [name], where)
    if limit:
        if not frame.schema[name].is_numeric():
            raise Misuse(f"split {split!r}: column {name!r} holds {frame.schema[name]}, no numbers")
        above = pl.col(name) > float(limit[2])
        yield f"{name} > {limit[2]}", frame.filter(above)
        yield f"{name} <= {limit[2]}", frame.filter(~above)
        return
    values = frame[name].drop_nulls().unique().sort().to_list()
    if len(values) > MOST_GROUPS:
        raise Misuse(f"split {split!r}: column {name!r} has {len(values)} values, and more than {MOST_GROUPS} groups "
                     "are no table; give a threshold such as 'instruments > 1'")  # fmt: skip
    for value in values:
        yield f"{name} = {value}", frame.filter(pl.col(name) == value)


def _result(made: Mapping[Cell, FailuresResult | TableInvalid], fixed: Sequence[str], where: str) -> FailureTableResult:
    fitted = {cell: result for cell, result in made.items() if isinstance(result, FailuresResult)}
    refused = {cell: error for cell, error in made.items() if isinstance(error, TableInvalid)}
    if not fitted:
        raise TableInvalid(where, [f"{cell}: {text}" for cell, error in refused.items() for text in error.problems])
    rows = [row for cell, result in made.items() for row in _rows(cell, result, fixed)]
    notes = [remark("not-fitted", "; ".join(error.problems), subject=str(cell))
             for cell, error in refused.items()]  # fmt: skip
    return FailureTableResult.of(tables.FAILURE_TABLE.frame(rows), _prose(fitted), [*notes, *_shared(fitted)])


def _rows(cell: Cell, result: FailuresResult | TableInvalid, fixed: Sequence[str]) -> list[dict[str, Any]]:
    if isinstance(result, TableInvalid):
        return [{**cell._asdict(), **row, "rows": 0, "note": "; ".join(result.problems)} for row in unassessed(fixed)]
    more = {**cell._asdict(), "rows": result.fit.design.rows, "note": ""}
    if result.fit.convergence.converged:
        return [{**more, **row} for row in result.table.iter_rows(named=True)]
    more |= {"note": "the fit did not converge; its numbers must not be used"}
    return [{**more, **row, "p_value": None, "p_holm": None, "symbol": row["symbol"] and NOT_ASSESSABLE}
            for row in result.table.iter_rows(named=True)]  # fmt: skip


def _shared(fitted: Mapping[Cell, FailuresResult]) -> Iterator[Finding]:
    """Every finding once, with the fits it is about in front."""
    about: dict[Finding, list[str]] = {}
    for cell, result in fitted.items():
        for finding in result.findings:
            if finding.code != "decision":
                about.setdefault(replace(finding, subject=None, message=finding.text), []).append(str(cell))
    for finding, cells in about.items():
        yield finding if len(cells) == len(fitted) else replace(finding, subject="; ".join(cells))


def _prose(fitted: Mapping[Cell, FailuresResult]) -> str:
    """What was fitted, and each fit in its own words."""
    head = (f"{len(fitted)} failure analyses side by side, each of its own rows; Holm's correction is within each of "
            "them. Symbols: a plus helps, a minus hurts, in every column: + (odds ratio of the better outcome up to "
            "1.25), ++ (1.5), +++ and - (down to 0.75), --, --- (below 0.5) where p <= 0.05; blank: not significant; "
            "x: not assessable.")  # fmt: skip
    if linear := [str(cell) for cell, result in fitted.items() if result.fit.family == "gaussian" and result.better]:
        head += f" In {', '.join(linear)} (linear models) + and - do not say by how much."
    if unknown := [str(cell) for cell, result in fitted.items() if result.better is None]:
        head += (f" In {', '.join(unknown)} nobody said which values are better: the symbols say larger or smaller "
                 "(state it with better).")  # fmt: skip
    return " ".join([head, *(f"[{cell}] {result.prose}" for cell, result in fitted.items())])
