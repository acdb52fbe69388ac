"""`surgeval adjusted`: what each property does to the odds of being right, the others held fixed."""

from __future__ import annotations

from typing import Annotated

import typer

from surgeval.cli import _options as o
from surgeval.cli import _tables as t
from surgeval.cli._deliver import check_out, deliver


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("adjusted")(adjusted)


def adjusted(
    table: o.TableArgument,
    effects: Annotated[
        str, typer.Option("--effects", metavar="COL,...", help="Properties of cases; columns of labels are split.")
    ],
    cluster: Annotated[
        str,
        typer.Option("--cluster", metavar="COL[,COL]", help="One or two columns that say which rows hang together."),
    ] = "video",
    covariance: Annotated[str, typer.Option("--covariance", help="auto, CR0, CR1, CR2 or bootstrap.")] = "auto",
    separator: o.Separator = ";",
    level: o.Level = 0.95,
    boot: o.Boot = 1000,
    seed: o.Seed = 42,
    metric: o.Metric = None,
    better: o.Better = None,
    missing: o.Missing = None,
    columns: o.Columns = "",
    out: o.Out = None,
    as_json: o.Json = False,
    force: o.Force = False,
) -> None:
    """Odds ratios of several properties at once, per model, with standard errors that respect videos."""
    from surgeval.stats.adjusted import adjusted_effects as work

    check_out(out, force=force, inputs=table)
    options = {
        "cluster": t.names_in(cluster), "covariance": covariance, "separator": separator, "level": level,
        "replicates": boot, "seed": seed,
        "metric": metric, "better": t.read_better(better), "missing": missing or None,
        "columns": t.read_columns(columns),
    }  # fmt: skip
    result = work(table, t.names_in(effects), **options)  # type: ignore[arg-type]
    deliver(result, out=out, as_json=as_json, force=force)
