"""Whether properties separate the outcome: then no finite odds ratio fits best, however the fit was made.

The decision a reader would question: random effects are left out. What separates the outcome without them separates it
with them, so nothing is flagged wrongly; what only random effects separate is left to the check for huge estimates.
"""

from __future__ import annotations

from surgeval.stats.mixed.design import Design
from surgeval.stats.separation import separation


def separating_terms(design: Design) -> list[str]:
    """The properties that together separate the outcome, by name; empty where none do or it was not looked for."""
    if design.fixed.shape[1] < 2:
        return []
    separated = separation(design.fixed, design.response, design.trials).columns
    return [name for name, separates in zip(design.names[1:], separated[1:], strict=True) if separates]
