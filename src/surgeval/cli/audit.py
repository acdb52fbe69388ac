"""`surgeval audit`: hold studies against the pitfalls of validation, and printed tables against arithmetic."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from surgeval.cli import _options as o
from surgeval.cli import _tables as t
from surgeval.cli._console import talk
from surgeval.cli._default_verb import group_around
from surgeval.cli._deliver import check_out, deliver

_ABOUT = "Check what is printed or claimed, and show the evidence; `audit PLACE` is `audit study PLACE`."


def register(app: typer.Typer) -> None:
    """Add the verbs."""
    group = typer.Typer(help=_ABOUT, no_args_is_help=True, cls=group_around("study"))
    group.callback()(_audit)
    for name, verb in (("study", study), ("new", new), ("card", card), ("tables", tables)):
        group.command(name)(verb)
    app.add_typer(group, name="audit")


def _audit() -> None:
    """Check what is printed or claimed, and show the evidence."""


def study(
    place: Annotated[
        Path,
        typer.Argument(
            metavar="STUDY",
            help="A study file (TOML), a folder that verbs of surgeval wrote, or a score table (CSV or Parquet).",
            show_default=False,
        ),
    ],
    pitfall: Annotated[
        list[str] | None,
        typer.Option("--pitfall", metavar="CODE", help="Check this pitfall only, such as P1.6; may be repeated."),
    ] = None,
    better: o.Better = None,
    missing: o.Missing = None,
    columns: o.Columns = "",
    out: o.Out = None,
    as_json: o.Json = False,
    force: o.Force = False,
) -> None:
    """Hold a study against the 18 pitfalls of validation, with evidence for everything that is said.

    Exit code 0: no check fails. 1: one does. 2: misuse.
    """
    from surgeval.report.study_audit import PAGE, audit_study

    check_out(out, force=force, inputs=[place] if place.is_file() else [])
    result = audit_study(
        place,
        pitfalls=pitfall or (),
        columns=t.read_columns(columns),
        better=t.read_better(better),
        missing=missing or None,
    )
    deliver(result, out=out, as_json=as_json, force=force)
    if out is not None and (out / PAGE).is_file():
        talk(f"the page: {out / PAGE}")
    raise typer.Exit(0 if result.passes else 1)


def new(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where the study is, or is going to be.")],
    ask: Annotated[
        bool, typer.Option("--ask", help="Ask the questions now, one by one; an empty answer skips.")
    ] = False,
    force: o.Force = False,
) -> None:
    """Write a study file to fill in; what the results in the folder answer is not asked."""
    from surgeval.audit.new_study import new_study

    path = new_study(folder, ask=_prompt if ask else None, force=force)
    talk(f"written to {path}; fill it in, then: surgeval audit {path}")


def _prompt(question: str) -> str:
    return str(typer.prompt(question, default="", show_default=False, err=True))


def card(
    data_set: Annotated[str, typer.Argument(metavar="DATA_SET", help="A name of 'surgeval list datasets'.")],
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The data set as it was downloaded.")],
    task: Annotated[
        list[str] | None, typer.Option("--task", help="Only this task; may be repeated. All of them if left out.")
    ] = None,
    out: o.Out = None,
    as_json: o.Json = False,
    force: o.Force = False,
) -> None:
    """Describe a data set folder: counts, imbalance, duplicates, contradictions, leakage, broken references.

    Exit code 0: notes only. 1: warnings or errors. 2: misuse, or nothing can be read.
    """
    from surgeval.audit.data_card import data_set_card

    check_out(out, force=force)
    result = data_set_card(data_set, folder, tasks=task or ())
    deliver(result, out=out, as_json=as_json, force=force)
    raise typer.Exit(0 if result.passes else 1)


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
