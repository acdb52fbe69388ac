"""`surgeval cooccurrence`: how models do per label, and per label given another."""

from __future__ import annotations

from typing import Annotated

import typer

from surgeval.cli import _options as o
from surgeval.cli import _tables as t
from surgeval.cli._deliver import check_out, deliver


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("cooccurrence")(cooccurrence)


def cooccurrence(
    table: o.TableArgument,
    primary: Annotated[
        str, typer.Option("--primary", metavar="COL", help="Column with one label per case.")
    ] = "capability",
    secondary: Annotated[
        str, typer.Option("--secondary", metavar="COL", help="Column with any number of labels per case.")
    ] = "secondary",
    separator: o.Separator = ";",
    statistic: o.Statistic = "mean",
    resample: o.Resample = None,
    level: o.Level = 0.95,
    boot: o.Boot = 1000,
    method: o.Method = "auto",
    seed: o.Seed = 42,
    metric: o.Metric = None,
    better: o.Better = None,
    missing: o.Missing = None,
    columns: o.Columns = "",
    out: o.Out = None,
    as_json: o.Json = False,
    force: o.Force = False,
) -> None:
    """The value of every model per primary and secondary label, alone and together, with intervals."""
    from surgeval.stats.cooccurrence import cooccurrence as work

    check_out(out, force=force, inputs=table)
    options = {
        "primary": primary, "secondary": secondary, "separator": separator, "statistic": statistic,
        "resample": resample, "level": level, "replicates": boot, "method": method, "seed": seed,
        "metric": metric, "better": t.read_better(better), "missing": missing or None,
        "columns": t.read_columns(columns),
    }  # fmt: skip
    result = work(table, **options)  # type: ignore[arg-type]
    deliver(result, out=out, as_json=as_json, force=force)
