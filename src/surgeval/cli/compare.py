"""`surgeval compare`: the difference of two models on the same cases."""

from __future__ import annotations

from typing import Annotated

import typer

from surgeval.cli import _options as o
from surgeval.cli import _tables as t
from surgeval.cli._deliver import check_out, deliver


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("compare")(compare)


def compare(
    table: o.TableArgument,
    model_a: Annotated[str, typer.Argument(metavar="MODEL_A", help="The model whose value comes first.")],
    model_b: Annotated[str, typer.Argument(metavar="MODEL_B", help="The model that is subtracted.")],
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
    """The difference of two models with its interval, and the risk that a claim of superiority is false."""
    from surgeval.stats.comparison import compare as work

    check_out(out, force=force, inputs=table)
    options = {
        "statistic": statistic, "resample": resample, "estimand": estimand, "by": t.names_in(by),
        "separator": separator, "level": level, "replicates": boot, "method": method, "seed": seed, "metric": metric,
        "better": t.read_better(better), "missing": missing or None, "columns": t.read_columns(columns),
    }  # fmt: skip
    result = work(table, model_a, model_b, **options)  # type: ignore[arg-type]
    deliver(result, out=out, as_json=as_json, force=force)
