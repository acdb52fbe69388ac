"""A printed table from a grid of texts: which rows are headings, which columns name the rows, and what is printed."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from surgvalid.audit.tables.cells import PrintedCell, cells_in, plain_words

_CAPTION = re.compile(r"^\W*tab(?:le|\.)?\s*([A-Z]?\.?\d+[a-z]?|[IVXLC]+)\b\s*[.:|–—-]*\s*(.*)$", re.IGNORECASE)
INTERVALS = re.compile(r"\bCI\b|confidence|interval", re.IGNORECASE)
_LOWER, _UPPER = (
    re.compile(r"\b(?:low|lower|LCL)\b", re.IGNORECASE),
    re.compile(r"\b(?:high|upper|UCL)\b", re.IGNORECASE),
)
_ENDS = re.compile(rf"{INTERVALS.pattern}|bound|limit|\b[LU]CL\b|^(?:lower|upper)$", re.IGNORECASE)
"""Words of the ends of an interval; columns called low and high alone may be conditions."""
_BOTH_ENDS = re.compile(r"[(\[]?[-−]?[\d.]+[^\w±+(\[]+(?:to\s+)?[-−]?[\d.]+[)\]]?")
_FORMS = {code: unicodedata.normalize("NFKC", chr(code)) for code in (*range(0xFB00, 0xFB07), *range(0xFF01, 0xFF5F))}
"""Letters joined in print and signs of full width, as they are typed; raised digits stay, which are footnotes."""
_TITLE_LENGTH = 60
_APART = re.compile(r"\s{2,}")


class Grid(NamedTuple):
    """Texts in rows, as a file has them."""

    caption: str
    rows: Sequence[Sequence[str]]
    headings: int | None = None
    """Rows above the rule below the headings, where there is one."""


@dataclass(frozen=True)
class PrintedTable:
    """A table as it is printed."""

    name: str
    """What the caption calls it, such as `S9 Tool C80`."""
    columns: tuple[tuple[str, ...], ...]
    """The headings above each column of values, the outermost first."""
    rows: tuple[str, ...]
    sections: tuple[str, ...]
    """Of each row, the group of rows that it belongs to; empty without groups."""
    cells: tuple[tuple[PrintedCell, ...], ...]
    label: str = ""
    """Its number, such as `S9`."""
    title: str = ""
    counted: int = 0
    """The number of cases that its caption names, as `n = 36`; 0 where it names none or several."""

    def column_name(self, index: int) -> str:
        """The headings of a column in one text."""
        return " / ".join(self.columns[index])

    def values(self, index: int) -> list[PrintedCell]:
        """The cells of a column."""
        return [row[index] for row in self.cells]


def caption_parts(caption: str) -> tuple[str, str]:
    """The number and the beginning of the title of a table; no number where the caption has none.

    Example:
        >>> caption_parts("Table S9. Tool C80")
        ('S9', 'Tool C80')
    """
    text = plain_words(caption).lstrip("# ")
    match = _CAPTION.match(text)
    label, title = (match[1], match[2]) if match else ("", text)
    short = re.split(r"(?<=[a-z)])\.\s", title.strip())[0].rstrip(".")
    return label, short if len(short) <= _TITLE_LENGTH else short[: _TITLE_LENGTH - 1].rstrip() + "…"


def is_caption(text: str) -> bool:
    """Whether a line reads as the caption of a table."""
    return _CAPTION.match(plain_words(text)) is not None


def printed_table(grid: Grid, *, fallback: str) -> PrintedTable | None:
    """The table of a grid; None where it has no number to look at.

    Args:
        grid: The texts.
        fallback: What the table is called where it has no caption.
    """
    width = max(map(len, grid.rows), default=0)
    texts = [[*(text.translate(_FORMS) for text in row), *[""] * (width - len(row))] for row in grid.rows]
    _join_intervals(texts, width)
    cells = [[cells_in(text) for text in row] for row in texts]
    numeric = [[any(cell.value is not None for cell in several) for several in row] for row in cells]
    head = _heading_rows(texts, numeric, grid.headings)
    body = [number for number in range(head, len(texts)) if any(numeric[number][1:])]
    if not body or width < 2:
        return None
    labels = _label_columns([texts[number] for number in body], [numeric[number] for number in body])
    sections, names = _row_names(texts, numeric, head, labels)
    spread = _spread([cells[number] for number in body], labels, width)
    values = [(column, place, count) for column, count in spread for place in range(count)]
    label, title = caption_parts(grid.caption)
    return PrintedTable(
        name=" ".join(filter(None, (label, title))) or fallback,
        columns=tuple(_path(texts[:head], column, place, count, labels) for column, place, count in values),
        rows=tuple(names[number] for number in body),
        sections=tuple(sections[number] for number in body),
        cells=tuple(
            tuple(
                cells[number][column][place] if place < len(cells[number][column]) else PrintedCell("")
                for column, place, _ in values
            )
            for number in body
        ),
        label=label,
        title=title,
        counted=counted_in(grid.caption),
    )


def counted_in(text: str) -> int:
    """The number of cases that a text names, as `n = 36`; 0 where it names none or several."""
    named = re.findall(r"\bn\s*=\s*([\d,]*\d)", text, re.IGNORECASE)
    return int(named[0].replace(",", "")) if len(named) == 1 else 0


def _join_intervals(texts: list[list[str]], width: int) -> None:
    """Write intervals that stand in one or two columns of their own behind the numbers at their left."""
    for place in range(1, width):
        heads = [[text.replace("_", " ").strip() for text in row[place : place + 2]] for row in texts]
        two = any(len(row) > 1 and _LOWER.search(row[0]) and _UPPER.search(row[1]) for row in heads)
        words = [text for row in heads for text in row[: 1 + two] if (_ENDS if two else INTERVALS).search(text)]
        level = re.search(r"\d\d\s*%", " ".join(words))
        for row in texts if words else ():
            ends = "-".join(row[place : place + 1 + two]).strip()
            if _BOTH_ENDS.fullmatch(ends) and cells_in(row[place - 1])[0].value is not None:
                row[place - 1] += f" ({level[0] if level else ''} CI {ends.strip('()[]')})"
                row[place : place + 1 + two] = [""] * (1 + two)


def _heading_rows(texts: list[list[str]], numeric: list[list[bool]], headings: int | None) -> int:
    """How many rows stand above the first row of values."""
    head = headings or 0
    if not head:
        while head < len(texts) and not any(numeric[head][1:]):
            head += 1
        return head
    while head < len(texts) and not any(numeric[head]) and not texts[head][0] and sum(map(bool, texts[head])) > 1:
        head += 1
    return head


def _label_columns(texts: list[list[str]], numeric: list[list[bool]]) -> int:
    """How many columns at the left name the rows: texts, and groups whose name stands once."""
    last = 0
    for column in range(len(texts[0]) - 1):
        share = sum(row[column] for row in numeric) / len(numeric)
        gaps = any(not plain_words(row[column]) for row in texts)
        if share == 0:
            last = column + 1
        elif not (column == 0 and gaps):
            break
    return last


def _row_names(
    texts: list[list[str]], numeric: list[list[bool]], head: int, labels: int
) -> tuple[dict[int, str], dict[int, str]]:
    """Of each row below the headings: the group it belongs to, and its name."""
    sections, names, section = {}, {}, ""
    above = [""] * labels
    for number in range(head, len(texts)):
        words = [plain_words(text) for text in texts[number]]
        if not any(numeric[number]) and len({word for word in words if word}) == 1:
            section = next(word for word in words if word)
            continue
        outer = [word or above[column] for column, word in enumerate(words[: max(labels - 1, 0)])]
        above = [*outer, ""]
        sections[number] = " / ".join(filter(None, (section, *outer)))
        name = words[labels - 1] if labels else f"row {number - head + 1}"
        names[number] = " / ".join(filter(None, (sections[number], name)))
    return sections, names


def _spread(cells: list[list[tuple[PrintedCell, ...]]], labels: int, width: int) -> list[tuple[int, int]]:
    """The columns of values, each with how many numbers its cells hold side by side."""
    counts = [(column, max(len(row[column]) for row in cells)) for column in range(labels, width)]
    return [
        (column, count) for column, count in counts if any(c.value is not None for row in cells for c in row[column])
    ]


def _path(heads: list[list[str]], column: int, place: int, count: int, labels: int) -> tuple[str, ...]:
    """The headings above a column; an outer one reaches over the empty cells to its right."""
    path: list[str] = []
    for level, row in enumerate(heads):
        text, at = row[column], column
        below = any(plain_words(lower[column]) for lower in heads[level + 1 :])
        while not text and below and at > labels:
            at -= 1
            text = row[at]
        pieces = _APART.split(text.strip())
        words = plain_words(pieces[place] if len(pieces) == count > 1 else text)
        if words and words not in path[-1:]:
            path.append(" ".join(words.split()))
    if count > 1 and not any(len(_APART.split(row[at].strip())) == count for row in heads for at in range(len(row))):
        path.append(f"({place + 1})")
    return tuple(path) or (f"column {column + 1}",)
