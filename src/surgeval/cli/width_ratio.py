"""`surgeval width-ratio`: how much wider intervals are when videos are respected."""

from __future__ import annotations

from surgeval.cli._table_verbs import INTERVALS, METRIC, TABLE, table_verb

register = table_verb(
    "width-ratio",
    "surgeval.stats.dependence.width_ratio",
    {**TABLE, **INTERVALS, **METRIC},
    "Widths of intervals with and without videos, their ratio per model, and two summaries over models.",
)
