"""`surgeval lint`: what is wrong with an answer file, before anybody scores it."""

from __future__ import annotations

from pathlib import Path

import typer

from surgeval.cli._console import emit, emit_json, new_folder, talk

_SOURCE = "A file, or NAME=FILE to keep the identifiers of several data sets apart; may be repeated."


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(name="lint")(lint_files)


def lint_files(
    requests: list[str] = typer.Option(..., "--requests", help=f"The questions. {_SOURCE}", metavar="FILE"),
    responses: list[str] = typer.Option(..., "--responses", help=f"The answers. {_SOURCE}", metavar="FILE"),
    references: list[str] = typer.Option(
        [], "--references", help=f"The reference answers, which name each question's format. {_SOURCE}", metavar="FILE"
    ),
    definitions: Path | None = typer.Option(
        None, "--definitions", help="Foreign-object definitions (text or JSON) to take the class names from."
    ),
    out: Path | None = typer.Option(None, "--out", help="Folder for lint.json and manifest.json."),
    json: bool = typer.Option(False, "--json", help="Print the report as JSON."),
    force: bool = typer.Option(False, "--force", help="Overwrite a report in the folder."),
) -> None:
    """List everything that is wrong with an answer file. Never stops on what the file contains.

    Exit code 0: clean, or notes only. 1: errors or warnings. 2: misuse.
    """
    from surgeval.scoring.lint import lint

    new_folder(out, force=force)
    report = lint(requests, responses, references or None, definitions=definitions)
    if out is not None:
        report.to_dir(out, force=force)
        talk(f"written to {out}")
    if json:
        emit_json(report.as_dict())
    else:
        emit(report.summary())
    raise typer.Exit(0 if report.clean else 1)
