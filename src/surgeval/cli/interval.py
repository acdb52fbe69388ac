"""`surgeval interval`: the value of every model with an interval that respects videos."""

from __future__ import annotations

import typer

from surgeval.cli._table_verbs import INTERVALS, METRIC, TABLE, add_table_verb


def register(app: typer.Typer) -> None:
    """Add the verb."""
    add_table_verb(
        app,
        "interval",
        "surgeval.stats.interval.interval",
        {**TABLE, **INTERVALS, **METRIC},
        "Values of all models with intervals in which rows of one video are not taken as independent.",
    )
