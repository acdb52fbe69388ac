"""`f1-harmonic`: averaged F1 is at most the harmonic mean of averaged precision and recall.

The harmonic mean is concave in both, so the average of the classes' F1 cannot pass that of the averages (Jensen). It
does not hold where the columns average different classes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from surgeval.audit.tables.rows import Array, Bounds, Mask, Rows
from surgeval.audit.tables.vocabulary import Grade, TableFinding

Number = TypeVar("Number", float, Array)


def harmonic(precision: Number, recall: Number) -> Number:
    """The harmonic mean; NaN where both are 0."""
    return 2 * precision * recall / (precision + recall)


def check(rows: Rows) -> Iterator[TableFinding]:
    """Rows whose F1 is above what precision and recall allow; where there is one class, below it too."""
    for weight in ("", "weighted_"):
        yield from _check(rows, *(f"{weight}{name}" for name in ("f1", "precision", "recall")))


def _check(rows: Rows, f1: str, precision: str, recall: str) -> Iterator[TableFinding]:
    exact = rows.is_kind("binary")

    def outside(b: Bounds) -> Mask:
        above = b.low[f1] > harmonic(b.high[precision], b.high[recall]) + 1e-9
        return above | (exact & (b.high[f1] < harmonic(b.low[precision], b.low[recall]) - 1e-9))

    for entry in rows.broken(outside):
        most = harmonic(*(rows.bounds["rounded"].high[name][entry] for name in (precision, recall)))
        least = harmonic(*(rows.bounds["rounded"].low[name][entry] for name in (precision, recall)))
        law = "F1 = 2PR/(P + R)" if exact[entry] else "F1 ≤ 2PR/(P + R)"
        reach = f"{rows.shown(entry, f1, least)} to " if exact[entry] else "at most "
        yield rows.finding(
            entry, Grade.IMPOSSIBLE, "f1-harmonic", [f1, precision, recall],
            f"{law}: {reach}{rows.shown(entry, f1, most)} from P of {rows.span(entry, precision)} and R of "
            f"{rows.span(entry, recall)}; F1 is {rows.span(entry, f1)}",
            "the columns do not average the same classes, or one of them is wrong",
        )  # fmt: skip
