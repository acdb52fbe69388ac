"""Anything tabular as a polars frame: pandas, Arrow, dictionaries of columns, lists of rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from surgvalid.errors import Misuse


def as_frame(data: Any) -> pl.DataFrame:
    """Anything tabular as a polars frame, without importing the library it came from."""
    if isinstance(data, pl.DataFrame):
        return data
    if isinstance(data, pl.LazyFrame):
        return data.collect()
    try:
        if _is_pandas(data):
            return pl.DataFrame({str(name): _column(data[name]) for name in _distinct(data.columns)}, strict=False)
        if hasattr(data, "__arrow_c_stream__"):
            return pl.DataFrame(data)
        if isinstance(data, Mapping | list):
            return pl.DataFrame(data, strict=False, infer_schema_length=None)
    except (pl.exceptions.PolarsError, TypeError, ValueError) as error:
        raise Misuse(f"this {type(data).__name__} is no table ({first_line(error)})") from None
    raise Misuse(f"expected a table (polars, pandas, Arrow, dictionary of columns), got {type(data).__name__}")


def is_frame(data: Any) -> bool:
    """Whether something is a table of polars, pandas, Arrow or whoever offers Arrow's stream of columns."""
    return isinstance(data, pl.LazyFrame) or hasattr(data, "__arrow_c_stream__") or _is_pandas(data)


def _is_pandas(data: Any) -> bool:
    return hasattr(data, "to_numpy") and hasattr(data, "columns") and hasattr(data, "index")


def _distinct(names: Iterable[Any]) -> list[Any]:
    listed = list(names)
    if repeated := sorted({str(name) for name in listed if listed.count(name) > 1}):
        raise Misuse(f"columns appear twice: {', '.join(repeated)}")
    return listed


def _column(values: Any) -> list[Any]:
    """The values of a pandas column, with None for whatever pandas counts as missing."""
    return [None if absent else value for value, absent in zip(values.tolist(), values.isna().tolist(), strict=True)]


def mixed_kinds(data: Any, columns: Mapping[str, str]) -> list[str]:
    """Identifier columns that hold both text and numbers, where the input still knows the difference."""
    problems = []
    for ours in ("model", "case", "video", "task"):
        kinds: dict[str, tuple[int, Any]] = {}
        values = list(_raw_values(data, columns.get(ours, ours)))
        for row, value in enumerate(values if not set(map(type, values)) <= {str} else (), start=1):
            if isinstance(value, str):
                kinds.setdefault("text", (row, value))
            elif isinstance(value, int | np.integer):
                kinds.setdefault("numbers", (row, value))
        if len(kinds) > 1:
            firsts = ", ".join(f"{kind} first in row {row}: {value!r}" for kind, (row, value) in kinds.items())
            problems.append(f"column {columns.get(ours, ours)!r} mixes text and numbers ({firsts})")
    return problems


def _raw_values(data: Any, name: str) -> Iterable[Any]:
    if _is_pandas(data) and name in data.columns and str(getattr(data[name], "dtype", "")) == "object":
        return _column(data[name])
    if isinstance(data, dict):
        values = data.get(name, ())
        return values if isinstance(values, list | tuple) else ()
    if isinstance(data, list):
        return (row.get(name) for row in data if isinstance(row, dict))
    return ()


def told_apart_by(frame: pl.DataFrame, columns: Sequence[str]) -> bool:
    """Whether no two rows are alike in all of some columns."""
    return bool(frame.select(columns).is_unique().all())


def first_line(error: Exception) -> str:
    """The first line of an error's message; libraries write stories."""
    return (str(error).splitlines() or [type(error).__name__])[0]
