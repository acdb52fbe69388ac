"""`surgeval monitor`: what changed with new videos since a validation."""

from __future__ import annotations

from typing import Annotated

import typer

from surgeval.cli import _options as o
from surgeval.cli import _tables as t
from surgeval.cli._deliver import check_out, deliver


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("monitor")(monitor)


def monitor(
    table: o.TableArgument,
    since: Annotated[
        str, typer.Option("--since", help="From when on videos are new: a date as 2026-03-01, or a number.")
    ],
    time_column: Annotated[str, typer.Option("--time-column", help="The column that says when.")] = "date",
    by: Annotated[
        str, typer.Option("--by", metavar="COL,...", help="Columns that are watched; by default all that can be.")
    ] = "",
    alpha: Annotated[float, typer.Option("--alpha", help="Chance of any false alarm over all looks.")] = 0.05,
    looks: Annotated[int, typer.Option("--looks", help="How many looks are planned.")] = 1,
    boot: Annotated[int, typer.Option("--boot", help="Splits of the videos that are drawn.")] = 9999,
    seed: o.Seed = 42,
    level: o.Level = 0.95,
    metric: o.Metric = None,
    better: o.Better = None,
    missing: o.Missing = None,
    columns: o.Columns = "",
    out: o.Out = None,
    as_json: o.Json = False,
    force: o.Force = False,
) -> None:
    """Compare new videos with those of the validation; exit code 1 where something raises an alarm."""
    from surgeval.report.monitor import monitor as work

    check_out(out, force=force, inputs=table)
    result = work(
        list(table), since=since, time_column=time_column, by=t.names_in(by), alpha=alpha, looks=looks,
        replicates=boot, seed=seed, level=level, metric=metric, better=t.read_better(better), missing=missing or None,
        columns=t.read_columns(columns),
    )  # fmt: skip
    deliver(result, out=out, as_json=as_json, force=force)
    if result.alarms.height:
        raise typer.Exit(1)
