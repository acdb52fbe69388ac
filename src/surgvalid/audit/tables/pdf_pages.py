"""Tables on the pages of a PDF: below or above each caption, lines of words in columns (extra `pdf`).

A PDF knows words and where they stand, and no tables. So a caption (`Table 3`) says that there is one, words that stand
apart on a line are cells, and cells that stand above each other are a column. What has a caption and cannot be read is
named: an audit that skips a table in silence reads as praise.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from surgvalid.audit.tables.cells import cells_in
from surgvalid.audit.tables.layout import Grid
from surgvalid.errors import ExtraNeeded, FileUnreadable

_APART, _FAR, _NEAR = 0.7, 2.2, 0.6
"""Gaps between cells of a line and between lines of a table, in heights of a letter; and between the lines of one
row, as a share of the distance between rows."""
_HEAD = re.compile(r"(?:Table|TABLE|Tab\.)\s*(?:[A-Z]?\.?\d+[a-z]?|[IVXLC]+)\s*(?:[.:|–—-]|$|[A-Z(])")
_MOST_CAPTION, _PROSE = 8, 60
"""Lines of a caption, and letters of a cell from which on it is prose."""


class Segment(NamedTuple):
    """Words of a line without a gap between them."""

    left: float
    right: float
    text: str


class PrintedLine(NamedTuple):
    """The words at one height of a page, or of one of its two columns."""

    page: int
    top: float
    height: float
    segments: tuple[Segment, ...]

    @property
    def text(self) -> str:
        """All of it."""
        return " ".join(one.text for one in self.segments)

    @property
    def is_row(self) -> bool:
        """Whether it may be a row of a table."""
        return len(self.segments) > 1 and all(len(one.text) < _PROSE for one in self.segments)


class PageTable(NamedTuple):
    """A captioned table of a page; without rows where it could not be read."""

    page: int
    grid: Grid


def pdf_tables(path: Path) -> list[PageTable]:
    """Every captioned table of a file, in order.

    Raises:
        ExtraNeeded: pdfplumber is not installed.
        FileUnreadable: It is no PDF that can be opened.
    """
    try:
        import pdfplumber
    except ImportError:
        raise ExtraNeeded("tables in a PDF", "pdfplumber", "pdf") from None
    lines: list[PrintedLine] = []
    try:
        with pdfplumber.open(path) as document:
            for number, page in enumerate(document.pages, 1):
                words = page.extract_words(extra_attrs=["fontname"])
                lines += [line for side in _columns(words, float(page.width)) for line in _lines(number, side)]
                page.close()
    except FileNotFoundError:
        raise FileUnreadable(str(path), ["no such file"]) from None
    except Exception as error:  # noqa: BLE001 - hostile files make the parser raise anything
        raise FileUnreadable(str(path), [f"no PDF that can be read ({type(error).__name__}: {error})"]) from None
    return list(_captioned(lines))


def _captioned(lines: Sequence[PrintedLine]) -> Iterator[PageTable]:
    """The table of each caption: below it, or else above it where those rows are no other caption's."""
    taken: set[int] = set()
    for at, line in enumerate(lines):
        if not _is_head(line):
            continue
        below = next((n for n in range(at + 1, min(at + _MOST_CAPTION, len(lines))) if lines[n].is_row), len(lines))
        between = any(_is_head(other) for other in lines[at + 1 : below])
        places = [] if between else list(_block(lines, below, 1))
        if not _has_numbers(rows := _in_columns([lines[n] for n in places])):
            places = [n for n in _block(lines, at - 1, -1) if n not in taken][::-1]
            rows = _in_columns([lines[n] for n in places])
        taken.update(places)
        yield PageTable(line.page, Grid(line.text, rows if _has_numbers(rows) else []))


def _is_head(line: PrintedLine) -> bool:
    """Whether a line begins the caption of a table, and is no sentence about one."""
    return _HEAD.match(line.text.replace("*", "")) is not None


def _columns(words: list[dict[str, Any]], width: float) -> list[list[dict[str, Any]]]:
    """The words of the page, or of its two columns where nothing crosses the middle but few lines.

    Two columns have text at the right, or a caption that begins there: the right one may hold a table alone.
    """
    crossing = {round(one["top"]) for one in words if one["x0"] < width / 2 - 4 and one["x1"] > width / 2 + 4}
    lines = {round(one["top"]) for one in words}
    left = [one for one in words if one["x1"] <= width / 2 + 4]
    right = [one for one in words if one["x0"] >= width / 2 - 4]
    both = {round(one["top"]) for one in left} & {round(one["top"]) for one in right}
    prose = sum(len(one["text"]) > 3 and one["text"].isalpha() for one in right) > len(right) / 2
    captioned = any(_HEAD.match(f"{one['text']} {other['text']}") for one, other in pairwise(right))
    two = (prose and len(both) > 5) or captioned
    return [left, right] if two and len(crossing) < len(lines) / 10 else [words]


def _lines(page: int, words: list[dict[str, Any]]) -> list[PrintedLine]:
    lines: list[list[dict[str, Any]]] = []
    for word in sorted(words, key=lambda one: (one["bottom"], one["x0"])):
        if lines and abs(word["bottom"] - lines[-1][0]["bottom"]) < 0.4 * (word["bottom"] - word["top"]):
            lines[-1].append(word)
        else:
            lines.append([word])
    return [_line(page, sorted(line, key=lambda one: float(one["x0"]))) for line in lines]


def _line(page: int, words: list[dict[str, Any]]) -> PrintedLine:
    height = max(one["bottom"] - one["top"] for one in words)
    segments: list[Segment] = []
    for word in words:
        text = f"**{word['text']}**" if "bold" in word["fontname"].lower() else word["text"]
        if segments and word["x0"] - segments[-1].right < _APART * height:
            before = segments.pop()
            segments.append(Segment(before.left, word["x1"], f"{before.text} {text}"))
        else:
            segments.append(Segment(word["x0"], word["x1"], text))
    return PrintedLine(page, words[0]["top"], height, tuple(segments))


def _close(one: PrintedLine, other: PrintedLine) -> bool:
    """Whether two lines follow each other: on one page, or as rows of one table over a page break."""
    if one.page != other.page:
        return one.is_row and len(one.segments) == len(other.segments)
    return abs(other.top - one.top) - one.height < _FAR * max(one.height, other.height)


def _block(lines: Sequence[PrintedLine], start: int, step: int) -> Iterator[int]:
    """The places of the rows that follow each other closely from a place on, texts of wrapped cells among them."""
    place, before = start, None
    while 0 <= place < len(lines):
        line = lines[place]
        if before is not None and not _close(before, line):
            return
        if _is_head(line) or not (line.is_row or (before is not None and len(line.text) < _PROSE)):
            return
        yield place
        place, before = place + step, line


def _in_columns(block: Sequence[PrintedLine]) -> list[list[str]]:
    """The cells of the rows, by the columns of the rows with most cells."""
    cells = [_cells(lines) for lines in _rows(block)]
    fullest = max(map(len, cells), default=0)
    spans: list[list[float]] = []
    for segment in sorted(one for row in cells if len(row) == fullest for one in row):
        if spans and segment.left <= spans[-1][1]:
            spans[-1][1] = max(spans[-1][1], segment.right)
        else:
            spans.append([segment.left, segment.right])
    edges = [(one[1] + other[0]) / 2 for one, other in pairwise(spans)]
    rows = [[""] * len(spans) for _ in cells]
    for row, segments in zip(rows, cells, strict=True):
        for segment in segments:
            column = sum(edge <= _anchor(segment, edges) for edge in edges)
            row[column] = f"{row[column]} {segment.text}".strip()
    return rows


def _cells(lines: Sequence[PrintedLine]) -> list[Segment]:
    """The cells of a row, lines of one cell together."""
    cells: list[Segment] = []
    for segment in (one for line in lines for one in line.segments):
        over = next((one for one in cells if one.left < segment.right and segment.left < one.right), None)
        if over is None:
            cells.append(segment)
        else:
            ends = min(over.left, segment.left), max(over.right, segment.right)
            cells[cells.index(over)] = Segment(*ends, f"{over.text} {segment.text}")
    return cells


def _rows(block: Sequence[PrintedLine]) -> Iterator[list[PrintedLine]]:
    """The lines of each row: one, or with those of wrapped names, which stand nearer than rows do."""
    full = [place for place, line in enumerate(block) if _numbers(line) > 1]
    gaps = sorted(block[n].top - block[m].top for m, n in pairwise(full) if block[m].page == block[n].page)
    near = _NEAR * gaps[len(gaps) // 2] if gaps else 0.0
    owner = {place: place for place in range(len(block))}
    for place in set(range(len(block))) - set(full):
        nearest = min(full, key=lambda n: abs(block[n].top - block[place].top), default=None)
        if nearest is not None and 0 < abs(block[nearest].top - block[place].top) < near:
            owner[place] = nearest
    for row in dict.fromkeys(owner.values()):
        yield [block[place] for place in range(len(block)) if owner[place] == row]


def _numbers(line: PrintedLine) -> int:
    return sum(cell.value is not None for one in line.segments for cell in cells_in(one.text))


def _anchor(segment: Segment, edges: Sequence[float]) -> float:
    """Where a cell belongs: its middle, or its left end where it reaches over several columns."""
    wide = sum(segment.left < edge < segment.right for edge in edges) > 0
    return segment.left if wide else (segment.left + segment.right) / 2


def _has_numbers(rows: list[list[str]]) -> bool:
    numbers = sum(cell.value is not None for row in rows for text in row[1:] for cell in cells_in(text))
    return len(rows) > 1 and numbers > 1
