"""`jaccard-bound`: J is at most precision and at most recall, class by class and so on average."""

from __future__ import annotations

from collections.abc import Iterator

from surgeval.audit.tables.rows import Rows
from surgeval.audit.tables.vocabulary import Grade, TableFinding


def check(rows: Rows) -> Iterator[TableFinding]:
    """Rows whose Jaccard index is above precision or recall."""
    for weight in ("", "weighted_"):
        for bound in (f"{weight}precision", f"{weight}recall"):
            yield from _check(rows, f"{weight}jaccard", bound)


def _check(rows: Rows, jaccard: str, bound: str) -> Iterator[TableFinding]:
    for entry in rows.broken(lambda b: b.low[jaccard] > b.high[bound]):
        name = bound.replace("_", " ")
        yield rows.finding(
            entry, Grade.IMPOSSIBLE, "jaccard-bound", [jaccard, bound],
            f"J = TP/(TP + FP + FN) ≤ {name}; J is {rows.span(entry, jaccard)}, {name} {rows.span(entry, bound)}",
            "the two columns do not average the same classes, or one of them is wrong",
        )  # fmt: skip
