"""`surgeval study`: who is better and how sure, from a plain table of scores."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from surgeval.cli import _options as o
from surgeval.cli import _tables as t
from surgeval.cli._console import talk
from surgeval.cli._deliver import check_out, deliver
from surgeval.errors import ExtraNeeded


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("study")(study)


def study(
    table: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="CSV, Excel or Parquet: a row per model and case, a column per model, or a file per model.",
            show_default=False,
        ),
    ],
    models: Annotated[
        str, typer.Option("--models", metavar="COL,...", help="Columns that are models.", show_default=False)
    ] = "",
    scores: Annotated[
        str, typer.Option("--scores", metavar="COL,...", help="Columns that are metrics.", show_default=False)
    ] = "",
    metric: o.Metric = None,
    better: o.Better = None,
    missing: o.Missing = None,
    columns: o.Columns = "",
    sheet: Annotated[
        str | None, typer.Option("--sheet", metavar="NAME", help="Sheet of an Excel file that has several.")
    ] = None,
    decimal: Annotated[
        str | None,
        typer.Option(
            "--decimal", metavar="comma|point", help="What stands before decimals, where 1,234 may be either number."
        ),
    ] = None,
    level: o.Level = 0.95,
    out: o.Out = None,
    as_json: o.Json = False,
    force: o.Force = False,
) -> None:
    """Who is better and how sure: a verdict page from any table of scores, which says what it took for what."""
    from surgeval.report.study import PAGE
    from surgeval.report.study import study as work

    check_out(out, force=force, inputs=table)
    _check_page(out)
    result = work(
        table, models=t.names_in(models), scores=t.names_in(scores), metric=metric, better=t.read_better(better),
        missing=missing or None, columns=t.read_columns(columns), sheet=sheet, decimal=decimal,
        level=level,
    )  # fmt: skip
    for sentence in result.tables["readings"]["sentence"]:
        talk(f"taken: {sentence}")
    deliver(result, out=out, as_json=as_json, force=force)
    if out is not None and (out / PAGE).is_file():
        talk(f"the page: {out / PAGE}")


def _check_page(out: Path | None) -> None:
    """Say before the work that there will be tables but no page, where the packages that draw are not installed."""
    from surgeval.report.report import check_extras

    if out is None:
        return
    try:
        check_extras()
    except ExtraNeeded as error:
        talk(f"Warning: no page will be written, only tables: {error}")
