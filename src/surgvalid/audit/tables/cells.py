"""Numbers as they are printed: the text, the digits it has, and the values that print so.

How many digits are printed decides how much a number says. Rounded, 0.68 stands for everything from 0.675 to 0.685; cut
off (truncated), for everything from 0.68 to 0.69. Nobody says which was done, so both readings are kept.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

Reading = Literal["rounded", "truncated"]
READINGS: tuple[Reading, ...] = ("rounded", "truncated")

_BOLD = re.compile(r"\*\*(.+?)\*\*|__(.+?)__|<(?:b|strong)>(.*?)</(?:b|strong)>", re.IGNORECASE | re.DOTALL)
_NOTE_MARKS = re.compile(r"<sup>.*?</sup>|\^\{[^}]*\}|<br\s*/?>", re.IGNORECASE)
_TAGS = re.compile(r"</?[a-z]+[^>]*>", re.IGNORECASE)
_NUMBER = re.compile(
    r"(?P<number>[-+]?(?:(?P<grouped>[1-9]\d{0,2}(?:,\d{3})+)(?:\.\d+)?|\d+(?:[.,]\d+)?|\.\d+))\s*(?P<percent>%?)"
    r"(?:\s*(?:±|\+/-|\+-|\(|\[|[,;]?\s*(?:\d\d\s*%\s*)?CI\b).*)?",
    re.ASCII,
)
_COUNTED = re.compile(r"(\d{1,9})\s*(?:/|of)\s*(\d{1,9})\s*[(\[]([\d.,]+\s*%?)[)\]]", re.ASCII)
_BESIDE = re.compile(r"[(\[](\d{1,9})\s*(?:/|of)\s*(\d{1,9})[)\]]$", re.ASCII)
"""A count out of a number before a share, and after one."""
_SEVERAL = re.compile(r"\s{2,}|\s*[|/]\s*")
_SIGNS = str.maketrans({"−": "-", "–": "-", "\u00a0": " ", "\u2009": " "} | dict.fromkeys("*†‡§$", ""))

_LONGEST = 30
"""Characters of a number; what is longer is none that a table prints."""


class PrintedCell(NamedTuple):
    """One cell of a printed table."""

    text: str
    """As printed, without marks of bold."""
    value: float | None = None
    """The number, where there is one; a spread or an interval after it is left out."""
    decimals: int = 0
    bold: bool = False
    percent: bool = False
    """Whether a percent sign is printed."""
    grouped: bool = False
    """Whether thousands are marked off, as counts are."""
    counts: tuple[int, int] | None = None
    """A count and what it is out of, where they stand beside a share."""


def cells_in(text: str) -> tuple[PrintedCell, ...]:
    """The cell, or several where it holds several numbers side by side.

    Example:
        >>> [(cell.value, cell.decimals, cell.bold) for cell in cells_in("<b>0.70</b> ± 0.02")]
        [(0.7, 2, True)]
        >>> [cell.value for cell in cells_in("2.8   3.3")], cells_in("n/a")[0].value
        ([2.8, 3.3], None)
    """
    bold = _BOLD.search(text) is not None
    words = plain_words(text)
    counted = _COUNTED.fullmatch(words)
    cell = _cell(f"{counted[3]} ({counted[1]}/{counted[2]})" if counted else words, bold)
    if cell.value is not None and (beside := _BESIDE.search(cell.text)):
        cell = cell._replace(text=words, counts=(int(beside[1]), int(beside[2])))
    if cell.value is None and len(parts := _SEVERAL.split(words)) > 1:
        several = tuple(_cell(piece, bold) for piece in parts)
        if all(piece.value is not None for piece in several):
            return several
    return (cell,)


def plain_words(text: str) -> str:
    """The text without marks of bold, footnotes and tags."""
    bare = _BOLD.sub(lambda match: next(group for group in match.groups() if group is not None), text)
    return _TAGS.sub("", _NOTE_MARKS.sub(" ", bare)).translate(_SIGNS).strip()


def _cell(words: str, bold: bool) -> PrintedCell:
    match = _NUMBER.fullmatch(words)
    if match is None or len(match["number"]) > _LONGEST:
        return PrintedCell(words, bold=bold)
    grouped = match["grouped"] is not None
    number = match["number"].replace(",", "" if grouped else ".")
    decimals = len(number.partition(".")[2])
    return PrintedCell(words, float(number), decimals, bold, bool(match["percent"]), grouped)
