"""`surgeval judge`: measure a judge before believing it, and judges against each other."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import typer

from surgeval.cli import _options as o
from surgeval.cli._console import emit, emit_json, emit_table, progress_bar, talk, visible

_SHOWN_LETTERS = 60


def register(app: typer.Typer) -> None:
    """Add the verb."""
    judge = typer.Typer(help="Measure judges of free text.", no_args_is_help=True)
    judge.command("check")(check)
    judge.command("agreement")(agreement)
    app.add_typer(judge, name="judge")


def check(
    judge: str = typer.Option(..., "--judge", help="One of {judges}."),
    min_accuracy: float = typer.Option(
        0.9, "--min-accuracy", min=0.0, max=1.0, help="Least accuracy on the gold pairs."
    ),
    json: o.Json = False,
) -> None:
    """Run gold pairs and injection canaries against a judge; exit 1 if it is not fit for use."""
    from surgeval.judges import check_judge, check_size, open_judge

    opened = open_judge(judge)
    with progress_bar(f"asking {opened.name}", check_size()) as step:
        report = check_judge(opened, progress=step)
    fit = report.passes(min_accuracy)
    if json:
        emit_json(report.as_dict() | {"min_accuracy": min_accuracy, "fit": fit})
    else:
        emit_table(report.table, title=f"judge {report.judge}")
        if report.surprises.height:
            emit("")
            emit_table(_shortened(report.surprises), title="went otherwise than it should")
        emit("")
        emit(f"gold accuracy {report.gold_accuracy:.3f} (at least {min_accuracy:g} wanted)")
        emit(f"canaries accepted {report.accepted_canaries} (none may be)")
    if report.failure is not None:
        talk(f"{report.judge}: none of {check_size()} cases got an answer: {report.failure}")
    talk(f"{report.judge}: {'fit for use' if fit else 'NOT fit for use'}")
    if not fit:
        raise typer.Exit(1)


def agreement(
    files: list[Path] = typer.Argument(..., help="Verdict files (JSON Lines) or stores (folders)."),
    limit: int = typer.Option(50, "--limit", min=0, help="Disagreements printed; --json prints all."),
    json: o.Json = False,
) -> None:
    """Show how far judges agree: percent agreement, kappa, and the answers they disagree on."""
    from surgeval.judges import agreement_of

    result = agreement_of(files)
    for problem in result.problems:
        talk(f"set aside, {problem}")
    if json:
        emit_json(result.as_dict())
        return
    emit_table(result.table, title="agreement of each pair (answers with an opinion of both)")
    if len(result.judges) > 2:
        kappa = "undefined" if result.fleiss is None else f"{result.fleiss:.3f}"
        emit(f"\nFleiss' kappa of all {len(result.judges)} judges: {kappa} ({result.complete} answers)")
    count = result.disagreements.height
    emit("")
    emit_table(_shortened(result.disagreements.head(limit)), title=f"disagreements: {count}")
    if count > limit:
        talk(f"{count - limit} more disagreements; pass --limit or --json to see them")


def _shortened(frame: pl.DataFrame) -> pl.DataFrame:
    """The table with long texts cut and invisible characters made visible, fit for a terminal."""
    texts = [
        pl.col(name).map_elements(_short, return_dtype=pl.String)
        for name, kind in frame.schema.items()
        if kind == pl.String
    ]
    return frame.with_columns(texts)


def _short(text: str) -> str:
    shown = visible(text).replace("\n", "\\n").replace("\t", "\\t")
    return shown if len(shown) <= _SHOWN_LETTERS else f"{shown[: _SHOWN_LETTERS - 3]}..."
