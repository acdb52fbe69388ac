"""Tables of `audit tables`."""

from __future__ import annotations

from surgeval.results.tables.table import Table, text, whole, yes_no

FINDINGS = Table(
    "findings", "One thing noticed about a printed table, the worst first.",
    severity=text("impossible, inconsistent, suspicious or note"), rule=text, table=text,
    row=text("empty where no single row is meant"), column=text("headings; empty where no column is meant"),
    printed=text("what stands there"), arithmetic=text("what does not hold, with its numbers"),
    meaning=text("what follows"),
)  # fmt: skip
COLUMNS = Table(
    "columns", "What one column of a printed table was taken for.",
    table=text, column=text("headings, the outermost first"), metric=text("empty where it is none that is known"),
    percent=yes_no("whether it is out of 100"), kind=text("of classification, as it was said"),
    classes=whole("as it was said"), cases=whole("as it was said"),
)  # fmt: skip
CELLS = Table(
    "cells", "One cell of a printed table, as it was read; the file can be audited again.", "unread",
    table=text, row=text, column=text, value=text("as printed"), bold=yes_no,
)  # fmt: skip
AUDIT = (FINDINGS, COLUMNS, CELLS)
