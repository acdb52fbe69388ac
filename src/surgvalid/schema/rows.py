"""Rows of a file: JSON array, JSON Lines, CSV or Parquet, read as a stream of plain dictionaries.

The file may be hostile or broken, so reading is bounded and precise: a JSON array is decoded element
by element (a million answers never stand in memory as text and objects at once), an error names line
and column, keys written twice are reported, a number of any length is read without surprise, and
what is nested beyond any use is refused before anything tries to print it.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from surgvalid.errors import FileUnreadable
from surgvalid.schema.documents import json_text
from surgvalid.schema.finding_log import noticed
from surgvalid.schema.findings import Finding
from surgvalid.schema.questions.formats import shown

if TYPE_CHECKING:
    import polars as pl

Row = dict[str, Any]
Report = Callable[[Finding], None]

_CHUNK = 1 << 20
_MANY = 1 << 12
_OTHERS = {";": "semicolons", "\t": "tabs"}
_SPACE = " \t\n\r"
_SPACES = re.compile(f"[{_SPACE}]*")
_NESTS = (list, dict)
_DEEPEST = 32
_ENDS_TRIED = 50
_LONGEST_TOKEN = 16
"""No JSON word or escape is longer, so an error further from the end of the window is a real one."""


class TooDeep(dict[str, Any]):
    """A row nested beyond any use."""


def read_rows(path: str | Path, *, report: Report | None = None) -> Iterator[Row]:
    """The rows of the file at `path`, one dictionary each; the format follows from its ending.

    Args:
        path: `.json` (array), `.jsonl` or `.ndjson`, `.csv`, `.parquet`.
        report: Receives findings that do not stop the reading (a byte-order mark, a key written
            twice, an element that is no object).

    Raises:
        FileUnreadable: The file is missing, truncated, wrongly encoded or of an unknown kind.
    """
    for rows in row_batches(path, report=report):
        yield from (row for row in rows if type(row) is not TooDeep)


def row_batches(path: str | Path, *, report: Report | None = None) -> Iterator[list[Row]]:
    """The rows of the file at `path` as they are decoded, many at once; those nested beyond any use are `TooDeep`.

    Args:
        path: As for `read_rows`.
        report: As for `read_rows`.

    Raises:
        FileUnreadable: The file is missing, truncated, wrongly encoded or of an unknown kind.
    """
    path = Path(path)
    readers: dict[str, Callable[[Path, Report], Iterator[list[Row]]]] = {
        ".json": _json_rows,
        ".jsonl": partial(_together, _json_line_rows),
        ".ndjson": partial(_together, _json_line_rows),
        ".csv": partial(_together, _csv_rows),
        ".parquet": partial(_together, _parquet_rows),
    }
    reader = readers.get(path.suffix.lower())
    if path.is_dir():
        raise FileUnreadable(str(path), ["a folder; name the file in it"])
    if not path.is_file():
        raise FileUnreadable(str(path), ["no such file"])
    if reader is None:
        known = ", ".join(readers)
        raise FileUnreadable(str(path), [f"unknown kind of file {path.suffix!r}; expected one of {known}"])
    try:
        yield from reader(path, report or _ignore)
    except UnicodeDecodeError:
        raise FileUnreadable(str(path), [not_utf8(path)]) from None
    except OSError as error:
        raise FileUnreadable(str(path), [f"cannot be read ({error.strerror or error})"]) from None


def _together(reader: Callable[[Path, Report], Iterator[Row]], path: Path, report: Report) -> Iterator[list[Row]]:
    """The rows of a reader, many at once; those before an error come first."""
    rows: list[Row] = []
    try:
        for row in reader(path, report):
            rows.append(row)
            if len(rows) == _MANY:
                yield rows
                rows = []
    except (FileUnreadable, UnicodeDecodeError):
        yield rows
        raise
    yield rows


def write_json_rows(rows: Iterable[Row], path: str | Path) -> None:
    """Write rows as the official files are written: a UTF-8 array, two spaces, non-ASCII kept where it can be."""
    with open(path, "w", encoding="utf-8") as handle:
        between = "[\n  "
        for row in rows:
            handle.write(between + json_text(row, indent=2).replace("\n", "\n  "))
            between = ",\n  "
        handle.write("[]" if between.startswith("[") else "\n]")


def _ignore(_: Finding) -> None:
    return None


def not_utf8(path: Path) -> str:
    """The place of the first byte that is not UTF-8, and the encoding that is more likely."""
    with open(path, "rb") as handle:
        start = handle.read(2)
        if start in (b"\xff\xfe", b"\xfe\xff"):
            return "not UTF-8 text but UTF-16; save it as UTF-8"
        if start in (b"\x1f\x8b", b"PK"):
            return "not text but a compressed file; unpack it first"
        handle.seek(0)
        for number, line in enumerate(handle, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                byte = line[error.start]
                return f"line {number} byte {error.start + 1}: not UTF-8 text ({byte:#04x}); save it as UTF-8"
    return "not UTF-8 text; save it as UTF-8"


# --- JSON --------------------------------------------------------------------------------------


class HugeNumber(str):
    """A JSON integer with more digits than the interpreter converts, kept as its text."""

    __slots__ = ()


class _Decoder:
    """A JSON decoder that notices keys written twice within one object, and numbers beyond reading."""

    def __init__(self) -> None:
        self.repeated: list[str] = []
        self.longest_digits = 0
        decoder = json.JSONDecoder(parse_int=self._integer, object_pairs_hook=self._object)
        self.raw_decode, self.decode = decoder.raw_decode, decoder.decode

    @property
    def noticed(self) -> bool:
        """Whether the last element had anything odd."""
        return bool(self.repeated or self.longest_digits)

    def forget(self) -> None:
        """Drop what was noticed in an element."""
        self.repeated.clear()
        self.longest_digits = 0

    def _integer(self, digits: str) -> int | HugeNumber:
        try:
            return int(digits)
        except ValueError:
            self.longest_digits = max(self.longest_digits, len(digits.lstrip("-")))
            return HugeNumber(digits)

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
        self.ended, self.fresh = False, False

    def more(self) -> bool:
        """Append text, at least doubling the window so that long elements cost linear time."""
        piece = "" if self.ended else self.handle.read(max(_CHUNK, len(self.text) - self.at))
        self.ended, self.fresh = self.ended or not piece, True
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
            self.at = _SPACES.match(self.text, self.at).end()  # type: ignore[union-attr]
            if self.at < len(self.text):
                return self.text[self.at]
            if not self.more():
                return ""


def _json_rows(path: Path, report: Report) -> Iterator[list[Row]]:
    with open(path, encoding="utf-8", newline="") as handle:
        window = _Buffer(handle)
        _skip_mark(window, path, report)
        if (first := window.peek()) != "[":
            content = f"it starts with {first!r}{_document(window.text)}" if first else "it is empty"
            raise FileUnreadable(str(path), [f"expected a JSON array of objects, but {content}"])
        window.at += 1
        yield from _elements(window, path, report)
        if window.peek():
            line, column = window.place(window.at)
            raise FileUnreadable(str(path), [f"line {line} column {column}: text after the end of the array"])


def _document(text: str) -> str:
    """What a JSON file that is no array may be."""
    if any(f'"{key}":' in text for key in ("images", "annotations", "categories")):
        return "; it seems to be a COCO file, which surgvalid evaluate detection or segmentation reads"
    if text.startswith("PK\x03\x04"):
        return "; it seems to be a compressed file: unpack it first"
    return "; name it .jsonl if each line is an object" if text.lstrip().startswith("{") else ""


def _skip_mark(window: _Buffer, path: Path, report: Report) -> None:
    window.peek()
    if window.text.startswith("\ufeff"):
        window.at = 1
        report(noticed("byte-order-mark", "the file starts with a byte-order mark", where=str(path)))


def _elements(window: _Buffer, path: Path, report: Report) -> Iterator[list[Row]]:
    decoder, count = _Decoder(), 0
    if window.peek() == "]":
        window.at += 1
        return
    while True:
        window.peek()
        values, are_shallow = _batch(window, decoder)
        if values:
            read = (_row_of(value, decoder, path, "element", n, report) for n, value in enumerate(values, count + 1))
            yield values if are_shallow else [row for row in read if row is not None]
            count += len(values)
        window.peek()
        value = _next_value(window, decoder, path)
        count += 1
        if (row := _row_of(value, decoder, path, "element", count, report)) is not None:
            yield [row]
        separator = window.peek()
        window.at += 1
        if separator == "]":
            return
        if separator != ",":
            line, column = window.place(window.at - 1)
            next_text = repr(separator) if separator else "the end of the file"
            raise FileUnreadable(
                str(path), [f"line {line} column {column}: expected ',' or ']' after element {count}, got {next_text}"]
            )


def _batch(window: _Buffer, decoder: _Decoder) -> tuple[list[Any], bool]:
    """The elements that stand complete in the window, and whether all are objects that hold nothing nested deeply.

    None when that is not plain sailing. The text is cut after the last `},` that an object follows. If that is
    inside a string or a nested list, what precedes it is no list of values and the decoder says so; then,
    and for anything odd, elements are read one by one, which knows their places. One attempt per
    filling of the window keeps the time linear.
    """
    cut = _last_end(window) if window.fresh else -1
    window.fresh = False
    if cut < 0:
        return [], False
    text = window.text[window.at : cut + 1]
    try:
        values: list[Any] = json.loads(f"[{text}]")
        inner = _inner(values, text)
        if not _is_plain(text, _key_count(values) if inner is None else sum(map(len, values)) + sum(map(len, inner))):
            values = decoder.decode(f"[{text}]")
    except (ValueError, RecursionError):
        values, inner = [], None
    if decoder.noticed:
        decoder.forget()
        values = []
    window.at = cut + 2 if values else window.at
    return values, inner is not None


def _inner(values: list[Any], text: str) -> list[Row] | None:
    """The objects within these objects, where nothing is nested in them; None where it is, or cannot be told."""
    if set(map(type, values)) != {dict}:
        return None
    braces, brackets = text.count("{") - len(values), text.count("[")
    nested = [value for row in values for value in row.values() if type(value) in _NESTS] if braces or brackets else []
    inner = [value for value in nested if type(value) is dict]
    return inner if (braces, brackets) == (len(inner), len(nested) - len(inner)) else None


def _last_end(window: _Buffer) -> int:
    """The place of the last `}` that ends an element, as far as can be told from what follows it."""
    cut = window.text.rfind("},", window.at)
    for _ in range(_ENDS_TRIED):
        if cut < 0 or window.text[cut + 2 : cut + 200].lstrip(_SPACE).startswith("{"):
            break
        cut = window.text.rfind("},", window.at, cut)
    return cut


def _is_plain(text: str, keys: int) -> bool:
    """Whether no key is written twice: as many were read as there are quotation marks with a colon after them."""
    letters = np.frombuffer(text.encode("utf-8", "surrogatepass"), dtype=np.uint8)
    before = letters[np.flatnonzero(letters == ord(":")) - 1]
    return bool(np.count_nonzero(before == ord('"')) == keys and not (before <= ord(" ")).any())


def _key_count(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value
    return (len(value) if isinstance(value, dict) else 0) + sum(_key_count(v) for v in inner if type(v) in _NESTS)


def _next_value(window: _Buffer, decoder: _Decoder, path: Path) -> Any:
    while True:
        try:
            value, end = decoder.raw_decode(window.text, window.at)
        except json.JSONDecodeError as error:
            decoder.forget()
            if _may_be_cut(error, window.text) and not window.ended:
                window.more()
                continue
            line, column = window.place(error.pos)
            raise FileUnreadable(str(path), [f"line {line} column {column}: {error.msg}"]) from None
        except RecursionError:
            raise FileUnreadable(str(path), ["nested more deeply than any answer file needs"]) from None
        if end == len(window.text) and not window.ended:
            window.more()
            decoder.forget()
            continue
        window.at = end
        return value


def _may_be_cut(error: json.JSONDecodeError, text: str) -> bool:
    """Whether the error may come from the end of the window rather than from the file."""
    return error.pos >= len(text) - _LONGEST_TOKEN or error.msg.startswith("Unterminated string")


def _row_of(value: Any, decoder: _Decoder, path: Path, what: str, number: int, report: Report) -> Row | None:
    if isinstance(value, dict) and not decoder.noticed and not _is_too_deep(value):
        return value
    where = f"{path} {what} {number}"
    if decoder.repeated:
        keys = ", ".join(shown(key) for key in decoder.repeated[:5])
        report(noticed("repeated-key", f"{keys} is written twice; the last one is read", where=where))
    if decoder.longest_digits:
        message = f"a number of {decoder.longest_digits} digits is more than JSON readers convert; kept as text"
        report(noticed("huge-number", message, where=where))
    decoder.forget()
    if not isinstance(value, dict):
        kind = type(value).__name__
        report(noticed("not-an-object", f"expected an object, got {kind}", where=where))
    elif _is_too_deep(value):
        message = f"values are nested more than {_DEEPEST} deep; the element is left out"
        report(noticed("nested-too-deeply", message, where=where))
        return TooDeep(value)
    else:
        return value
    return None


def _is_too_deep(row: Row) -> bool:
    level: list[Any] = [value for value in row.values() if type(value) in _NESTS]
    for _ in range(_DEEPEST):
        if not level:
            return False
        below = (value.values() if isinstance(value, dict) else value for value in level)
        level = [inner for members in below for inner in members if type(inner) in _NESTS]
    return True


def _json_line_rows(path: Path, report: Report) -> Iterator[Row]:
    decoder = _Decoder()
    with open(path, encoding="utf-8-sig") as handle:
        for number, text in enumerate(handle, start=1):
            if not (text := text.strip(_SPACE)):
                continue
            try:
                value, end = decoder.raw_decode(text)
            except json.JSONDecodeError as error:
                decoder.forget()
                raise FileUnreadable(str(path), [f"line {number} column {error.colno}: {error.msg}"]) from None
            except RecursionError:
                raise FileUnreadable(str(path), [f"line {number}: nested too deeply"]) from None
            if end != len(text):
                raise FileUnreadable(str(path), [f"line {number} column {end + 1}: text after the object"])
            if (row := _row_of(value, decoder, path, "line", number, report)) is not None:
                yield row


# --- tables ------------------------------------------------------------------------------------


def _csv_rows(path: Path, report: Report) -> Iterator[Row]:
    with open(path, encoding="utf-8-sig", newline="") as handle:
        reader = csv.DictReader(handle, strict=True)
        try:
            if len(header := reader.fieldnames or []) == 1 and (
                other := next((m for m in _OTHERS if m in header[0]), "")
            ):
                problem = f"its columns are separated by {_OTHERS[other]}; save it with commas instead"
                raise FileUnreadable(str(path), [problem])
            repeated = {name for name in header if header.count(name) > 1}
            if repeated:
                raise FileUnreadable(str(path), [f"column {name!r} appears twice" for name in sorted(repeated)])
            for row in reader:
                if None in row:
                    where = f"{path} line {reader.line_num}"
                    report(noticed("too-many-cells", "more cells than columns", where=where))
                    row.pop(None)
                yield {key: value for key, value in row.items() if value not in (None, "")}
        except csv.Error as error:
            raise FileUnreadable(str(path), [f"line {reader.reader.line_num}: {error}"]) from None


def _parquet_rows(path: Path, _: Report) -> Iterator[Row]:
    import polars as pl

    try:
        yield from frame_rows(pl.read_parquet(path))
    except (pl.exceptions.PolarsError, OSError) as error:
        raise FileUnreadable(str(path), [f"not a Parquet file ({str(error).splitlines()[0]})"]) from None


def frame_rows(frame: pl.DataFrame) -> Iterator[Row]:
    """The rows of a table; a number that is none is an empty cell."""
    import polars as pl

    yield from frame.with_columns(pl.col(pl.Float32, pl.Float64).fill_nan(None)).iter_rows(named=True)
