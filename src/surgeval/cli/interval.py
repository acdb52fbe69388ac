"""`surgeval interval`: the value of every model with an interval that respects videos."""

from __future__ import annotations

import typer

from surgeval.cli import _tables as t
from surgeval.cli._deliver import deliver


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("interval")(interval)


def interval(
    table: t.TableArgument,
    statistic: t.StatisticOption = "mean",
    resample: t.ResampleOption = "two-stage",
    estimand: t.EstimandOption = "rows",
    by: t.ByOption = "",
    level: t.LevelOption = 0.95,
    boot: t.BootOption = 1000,
    method: t.MethodOption = "percentile",
    seed: t.SeedOption = 42,
    metric: t.MetricOption = None,
    better: t.BetterOption = None,
    missing: t.MissingOption = None,
    columns: t.ColumnsOption = "",
    out: t.OutOption = None,
    as_json: t.JsonOption = False,
    force: t.ForceOption = False,
) -> None:
    """Values of all models with intervals in which rows of one video are not taken as independent."""
    from surgeval.stats.interval import interval as work

    t.check_out(out, force=force, inputs=table)
    options = {
        "statistic": statistic, "resample": resample, "estimand": estimand, "by": t.names_in(by), "level": level,
        "replicates": boot, "method": method, "seed": seed, "metric": metric,
        "better": t.read_better(better), "missing": missing or None, "columns": t.read_columns(columns),
    }  # fmt: skip
    result = work(table, **options)  # type: ignore[arg-type]
    deliver(result, out=out, as_json=as_json, to_file=True)
