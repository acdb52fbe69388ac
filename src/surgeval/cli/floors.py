"""`surgeval floors`: how far systems come that never look at the video."""

from __future__ import annotations

from pathlib import Path

import typer

from surgeval.cli._console import new_folder
from surgeval.cli._deliver import deliver


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("floors")(floors_verb)


def floors_verb(
    requests: list[str] = typer.Option(..., help="Requests file, or NAME=FILE; may be repeated."),
    references: list[str] = typer.Option(..., help="References file, or NAME=FILE; may be repeated."),
    train_requests: list[str] | None = typer.Option(None, help="Requests to fit on; else the other videos."),
    train_references: list[str] | None = typer.Option(None, help="References to fit on."),
    results: list[Path] | None = typer.Option(None, help="Output of `surgeval score`: print margins. May be repeated."),
    definitions: Path | None = typer.Option(None, help="Foreign-object definitions (text or JSON)."),
    seed: int = typer.Option(0, help="Deals videos into folds for the text prior."),
    out: Path | None = typer.Option(None, help="Folder for floors.csv, templates.csv and the floors' answers."),
    as_json: bool = typer.Option(False, "--json", help="Print the result as JSON."),
    force: bool = typer.Option(False, "--force", help="Overwrite what is in --out."),
) -> None:
    """Score constant answers and a text-only prior, and the margin of your models over them."""
    from surgeval.schema.foreign_objects import read_definitions
    from surgeval.scoring.floors import floors

    names = tuple(kind.name for kind in read_definitions(definitions)) if definitions else None
    new_folder(out, force=force)
    found = floors(
        requests, references, train_requests=train_requests or None, train_references=train_references or None,
        results=results or None, class_names=names, seed=seed,
    )  # fmt: skip
    deliver(found, out=out, as_json=as_json, force=force)
