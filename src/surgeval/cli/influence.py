"""`surgeval influence`: what each video does to the value of each model."""

from __future__ import annotations

import typer

from surgeval.cli._table_verbs import INTERVALS, METRIC, TABLE, add_table_verb


def register(app: typer.Typer) -> None:
    """Add the verb."""
    add_table_verb(
        app,
        "influence",
        "surgeval.stats.influence.influence",
        {**TABLE, "statistic": INTERVALS["statistic"], "estimand": INTERVALS["estimand"], **METRIC},
        "The value of every model without each video in turn, the most influential video first.",
    )
