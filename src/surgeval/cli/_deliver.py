"""How every verb hands over its result: written, printed as JSON, or shown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from surgeval.cli._console import OTHER_FILES, TABLE_FILES, emit, emit_json, emit_table, new_folder, talk
from surgeval.errors import Misuse, WouldOverwrite
from surgeval.results.folder import check_inputs
from surgeval.results.manifest import write_manifest
from surgeval.results.request import files_of
from surgeval.results.result import Result
from surgeval.schema.findings import Severity

_SPOKEN = {Severity.ERROR: "Error", Severity.WARNING: "Warning", Severity.NOTE: "note"}


def check_out(out: Path | None, *, force: bool, inputs: Sequence[Path] = ()) -> None:
    """Refuse a place for a table or a folder that is taken, is read, or cannot be written, before any work is done.

    Raises:
        WouldOverwrite: It exists and `force` is off.
        Misuse: A file that is neither `.csv` nor `.parquet`, no such folder, or one of `inputs`.
    """
    if out is None:
        return
    if out.suffix.lower() in OTHER_FILES:
        raise Misuse(f"--out {out}: unknown kind of file {out.suffix!r}; expected .csv, .parquet or a folder")
    if out.suffix.lower() not in TABLE_FILES:
        new_folder(out, force=force)
        check_inputs(out, [file for path in inputs for file in files_of(path)])
        return
    if not out.parent.is_dir():
        raise Misuse(f"--out {out}: folder {out.parent} does not exist")
    if out.is_dir():
        raise Misuse(f"--out {out}: is a folder; name a file in it")
    if out.resolve() in [file.resolve() for path in inputs for file in files_of(path)]:
        raise Misuse(f"--out {out}: is read as a table too and would be lost; choose another place")
    for path in (out, manifest_path(out)):
        if path.exists() and not force:
            raise WouldOverwrite(path)


def deliver(result: Result, *, out: Path | None, as_json: bool, force: bool = False) -> None:
    """Write a result where wanted, then print it as JSON or show it.

    Args:
        result: What was found.
        out: The folder to write, or the file of its main table, whose manifest goes beside it.
        as_json: Print JSON instead of tables.
        force: Replace an earlier result.
    """
    to_file = out is not None and out.suffix.lower() in TABLE_FILES
    if out is not None:
        if to_file:
            written = result.to_file(out)
            write_manifest(manifest_path(out), result.manifest({out.name: written}))
        else:
            result.to_dir(out, force=force)
        talk(f"written to {out}")
    if as_json:
        emit_json(result.as_dict())
    elif not to_file:
        show(result)
    for finding in result.findings:
        talk(f"{_SPOKEN[finding.severity]}: {finding.text}")


def show(result: Result) -> None:
    """Print the tables of a result and the paragraph that says what was done."""
    digits = result.digits()
    for title, frame in result.screen().items():
        emit_table(frame, title=title, digits=digits.get(title, 3))
        emit("")
    if result.prose:
        emit(result.prose)


def manifest_path(out: Path) -> Path:
    """Where the manifest of a result file lies: beside it."""
    return out.with_name(f"{out.stem}.manifest.json")
