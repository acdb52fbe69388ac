"""Files of printed tables: CSV, Markdown, LaTeX, PDF, copied text, or one long table of cells."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from surgvalid.audit.tables.cells import PrintedCell, cells_in
from surgvalid.audit.tables.layout import Grid, PrintedTable, caption_parts, is_caption, printed_table
from surgvalid.errors import FileUnreadable, Misuse, TableInvalid
from surgvalid.schema.documents import read_text
from surgvalid.schema.tables.tabular import as_frame

_TABULAR = re.compile(r"\\begin\{(tabular[*xy]?|longtable|tabulary)\}(.*?)\\end\{\1\}", re.DOTALL)
_COMMENT = re.compile(r"(?<!\\)%.*")
_RULES = re.compile(
    r"\\(?:toprule|bottomrule|hline|midrule|addlinespace|cmidrule|cline|specialrule)(?:\([a-z]*\))?(?:\{[^}]*\})*"
)
_SPACING = re.compile(r"\\\\(?:\s*\[[^\]]*\])?|\\tabularnewline")
_BOLD = re.compile(
    r"\\(?:textbf|mathbf|bm|boldsymbol)\s*\{([^{}]*)\}|\{\s*\\(?:bf|bfseries)\s+([^{}]*)\}|\\(?:bf|bfseries)\s+([^&{}]*)"
)
_WRAPPED = re.compile(
    r"\\(?:underline|uline|textit|emph|textrm|mathrm|text|textsc|mbox|textsuperscript|makecell|shortstack)\s*(?:\[[^\]]*\])?\{([^{}]*)\}"
)
_DROPPED = re.compile(
    r"\\(?:cellcolor|rowcolor|color|textcolor|label|cite[tp]?|footnotemark|vspace|hspace|rule)\s*(?:\[[^\]]*\])?\{[^{}]*\}"
)
_MULTICOLUMN = re.compile(r"\\multicolumn\s*\{(\d+)\}\s*\{[^{}]*\}\s*\{(.*)\}\s*$", re.DOTALL)
_MULTIROW = re.compile(
    r"\\multirow\s*(?:\[[^\]]*\])?\s*\{-?\d+\}\s*(?:\[[^\]]*\])?\s*\{[^{}]*\}\s*\{(.*)\}\s*$", re.DOTALL
)
_SYMBOLS = {
    r"\pm": "±",
    r"\%": "%",
    r"\&": "&",
    r"\#": "#",
    r"\_": "_",
    "~": " ",
    r"\,": " ",
    r"\;": " ",
    "--": "-",
    "$": "",
}


def latex_grids(text: str) -> Iterator[Grid]:
    """The grids of a LaTeX source, in order, each with the caption nearest to it."""
    source = _COMMENT.sub("", text)
    for number, match in enumerate(_TABULAR.finditer(source), start=1):
        yield Grid(_caption_tex(source, match.start(), match.end(), number), *_rows(_without_format(match[2])))


def _caption_tex(source: str, start: int, end: int, number: int) -> str:
    """The caption of the float around a tabular, numbered in order as LaTeX would."""
    opened, closed = source.rfind(r"\begin{table", 0, start), source.find(r"\end{table", end)
    inside = source[opened:closed] if opened >= 0 and closed >= 0 else ""
    at = inside.find(r"\caption")
    if at < 0:
        return ""
    return f"Table {number}. {_words(_braced(inside, inside.find('{', at)))}"


def _braced(text: str, start: int) -> str:
    """What stands between a brace and the one that closes it."""
    depth = 0
    for at in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return text[start + 1 : at]
    return text[start + 1 :]


def _without_format(body: str) -> str:
    """The body without the widths and the column format after `begin`."""
    rest = re.sub(r"^\s*\[[^\]]*\]", "", body).lstrip()
    while rest.startswith("{"):
        rest = rest[len(_braced(rest, 0)) + 2 :].lstrip()
    return rest


def _rows(body: str) -> tuple[list[list[str]], int | None]:
    """The rows, and how many stand above the first rule between rows."""
    rows: list[list[str]] = []
    headings = None
    for line in _SPACING.split(body):
        if rows and headings is None and re.search(r"\\(?:midrule|hline)", line.split("&")[0]):
            headings = len(rows)
        bare = _RULES.sub("", line).strip()
        if bare:
            rows.append([text for cell in re.split(r"(?<!\\)&", bare) for text in _spanned(cell.strip())])
    return rows, headings


def _spanned(cell: str) -> list[str]:
    """The texts of a cell: one, or as many as it spans, the first of which says it all."""
    if match := _MULTICOLUMN.match(cell):
        return [_words(match[2]), *[""] * (int(match[1]) - 1)]
    return [_words(cell)]


def _words(cell: str) -> str:
    if match := _MULTIROW.match(cell.strip()):
        cell = match[1]
    before = None
    while before != cell:
        before = cell
        cell = _BOLD.sub(
            lambda match: f"**{next(group for group in match.groups() if group is not None).strip()}**", cell
        )
        cell = _WRAPPED.sub(r"\1", _DROPPED.sub("", cell))
    for command, symbol in _SYMBOLS.items():
        cell = cell.replace(command, symbol)
    return " ".join(re.sub(r"\\[a-zA-Z]+\*?|[{}]", " ", cell).replace("** **", "").split())


_RULE = re.compile(r"^[\s|:+=-]*-[\s|:+=-]*$")
_GAP = re.compile(r"\s{2,}")


def text_grids(text: str) -> Iterator[Grid]:
    """The grids in a text, in order; prose between them is passed over."""
    lines = text.splitlines()
    start = 0
    while start < len(lines):
        kind = _kind(lines[start])
        end = start + 1
        while kind and end < len(lines) and _goes_on(kind, lines[end]):
            end += 1
        if kind and end - start > 1:
            rows, headings = _READERS[kind](lines[start:end])
            yield Grid(_caption(lines, start, end), rows, headings)
        start = end


def csv_grids(text: str) -> Iterator[Grid]:
    """The grids of comma-separated values; a line with one cell is the caption of what follows."""
    caption, rows = "", list[list[str]]()
    delimiter = ";" if text.partition("\n")[0].count(";") > text.partition("\n")[0].count(",") else ","
    for row in csv.reader(io.StringIO(text), delimiter=delimiter):
        filled = [cell for cell in row if cell.strip()]
        if len(filled) > 1 or (filled and rows):
            rows.append([cell.strip() for cell in row])
            continue
        if rows:
            yield Grid(caption, rows, 1)
            caption, rows = "", []
        caption = filled[0] if filled else caption
    if rows:
        yield Grid(caption, rows, 1)


def _kind(line: str) -> str:
    if line.lstrip().startswith("|") or line.count("|") > 1:
        return "pipes"
    if "\t" in line:
        return "tabs"
    return "spaces" if _GAP.search(line.strip()) else ""


def _goes_on(kind: str, line: str) -> bool:
    """Whether a line belongs to the table above it: rules do, and so do section titles among spaced columns."""
    return bool(line.strip()) and (_kind(line) == kind or (kind != "tabs" and _RULE.match(line) is not None))


def _pipes(lines: list[str]) -> tuple[list[list[str]], int | None]:
    rows: list[list[str]] = []
    headings = None
    for line in lines:
        if _RULE.match(line):
            headings = headings or len(rows) or None
        else:
            inner = line.strip().removeprefix("|").removesuffix("|")
            rows.append([cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", inner)])
    return rows, headings


def _tabs(lines: list[str]) -> tuple[list[list[str]], int | None]:
    return [[cell.strip() for cell in line.split("\t")] for line in lines], None


def _spaces(lines: list[str]) -> tuple[list[list[str]], int | None]:
    """Rows of spaced columns; a heading with fewer cells than the values has none above the names of the rows."""
    rows = [_GAP.split(line.strip()) for line in lines if not _RULE.match(line)]
    width = max(map(len, rows))
    return [
        ["" for _ in range(width - len(row))] + row if number == 0 else row for number, row in enumerate(rows)
    ], None


_READERS = {"pipes": _pipes, "tabs": _tabs, "spaces": _spaces}


def _caption(lines: list[str], start: int, end: int) -> str:
    """The line above the table that reads as a caption or heading, else one below it that reads as a caption."""
    above = next((line for line in reversed(lines[:start]) if line.strip()), "")
    below = next((line for line in lines[end:] if line.strip()), "")
    if is_caption(above) or above.lstrip().startswith("#"):
        return above
    return below if is_caption(below) else ""


LONG = ("table", "row", "column", "value")
"""The columns of a table of cells."""
_MOST_BYTES = 50_000_000


class PrintedFiles(NamedTuple):
    """What was read of files of printed tables."""

    tables: list[PrintedTable]
    unread: list[str]
    """Tables that have a caption and could not be read, with their page."""


def printed_tables(given: Any) -> PrintedFiles:
    """The tables of files, or of a long table in memory with the columns `table, row, column, value`.

    Raises:
        FileUnreadable: A file that is not there or no text, or without any table; each with the reason.
    """
    several = given if isinstance(given, list | tuple) else [given]
    if not several or not all(isinstance(one, str | Path) for one in several):
        return PrintedFiles(long_tables(as_frame(given).to_dicts(), "tables"), [])
    problems, tables, unread = [], list[PrintedTable](), list[str]()
    for path in map(Path, several):
        try:
            tables += _pdf_tables(path, unread) if path.suffix.lower() == ".pdf" else _file_tables(path)
        except FileUnreadable as error:
            problems += [f"{path}: {problem}" for problem in error.problems]
    if problems:
        raise FileUnreadable(f"{len(problems)} of {len(several)} files" if len(several) > 1 else "tables", problems)
    return PrintedFiles(_distinct(tables), unread)


def _pdf_tables(path: Path, unread: list[str]) -> list[PrintedTable]:
    """The tables of a PDF under names with their page; those that could not be read are added to `unread`."""
    from surgvalid.audit.tables.pdf_pages import pdf_tables

    _check_size(path)
    tables = []
    for page, grid in pdf_tables(path):
        table = printed_table(grid, fallback=path.stem)
        if table is None:
            label, title = caption_parts(grid.caption)
            unread.append(f"{label} {title} (page {page})")
        else:
            tables.append(replace(table, name=f"{table.name} (page {page})"))
    if not tables:
        raise FileUnreadable(str(path), ["no table with a caption and numbers could be read", *unread[:5]])
    return tables


def _file_tables(path: Path) -> list[PrintedTable]:
    _check_size(path)
    text = read_text(path)
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


def _check_size(path: Path) -> None:
    if path.is_file() and path.stat().st_size > _MOST_BYTES:
        raise FileUnreadable(str(path), [f"more than {_MOST_BYTES // 1_000_000} MB; name the file of the tables only"])


def _distinct(tables: Sequence[PrintedTable]) -> list[PrintedTable]:
    """The tables under names that differ."""
    names, seen, distinct = Counter(table.name for table in tables), Counter[str](), []
    for table in tables:
        seen[table.name] += 1
        numbered = replace(table, name=f"{table.name} ({seen[table.name]})")
        distinct.append(numbered if names[table.name] > 1 else table)
    return distinct


def long_tables(rows: Iterable[dict[str, Any]], where: str) -> list[PrintedTable]:
    """The tables of a long one, whose rows and columns keep the order in which they come.

    Args:
        rows: With `table`, `row`, `column` and `value` as printed, and `bold` where something is.
        where: What to call them in error messages.

    Raises:
        TableInvalid: Columns that are missing, and cells that are given twice.
    """
    tables: dict[str, tuple[dict[str, int], dict[str, int], dict[tuple[str, str], PrintedCell]]] = {}
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
    name: str, lines: dict[str, int], columns: dict[str, int], cells: dict[tuple[str, str], PrintedCell]
) -> PrintedTable:
    label, title = caption_parts(name)
    empty = PrintedCell("")
    return PrintedTable(
        name=name,
        columns=tuple(tuple(column.split(" / ")) for column in columns),
        rows=tuple(lines),
        sections=tuple(line.rpartition(" / ")[0] for line in lines),
        cells=tuple(tuple(cells.get((line, column), empty) for column in columns) for line in lines),
        label=label,
        title=title,
    )


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
    return pl.read_csv(io.StringIO(read_text(path)), infer_schema=False)
