"""Tables as people read them: numbers to a few digits, text on one line, and the form a notebook shows.

Everything a model or a file said is escaped; a notebook shows a name with tags in it as that name.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import polars as pl

NOTHING = "–"
"""Stands where there is no value."""
NOTEBOOK_ROWS = 30
LONGEST_TEXT = 400
_LARGE = 100_000


P_VALUES = frozenset("p_value p_holm p_bh p_adjusted p_corrected smallest_p gain_p confidence_set_p".split())
"""Columns of published tables that hold p-values; a contract test keeps the list whole."""
SMALLEST_P = 0.001
"""Below, a p-value is shown as smaller than this: no test here is exact enough for more digits to mean anything."""


def p_text(p: float | None) -> str:
    """A p-value as people read it; never 0, which no test can give.

    Example:
        >>> p_text(0.0312), p_text(1e-12), p_text(None)
        ('0.031', '<0.001', '–')
    """
    if p is None or math.isnan(p):
        return NOTHING
    return f"<{SMALLEST_P:g}" if p < SMALLEST_P else f"{p:.3f}"


def p_phrase(p: float | None) -> str:
    """A p-value in a sentence.

    Example:
        >>> p_phrase(0.0312), p_phrase(1e-12)
        ('p = 0.031', 'p < 0.001')
    """
    text = p_text(p)
    return f"p < {text[1:]}" if text.startswith("<") else f"p = {text}"


_NUMBERS = "no one two three four five six seven eight nine ten eleven twelve".split()


def spelled(number: int) -> str:
    """A small number as a word.

    Example:
        >>> spelled(6), spelled(40)
        ('six', '40')
    """
    return _NUMBERS[number] if number < len(_NUMBERS) else f"{number:,}"


def shown_column(column: pl.Series, *, digits: int = 3) -> list[str]:
    """The values of a column as text; a column of whole numbers stays one, whatever its type.

    Example:
        >>> shown_column(pl.Series([1.0, 2.0, None])), shown_column(pl.Series([0.12345, 0.00001]))
        (['1', '2', '–'], ['0.123', '1.0e-05'])
        >>> shown_column(pl.Series("p_value", [0.5, 0.00001]))
        ['0.500', '<0.001']
    """
    if column.name in P_VALUES and column.dtype.is_float():
        return [p_text(value) for value in column]
    if column.dtype.is_float():
        known = column.drop_nulls().drop_nans()
        whole = len(known) > 0 and bool((known.is_finite() & (known == known.round(0))).all())
        return [_number(value, 0 if whole else digits) for value in column]
    return [_text(value) for value in column]


def _number(value: float | None, digits: int) -> str:
    if value is None or math.isnan(value):
        return NOTHING
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if abs(value) >= _LARGE:
        return f"{value:,.0f}"
    if value != 0 and abs(value) < 0.5 * 10**-digits and digits:
        return f"{value:.1e}"
    return f"{value:.{digits}f}"


def _text(value: Any) -> str:
    if value is None:
        return NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}" if abs(value) >= _LARGE else str(value)
    if isinstance(value, pl.Series | list | tuple):
        return ", ".join(_text(item) for item in value)
    text = " ".join(str(value).split())
    return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1] + "…"


def notebook_table(frame: pl.DataFrame, *, title: str, prose: str = "", warnings: Iterable[str] = ()) -> str:
    """The HTML that a notebook shows for a result: a heading, the table, what was done, what to beware of.

    Example:
        >>> "<td>&lt;b&gt;</td>" in notebook_table(pl.DataFrame({"model": ["<b>"]}), title="Places")
        True
    """
    parts = [f"<p><strong>{escape(title)}</strong></p>", _table(frame.head(NOTEBOOK_ROWS))]
    if frame.height > NOTEBOOK_ROWS:
        parts.append(f"<p>{NOTEBOOK_ROWS} of {frame.height:,} rows</p>")
    if prose:
        parts.append(f"<p>{escape(prose)}</p>")
    listed = [f"<li>{escape(str(warning))}</li>" for warning in warnings]
    if listed:
        parts.append(f"<details><summary>{len(listed)} to know</summary><ul>{''.join(listed)}</ul></details>")
    return f'<div class="surgvalid">{"".join(parts)}</div>'


def _table(frame: pl.DataFrame) -> str:
    columns: Sequence[Sequence[str]] = [shown_column(frame[name]) for name in frame.columns]
    head = "".join(f"<th>{escape(name)}</th>" for name in frame.columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in zip(*columns, strict=True)
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
