"""Files of printed tables: CSV, Markdown, LaTeX, copied text, or one long table of cells."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from surgeval.audit.tables.cells import Cell, cells_in
from surgeval.audit.tables.latex import latex_grids
from surgeval.audit.tables.layout import Grid, PrintedTable, caption_parts, printed_table
from surgeval.audit.tables.plain_text import csv_grids, text_grids
from surgeval.errors import FileUnreadable, Misuse, TableInvalid
from surgeval.schema.tabular import as_frame

LONG = ("table", "row", "column", "value")
"""The columns of a table of cells."""
_MOST_BYTES = 50_000_000


def printed_tables(given: Any) -> list[PrintedTable]:
    """The tables of files, or of a long table in memory with the columns `table, row, column, value`.

    Raises:
        FileUnreadable: A file that is not there or no text, or without any table; each with the reason.
    """
    several = given if isinstance(given, list | tuple) else [given]
    if not several or not all(isinstance(one, str | Path) for one in several):
        return long_tables(as_frame(given).to_dicts(), "tables")
    problems, tables = [], list[PrintedTable]()
    for path in map(Path, several):
        try:
            tables += _file_tables(path)
        except FileUnreadable as error:
            problems += [f"{path}: {problem}" for problem in error.problems]
    if problems:
        raise FileUnreadable(f"{len(problems)} of {len(several)} files" if len(several) > 1 else "tables", problems)
    return _distinct(tables)


def _file_tables(path: Path) -> list[PrintedTable]:
    text = _text(path)
    if path.suffix.lower() == ".csv":
        rows = csv.DictReader(io.StringIO(text))
        if set(LONG) <= set(rows.fieldnames or ()):
            return long_tables(list(rows), str(path))
    tables = [printed_table(grid, fallback=path.stem) for grid in _grids(path, text)]
    if not (kept := [table for table in tables if table is not None]):
        raise FileUnreadable(
            str(path), ["no table with numbers in it (CSV, Markdown, LaTeX, or text with tabs or spaces)"]
        )
    return kept


def _grids(path: Path, text: str) -> Iterable[Grid]:
    if path.suffix.lower() == ".csv":
        return csv_grids(text)
    return latex_grids(text) if "\\begin{tabular" in text or "\\begin{longtable" in text else text_grids(text)


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise FileUnreadable(
                str(path), [f"more than {_MOST_BYTES // 1_000_000} MB; name the file of the tables only"]
            )
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise FileUnreadable(str(path), ["no text in UTF-8; save the tables as text first"]) from None
    except OSError as error:
        raise FileUnreadable(str(path), [f"cannot be read ({error.strerror})"]) from None


def _distinct(tables: Sequence[PrintedTable]) -> list[PrintedTable]:
    """The tables under names that differ."""
    names = Counter(table.name for table in tables)
    seen: dict[str, int] = {}
    distinct = []
    for table in tables:
        seen[table.name] = seen.get(table.name, 0) + 1
        name = f"{table.name} ({seen[table.name]})" if names[table.name] > 1 else table.name
        distinct.append(PrintedTable(**{**table.__dict__, "name": name}))
    return distinct


def long_tables(rows: Iterable[dict[str, Any]], where: str) -> list[PrintedTable]:
    """The tables of a long one, whose rows and columns keep the order in which they come.

    Args:
        rows: With `table`, `row`, `column` and `value` as printed, and `bold` where something is.
        where: What to call them in error messages.

    Raises:
        TableInvalid: Columns that are missing, and cells that are given twice.
    """
    tables: dict[str, tuple[dict[str, int], dict[str, int], dict[tuple[str, str], Cell]]] = {}
    problems = []
    for number, row in enumerate(rows, start=1):
        if lacking := [name for name in LONG if row.get(name) is None]:
            problems.append(f"row {number}: {', '.join(lacking)} missing")
            continue
        if isinstance(row["value"], float):
            problems.append(f"row {number}: value is a number, so its printed digits are lost; give it as text")
            continue
        lines, columns, cells = tables.setdefault(str(row["table"]), ({}, {}, {}))
        place = str(row["row"]), str(row["column"])
        if place in cells:
            problems.append(f"row {number}: repeats {place} of table {row['table']!r}")
        lines.setdefault(place[0], len(lines))
        columns.setdefault(place[1], len(columns))
        cell = cells_in(str(row["value"]))[0]
        cells[place] = cell._replace(bold=True) if str(row.get("bold")).lower() in ("true", "1") else cell
    if problems:
        raise TableInvalid(where, problems)
    return [_long_table(name, *pieces) for name, pieces in tables.items()]


def _long_table(
    name: str, lines: dict[str, int], columns: dict[str, int], cells: dict[tuple[str, str], Cell]
) -> PrintedTable:
    label, title = caption_parts(name)
    empty = Cell("")
    return PrintedTable(
        name=name, columns=tuple(tuple(column.split(" / ")) for column in columns), rows=tuple(lines),
        sections=tuple(line.rpartition(" / ")[0] for line in lines),
        cells=tuple(tuple(cells.get((line, column), empty) for column in columns) for line in lines),
        label=label, title=title,
    )  # fmt: skip


def cell_rows(tables: Iterable[PrintedTable]) -> Iterator[dict[str, Any]]:
    """The cells of tables as a long table, which can be read again."""
    for table in tables:
        for row, cells in zip(table.rows, table.cells, strict=True):
            for index, cell in enumerate(cells):
                if cell.text:
                    column = table.column_name(index)
                    yield {"table": table.name, "row": row, "column": column, "value": cell.text, "bold": cell.bold}


def sidecar(facts: Any) -> pl.DataFrame | None:
    """The table of facts, from a file or anything tabular.

    Raises:
        Misuse: A file that is neither CSV nor Parquet.
    """
    if facts is None:
        return None
    if not isinstance(facts, str | Path):
        return as_frame(facts)
    path = Path(facts)
    if path.suffix.lower() != ".csv":
        raise Misuse(f"{path}: facts are read from .csv; got {path.suffix!r}")
    return pl.read_csv(io.StringIO(_text(path)), infer_schema=False)
