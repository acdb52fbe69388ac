"""Several failure analyses side by side, as Table 2 of Ross et al. (2023): outcomes by groups of rows.

Every cell of the published table is a symbol of one fit: one outcome, one group (images with one instrument, images
with several). Each fit is the one `failures` makes of these rows alone, so nothing is shared between cells: a property
that does not vary in a group is `x` there, and Holm's correction counts the properties of one fit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import polars as pl

from surgvalid.errors import Misuse, TableInvalid
from surgvalid.results.result import TableResult, rows_of
from surgvalid.results.tables import failures as tables
from surgvalid.schema.findings import Finding
from surgvalid.schema.statistic_rules import remark
from surgvalid.schema.tables.score_table import ScoreTable
from surgvalid.stats.mixed.failure_fit import analysed
from surgvalid.stats.mixed.inference.term_tests import NOT_ASSESSABLE
from surgvalid.stats.mixed.model.design import INTERCEPT
from surgvalid.stats.mixed.model.design_checks import check_columns
from surgvalid.stats.mixed.model.failure_settings import FailureSettings, renamed_term
from surgvalid.stats.mixed.model.table import stated_facts, with_properties
from surgvalid.stats.mixed.report import FailuresResult, unassessed

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


def failure_table(
    table: Any, asked: FailureSettings, *, outcomes: Mapping[str, str], split: str | None = None
) -> FailureTableResult:
    """Which properties make models fail, for several outcomes and groups of rows at once.

    Args:
        table: As for `failures`, like the options below.
        asked: What is the same in every fit; outcomes and groups are filled in.
        outcomes: What to call each outcome, and what it is.
        split: What parts the rows into groups.

    Raises:
        Misuse: No outcome, one that cannot be read, or a split into more than `MOST_GROUPS` groups.
        TableInvalid: The table does not fit the options in any cell; lists every problem.
    """
    if not outcomes:
        raise Misuse("no outcome; write for example {'precision': 'tp / predicted', 'recall': 'tp / reference'}")
    where, called = asked.where, asked.columns or {}
    ours = {theirs: mine for mine, theirs in called.items()}
    each = {label: _outcome(label, text, ours) for label, text in outcomes.items()}
    scored = [label for label, what in each.items() if what.outcome == "value"]
    frame = with_properties(rows_of(table, called, where=where), asked.properties, where)
    facts = stated_facts(table)
    if scored and "metric" not in frame.columns and (name := called.get("value", "value")) != "value":
        frame = frame.with_columns(pl.lit(name).alias("metric"))
    metric = asked.metric if "metric" in frame.columns else None
    asked = replace(asked.renamed(), properties=None, columns=None, metric=metric)
    made: dict[Cell, FailuresResult | TableInvalid] = {}
    groups = list(_groups(frame, split, ours, where))
    for label, what in each.items():
        missing = asked.missing if label in scored or not scored else None
        for group, rows in groups:
            cell = Cell(label, group)
            alone = replace(asked, **what._asdict(), missing=missing, where=f"{where} ({cell})")
            try:
                alone.check()
                scores = bool(facts.metrics) and what.outcome == "value"
                source = ScoreTable.of(rows, facts=facts.metrics) if scores else rows
                made[cell] = analysed(source, alone)
            except TableInvalid as error:
                made[cell] = error
    return _result(made, tuple(asked.fixed), where)


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
        raise Misuse(
            f"split {split!r}: column {name!r} has {len(values)} values, and more than {MOST_GROUPS} groups "
            "are no table; give a threshold such as 'instruments > 1'"
        )
    for value in values:
        yield f"{name} = {value}", frame.filter(pl.col(name) == value)


def _result(made: Mapping[Cell, FailuresResult | TableInvalid], fixed: Sequence[str], where: str) -> FailureTableResult:
    fitted = {cell: result for cell, result in made.items() if isinstance(result, FailuresResult)}
    refused = {cell: error for cell, error in made.items() if isinstance(error, TableInvalid)}
    if not fitted:
        raise TableInvalid(where, [f"{cell}: {text}" for cell, error in refused.items() for text in error.problems])
    rows = [row for cell, result in made.items() for row in _rows(cell, result, fixed)]
    notes = [remark("not-fitted", "; ".join(error.problems), subject=str(cell)) for cell, error in refused.items()]
    return FailureTableResult.of(tables.FAILURE_TABLE.frame(rows), _prose(fitted), [*notes, *_shared(fitted)])


def _rows(cell: Cell, result: FailuresResult | TableInvalid, fixed: Sequence[str]) -> list[dict[str, Any]]:
    if isinstance(result, TableInvalid):
        return [{**cell._asdict(), **row, "rows": 0, "note": "; ".join(result.problems)} for row in unassessed(fixed)]
    more = {**cell._asdict(), "rows": result.fit.design.rows, "note": ""}
    if result.fit.convergence.converged:
        return [{**more, **row} for row in result.table.iter_rows(named=True)]
    more |= {"note": "the fit did not converge; its numbers must not be used"}
    return [
        {**more, **row, "p_value": None, "p_holm": None, "symbol": row["symbol"] and NOT_ASSESSABLE}
        for row in result.table.iter_rows(named=True)
    ]


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
    head = (
        f"{len(fitted)} failure analyses side by side, each of its own rows; Holm's correction is within each of "
        "them. Symbols: a plus helps, a minus hurts, in every column: + (odds ratio of the better outcome up to "
        "1.25), ++ (1.5), +++ and - (down to 0.75), --, --- (below 0.5) where Holm's p <= 0.05 and six videos or more "
        "carry the effect; blank: not significant; x: not assessable."
    )
    if linear := [str(cell) for cell, result in fitted.items() if result.fit.family == "gaussian" and result.better]:
        head += f" In {', '.join(linear)} (linear models) the steps are 0.2, 0.5 and 0.8 SD of the outcome."
    if unknown := [str(cell) for cell, result in fitted.items() if result.better is None]:
        head += (
            f" In {', '.join(unknown)} nobody said which values are better: the symbols say larger or smaller "
            "(state it with better)."
        )
    return " ".join([head, *(f"[{cell}] {result.prose}" for cell, result in fitted.items())])
