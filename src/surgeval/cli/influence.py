"""`surgeval influence`: what each video does to the value of each model."""

from __future__ import annotations

from surgeval.cli._table_verbs import INTERVALS, METRIC, TABLE, table_verb

register = table_verb(
    "influence",
    "surgeval.stats.influence.influence",
    {**TABLE, "statistic": INTERVALS["statistic"], "estimand": INTERVALS["estimand"], **METRIC},
    "The value of every model without each video in turn, the most influential video first.",
)
