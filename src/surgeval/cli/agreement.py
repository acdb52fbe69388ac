"""`surgeval agreement`: how well raters agree."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from surgeval.cli import _options as o
from surgeval.cli import _tables as t
from surgeval.cli._deliver import check_out, deliver


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("agreement")(agreement)


def agreement(
    table: Annotated[
        list[Path], typer.Argument(metavar="TABLE...", help="CSV or Parquet files with a row per rater and unit.")
    ],
    rater: Annotated[str, typer.Option("--rater", metavar="COL", help="Column with the rater.")],
    label: Annotated[str, typer.Option("--label", metavar="COL", help="Column with what they said.")],
    unit: Annotated[str | None, typer.Option("--unit", metavar="COL", help="Column with what was rated.")] = None,
    video: Annotated[str | None, typer.Option("--video", metavar="COL", help="Column with the video.")] = None,
    start: Annotated[str | None, typer.Option("--start", metavar="COL", help="Start of a segment, in s.")] = None,
    end: Annotated[str | None, typer.Option("--end", metavar="COL", help="End of a segment, in s.")] = None,
    idle: Annotated[str, typer.Option("--idle", help="Label of the time outside segments.")] = "Idle",
    step: Annotated[float, typer.Option("--step", help="Length of one unit of time, in s.")] = 1.0,
    overlaps: Annotated[
        str, typer.Option("--overlaps", help="Overlapping segments of one rater: error, first or last wins.")
    ] = "error",
    scale: Annotated[str, typer.Option("--scale", help="nominal, ordinal or interval.")] = "nominal",
    order: Annotated[str, typer.Option("--order", metavar="LABEL,...", help="Labels from low to high.")] = "",
    kappa_weights: Annotated[str, typer.Option("--kappa-weights", help="none, linear or quadratic.")] = "none",
    tolerance: Annotated[
        float | None,
        typer.Option("--tolerance", metavar="CHANCE", help="Also say within what two raters lie, such as 0.95."),
    ] = None,
    into: Annotated[
        list[str] | None,
        typer.Option(
            "--into",
            metavar="FILE",
            help="References to be given the tolerance; --out then has references.json.",
            show_default=False,
        ),
    ] = None,
    answer_format: Annotated[
        str, typer.Option("--answer-format", help="Questions that get it: time or percentage.")
    ] = "time",
    level: o.Level = 0.95,
    boot: o.Boot = 1000,
    seed: o.Seed = 42,
    columns: o.Columns = "",
    out: o.Out = None,
    as_json: o.Json = False,
    force: o.Force = False,
) -> None:
    """Kappa, alpha and (for numbers) ICC with intervals over videos, from units or from segments; tolerances too."""
    from surgeval.stats.agreement.report import agreement as work

    check_out(out, force=force, inputs=table)
    options = {
        "rater": rater, "label": label, "unit": unit, "video": video, "start": start, "end": end, "idle": idle,
        "step_s": step, "overlaps": overlaps, "scale": scale, "order": t.names_in(order),
        "kappa_weights": kappa_weights, "tolerance": tolerance, "into": into or None, "answer_format": answer_format,
        "level": level, "replicates": boot, "seed": seed,
        "columns": t.read_columns(columns),
    }  # fmt: skip
    result = work(table, **options)  # type: ignore[arg-type]
    deliver(result, out=out, as_json=as_json, force=force)
