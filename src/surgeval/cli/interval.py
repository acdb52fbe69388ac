"""`surgeval interval`: the value of every model with an interval that respects videos."""

from __future__ import annotations

from typing import Annotated

import typer

from surgeval.cli import _tables as t


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("interval")(interval)


def interval(
    table: t.TableArgument,
    statistic: Annotated[str, typer.Option("--statistic", help="mean, median, min, max, or q05, q95, ...")] = "mean",
    resample: Annotated[
        str, typer.Option("--resample", help="naive, cluster, two-stage, or a hierarchy such as 'center>video>rows'.")
    ] = "two-stage",
    estimand: Annotated[
        str, typer.Option("--estimand", help="rows (pooled) or videos (mean over videos of the statistic within).")
    ] = "rows",
    by: t.ByOption = "",
    level: t.LevelOption = 0.95,
    boot: t.BootOption = 1000,
    method: Annotated[str, typer.Option("--method", help="percentile, basic, bca or deterministic.")] = "percentile",
    seed: t.SeedOption = 42,
    metric: t.MetricOption = None,
    missing: t.MissingOption = "worst",
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
        "replicates": boot, "method": method, "seed": seed, "metric": metric, "missing": missing,
    }  # fmt: skip
    result = work(t.read_tables(table, columns), **options)  # type: ignore[arg-type]
    t.deliver(result, out=out, as_json=as_json, verb="interval", options={**options, "columns": columns}, inputs=table)
