"""`accuracy-recall`: in multi-class tables accuracy is the recall of the classes, weighted by their sizes.

The right answers of class k are its recall times its cases, so their sum over all cases is both.
"""

from __future__ import annotations

from collections.abc import Iterator

from surgeval.audit.tables.rows import Rows
from surgeval.audit.tables.vocabulary import Grade, TableFinding

_A, _R = "accuracy", "weighted_recall"


def check(rows: Rows) -> Iterator[TableFinding]:
    """Multi-class rows whose accuracy is not their weighted recall."""
    broken = rows.broken(lambda b: ((b.high[_A] < b.low[_R]) | (b.low[_A] > b.high[_R])) & rows.is_kind("multi-class"))
    for entry in broken:
        yield rows.finding(
            entry, Grade.INCONSISTENT, "accuracy-recall", [_A, _R],
            f"accuracy = Σ support × recall / Σ support = weighted recall; {rows.span(entry, _A)} and "
            f"{rows.span(entry, _R)} do not meet",
            "the two columns were not computed from the same predictions, cases or classes",
        )  # fmt: skip
