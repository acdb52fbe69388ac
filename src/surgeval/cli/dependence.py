"""`surgeval dependence`: how much rows of one video depend on each other."""

from __future__ import annotations

import typer

from surgeval.cli import _options as o
from surgeval.cli import _tables as t
from surgeval.cli._deliver import check_out, deliver


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("dependence")(dependence)


def dependence(
    table: o.TableArgument,
    metric: o.Metric = None,
    better: o.Better = None,
    missing: o.Missing = None,
    columns: o.Columns = "",
    out: o.Out = None,
    as_json: o.Json = False,
    force: o.Force = False,
) -> None:
    """The intraclass correlation, the design effect and the number of independent cases that the table is worth."""
    from surgeval.stats.dependence import dependence as work

    check_out(out, force=force, inputs=table)
    options = {
        "metric": metric, "better": t.read_better(better), "missing": missing or None,
        "columns": t.read_columns(columns),
    }  # fmt: skip
    result = work(table, **options)  # type: ignore[arg-type]
    deliver(result, out=out, as_json=as_json, force=force)
