"""`surgeval supplement`: the tables and figures of a paper's supplement, from scored models."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from surgeval.cli import _options as o
from surgeval.cli import _tables as t
from surgeval.cli._console import new_folder, progress_bar
from surgeval.cli._deliver import deliver


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("supplement")(supplement)


def supplement(
    folders: Annotated[
        list[Path], typer.Argument(metavar="FOLDER...", help="What 'score' wrote, one folder for each model.")
    ],
    out: Annotated[Path, typer.Option("--out", help="Folder for the page, its tables and its figures.")],
    title: Annotated[str, typer.Option("--title", help="The heading of the page.")] = "Supplement",
    by: Annotated[str, typer.Option("--by", metavar="COL,...", help="Further columns to stratify by.")] = "",
    context: o.Context = "30,300",
    answers: Annotated[
        list[str] | None,
        typer.Option(
            "--answers",
            metavar="MODEL=FILE",
            help="Answers of a model, so that votes are counted; may be repeated.",
            show_default=False,
        ),
    ] = None,
    references: Annotated[
        list[str] | None,
        typer.Option(
            "--references",
            metavar="FILE",
            help="Reference answers, whose formats say which answers are the same vote. Default: equal texts.",
            show_default=False,
        ),
    ] = None,
    level: o.Level = 0.95,
    boot: o.Boot = 1000,
    seed: o.Seed = 42,
    missing: o.Missing = None,
    as_json: o.Json = False,
    force: o.Force = False,
) -> None:
    """Everything that a paper's supplement says about scored models: tables, figures and one page."""
    from surgeval.report.report import check_extras
    from surgeval.report.supplement.supplement import SECTIONS
    from surgeval.report.supplement.supplement import supplement as work

    new_folder(out, force=force)
    check_extras()
    with progress_bar("analysing", len(SECTIONS)) as step:
        result = work(
            [str(folder) for folder in folders], title=title, by=t.names_in(by),
            context_s=t.read_numbers("--context", context), answers=answers or (), references=references or None,
            level=level, replicates=boot, seed=seed, missing=missing or None, progress=step,
        )  # fmt: skip
    deliver(result, out=out, as_json=as_json, force=force)
