"""`surgeval width-ratio`: how much wider intervals are when videos are respected."""

from __future__ import annotations

import typer

from surgeval.cli._table_verbs import INTERVALS, METRIC, TABLE, add_table_verb


def register(app: typer.Typer) -> None:
    """Add the verb."""
    add_table_verb(
        app,
        "width-ratio",
        "surgeval.stats.dependence.width_ratio",
        {**TABLE, **INTERVALS, **METRIC},
        "Widths of intervals with and without videos, their ratio per model, and two summaries over models.",
    )
