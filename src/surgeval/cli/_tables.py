"""What every verb that reads a score table shares: its arguments, reading, and delivering a result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from surgeval.cli._console import emit, emit_json, emit_table, talk
from surgeval.errors import Misuse, WouldOverwrite
from surgeval.results.manifest import Manifest
from surgeval.results.table_result import TableResult
from surgeval.schema.score_table import ScoreTable, read_score_table

MissingOption = Annotated[
    str, typer.Option("--missing", help="A model without a row for a case: worst value, drop the case, or error.")
]


def read_tables(paths: Sequence[Path], columns: str = "") -> ScoreTable:
    """The score table of one or more files, stacked.

    Args:
        paths: Files or folders.
        columns: The text of `--columns`.

    Raises:
        Misuse: The text of `--columns` cannot be read.
        TableInvalid: With every problem of the table.
    """
    return read_score_table(list(paths), columns=read_columns(columns))


def read_columns(text: str) -> dict[str, str]:
    """The mapping in a text such as `model=algorithm,video=patient`.

    Example:
        >>> read_columns("model=algorithm, video=patient")
        {'model': 'algorithm', 'video': 'patient'}

    Raises:
        Misuse: A part that is no `ours=theirs`, or a name given twice.
    """
    mapping: dict[str, str] = {}
    for part in names_in(text):
        ours, equals, theirs = (piece.strip() for piece in part.partition("="))
        if not (ours and equals and theirs):
            raise Misuse(f"--columns: {part!r} is not OURS=THEIRS; write for example model=algorithm,video=patient")
        if ours in mapping:
            raise Misuse(f"--columns: {ours!r} is given twice")
        mapping[ours] = theirs
    return mapping


def names_in(text: str) -> list[str]:
    """The parts of a comma-separated option.

    Example:
        >>> names_in("smoke, blood,")
        ['smoke', 'blood']
    """
    return [part.strip() for part in text.split(",") if part.strip()]


def input_files(paths: Sequence[Path]) -> list[Path]:
    """The files that are read where files or folders of `surgeval score` are named."""
    return [path / "scores.parquet" if path.is_dir() else path for path in paths]


def check_out(out: Path | None, *, force: bool, inputs: Sequence[Path] = ()) -> None:
    """Refuse an output file that exists, is read, has an unknown ending, or lies in no folder, before any work is done.

    Raises:
        WouldOverwrite: It exists and `force` is off.
        Misuse: Neither `.csv` nor `.parquet`, no such folder, or one of `inputs`.
    """
    if out is None:
        return
    if out.suffix.lower() not in (".csv", ".parquet"):
        raise Misuse(f"--out {out}: unknown kind of file {out.suffix!r}; expected .csv or .parquet")
    if not out.parent.is_dir():
        raise Misuse(f"--out {out}: folder {out.parent} does not exist")
    if out.is_dir():
        raise Misuse(f"--out {out}: is a folder; name a file in it")
    if out.resolve() in [path.resolve() for path in input_files(inputs)]:
        raise Misuse(f"--out {out}: is read as a table too and would be lost; choose another place")
    for path in (out, manifest_path(out)):
        if path.exists() and not force:
            raise WouldOverwrite(path)


def manifest_path(out: Path) -> Path:
    """Where the manifest of a result file lies: beside it."""
    return out.with_name(f"{out.stem}.manifest.json")


def deliver(
    result: TableResult,
    *,
    out: Path | None,
    as_json: bool,
    verb: str,
    options: Mapping[str, Any],
    inputs: Sequence[Path],
) -> None:
    """Print a result, or write it with its manifest.

    Args:
        result: What was found.
        out: The file to write; the result is printed when None.
        as_json: Print JSON instead of a table.
        verb: Name of the verb, for the manifest.
        options: Its options, for the manifest.
        inputs: The files read, for the manifest.
    """
    if out is not None:
        result.to_file(out)
        files = input_files(inputs)
        seeds = {"seed": options["seed"]} if isinstance(options.get("seed"), int) else {}
        Manifest(verb, options, files, seeds, [result.prose, *result.notes]).to_file(manifest_path(out))
        talk(f"wrote {out}")
    if as_json:
        emit_json(result.as_dict())
    elif out is None:
        emit_table(result.shown)
        emit("")
        emit(result.prose)
    for note in result.notes:
        talk(f"note: {note}")
