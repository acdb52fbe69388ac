"""`surgeval audit`: hold what others print against what no data could give."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from surgeval.cli import _options as o
from surgeval.cli import _tables as t
from surgeval.cli._deliver import check_out, deliver

_ABOUT = "Check what is printed or claimed, and show the evidence."


def register(app: typer.Typer) -> None:
    """Add the verbs."""
    group = typer.Typer(help=_ABOUT, no_args_is_help=True)
    group.callback()(_audit)
    group.command("tables")(tables)
    app.add_typer(group, name="audit")


def _audit() -> None:
    """Check what is printed or claimed, and show the evidence."""


def tables(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="Printed tables with their captions: CSV, Markdown, LaTeX, or text copied with tabs or spaces.",
            show_default=False,
        ),
    ],
    columns: Annotated[
        str,
        typer.Option(
            "--columns",
            metavar="HEADING=METRIC,...",
            help="What headings mean, such as A=accuracy, where their names do not say it; P=other for none.",
            show_default=False,
        ),
    ] = "",
    kind: Annotated[
        str, typer.Option("--kind", help="multi-class, multi-label or binary, for all tables.", show_default=False)
    ] = "",
    classes: Annotated[int | None, typer.Option("--classes", min=1, help="Number of classes, for all tables.")] = None,
    cases: Annotated[int | None, typer.Option("--cases", min=1, help="Number of cases, for all tables.")] = None,
    facts: Annotated[
        Path | None,
        typer.Option(
            "--facts",
            help="CSV with a row per table (its number or title) and columns table, kind, classes, cases, prevalence;"
            " with column, the cases of that column.",
        ),
    ] = None,
    out: o.Out = None,
    as_json: o.Json = False,
    force: o.Force = False,
) -> None:
    """Find what cannot be, contradicts itself or is odd in printed tables of results, with the arithmetic.

    Exit code 0: nothing worse than suspicious. 1: something is impossible or inconsistent. 2: misuse.
    """
    from surgeval.audit.tables.audit import audit_tables

    check_out(out, force=force, inputs=[*files, *([facts] if facts else [])])
    result = audit_tables(
        files, columns=t.read_named(
            "--columns", columns, form="HEADING=METRIC", example="A=accuracy,P=other"
        ), kind=kind, classes=classes, cases=cases, facts=facts
    )  # fmt: skip
    deliver(result, out=out, as_json=as_json, force=force)
    raise typer.Exit(0 if result.passes else 1)
