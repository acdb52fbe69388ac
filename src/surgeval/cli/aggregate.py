"""`surgeval aggregate`: how the order of models depends on what is averaged first."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from surgeval.cli import _options as o
from surgeval.cli import _tables as t
from surgeval.cli._deliver import check_out, deliver


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("aggregate")(aggregate)


def aggregate(
    table: o.TableArgument,
    operator: Annotated[
        str, typer.Option("--operator", help="mean, iqm (interquartile mean), median, min, max, or q05, ...")
    ] = "mean",
    phase: Annotated[str, typer.Option("--phase-column", help="Column with the phase.")] = "phase",
    combine: Annotated[str, typer.Option("--combine", help="scores or ranks.")] = "scores",
    weights: Annotated[
        Path | None, typer.Option("--weights", help="JSON file with a weight for every phase, by its name.")
    ] = None,
    metric: o.Metric = None,
    better: o.Better = None,
    missing: o.Missing = None,
    columns: o.Columns = "",
    out: o.Out = None,
    as_json: o.Json = False,
    force: o.Force = False,
) -> None:
    """Ranks of all models under six ways of aggregating, and how well these agree."""
    from surgeval.stats.aggregation import aggregate as work

    check_out(out, force=force, inputs=table)
    result = work(
        table, operator=operator, phase=phase, combine=combine,  # type: ignore[arg-type]
        weights=t.read_weights(weights) if weights else None, metric=metric, missing=missing or None,
        better=t.read_better(better), columns=t.read_columns(columns),
    )  # fmt: skip
    deliver(result, out=out, as_json=as_json, force=force)
