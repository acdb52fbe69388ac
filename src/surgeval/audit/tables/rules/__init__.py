"""The rules that printed tables are held against, one file each; a rule yields what breaks it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import ModuleType

from surgeval.audit.tables.rows import Rows
from surgeval.audit.tables.rules import (
    accuracy_recall,
    averages,
    bold,
    degenerate,
    f1_harmonic,
    jaccard_bound,
    jaccard_f1,
    labelwise,
    no_solution,
    prevalence,
    repeats,
    totals,
    value_range,
    whole_counts,
)
from surgeval.audit.tables.vocabulary import TableFinding

__all__ = ["RULES"]

_MODULES: tuple[ModuleType, ...] = (
    value_range, accuracy_recall, jaccard_f1, f1_harmonic, jaccard_bound, labelwise, no_solution, whole_counts,
    degenerate, repeats, bold, averages, totals, prevalence,
)  # fmt: skip
RULES: Mapping[str, Callable[[Rows], Iterator[TableFinding]]] = {
    module.__name__.rpartition(".")[2]: module.check for module in _MODULES
}
"""Every rule by the name of its file."""
