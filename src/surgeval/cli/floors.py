"""`surgeval floors`: how far systems come that never look at the video."""

from __future__ import annotations

from pathlib import Path

import typer

from surgeval.cli import _options as o
from surgeval.cli._console import new_folder
from surgeval.cli._deliver import deliver


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("floors")(floors_verb)


def floors_verb(
    requests: o.Requests,
    references: o.References,
    train_requests: o.TrainRequests = [],
    train_references: o.TrainReferences = [],
    results: list[Path] | None = typer.Option(None, help="Output of `surgeval score`: print margins. May be repeated."),
    definitions: o.Definitions = None,
    seed: o.Seed = 42,
    out: o.Out = None,
    as_json: o.Json = False,
    force: o.Force = False,
) -> None:
    """Score constant answers and a text-only prior, and the margin of your models over them."""
    from surgeval.schema.foreign_objects import read_definitions
    from surgeval.scoring.floors import floors

    names = tuple(kind.name for kind in read_definitions(definitions)) if definitions else None
    new_folder(out, force=force)
    result = floors(
        requests, references, train_requests=train_requests or None, train_references=train_references or None,
        results=results or None, class_names=names, seed=seed,
    )  # fmt: skip
    deliver(result, out=out, as_json=as_json, force=force)
