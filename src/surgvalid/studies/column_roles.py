"""What each column of a table was read as, what of it waits for a person's word, what another role would change."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl

from surgvalid.errors import SurgvalidError
from surgvalid.report.words import count_of, names_of
from surgvalid.schema.tables.column_words import without_brackets
from surgvalid.schema.tables.table_reading import TableReading, frame_in, read_scores

Asked = Mapping[str, Any]
"""Options of a study, as its function takes them."""
_READ_WITH = ("models", "scores", "columns", "better", "metric", "sheet", "decimal")
_OURS = {"video": "unit", "case": "case", "model": "model", "value": "score", "metric": "metric"}
_NAMING = {**dict.fromkeys(("case", "model", "repeat", "condition")), "video": "unit"}
"""Roles of columns that hold no scores, by what options call them, with what a reading calls them."""
_WAITING = ("type", "unit-below", "repeats", "parts", "scale")
"""Codes of readings that a person should confirm."""


def read_with(path: Path, asked: Asked) -> TableReading:
    """The table as the study reads it with these options."""
    return read_scores(path, **{name: asked[name] for name in _READ_WITH if name in asked})


def _roles(reading: TableReading, asked: Asked) -> dict[str, str]:
    """The role of each column that has one, by the names that the file has for them."""
    table, theirs = reading.table, asked.get("columns", {})
    ours = {**dict.fromkeys(table.strata, "condition"), **_OURS, table.unit.column: "unit"}
    return {theirs.get(column, column): role for column, role in (table.read_as.roles or ours).items()}


def cards(frame: pl.DataFrame, reading: TableReading, asked: Asked) -> list[dict[str, Any]]:
    """What stands above each column: its role, values and, where a person should confirm it, why.

    Columns of a table that was set upright before it was read have the role None.
    """
    roles = _roles(reading, asked)
    turned = not reading.table.read_as.roles.keys() <= {*asked.get("columns", ()), *map(str.strip, frame.columns)}
    stated = {*asked.get("columns", {}).values(), *asked.get("scores", ()), *asked.get("models", ())}
    return [
        {
            "column": column,
            "role": roles.get(column.strip(), None if turned else ""),
            "count": frame[column].n_unique(),
            "names": names_of(frame[column].drop_nulls().unique(maintain_order=True), most=3),
            "better": reading.table.facts_of(without_brackets(column)[0]).better,
            "waits": "" if column.strip() in stated else _waiting(column, frame, reading, roles),
        }
        for column in frame.columns
    ]


def _waiting(column: str, frame: pl.DataFrame, reading: TableReading, roles: Mapping[str, str]) -> str:
    """Why a role should be confirmed; empty where its name says it."""
    unit, count = reading.unit, frame[column].n_unique()
    guessed = unit.if_each or unit.level == "E4"
    lines = {line.column: line.sentence for line in reading.interpreted if line.code in _WAITING}
    lines |= {line.column: line.sentence for line in reading.interpreted if line.code == "unit" and guessed}
    if roles.get(column) == "case" and unit.column in frame.columns:
        pairs, units = frame.select({column, unit.column}).unique().height, frame[unit.column].n_unique()
        where = f"all {units:,}" if pairs == count * units else "several"
        lines |= {column: f"{count:,} names, each in {where} {unit.word}s: is it so?"} if pairs > count else {}
    return lines.get(column, "")


def offers(path: Path, column: str, asked: Asked) -> list[dict[str, Any]]:
    """All that a column may be, each with the options that say so and what they change."""
    now: TableReading | None = None
    with suppress(SurgvalidError):  # two readings fit: a role chosen here may settle it
        now = read_with(path, asked)
    made, cells = [], frame_in(path, asked.get("columns", {}), asked.get("sheet"))[column]
    for role, way in _ways(column, cells, asked, _roles(now, asked) if now else {}).items():
        try:
            change = _change(now, read_with(path, way))
        except SurgvalidError:
            change = "the table cannot be read so"
        made.append({"role": role, "asked": way, "change": change})
    return made


def _ways(column: str, cells: pl.Series, asked: Asked, roles: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """The options of a study for each role that a column may be given; without a role nothing is said of it."""
    columns = {ours: theirs for ours, theirs in asked.get("columns", {}).items() if theirs != column}
    listed = {name: [one for one in asked.get(name, ()) if one != column] for name in ("scores", "models")}
    free = {**asked, **listed, "columns": columns}
    ways = {"": free}
    if not cells.dtype.is_float():
        ways |= {role or ours: {**free, "columns": {**columns, ours: column}} for ours, role in _NAMING.items()}
    if roles.get(column) == "case" and "unit" not in roles.values():
        ways |= {unit: {**free, "columns": {**columns, "video": unit}} for unit in ("prefix:1", "prefix:2")}
    for name, role in (("scores", "score"), ("models", "model scores")) if cells.dtype.is_numeric() else ():
        others = [one for one, known in roles.items() if known == role and one != column]
        ways[role] = {**asked, "columns": columns, "scores": [], "models": [], name: [*others, column]}
        if roles.get(column) == role and others:
            ways["out"] = {**free, name: others}
    return {role: {name: value for name, value in way.items() if value} for role, way in ways.items()}


def _change(before: TableReading | None, after: TableReading) -> str:
    """What changes in what is counted; empty where nothing does."""
    if before is None or before.units != after.units:
        return f"{_units(after)} instead of {_units(before)}" if before else _units(after)
    was, now = (count_of(len(one.table.models), "model") for one in (before, after))
    return f"{now} instead of {was}" if was != now else ""


def _units(reading: TableReading) -> str:
    return "no known patients" if reading.units is None else count_of(reading.units, reading.unit.word)
