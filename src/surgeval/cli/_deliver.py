"""How every verb hands over its result: written, printed as JSON, or shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from surgeval.cli._console import emit, emit_json, emit_table, talk
from surgeval.results.manifest import write_manifest
from surgeval.results.result import Result
from surgeval.schema.findings import Severity

_SPOKEN = {Severity.ERROR: "Error", Severity.WARNING: "Warning", Severity.NOTE: "note"}


def deliver(
    result: Result, *, out: Path | None, as_json: bool, force: bool = False, to_file: bool = False, data: Any = None
) -> None:
    """Write a result where wanted, then print it as JSON or show it.

    Args:
        result: What was found.
        out: The folder to write, or with `to_file` the file of its table.
        as_json: Print JSON instead of tables.
        force: Replace an earlier result.
        to_file: Write only the main table, with its manifest beside it.
        data: What to print as JSON, where that is not the whole result.
    """
    if out is not None:
        if to_file:
            written = result.to_file(out)
            write_manifest(manifest_path(out), result.manifest({out.name: written}))
        else:
            result.to_dir(out, force=force)
        talk(f"written to {out}")
    if as_json:
        emit_json(result.as_dict() if data is None else data)
    elif not (to_file and out is not None):
        show(result)
    for finding in result.findings:
        talk(f"{_SPOKEN[finding.severity]}: {finding.text}")


def show(result: Result) -> None:
    """Print the tables of a result and the paragraph that says what was done."""
    for title, frame in result.screen().items():
        emit_table(frame, title=title)
        emit("")
    if result.prose:
        emit(result.prose)


def manifest_path(out: Path) -> Path:
    """Where the manifest of a result file lies: beside it."""
    return out.with_name(f"{out.stem}.manifest.json")
