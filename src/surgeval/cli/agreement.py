"""`surgeval agreement`: how well raters agree."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from surgeval.cli import _tables as t
from surgeval.cli._table_verbs import DRAWS, METHOD, METRIC, Options, Taken, table_verb


def _column(option: str, text: str, *, needed: bool = False) -> Any:
    return Annotated[str if needed else str | None, typer.Option(option, metavar="COL", help=text)]


def _word(option: str, text: str) -> Any:
    return Annotated[str, typer.Option(option, help=text)]


_RATINGS: Options = {
    "table": Taken(
        Annotated[
            list[Path], typer.Argument(metavar="TABLE...", help="CSV or Parquet files with a row per rater and unit.")
        ]
    ),
    "rater": Taken(_column("--rater", "Column with the rater.", needed=True)),
    "label": Taken(_column("--label", "Column with what they said.", needed=True)),
    "unit": Taken(_column("--unit", "Column with what was rated."), None),
    "video": Taken(_column("--video", "Column with the video."), None),
    "start": Taken(_column("--start", "Start of a segment, in s."), None),
    "end": Taken(_column("--end", "End of a segment, in s."), None),
    "idle": Taken(_word("--idle", "Label of the time outside segments."), "Idle"),
    "step": Taken(
        Annotated[float, typer.Option("--step", help="Length of one unit of time, in s.")], 1.0, argument="step_s"
    ),
    "overlaps": Taken(_word("--overlaps", "Overlapping segments of one rater: error, first or last wins."), "error"),
    "scale": Taken(_word("--scale", "nominal, ordinal or interval."), "nominal"),
    "order": Taken(
        Annotated[str, typer.Option("--order", metavar="LABEL,...", help="Labels from low to high.")], "", t.names_in
    ),
    "kappa_weights": Taken(_word("--kappa-weights", "none, linear or quadratic."), "none"),
    "tolerance": Taken(
        Annotated[
            float | None,
            typer.Option("--tolerance", metavar="CHANCE", help="Also say within what two raters lie, such as 0.95."),
        ],
        None,
    ),
    "into": Taken(
        Annotated[
            list[str] | None,
            typer.Option(
                "--into",
                metavar="FILE",
                help="References to be given the tolerance; --out then has references.json.",
                show_default=False,
            ),
        ],
        None,
        lambda files: files or None,
    ),
    "answer_format": Taken(_word("--answer-format", "Questions that get it: time or percentage."), "time"),
}


register = table_verb(
    "agreement",
    "surgeval.stats.agreement.report.agreement",
    {**_RATINGS, **DRAWS, "seed": METHOD["seed"], "columns": METRIC["columns"]},
    "Kappa, alpha and (for numbers) ICC with intervals over videos, from units or from segments; tolerances too.",
)
