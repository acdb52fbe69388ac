"""`range`: shares lie between 0 and 1, or between 0 and 100 %."""

from __future__ import annotations

from collections.abc import Iterator

from surgeval.audit.tables.metric_names import METRICS
from surgeval.audit.tables.rows import Rows, entries_where
from surgeval.audit.tables.vocabulary import Grade, TableFinding


def check(rows: Rows) -> Iterator[TableFinding]:
    """Metrics that are printed outside their range."""
    for metric in METRICS:
        for entry in entries_where((rows.value[metric] < 0) | (rows.value[metric] > 1)):
            most = "100" if rows.of(entry).percent[rows.column[metric][entry]] else "1"
            yield rows.finding(
                entry, Grade.IMPOSSIBLE, "range", [metric], f"0 ≤ {metric} ≤ {most} does not hold",
                f"no data give this, if the column is {metric}",
            )  # fmt: skip
