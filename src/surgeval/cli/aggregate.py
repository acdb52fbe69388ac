"""`surgeval aggregate`: how the order of models depends on what is averaged first."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from surgeval.cli import _tables as t
from surgeval.cli._console import emit, emit_table
from surgeval.errors import FileUnreadable
from surgeval.schema.documents import read_json


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("aggregate")(aggregate)


def aggregate(
    table: t.TableArgument,
    operator: Annotated[str, typer.Option("--operator", help="mean, median, min, max, or q05, q95, ...")] = "mean",
    phase: Annotated[str, typer.Option("--phase-column", help="Column with the phase.")] = "phase",
    combine: Annotated[str, typer.Option("--combine", help="scores or ranks.")] = "scores",
    weights: Annotated[
        Path | None, typer.Option("--weights", help="JSON file with a weight for every phase, by its name.")
    ] = None,
    metric: t.MetricOption = None,
    better: t.BetterOption = None,
    missing: t.MissingOption = None,
    columns: t.ColumnsOption = "",
    out: t.OutOption = None,
    as_json: t.JsonOption = False,
    force: t.ForceOption = False,
) -> None:
    """Ranks of all models under six ways of aggregating, and how well these agree."""
    from surgeval.stats.aggregation import aggregate as work

    t.check_out(out, force=force, inputs=table)
    options = {
        "operator": operator,
        "phase": phase,
        "combine": combine,
        "metric": metric,
        "better": t.read_better(better),
        "missing": missing or None,
    }
    read = read_weights(weights) if weights else None
    result = work(t.read_tables(table, columns), weights=read, **options)  # type: ignore[arg-type]
    inputs = [*table, *([weights] if weights else [])]
    options |= {"weights": read, "columns": columns}  # type: ignore[dict-item]
    t.deliver(result, out=out, as_json=as_json, verb="aggregate", options=options, inputs=inputs)
    if result.agreement is not None and not as_json and out is None:
        emit("")
        emit_table(result.agreement, title="agreement with frame-wise aggregation")


def read_weights(path: Path) -> dict[str, float]:
    """The mapping from phase to weight in a JSON file.

    Raises:
        FileUnreadable: No such file, no JSON, or no object; a bare list of weights does not say which phase is which.
    """
    data = read_json(path)
    if not isinstance(data, dict):
        raise FileUnreadable(str(path), [f'expected an object such as {{"phase 1": 2}}, got {type(data).__name__}'])
    return {str(key): value for key, value in data.items()}
