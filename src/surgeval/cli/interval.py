"""`surgeval interval`: the value of every model with an interval that respects videos."""

from __future__ import annotations

import typer

from surgeval.cli import _options as o
from surgeval.cli import _tables as t
from surgeval.cli._deliver import check_out, deliver


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("interval")(interval)


def interval(
    table: o.TableArgument,
    statistic: o.Statistic = "mean",
    resample: o.Resample = None,
    estimand: o.Estimand = "rows",
    by: o.By = "",
    separator: o.Separator = ";",
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
    """Values of all models with intervals in which rows of one video are not taken as independent."""
    from surgeval.stats.interval import interval as work

    check_out(out, force=force, inputs=table)
    options = {
        "statistic": statistic, "resample": resample, "estimand": estimand, "by": t.names_in(by),
        "separator": separator, "level": level, "replicates": boot, "method": method, "seed": seed, "metric": metric,
        "better": t.read_better(better), "missing": missing or None, "columns": t.read_columns(columns),
    }  # fmt: skip
    result = work(table, **options)  # type: ignore[arg-type]
    deliver(result, out=out, as_json=as_json, force=force)
