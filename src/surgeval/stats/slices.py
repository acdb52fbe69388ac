"""Slices of a score matrix: one for every combination of the columns asked for.

A column that holds several labels per case (`smoke;blood`, or lists) is split as in `strata`: one slice per label, a
case with two labels lies in both, and cases without any make a slice with an empty label.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from surgeval.errors import Misuse, TableInvalid, UnknownName
from surgeval.schema.findings import Finding
from surgeval.schema.score_table import ScoreMatrix
from surgeval.schema.statistic_rules import remark
from surgeval.stats.labels import SEPARATOR, holds_several, label_masks, labels_of

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


def slices(matrix: ScoreMatrix, by: Sequence[str] = (), *, separator: str = SEPARATOR) -> Iterator[Slice]:
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
    rows = matrix.cases.select(by).with_row_index("__row__")
    for column in by:
        if holds_several(rows[column], separator):
            labels: list[list[str | None]] = [
                [*sorted(set(labels))] or [None] for labels in labels_of(rows[column], separator)
            ]
            rows = rows.with_columns(pl.Series(column, labels, dtype=pl.List(pl.String))).explode(column)
    for row in rows.group_by(by).agg(pl.col("__row__")).sort(by, nulls_last=True).iter_rows(named=True):
        chosen = np.sort(np.asarray(row.pop("__row__"), dtype=np.int64))
        yield Slice(row, matrix.where(chosen))


def split_notes(cases: pl.DataFrame, by: Sequence[str], *, separator: str = SEPARATOR) -> list[Finding]:
    """What is said of every column that was split into labels."""
    notes = []
    for name in (name for name in ([by] if isinstance(by, str) else by) if holds_several(cases[name], separator)):
        masks = label_masks(cases[name], separator)
        held = np.sum(list(masks.values()), axis=0) if masks else np.zeros(cases.height)
        text = (
            f"Column {name!r} holds several labels per case and was split: {len(masks)} strata that overlap "
            f"({int((held > 1).sum()):,} cases lie in several, {int((held == 0).sum()):,} in none)."
        )
        notes.append(remark("labels-split", text))
    return notes
