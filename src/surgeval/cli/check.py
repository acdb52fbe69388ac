"""`surgeval check`: what the folder of a data set holds, what is missing, and what differs from what was published."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from surgeval.cli import _options as o
from surgeval.cli._console import emit, emit_json, emit_table

if TYPE_CHECKING:
    from surgeval.datasets import Report

_SHOWN = 5


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(name="check")(check_folder)


def check_folder(
    data_set: Annotated[str, typer.Argument(metavar="DATA_SET", help="A name of 'surgeval list datasets'.")],
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The data set as it was downloaded.")],
    task: Annotated[
        list[str] | None, typer.Option("--task", help="Only this task; may be repeated. All of them if left out.")
    ] = None,
    json: o.Json = False,
) -> None:
    """Count what the folder of a data set holds, and list what is missing, broken or differs from what was published.

    The last line says which tasks the folder can be used for, and what the others lack.

    Exit code 0: complete, as published, or notes only. 1: errors or warnings, also where parts are absent. 2: misuse.
    """
    from surgeval.datasets import open_data_set
    from surgeval.schema.findings import Severity

    report = open_data_set(data_set).check(folder, tasks=task)
    if json:
        listed = [finding.as_dict() for finding in report.findings]
        what = {"ok": report.ok, "usable": list(report.usable), "lacking": dict(report.lacking)}
        emit_json({"data_set": data_set, **what, "counts": report.counts.to_dicts(), "findings": listed})
    else:
        _show(report)
    clean = all(finding.severity is Severity.NOTE for finding in report.findings)
    raise typer.Exit(0 if clean else 1)


def _show(report: Report) -> None:
    """The counts, then the findings, errors first and the first few of every code."""
    from surgeval.schema.findings import Severity

    emit_table(report.counts)
    emit("")
    counts = Counter(finding.code for finding in report.findings)
    shown: Counter[str] = Counter()
    for finding in sorted(report.findings, key=lambda one: list(Severity).index(one.severity)):
        shown[finding.code] += 1
        if shown[finding.code] <= _SHOWN:
            emit(str(finding))
        if shown[finding.code] == counts[finding.code] > _SHOWN:
            emit(f"... and {counts[finding.code] - _SHOWN} more {finding.code}; --json lists all")
    emit(report.verdict)
