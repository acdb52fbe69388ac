"""Slices of a score matrix: one for every combination of the columns asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from surgeval.errors import Misuse, TableInvalid, UnknownName
from surgeval.schema.score_table import ScoreMatrix

OVERALL = "overall"


class Slice(NamedTuple):
    """Some cases and what they have in common."""

    labels: dict[str, Any]
    matrix: ScoreMatrix

    @property
    def name(self) -> str:
        """The slice in words; it also names its random stream."""
        return ", ".join(f"{key}={value}" for key, value in self.labels.items()) or OVERALL


def labelled(labels: Mapping[str, Any], row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of a result behind the labels of its slice.

    Example:
        >>> labelled({"phase": "Packing"}, {"value": 0.5})
        {'phase': 'Packing', 'value': 0.5}

    Raises:
        Misuse: A label has the name of a column of the result, which would be lost.
    """
    if clash := [name for name in labels if name in row]:
        names = ", ".join(map(repr, clash))
        raise Misuse(f"by: the result has a column {names} of its own; give yours another name in the table")
    return {**labels, **row}


def check_distinct(by: Sequence[str]) -> None:
    """Refuse a column that is named more than once.

    Raises:
        Misuse: With every such column.
    """
    if repeated := sorted({column for column in by if list(by).count(column) > 1}):
        raise Misuse(f"by: column {', '.join(map(repr, repeated))} is named twice; name each column once")


def check_filled(matrix: ScoreMatrix, by: Sequence[str]) -> None:
    """Refuse columns that say nothing about any case of the metric; a table without strata would look like a result.

    Raises:
        TableInvalid: With every such column.
    """
    empty = [name for name in by if name in matrix.cases.columns and matrix.cases[name].is_null().all()]
    if empty:
        metric = matrix.metric.name
        problems = [f"column {name!r} is empty in all {len(matrix.values)} rows of metric {metric!r}" for name in empty]
        raise TableInvalid("score table", problems)


def slices(matrix: ScoreMatrix, by: Sequence[str] = ()) -> Iterator[Slice]:
    """Every slice in the order of its labels; the whole matrix when no column is named.

    Raises:
        UnknownName: A column that the cases do not have.
        Misuse: A column named twice.
        TableInvalid: A column that is empty for every case.
    """
    by = [by] if isinstance(by, str) else list(by)
    check_distinct(by)
    for column in by:
        if column not in matrix.cases.columns:
            raise UnknownName("column", column, matrix.cases.columns)
    check_filled(matrix, by)
    if not by:
        yield Slice({}, matrix)
        return
    groups = matrix.cases.select(by).with_row_index("__row__").group_by(by).agg(pl.col("__row__"))
    for row in groups.sort(by, nulls_last=True).iter_rows(named=True):
        rows = np.sort(np.asarray(row.pop("__row__"), dtype=np.int64))
        yield Slice(row, matrix.where(rows))
