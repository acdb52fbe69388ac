"""Rows of a file: JSON array, JSON Lines, CSV or Parquet, read as a stream of plain dictionaries.

The file may be hostile or broken, so reading is bounded and precise: a JSON array is decoded element
by element (a million answers never stand in memory as text and objects at once), an error names line
and column, keys written twice are reported, and a number of any length is read without surprise.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from surgeval.errors import FileUnreadable
from surgeval.schema.findings import Finding, Severity

Row = dict[str, Any]
Report = Callable[[Finding], None]

_CHUNK = 1 << 20
_SPACE = " \t\n\r"


def read_rows(path: str | Path, *, report: Report | None = None) -> Iterator[Row]:
    """The rows of the file at `path`, one dictionary each; the format follows from its ending.

    Args:
        path: `.json` (array), `.jsonl` or `.ndjson`, `.csv`, `.parquet`.
        report: Receives findings that do not stop the reading (a byte-order mark, a key written
            twice, an element that is no object).

    Raises:
        FileUnreadable: The file is missing, truncated, wrongly encoded or of an unknown kind.
    """
    path = Path(path)
    readers = {
        ".json": _json_rows,
        ".jsonl": _json_line_rows,
        ".ndjson": _json_line_rows,
        ".csv": _csv_rows,
        ".parquet": _parquet_rows,
    }
    reader = readers.get(path.suffix.lower())
    if reader is None:
        known = ", ".join(readers)
        raise FileUnreadable(str(path), [f"unknown kind of file {path.suffix!r}; expected one of {known}"])
    if not path.is_file():
        raise FileUnreadable(str(path), ["no such file"])
    try:
        yield from reader(path, report or _ignore)
    except UnicodeDecodeError as error:
        raise FileUnreadable(
            str(path), [f"not UTF-8 text (byte {error.object[error.start]:#04x}); save it as UTF-8"]
        ) from None


def write_json_rows(rows: Iterable[Row], path: str | Path) -> None:
    """Write rows as the official files are written: a UTF-8 array, two spaces, non-ASCII kept."""
    with open(path, "w", encoding="utf-8") as handle:
        json.dump(list(rows), handle, indent=2, ensure_ascii=False)


def _ignore(_: Finding) -> None:
    return None


# --- JSON --------------------------------------------------------------------------------------


class HugeNumber(str):
    """A JSON integer with more digits than the interpreter converts, kept as its text."""

    __slots__ = ()


def _integer(digits: str) -> int | HugeNumber:
    try:
        return int(digits)
    except ValueError:
        return HugeNumber(digits)


class _Decoder:
    """A JSON decoder that notices keys written twice within one object."""

    def __init__(self) -> None:
        self.repeated: list[str] = []
        self.raw_decode = json.JSONDecoder(parse_int=_integer, object_pairs_hook=self._object).raw_decode

    def _object(self, pairs: list[tuple[str, Any]]) -> Row:
        row = dict(pairs)
        if len(row) != len(pairs):
            keys = [key for key, _ in pairs]
            self.repeated += sorted({key for key in keys if keys.count(key) > 1})
        return row


class _Buffer:
    """Text of a file in a sliding window, with the place of every character."""

    def __init__(self, handle: IO[str]) -> None:
        self.handle, self.text, self.at, self.line, self.column = handle, "", 0, 1, 1
        self.ended = False

    def more(self) -> bool:
        """Append text, at least doubling the window so that long elements cost linear time."""
        piece = "" if self.ended else self.handle.read(max(_CHUNK, len(self.text) - self.at))
        self.ended = self.ended or not piece
        self._forget()
        self.text += piece
        return not self.ended

    def _forget(self) -> None:
        self.line, self.column = self.place(self.at)
        self.text, self.at = self.text[self.at :], 0

    def place(self, index: int) -> tuple[int, int]:
        """Line and column of the character at `index` of the window."""
        breaks = self.text.count("\n", 0, index)
        if not breaks:
            return self.line, self.column + index
        return self.line + breaks, index - self.text.rfind("\n", 0, index)

    def peek(self) -> str:
        """The next character that is no white space, or "" at the end."""
        while True:
            while self.at < len(self.text) and self.text[self.at] in _SPACE:
                self.at += 1
            if self.at < len(self.text):
                return self.text[self.at]
            if not self.more():
                return ""


def _json_rows(path: Path, report: Report) -> Iterator[Row]:
    with open(path, encoding="utf-8", newline="") as handle:
        window = _Buffer(handle)
        _skip_mark(window, path, report)
        if (first := window.peek()) != "[":
            got = f"it starts with {first!r}" if first else "it is empty"
            raise FileUnreadable(str(path), [f"expected a JSON array of objects, but {got}"])
        window.at += 1
        yield from _elements(window, path, report)
        if window.peek():
            line, column = window.place(window.at)
            raise FileUnreadable(str(path), [f"line {line} column {column}: text after the end of the array"])


def _skip_mark(window: _Buffer, path: Path, report: Report) -> None:
    window.peek()
    if window.text.startswith("\ufeff"):
        window.at = 1
        report(Finding("byte-order-mark", Severity.WARNING, "the file starts with a byte-order mark", where=str(path)))


def _elements(window: _Buffer, path: Path, report: Report) -> Iterator[Row]:
    decoder, count = _Decoder(), 0
    if window.peek() == "]":
        window.at += 1
        return
    while True:
        window.peek()
        value = _next_value(window, decoder, path)
        count += 1
        yield from _row_of(value, decoder, f"{path} element {count}", report)
        separator = window.peek()
        window.at += 1
        if separator == "]":
            return
        if separator != ",":
            line, column = window.place(window.at - 1)
            got = repr(separator) if separator else "the end of the file"
            raise FileUnreadable(
                str(path), [f"line {line} column {column}: expected ',' or ']' after element {count}, got {got}"]
            )


def _next_value(window: _Buffer, decoder: _Decoder, path: Path) -> Any:
    while True:
        try:
            value, end = decoder.raw_decode(window.text, window.at)
        except json.JSONDecodeError as error:
            if window.more():
                continue
            line, column = window.place(error.pos)
            raise FileUnreadable(str(path), [f"line {line} column {column}: {error.msg}"]) from None
        except RecursionError:
            raise FileUnreadable(str(path), ["nested more deeply than any answer file needs"]) from None
        if end == len(window.text) and window.more():
            continue
        window.at = end
        return value


def _row_of(value: Any, decoder: _Decoder, where: str, report: Report) -> Iterator[Row]:
    if decoder.repeated:
        keys = ", ".join(repr(key) for key in decoder.repeated)
        report(Finding("repeated-key", Severity.ERROR, f"{keys} is written twice; the last one is read", where=where))
        decoder.repeated.clear()
    if isinstance(value, dict):
        yield value
    else:
        kind = type(value).__name__
        report(Finding("not-an-object", Severity.ERROR, f"expected an object, got {kind}", where=where))


def _json_line_rows(path: Path, report: Report) -> Iterator[Row]:
    decoder = _Decoder()
    with open(path, encoding="utf-8-sig") as handle:
        for number, text in enumerate(handle, start=1):
            if not (text := text.strip(_SPACE)):
                continue
            try:
                value, end = decoder.raw_decode(text)
            except json.JSONDecodeError as error:
                raise FileUnreadable(str(path), [f"line {number} column {error.colno}: {error.msg}"]) from None
            except RecursionError:
                raise FileUnreadable(str(path), [f"line {number}: nested too deeply"]) from None
            if end != len(text):
                raise FileUnreadable(str(path), [f"line {number} column {end + 1}: text after the object"])
            yield from _row_of(value, decoder, f"{path} line {number}", report)


# --- tables ------------------------------------------------------------------------------------


def _csv_rows(path: Path, report: Report) -> Iterator[Row]:
    with open(path, encoding="utf-8-sig", newline="") as handle:
        reader = csv.DictReader(handle, restkey="", strict=True)
        try:
            repeated = {name for name in reader.fieldnames or () if (reader.fieldnames or []).count(name) > 1}
            if repeated:
                raise FileUnreadable(str(path), [f"column {name!r} appears twice" for name in sorted(repeated)])
            for row in reader:
                if "" in row:
                    where = f"{path} line {reader.line_num}"
                    report(Finding("too-many-cells", Severity.ERROR, "more cells than columns", where=where))
                    row.pop("")
                yield {key: value for key, value in row.items() if value not in (None, "")}
        except csv.Error as error:
            raise FileUnreadable(str(path), [f"line {reader.line_num}: {error}"]) from None


def _parquet_rows(path: Path, _: Report) -> Iterator[Row]:
    import polars as pl

    try:
        frame = pl.read_parquet(path)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise FileUnreadable(str(path), [f"not a Parquet file ({str(error).splitlines()[0]})"]) from None
    for row in frame.iter_rows(named=True):
        yield {key: None if isinstance(value, float) and math.isnan(value) else value for key, value in row.items()}
