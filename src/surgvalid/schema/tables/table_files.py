"""Tables from files: CSV, TSV, Excel, Parquet, or the `scores.parquet` of a folder, unchecked beyond being tables.

What spreadsheets do to CSV files (semicolons, UTF-16, a heading twice, a cell too many) is told in
words that help, with the line where it happens.

A column of a CSV file is of whole numbers only if every cell is one, and asking a hundred thousand cells what they
might be costs ten times as much as reading them. The first rows are asked instead; where all others are plainly of the
same kinds, the table is what asking all of them would have given. Otherwise all are asked.
"""

from __future__ import annotations

import csv
import io
import mmap
import re
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import polars as pl

from surgvalid.errors import FileUnreadable, TableInvalid, nearest
from surgvalid.schema.documents import is_whole
from surgvalid.schema.rows import not_utf8
from surgvalid.schema.tables.harness_logs import SUFFIXES, read_log
from surgvalid.schema.tables.tabular import first_line
from surgvalid.schema.tables.workbooks import filled_sheets, read_rows_of_workbook

OURS = tuple("model case video metric value status task".split())
"""The columns that score tables have in common."""
ROLE_OPTIONS = {"video": "--unit", "case": "--case", "model": "--model-column", "value": "--score"}
"""How columns of score tables are named on the command line; others by `--columns`."""
ROLES = tuple("capability ood clinical group format procedure center phase latency".split())
"""Further columns that a verb or the report looks for by name."""
_SEPARATORS = {".csv": ",", ".tsv": "\t"}
_KINDS = (*_SEPARATORS, ".xlsx", ".parquet", *SUFFIXES)
_NAMES = {",": "commas", "\t": "tabs", ";": "semicolons"}


def read_frames(
    sources: str | Path | Sequence[str | Path],
    *,
    columns: Mapping[str, str] | None = None,
    roles: Collection[str] = ROLES,
) -> pl.DataFrame:
    """Any table from one or more CSV or Parquet files or `score` folders, stacked, with columns renamed.

    Unlike `read_score_table` it asks for no particular columns, so counts and properties can be read too.

    Raises:
        FileUnreadable: A file is missing or of an unknown kind.
        TableInvalid: A column to rename does not exist, or the tables do not fit together.
    """
    paths = [Path(p) for p in ([sources] if isinstance(sources, str | Path) else sources)]
    where = ", ".join(path.name for path in paths)
    return renamed(stacked([read_frame(path, semicolons=True) for path in paths], where), columns or {}, where, roles)


def read_frame(
    path: Path, texts: Iterable[str] = (), *, sheet: str | None = None, semicolons: bool = False
) -> pl.DataFrame:
    """The rows of a CSV, TSV, Excel or Parquet file, of the `scores.parquet` in a folder or of a harness, unchecked.

    Args:
        path: The file or folder; `BOOK.xlsx#SHEET` for one sheet of a workbook.
        texts: Columns of a CSV that are text even where they look like numbers.
        sheet: Of workbooks whose path names none; may be left out where only one has anything in it.
        semicolons: Whether columns of a CSV may be separated by semicolons, as spreadsheets with decimal commas do;
            numbers with points are texts in such a file.

    Raises:
        FileUnreadable: Missing, of an unknown kind, or a workbook of several sheets none of which was named.
    """
    if (log := read_log(path)) is not None:
        return log.frame
    advice = "; the folder holds no logs of a harness either, and other tables are named file by file"
    path, advice = (path / "scores.parquet", advice) if path.is_dir() else (path, "")
    path, named = split_sheet(path)
    if not path.is_file():
        raise FileUnreadable(str(path), [f"no such file{advice}"])
    suffix = path.suffix.lower()
    try:
        if suffix == ".parquet":
            return pl.read_parquet(_opened(path))
        if suffix in _SEPARATORS:
            return _read_csv(path, _SEPARATORS[suffix], texts, semicolons=semicolons)
        if suffix == ".xlsx":
            return _read_workbook(path, texts, named or sheet)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise FileUnreadable(str(path), [first_line(error)]) from None
    raise FileUnreadable(str(path), [f"unknown kind of file {path.suffix!r}; expected one of {', '.join(_KINDS)}"])


def split_sheet(path: Path) -> tuple[Path, str | None]:
    """The workbook and the sheet of `BOOK.xlsx#SHEET`; any other path as it is, without one.

    Example:
        >>> split_sheet(Path("scores.xlsx#Dice 2025"))[1]
        'Dice 2025'
    """
    match = re.fullmatch(r"(.*\.xlsx)#(.+)", str(path), re.IGNORECASE | re.DOTALL)
    return (Path(match[1]), match[2]) if match and not path.exists() else (path, None)


def stacked(frames: Sequence[pl.DataFrame], where: str) -> pl.DataFrame:
    """All rows of some tables in one; a column that one of them lacks is empty in its rows.

    Raises:
        TableInvalid: A column holds numbers in one and text in another.
    """
    try:
        return pl.concat(frames, how="diagonal_relaxed") if len(frames) > 1 else frames[0]
    except pl.exceptions.PolarsError as error:
        raise TableInvalid(where, [f"the tables do not fit together ({first_line(error)})"]) from None


def renamed(
    frame: pl.DataFrame, columns: Mapping[str, str], where: str, roles: Collection[str] = ROLES
) -> pl.DataFrame:
    """The table under our column names.

    Args:
        frame: The table.
        columns: Our name to theirs.
        where: What to call the table in error messages.
        roles: Names of ours beside those that all score tables have in common.

    Raises:
        TableInvalid: With every column that does not exist, and every name that is none of ours.
    """
    problems = names_unknown(columns, (*OURS, *roles))
    problems += [
        f"column {theirs!r} (for {ours!r}) does not exist; the table has {', '.join(map(repr, frame.columns))}"
        for ours, theirs in columns.items()
        if theirs not in frame.columns
    ]
    if problems:
        raise TableInvalid(where, problems)
    aliases = [pl.col(theirs).alias(ours) for ours, theirs in columns.items()]
    gone = {*columns, *columns.values()}
    return frame.select([*(pl.col(name) for name in frame.columns if name not in gone), *aliases])


def _read_workbook(path: Path, texts: Iterable[str], sheet: str | None) -> pl.DataFrame:
    """One sheet; columns of numbers are numbers."""
    return _of_rows(path, read_rows_of_workbook(path, sheet or _only_sheet(path)), texts)


def _of_rows(path: Path, rows: list[list[str]], texts: Iterable[str]) -> pl.DataFrame:
    """The table in rows of cells, below titles, whose headings may stand in two rows."""
    rows = [row for row in rows if any(row)]
    while len(rows) > 1 and len(list(filter(None, rows[0]))) == 1 < len(list(filter(None, rows[1]))):
        rows = rows[1:]  # a title above the headings
    rows = _with_one_heading(rows)
    header = rows[0] if rows else []
    repeated = sorted({name for name in header if header.count(name) > 1})
    problems = [f"column {name!r} appears twice" for name in repeated if name]
    problems += [] if rows else ["the sheet is empty"]
    problems += _unheaded(header, rows[1:])
    if problems:
        raise FileUnreadable(str(path), problems)
    filled = [row + [""] * (len(header) - len(row)) for row in rows[1:]]
    columns = {name: [row[place] or None for row in filled] for place, name in enumerate(header) if name}
    frame = pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))
    return frame.with_columns(_as_number(frame[name]) for name in frame.columns if name not in set(texts))


def _with_one_heading(rows: list[list[str]]) -> list[list[str]]:
    """Rows whose headings stand in one row, where merged cells above others made them two: `A` above `Dice`, `HD95`."""
    if len(rows) < 3 or any(_is_number(cell) for cell in rows[1]):
        return rows
    width = max(map(len, rows))
    above, below = ([*row, *[""] * (width - len(row))] for row in rows[:2])
    below_nothing = any(under and not over for over, under in zip(above, below, strict=True))
    whole = all(below) or any(over and not under for over, under in zip(above, below, strict=True))
    if not below_nothing or not whole:
        return rows
    heading, last = [], ""
    for over, under in zip(above, below, strict=True):
        last = over or last
        heading.append(f"{last} {under}".strip() if under else over)
    return [heading, *rows[2:]]


def _is_number(cell: str) -> bool:
    return re.fullmatch(r"[+-]?\d+([.,]\d+)?([eE][+-]?\d+)?", cell) is not None


def _only_sheet(path: Path) -> str | None:
    filled = filled_sheets(path)
    if len(filled) > 1:
        names = ", ".join(map(repr, filled))
        example = shlex.quote(f"{path}#{filled[0]}")
        message = f"holds {len(filled)} sheets ({names}): name one of them behind the file, such as {example}"
        raise FileUnreadable(str(path), [message])
    return filled[0] if filled else None


def _unheaded(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns with cells but no heading, which would be lost."""
    problems = []
    for place in range(max(map(len, rows), default=0)):
        held = sum(1 for row in rows if place < len(row) and row[place])
        if held and (place >= len(header) or not header[place]):
            problems.append(
                f"column {_letters(place)} holds {held} cell{'s' if held > 1 else ''} below no heading; "
                "give every column its own, also where headings are merged"
            )
    return problems


def _letters(place: int) -> str:
    return (_letters(place // 26 - 1) if place >= 26 else "") + chr(ord("A") + place % 26)


def _as_number(column: pl.Series) -> pl.Series:
    for kind in (pl.Int64, pl.Float64):
        numbers = column.cast(kind, strict=False)
        if numbers.null_count() == column.null_count() < len(column):
            return numbers
    return column


def names_unknown(columns: Mapping[str, str], known: Collection[str]) -> list[str]:
    """What is wrong with the names of ours in a renaming: a column under a name that no verb knows would be lost."""
    return [
        f"columns: {ours!r} (for {theirs!r}) is none of our names{_meant(ours, known)} They are {', '.join(known)}; "
        "a column that is none of these keeps its own name"
        for ours, theirs in columns.items()
        if ours not in known
    ]


def _meant(name: str, known: Collection[str]) -> str:
    near = nearest(name.casefold(), known)
    return f"; did you mean {near!r}?" if near else "."


def _read_csv(path: Path, separator: str, texts: Iterable[str], *, semicolons: bool) -> pl.DataFrame:
    """The table in a CSV file; in the encoding of Western spreadsheets too, where those may have written it."""
    try:
        return _read_decoded(path, _opened(path), separator, texts, semicolons=semicolons)
    except FileUnreadable:
        content = path.read_bytes()
        try:
            content.decode("utf-8")
        except UnicodeDecodeError:
            with suppress(UnicodeDecodeError):
                if semicolons and b"\x00" not in content:
                    recoded = content.decode("cp1252").encode("utf-8")
                    return _read_decoded(path, recoded, separator, texts, semicolons=semicolons)
        raise


def _read_decoded(
    path: Path, source: Path | bytes, separator: str, texts: Iterable[str], *, semicolons: bool
) -> pl.DataFrame:
    try:
        header = _header(source, separator)
        if semicolons and len(by_semicolons := _header(source, ";")) > len(header):  # a title may hold a comma
            separator, header = ";", by_semicolons
    except (UnicodeDecodeError, csv.Error):
        raise FileUnreadable(str(path), [not_utf8(path)]) from None
    if len(set(header)) < len(header):  # as below a title, or below merged headings
        text = (source if isinstance(source, bytes) else source.read_bytes()).decode("utf-8-sig")
        cells = [[cell.strip() for cell in row] for row in csv.reader(io.StringIO(text), delimiter=separator)]
        return _of_rows(path, cells, texts)
    if len(header) == 1 and (other := next((mark for mark in _NAMES if mark in header[0]), None)):
        theirs, wanted = _NAMES[other], _NAMES[separator]
        raise FileUnreadable(str(path), [f"its columns are separated by {theirs}; save it with {wanted} instead"])
    try:
        frame = read_csv(source, separator, texts)  # an identifier 007 stays 007
        if separator != ";":
            return frame
        points = [name for name, kind in frame.schema.items() if kind.is_float()]  # which may stand between thousands
        return read_csv(source, separator, [*texts, *points])
    except pl.exceptions.PolarsError as error:
        raise FileUnreadable(str(path), [_what_is_wrong(path, separator, len(header), error)]) from None


def _opened(path: Path) -> Path | bytes:
    """The path, or the bytes there where its name is in an encoding that polars cannot open."""
    return path if is_whole(str(path)) else path.read_bytes()


def _header(source: Path | bytes, separator: str) -> list[str]:
    opened = io.BytesIO(source) if isinstance(source, bytes) else source.open("rb")
    with opened, io.TextIOWrapper(opened, encoding="utf-8-sig", newline="") as handle:
        return next(csv.reader(handle, delimiter=separator), [])


def _what_is_wrong(path: Path, separator: str, width: int, error: Exception) -> str:
    """Where a row has more cells than there are columns, which is the usual fault; else what the reader said."""
    try:
        with open(path, encoding="utf-8-sig", newline="") as handle:
            reader = csv.reader(handle, delimiter=separator)
            for row in reader:
                if len(row) > width > 0:
                    return f"line {reader.line_num} has {len(row)} cells, but there are {width} columns"
    except UnicodeDecodeError:
        return not_utf8(path)
    except csv.Error:
        return first_line(error)
    return first_line(error)


FIRST_ROWS = 1_000
"""Tables of fewer rows than half of these are asked cell by cell."""
_PLAIN: dict[pl.DataType, str] = {pl.Int64(): r"^-?\d{1,18}$", pl.Float64(): r"^-?\d{1,15}(\.\d+)?([eE]-?\d+)?$"}
"""Numbers that are nothing else; spaces, signs and names such as NaN need a second test."""


def read_csv(source: Path | bytes, separator: str, texts: Iterable[str] = ()) -> pl.DataFrame:
    """The table in a CSV file.

    Args:
        source: Where it is, or its bytes.
        separator: Between cells.
        texts: Columns that are text whatever is in them.

    Raises:
        polars.exceptions.PolarsError: What is no table.
    """
    as_text = dict.fromkeys(texts, pl.String)
    read = partial(pl.read_csv, source, separator=separator)
    frame = None
    with suppress(pl.exceptions.PolarsError):  # which asking all rows raises again, if it is one
        frame = read(infer_schema_length=FIRST_ROWS, schema_overrides=as_text)
    if frame is None or not _certain(frame, source, separator, as_text):
        return read(infer_schema_length=None, schema_overrides=as_text)
    return frame


def _certain(frame: pl.DataFrame, source: Path | bytes, separator: str, as_text: Iterable[str]) -> bool:
    """Whether no cell can change the kinds that the first rows have."""
    half = FIRST_ROWS // 2
    if frame.height < half:
        return True
    open_kinds = {name: kind for name, kind in frame.schema.items() if name not in as_text}
    numbers = [name for name, kind in open_kinds.items() if kind in _PLAIN]
    others = [name for name in open_kinds if name not in numbers]
    if any(frame.schema[name] != pl.String or frame[name].head(half).null_count() == half for name in others):
        return False
    if not numbers:
        return True
    if _has_quotes(source):  # to some versions of polars a quoted number is text
        return False
    cells = pl.read_csv(source, separator=separator, columns=numbers, infer_schema=False)
    return all(bool(cells[name].str.contains(_PLAIN[open_kinds[name]]).all()) for name in numbers)


def _has_quotes(source: Path | bytes) -> bool:
    if isinstance(source, bytes):
        return b'"' in source
    with open(source, "rb") as handle, mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ) as whole:
        return whole.find(b'"') >= 0
