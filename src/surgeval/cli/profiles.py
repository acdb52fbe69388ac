"""`surgeval profiles`: how often models reach a score, and how often one does better than another."""

from __future__ import annotations

from typing import Annotated

import typer

from surgeval.cli import _options as o
from surgeval.cli import _tables as t
from surgeval.cli._deliver import check_out, deliver


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("profiles")(profiles)


def profiles(
    table: o.TableArgument,
    thresholds: Annotated[
        str, typer.Option("--thresholds", metavar="NUMBER,...", help="Scores to reach. Default: spread over the range.")
    ] = "",
    estimand: o.Estimand = "rows",
    by: o.By = "",
    separator: o.Separator = ";",
    level: o.Level = 0.95,
    metric: o.Metric = None,
    better: o.Better = None,
    missing: o.Missing = None,
    columns: o.Columns = "",
    out: o.Out = None,
    as_json: o.Json = False,
    force: o.Force = False,
) -> None:
    """Shares of cases at least as good as each threshold, and the probability that one model beats another."""
    from surgeval.stats.profiles import profiles as work

    check_out(out, force=force, inputs=table)
    options = {
        "thresholds": t.read_numbers("--thresholds", thresholds), "estimand": estimand,
        "by": t.names_in(by), "separator": separator, "level": level,
        "metric": metric, "better": t.read_better(better), "missing": missing or None,
        "columns": t.read_columns(columns),
    }  # fmt: skip
    result = work(table, **options)  # type: ignore[arg-type]
    deliver(result, out=out, as_json=as_json, force=force)
