"""Rows of a sheet of an `.xlsx` workbook, read with the standard library.

A workbook is a zip of XML files. Document types are refused and sizes are bounded, since the file may be hostile. No
library does that: python-calamine and fastexcel ask for 550 GB, and end the process, on a file of one kilobyte whose
two cells are the first and the last that a sheet can have.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from xml.etree import ElementTree

from surgvalid.errors import FileUnreadable

_SPACE = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_MOST_BYTES = 64 << 20
_MOST_COLUMNS = 16_384
_MOST_DIGITS = 12
_UNUSABLE = (NotImplementedError, RuntimeError, OSError)
"""What `zipfile` raises on methods it lacks, encrypted members and damaged archives."""
_SHEET = "xl/worksheets/sheet1.xml"
_BOOK = "xl/workbook.xml"
_LINKS = "xl/_rels/workbook.xml.rels"
_LINK = "{http://schemas.openxmlformats.org/package/2006/relationships}Relationship"
_LINK_ID = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_STRINGS = "xl/sharedStrings.xml"


def read_rows_of_workbook(path: Path, sheet: str | None = None) -> list[list[str]]:
    """The rows of one sheet as texts; absent cells are empty texts.

    Args:
        path: The workbook.
        sheet: The name on its tab; the first when None.

    Raises:
        FileUnreadable: The file is no such workbook, or has no such sheet.
    """
    with _opened(path) as archive:
        sheets = _sheets(archive, path)
        if sheet is not None and sheet not in sheets:
            raise FileUnreadable(str(path), [f"holds no sheet {sheet!r}; it has {', '.join(map(repr, sheets))}"])
        return _rows(archive, sheets[sheet] if sheet is not None else next(iter(sheets.values())), path)


def filled_sheets(path: Path) -> list[str]:
    """The names of the sheets with anything in them, in the order of their tabs.

    Raises:
        FileUnreadable: The file is no such workbook.
    """
    with _opened(path) as archive:
        sheets = _sheets(archive, path)
        return [name for name, member in sheets.items() if any(any(row) for row in _rows(archive, member, path))]


@contextmanager
def _opened(path: Path) -> Iterator[zipfile.ZipFile]:
    if not path.is_file():
        raise FileUnreadable(str(path), ["no such file"])
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except (zipfile.BadZipFile, ElementTree.ParseError, zlib.error, EOFError, *_UNUSABLE) as error:
        raise FileUnreadable(str(path), [f"not an xlsx workbook ({error})"]) from None


def _sheets(archive: zipfile.ZipFile, path: Path) -> dict[str, str]:
    """The members that hold sheets of cells, by the names on their tabs."""
    names = set(archive.namelist())
    sheets: dict[str, str] = {}
    if {_BOOK, _LINKS} <= names:
        links = _xml(archive, _LINKS, path).iter(_LINK)
        targets = {link.get("Id"): f"xl/{link.get('Target', '')}".replace("xl//xl/", "xl/") for link in links}
        tabs = _xml(archive, _BOOK, path).iter(f"{_SPACE}sheet")
        sheets = {tab.get("name", ""): targets.get(tab.get(_LINK_ID), "") for tab in tabs}
    held = {name: member for name, member in sheets.items() if member in names and "/worksheets/" in member}
    if not held and _SHEET not in names:
        raise FileUnreadable(str(path), [f"holds no {_SHEET}"])
    return held or {"Sheet1": _SHEET}


def _rows(archive: zipfile.ZipFile, member: str, path: Path) -> list[list[str]]:
    shared = _shared(_xml(archive, _STRINGS, path)) if _STRINGS in archive.namelist() else []
    return [_cells(row, shared) for row in _xml(archive, member, path).iter(f"{_SPACE}row")]


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
