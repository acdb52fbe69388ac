"""`surgeval strata`: how each model does under each condition."""

from __future__ import annotations

from typing import Annotated

import typer

from surgeval.cli import _options as o
from surgeval.cli import _tables as t
from surgeval.cli._deliver import check_out, deliver
from surgeval.errors import Misuse


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("strata")(strata)


def strata(
    table: o.TableArgument,
    by: Annotated[str, typer.Option("--by", metavar="COL,...", help="Columns that describe cases; they may overlap.")],
    statistic: o.Statistic = "mean",
    resample: o.Resample = None,
    estimand: o.Estimand = "rows",
    baseline: Annotated[
        str, typer.Option("--baseline", help="Compare with the whole table, or with the rest: the cases outside.")
    ] = "whole",
    rule: Annotated[
        str, typer.Option("--rule", help="joint, or subset: draw only among the videos that have the property.")
    ] = "joint",
    bins: Annotated[
        str, typer.Option("--bins", metavar="COL=EDGE:EDGE,...", help="Edges for columns of numbers.")
    ] = "",
    low_artifact: Annotated[
        bool, typer.Option("--low-artifact", help="Add the cases with at most one of the true/false columns set.")
    ] = False,
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
    """The value of every model in every stratum and its difference to the whole, with intervals."""
    from surgeval.stats.strata import strata as work

    check_out(out, force=force, inputs=table)
    options = {
        "statistic": statistic, "resample": resample, "estimand": estimand, "baseline": baseline, "rule": rule,
        "bins": read_bins(bins), "low_artifact": low_artifact, "separator": separator, "level": level,
        "replicates": boot, "method": method, "seed": seed, "metric": metric, "better": t.read_better(better),
        "missing": missing or None,
        "columns": t.read_columns(columns),
    }  # fmt: skip
    result = work(table, t.names_in(by), **options)  # type: ignore[arg-type]
    deliver(result, out=out, as_json=as_json, force=force)


def read_bins(text: str) -> dict[str, list[float]]:
    """The bins in a text such as `window_s=30:300`.

    Example:
        >>> read_bins("window_s=30:300")
        {'window_s': [30.0, 300.0]}

    Raises:
        Misuse: A part that cannot be read.
    """
    bins: dict[str, list[float]] = {}
    for part in t.names_in(text):
        name, equals, edges = part.partition("=")
        try:
            bins[name.strip()] = [float(edge) for edge in edges.split(":")]
        except ValueError:
            equals = ""
        if not equals:
            raise Misuse(f"--bins: {part!r} is not COL=EDGE:EDGE; write for example window_s=30:300")
    return bins
