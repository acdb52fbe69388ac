"""Tables from files: CSV, TSV, Excel, Parquet, or the `scores.parquet` of a folder, unchecked beyond being tables.

What spreadsheets do to CSV files (semicolons, UTF-16, a heading twice, a cell too many) is told in
words that help, with the line where it happens.
"""

from __future__ import annotations

import csv
import re
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

import polars as pl

from surgeval.errors import FileUnreadable, TableInvalid, nearest
from surgeval.schema.csv_kinds import read_csv
from surgeval.schema.documents import is_whole
from surgeval.schema.rows import not_utf8
from surgeval.schema.tabular import first_line
from surgeval.schema.workbooks import filled_sheets, read_rows_of_workbook

OURS = ("model", "case", "video", "metric", "value", "status", "task")
"""The columns that score tables have in common."""
ROLES = ("capability", "ood", "clinical", "group", "format", "procedure", "center", "phase", "latency")
"""Further columns that a verb or the report looks for by name."""
_SEPARATORS = {".csv": ",", ".tsv": "\t"}
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
    return renamed(stacked([read_frame(path) for path in paths], where), columns or {}, where, roles)


def read_frame(
    path: Path, texts: Iterable[str] = (), *, sheet: str | None = None, semicolons: bool = False
) -> pl.DataFrame:
    """The rows of a CSV, TSV, Excel or Parquet file, or of the `scores.parquet` in a folder, unchecked.

    Args:
        path: The file or folder; `BOOK.xlsx#SHEET` for one sheet of a workbook.
        texts: Columns of a CSV that are text even where they look like numbers.
        sheet: Of workbooks whose path names none; may be left out where only one has anything in it.
        semicolons: Whether columns of a CSV may be separated by semicolons, as spreadsheets with decimal commas do;
            numbers with points are texts in such a file.

    Raises:
        FileUnreadable: Missing, of an unknown kind, or a workbook of several sheets none of which was named.
    """
    if path.is_dir():
        path = path / "scores.parquet"
    path, named = split_sheet(path)
    if not path.is_file():
        raise FileUnreadable(str(path), ["no such file"])
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
    raise FileUnreadable(str(path), [f"unknown kind of file {path.suffix!r}; expected .csv, .tsv, .xlsx or .parquet"])


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
    """One sheet, its first row that is no title as the heading; columns of numbers are numbers."""
    rows = [row for row in read_rows_of_workbook(path, sheet or _only_sheet(path)) if any(row)]
    while len(rows) > 1 and len(list(filter(None, rows[0]))) == 1 < len(list(filter(None, rows[1]))):
        rows = rows[1:]  # a title above the headings
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
    try:
        header = _header(path, separator)
        if semicolons and len(header) == 1 and ";" in header[0]:
            separator, header = ";", _header(path, ";")
    except (UnicodeDecodeError, csv.Error):
        raise FileUnreadable(str(path), [not_utf8(path)]) from None
    if repeated := sorted({name for name in header if header.count(name) > 1}):
        raise FileUnreadable(str(path), [f"column {name!r} appears twice" for name in repeated])
    if len(header) == 1 and (other := next((mark for mark in _NAMES if mark in header[0]), None)):
        theirs, wanted = _NAMES[other], _NAMES[separator]
        raise FileUnreadable(str(path), [f"its columns are separated by {theirs}; save it with {wanted} instead"])
    try:
        frame = read_csv(_opened(path), separator, texts)  # an identifier 007 stays 007
        if separator != ";":
            return frame
        points = [name for name, kind in frame.schema.items() if kind.is_float()]  # which may stand between thousands
        return read_csv(_opened(path), separator, [*texts, *points])
    except pl.exceptions.PolarsError as error:
        raise FileUnreadable(str(path), [_what_is_wrong(path, separator, len(header), error)]) from None


def _opened(path: Path) -> Path | bytes:
    """The path, or the bytes there where its name is in an encoding that polars cannot open."""
    return path if is_whole(str(path)) else path.read_bytes()


def _header(path: Path, separator: str) -> list[str]:
    with open(path, encoding="utf-8-sig", newline="") as handle:
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
