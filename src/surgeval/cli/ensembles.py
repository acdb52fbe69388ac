"""`surgeval ensembles`: what stored responses of several models could reach together."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from surgeval.cli import _options as o
from surgeval.cli import _tables as t
from surgeval.cli._deliver import check_out, deliver


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("ensembles")(ensembles)


def ensembles(
    table: o.TableArgument,
    response: Annotated[str, typer.Option("--response", metavar="COL", help="Column with the response.")] = "response",
    by: o.By = "",
    separator: o.Separator = ";",
    kinds: Annotated[
        str, typer.Option("--kinds", help="Of majority, weighted and oracle.")
    ] = "majority,weighted,oracle",
    weights: Annotated[
        Path | None,
        typer.Option(
            "--weights", help="JSON file with a weight for every model. Default: its mean in the other videos."
        ),
    ] = None,
    references: Annotated[
        list[str] | None,
        typer.Option(
            "--references",
            metavar="FILE",
            help="Reference answers, whose formats say which responses are equal. Default: equal texts.",
            show_default=False,
        ),
    ] = None,
    resample: o.Resample = None,
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
    """The value of majority, weighted and oracle ensembles, and their gain over the best single model."""
    from surgeval.stats.ensembles import ensembles as work

    check_out(out, force=force, inputs=table)
    options = {
        "response": response, "by": t.names_in(by), "separator": separator, "kinds": t.names_in(kinds),
        "weights": t.read_weights(weights) if weights else None, "references": references or None,
        "resample": resample, "level": level, "replicates": boot, "method": method, "seed": seed,
        "metric": metric, "better": t.read_better(better), "missing": missing or None,
        "columns": t.read_columns(columns),
    }  # fmt: skip
    result = work(table, **options)  # type: ignore[arg-type]
    deliver(result, out=out, as_json=as_json, force=force)
