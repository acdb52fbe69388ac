"""`surgeval combine`: one evaluation from its shards, or from what sites shared."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from surgeval.cli import _options as o
from surgeval.cli._console import progress_bar
from surgeval.cli._deliver import check_out, deliver


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("combine")(combine)


def combine(
    folders: Annotated[
        list[Path],
        typer.Argument(
            metavar="FOLDER...",
            help="What evaluate --shard wrote, in any order; or the .parquet files of evaluate --share.",
            show_default=False,
        ),
    ],
    out: o.Out = None,
    as_json: o.Json = False,
    force: o.Force = False,
) -> None:
    """Put the shards of one evaluation together, or what several sites shared: as if all videos had been at hand."""
    from surgeval.scoring.evaluate.combine import combine as work

    check_out(out, force=force, inputs=folders)
    with progress_bar("combining") as step:
        result = work(folders, progress=step)
    deliver(result, out=out, as_json=as_json, force=force)
