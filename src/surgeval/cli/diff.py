"""`surgeval diff`: what differs between two scorings, and what moved each number."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import typer

from surgeval.cli import _options as o
from surgeval.cli._console import emit, emit_json, emit_table, new_folder, talk

SHOWN_CHANGES = 40
"""Changed questions printed; `--out` and `--json` have all of them."""


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
    from surgeval.scoring.diff import FILES, diff

    folder = new_folder(out, force=force, files=FILES) if out else None
    found = diff(results_a, results_b)
    if folder:
        found.to_dir(folder)
        talk(f"written to {folder}")
    if as_json:
        emit_json(found.as_dict())
    else:
        emit(repr(found))
        if not found.equal:
            moved = found.table.filter((pl.col("difference") != 0) | pl.col("difference").is_null())
            emit_table(moved, title="\nWhat moved each number (verdicts, then regrouping, then questions)", digits=4)
            emit_table(found.changes.head(SHOWN_CHANGES), title="\nChanged questions")
            if found.changes.height > SHOWN_CHANGES:
                emit(f"... and {found.changes.height - SHOWN_CHANGES} more; see --out or --json")
    raise typer.Exit(0 if found.equal else 1)
