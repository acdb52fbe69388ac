"""Tables in text: Markdown, columns kept apart by tabs or spaces, comma-separated values; each with its caption."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator

from surgeval.audit.tables.layout import Grid, is_caption

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
