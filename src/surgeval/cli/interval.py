"""`surgeval interval`: the value of every model with an interval that respects videos."""

from __future__ import annotations

from surgeval.cli._table_verbs import INTERVALS, METRIC, TABLE, table_verb

register = table_verb(
    "interval",
    "surgeval.stats.interval.interval",
    {**TABLE, **INTERVALS, **METRIC},
    "Values of all models with intervals in which rows of one video are not taken as independent.",
)
