"""`surgeval influence`: what each video does to the value of each model."""

from __future__ import annotations

import typer

from surgeval.cli import _options as o
from surgeval.cli import _tables as t
from surgeval.cli._deliver import check_out, deliver


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("influence")(influence)


def influence(
    table: o.TableArgument,
    statistic: o.Statistic = "mean",
    estimand: o.Estimand = "rows",
    metric: o.Metric = None,
    better: o.Better = None,
    missing: o.Missing = None,
    columns: o.Columns = "",
    out: o.Out = None,
    as_json: o.Json = False,
    force: o.Force = False,
) -> None:
    """The value of every model without each video in turn, the most influential video first."""
    from surgeval.stats.influence import influence as work

    check_out(out, force=force, inputs=table)
    options = {
        "statistic": statistic, "estimand": estimand,
        "metric": metric, "better": t.read_better(better), "missing": missing or None,
        "columns": t.read_columns(columns),
    }  # fmt: skip
    result = work(table, **options)  # type: ignore[arg-type]
    deliver(result, out=out, as_json=as_json, force=force)
