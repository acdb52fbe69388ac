"""`surgeval compare`: the difference of two models on the same cases."""

from __future__ import annotations

from typing import Annotated

import typer

from surgeval.cli import _tables as t


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("compare")(compare)


def compare(
    table: t.TableArgument,
    model_a: Annotated[str, typer.Argument(metavar="MODEL_A", help="The model whose value comes first.")],
    model_b: Annotated[str, typer.Argument(metavar="MODEL_B", help="The model that is subtracted.")],
    statistic: Annotated[str, typer.Option("--statistic", help="mean, median, min, max, or q05, q95, ...")] = "mean",
    resample: Annotated[str, typer.Option("--resample", help="cluster, two-stage, naive, or a hierarchy.")] = "cluster",
    estimand: Annotated[str, typer.Option("--estimand", help="rows or videos.")] = "rows",
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
    """The difference of two models with its interval, and the risk that a claim of superiority is false."""
    from surgeval.stats.comparison import compare as work

    t.check_out(out, force=force, inputs=table)
    options = {
        "statistic": statistic, "resample": resample, "estimand": estimand, "by": t.names_in(by), "level": level,
        "replicates": boot, "method": method, "seed": seed, "metric": metric, "missing": missing,
    }  # fmt: skip
    result = work(t.read_tables(table, columns), model_a, model_b, **options)  # type: ignore[arg-type]
    options |= {"model_a": model_a, "model_b": model_b, "columns": columns}
    t.deliver(result, out=out, as_json=as_json, verb="compare", options=options, inputs=table)
