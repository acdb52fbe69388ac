"""Rows of the first sheet of an `.xlsx` workbook, read with the standard library.

A workbook is a zip of XML files. Document types are refused and sizes are bounded, since the file may be hostile.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from pathlib import Path
from xml.etree import ElementTree

from surgeval.errors import FileUnreadable

_SPACE = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_MOST_BYTES = 64 << 20
_MOST_COLUMNS = 16_384
_MOST_DIGITS = 12
_UNUSABLE = (NotImplementedError, RuntimeError, OSError)
"""What `zipfile` raises on methods it lacks, encrypted members and damaged archives."""
_SHEET = "xl/worksheets/sheet1.xml"
_STRINGS = "xl/sharedStrings.xml"


def read_rows_of_workbook(path: Path) -> list[list[str]]:
    """The rows of the first sheet as texts; absent cells are empty texts.

    Raises:
        FileUnreadable: The file is no such workbook.
    """
    if not path.is_file():
        raise FileUnreadable(str(path), ["no such file"])
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            shared = _shared(_xml(archive, _STRINGS, path)) if _STRINGS in names else []
            if _SHEET not in names:
                raise FileUnreadable(str(path), [f"holds no {_SHEET}"])
            return [_cells(row, shared) for row in _xml(archive, _SHEET, path).iter(f"{_SPACE}row")]
    except (zipfile.BadZipFile, ElementTree.ParseError, zlib.error, EOFError, *_UNUSABLE) as error:
        raise FileUnreadable(str(path), [f"not an xlsx workbook ({error})"]) from None


def _xml(archive: zipfile.ZipFile, name: str, path: Path) -> ElementTree.Element:
    with archive.open(name) as handle:
        text = handle.read(_MOST_BYTES + 1)
    if len(text) > _MOST_BYTES:
        raise FileUnreadable(str(path), [f"{name} is larger than {_MOST_BYTES >> 20} MiB; not read"])
    if b"<!DOCTYPE" in text or b"<!ENTITY" in text:
        raise FileUnreadable(str(path), [f"{name} holds a document type, which no workbook has; not read"])
    return ElementTree.fromstring(text)


def _shared(root: ElementTree.Element) -> list[str]:
    return ["".join(run.text or "" for run in item.iter(f"{_SPACE}t")) for item in root.iter(f"{_SPACE}si")]


def _cells(row: ElementTree.Element, shared: list[str]) -> list[str]:
    cells: dict[int, str] = {}
    for place, cell in enumerate(row.iter(f"{_SPACE}c")):
        column = _column(cell.get("r", ""), place)
        if column < _MOST_COLUMNS:
            cells[column] = _text(cell, shared)
    return [cells.get(column, "") for column in range(max(cells, default=-1) + 1)]


def _column(reference: str, place: int) -> int:
    letters = re.match(r"[A-Z]{1,3}", reference)
    if letters is None:
        return place
    number = 0
    for letter in letters[0]:
        number = number * 26 + ord(letter) - ord("A") + 1
    return number - 1


def _text(cell: ElementTree.Element, shared: list[str]) -> str:
    if cell.get("t") == "inlineStr":
        return "".join(run.text or "" for run in cell.iter(f"{_SPACE}t")).strip()
    value = (cell.findtext(f"{_SPACE}v") or "").strip()
    if cell.get("t") == "s":
        place = int(value) if value.isascii() and value.isdecimal() and len(value) < _MOST_DIGITS else len(shared)
        return shared[place].strip() if place < len(shared) else ""
    return value
