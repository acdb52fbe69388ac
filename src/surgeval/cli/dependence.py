"""`surgeval dependence`: how much rows of one video depend on each other."""

from __future__ import annotations

import typer

from surgeval.cli._table_verbs import METRIC, TABLE, add_table_verb


def register(app: typer.Typer) -> None:
    """Add the verb."""
    add_table_verb(
        app,
        "dependence",
        "surgeval.stats.dependence.dependence",
        {**TABLE, **METRIC},
        "The intraclass correlation, the design effect and the number of independent cases that the table is worth.",
    )
