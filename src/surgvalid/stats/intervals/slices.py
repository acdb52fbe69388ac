"""Slices of a score matrix: one for every combination of the columns asked for; and what such columns hold.

A column that holds several labels per case (`smoke;blood`, or lists) is split as in `strata`: one slice per label, a
case with two labels lies in both, and cases without any make a slice with an empty label.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from surgvalid.errors import Misuse, TableInvalid, UnknownName
from surgvalid.schema.findings import Finding
from surgvalid.schema.statistic_rules import remark
from surgvalid.schema.tables.read_rows import thirds
from surgvalid.schema.tables.score_table import ScoreMatrix

SEPARATOR = ";"


def is_flag(column: pl.Series) -> bool:
    """Whether a column says yes or no: booleans, or nothing but zeros and ones."""
    return column.dtype == pl.Boolean or (
        column.dtype.is_numeric() and set(column.drop_nulls().unique().to_list()) <= {0, 1}
    )


def holds_several(column: pl.Series, separator: str = SEPARATOR) -> bool:
    """Whether some case has several labels in this column, or could have.

    Example:
        >>> holds_several(pl.Series(["smoke", "smoke;blood"])), holds_several(pl.Series(["smoke", "blood"]))
        (True, False)
    """
    if isinstance(column.dtype, pl.List | pl.Array):
        return True
    texts = column.cast(pl.String) if column.dtype in (pl.Categorical, pl.Enum) else column
    return texts.dtype == pl.String and bool(texts.str.contains(separator, literal=True).fill_null(False).any())


def labels_of(column: pl.Series, separator: str = SEPARATOR) -> list[list[str]]:
    """The labels of each case, whether the column holds lists or text.

    Example:
        >>> labels_of(pl.Series(["a; b", None, ""]), ";")
        [['a', 'b'], [], []]

    Raises:
        Misuse: The column holds neither, or the separator is empty.
    """
    if not separator:
        raise Misuse("separator: give the sign that stands between labels, such as ';'")
    if isinstance(column.dtype, pl.List | pl.Array):
        return [[str(label) for label in (labels or []) if label is not None] for labels in column.to_list()]
    if column.dtype not in (pl.String, pl.Null, pl.Categorical, pl.Enum):
        raise Misuse(f"column {column.name!r} holds {column.dtype}, expected text or lists of labels")
    return [[label.strip() for label in (text or "").split(separator) if label.strip()] for text in column.to_list()]


def label_masks(column: pl.Series, separator: str = SEPARATOR) -> dict[str, np.ndarray]:
    """Which cases carry each label, the labels in alphabetical order.

    Example:
        >>> {label: mask.tolist() for label, mask in label_masks(pl.Series(["b;a", "b"])).items()}
        {'a': [True, False], 'b': [True, True]}
    """
    labels = [set(one) for one in labels_of(column, separator)]
    return {label: np.array([label in one for one in labels]) for label in sorted(set().union(*labels))}


def levels_of_column(cases: pl.DataFrame, name: str) -> pl.Series:
    """The conditions that a column divides cases into: a quantity by thirds of the units, anything else by its values.

    Example:
        >>> cases = pl.DataFrame({"video": list("abcdefg"), "age": [30, 40, 50, 60, 70, 80, 90]})
        >>> levels_of_column(cases, "age").unique().sort().to_list()
        ['30 to 50', '60 to 70', '80 to 90']
    """
    cut = thirds(cases[name], cases["video"]) if "video" in cases.columns else None
    return cases[name] if cut is None else cut


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
    rows = pl.DataFrame([levels_of_column(matrix.cases, name) for name in by]).with_row_index("__row__")
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
    by = [by] if isinstance(by, str) else by
    cut = [name for name in by if "video" in cases.columns and thirds(cases[name], cases["video"]) is not None]
    text = "Column {!r} holds amounts, which are no conditions: it was cut into thirds of the units."
    notes = [remark("numbers-in-thirds", text.format(name)) for name in cut]
    for name in (name for name in by if holds_several(cases[name], separator)):
        masks = label_masks(cases[name], separator)
        held = np.sum(list(masks.values()), axis=0) if masks else np.zeros(cases.height)
        text = (
            f"Column {name!r} holds several labels per case and was split: {len(masks)} strata that overlap "
            f"({int((held > 1).sum()):,} cases lie in several, {int((held == 0).sum()):,} in none)."
        )
        notes.append(remark("labels-split", text))
    return notes
