"""The rules that printed tables are held against, one file per family; a rule yields what breaks it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from surgvalid.audit.tables.rows import PrintedRows
from surgvalid.audit.tables.rules.constant_predictors import degenerate, prevalence
from surgvalid.audit.tables.rules.laws import laws, single_label, value_range
from surgvalid.audit.tables.rules.possible_counts import beside, intervals, no_solution, whole_counts
from surgvalid.audit.tables.rules.printed import averages, bold, repeats, totals
from surgvalid.audit.tables.vocabulary import TableFinding

__all__ = ["RULES"]

RULES: Mapping[str, Callable[[PrintedRows], Iterator[TableFinding]]] = {
    rule.__name__: rule
    for rule in (
        value_range,
        laws,
        single_label,
        no_solution,
        whole_counts,
        beside,
        intervals,
        degenerate,
        repeats,
        bold,
        averages,
        totals,
        prevalence,
    )
}
"""Every rule by name, in the order in which findings are listed."""
