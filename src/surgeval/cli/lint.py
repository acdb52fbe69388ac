"""`surgeval lint`: what is wrong with an answer file, before anybody scores it."""

from __future__ import annotations

import typer

from surgeval.cli import _options as o
from surgeval.cli._console import emit, emit_json, new_folder, talk


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(name="lint")(lint_files)


def lint_files(
    requests: o.Requests,
    responses: o.Responses,
    references: o.References = [],
    definitions: o.Definitions = None,
    out: o.Out = None,
    json: o.Json = False,
    force: o.Force = False,
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
