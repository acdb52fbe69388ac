"""`surgeval failure-table`: failure analyses of several outcomes and groups of rows, side by side."""

from __future__ import annotations

from typing import Annotated

import typer

from surgeval.cli import _mixed_options as m
from surgeval.cli import _options as o
from surgeval.cli import _tables as t
from surgeval.cli._deliver import check_out, deliver


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("failure-table")(failure_table)


def failure_table(
    table: o.TableArgument,
    outcomes: Annotated[
        str,
        typer.Option(
            "--outcomes",
            metavar="NAME=SUCCESSES/TRIALS,...",
            help="Outcomes with their names, such as precision=tp/predicted,recall=tp/reference; or NAME=COLUMN.",
        ),
    ],
    fixed: m.Fixed = "",
    random: m.Random = "",
    split: Annotated[
        str | None,
        typer.Option("--split", metavar="COL|COL>N", help="Groups of rows: by a column, or at a number ('tools>1')."),
    ] = None,
    unit: m.Unit = None,
    spec: m.Spec = "default",
    inference: m.Inference = "auto",
    slopes: m.Slopes = "all",
    separation: m.Separation = "auto",
    family: m.Family = "auto",
    properties: m.Properties = None,
    metric: o.Metric = None,
    better: o.Better = None,
    missing: o.Missing = None,
    symmetric: m.Symmetric = False,
    level: o.Level = 0.95,
    columns: o.Columns = "",
    out: o.Out = None,
    as_json: o.Json = False,
    force: o.Force = False,
) -> None:
    """Which properties make models fail, as symbols: a row per property, a column per outcome and group.

    Exit code 0: every fit converged. 1: one did not.
    """
    from surgeval.stats.mixed.failure_table import failure_table as work

    check_out(out, force=force, inputs=[*table, *(properties or [])])
    result = work(
        list(table), outcomes=t.read_named("--outcomes", outcomes), split=split, fixed=t.names_in(fixed),
        random=t.names_in(random), unit=unit, spec=spec, inference=inference,  # type: ignore[arg-type]
        slopes=m.read_slopes(slopes), separation=separation, family=family,  # type: ignore[arg-type]
        properties=list(properties or []) or None, metric=metric, better=t.read_better(better), missing=missing or None,
        symmetric=symmetric, level=level, columns=t.read_columns(columns),
        where=", ".join(path.name for path in table),
    )  # fmt: skip
    deliver(result, out=out, as_json=as_json, force=force)
    if not result.converged:
        raise typer.Exit(1)
