"""Columns that describe cases: yes or no, one label, or several labels at once.

A column holds several labels where it is a list, or where a text of it has the separator in it (`smoke;blood`). Then
every label counts by itself, and a case with two of them counts for both.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from surgeval.errors import Misuse

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
