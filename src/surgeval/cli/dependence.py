"""`surgeval dependence`: how much rows of one video depend on each other."""

from __future__ import annotations

from surgeval.cli._table_verbs import METRIC, TABLE, table_verb

register = table_verb(
    "dependence",
    "surgeval.stats.dependence.dependence",
    {**TABLE, **METRIC},
    "The intraclass correlation, the design effect and the number of independent cases that the table is worth.",
)
