"""`surgeval diff`: what differs between two scorings, and what moved each number."""

from __future__ import annotations

from pathlib import Path

import typer

from surgeval.cli import _options as o
from surgeval.cli._console import emit, new_folder
from surgeval.cli._deliver import deliver


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("diff")(diff_verb)


def diff_verb(
    results_a: Path = typer.Argument(..., metavar="RESULTS_A", help="results.csv, or a folder that holds one."),
    results_b: Path = typer.Argument(..., metavar="RESULTS_B", help="The same for the other scoring."),
    out: o.Out = None,
    as_json: o.Json = False,
    force: o.Force = False,
) -> None:
    """Show flipped verdicts, regrouped questions and what moved each number. Exit 1 if anything differs."""
    from surgeval.scoring.diff import diff

    new_folder(out, force=force)
    result = diff(results_a, results_b)
    if not as_json:
        emit(result.title)
    deliver(result, out=out, as_json=as_json, force=force)
    raise typer.Exit(0 if result.equal else 1)
