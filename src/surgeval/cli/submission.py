"""`surgeval submission new`: a folder that becomes a container which answers questions."""

from __future__ import annotations

from pathlib import Path

import typer

from surgeval.cli import _options as o
from surgeval.cli._console import emit


def register(app: typer.Typer) -> None:
    """Add the verb."""
    group = typer.Typer(help="Make a submission.", no_args_is_help=True)
    group.callback()(_submission)
    group.command("new", help="Write a starter pack: Dockerfile, app, requirements, README, example input.")(new)
    app.add_typer(group, name="submission")


def _submission() -> None:
    """Make a submission."""


def new(
    folder: Path = typer.Argument(..., metavar="DIR", help="Where to write the pack."),
    kind: str = typer.Option("python", "--kind", help="python (standard library only) or pytorch."),
    force: o.Force = False,
) -> None:
    """Write a starter pack: Dockerfile, app, requirements, README, example input."""
    from surgeval.submissions.starter import new_pack

    for path in new_pack(folder, kind=kind, force=force):
        emit(str(path.relative_to(folder)))
