"""`surgeval compare`: the difference of two models on the same cases."""

from __future__ import annotations

from typing import Annotated

import typer

from surgeval.cli import _tables as t
from surgeval.cli._deliver import deliver


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("compare")(compare)


def compare(
    table: t.TableArgument,
    model_a: Annotated[str, typer.Argument(metavar="MODEL_A", help="The model whose value comes first.")],
    model_b: Annotated[str, typer.Argument(metavar="MODEL_B", help="The model that is subtracted.")],
    statistic: t.StatisticOption = "mean",
    resample: t.ResampleOption = "cluster",
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
    """The difference of two models with its interval, and the risk that a claim of superiority is false."""
    from surgeval.stats.comparison import compare as work

    t.check_out(out, force=force, inputs=table)
    options = {
        "statistic": statistic, "resample": resample, "estimand": estimand, "by": t.names_in(by), "level": level,
        "replicates": boot, "method": method, "seed": seed, "metric": metric,
        "better": t.read_better(better), "missing": missing or None, "columns": t.read_columns(columns),
    }  # fmt: skip
    result = work(table, model_a, model_b, **options)  # type: ignore[arg-type]
    deliver(result, out=out, as_json=as_json, to_file=True)
