"""CSV tables whose columns have the kind that all their cells allow, found without looking at every cell twice.

A column is of whole numbers only if every cell is one, and asking a hundred thousand cells what they might be costs
ten times as much as reading them. The first rows are asked instead; where all others are plainly of the same kinds,
the table is what asking all of them would have given. Where there is any doubt, all are asked.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path

import polars as pl

FIRST_ROWS = 1_000
"""Tables of fewer rows than half of these are asked cell by cell."""
_PLAIN: dict[pl.DataType, str] = {pl.Int64(): r"^-?\d{1,18}$", pl.Float64(): r"^-?\d{1,15}(\.\d+)?([eE]-?\d+)?$"}
"""Numbers that are nothing else; spaces, signs and names such as NaN are doubt."""


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
