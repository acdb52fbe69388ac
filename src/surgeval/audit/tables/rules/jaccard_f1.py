"""`jaccard-f1`: J = F/(2 - F) for each class, which is convex, so that averages keep F/(2 - F) ≤ J ≤ F.

Jensen's inequality gives the lower bound for every set of weights; the upper one holds class by class.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from surgeval.audit.tables.rows import Array, Bounds, Mask, Rows
from surgeval.audit.tables.vocabulary import Grade, TableFinding

Number = TypeVar("Number", float, Array)


def least_jaccard(f1: Number) -> Number:
    """The Jaccard index of a class with this F1, and the least average one of classes with this average."""
    return f1 / (2 - f1)


def check(rows: Rows) -> Iterator[TableFinding]:
    """Rows whose Jaccard index and F1 cannot belong together."""
    for weight in ("", "weighted_"):
        yield from _check(rows, f"{weight}f1", f"{weight}jaccard")


def _check(rows: Rows, f1: str, jaccard: str) -> Iterator[TableFinding]:
    exact = rows.is_kind("binary")

    def outside(b: Bounds) -> Mask:
        most = b.high[f1].copy()
        most[exact] = least_jaccard(most[exact])
        return (b.high[jaccard] < least_jaccard(b.low[f1]) - 1e-9) | (b.low[jaccard] > most + 1e-9)

    for entry in rows.broken(outside):
        low, high = rows.bounds["rounded"].low[f1][entry], rows.bounds["rounded"].high[f1][entry]
        most = least_jaccard(high) if exact[entry] else high
        span = f"{rows.shown(entry, jaccard, least_jaccard(low))} to {rows.shown(entry, jaccard, most)}"
        law = "J = F1/(2 - F1)" if exact[entry] else "F1/(2 - F1) ≤ J ≤ F1"
        yield rows.finding(
            entry, Grade.IMPOSSIBLE, "jaccard-f1", [f1, jaccard],
            f"{law}: F1 of {rows.span(entry, f1)} gives J of {span}; J is {rows.span(entry, jaccard)}",
            _why(rows, entry, f1),
        )  # fmt: skip


def _why(rows: Rows, entry: int, f1: str) -> str:
    """What follows; averages that were combined afterwards explain an F1 that is too large for its J."""
    weight = f1.removesuffix("f1")
    precision, recall = (rows.value[f"{weight}{name}"][entry] for name in ("precision", "recall"))
    combined = 2 * precision * recall / (precision + recall) if precision + recall > 0 else float("nan")
    if rows.bounds["rounded"].low[f1][entry] <= combined <= rows.bounds["rounded"].high[f1][entry]:
        return "F1 is the harmonic mean of the averaged precision and recall, and no average of the F1 of classes"
    return "the two columns do not average the same classes"
