"""Slices of a score matrix: one for every combination of the columns asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from surgeval.errors import UnknownName
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


def slices(matrix: ScoreMatrix, by: Sequence[str] = ()) -> Iterator[Slice]:
    """Every slice in the order of its labels; the whole matrix when no column is named.

    Raises:
        UnknownName: A column that the cases do not have.
    """
    by = [by] if isinstance(by, str) else list(by)
    for column in by:
        if column not in matrix.cases.columns:
            raise UnknownName("column", column, matrix.cases.columns)
    if not by:
        yield Slice({}, matrix)
        return
    groups = matrix.cases.select(by).with_row_index("__row__").group_by(by).agg(pl.col("__row__"))
    for row in groups.sort(by, nulls_last=True).iter_rows(named=True):
        rows = np.sort(np.asarray(row.pop("__row__"), dtype=np.int64))
        yield Slice(row, matrix.where(rows))
