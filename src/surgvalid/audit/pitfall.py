"""A pitfall as data: what it is, what may follow, how often it was seen, how it is checked and how it is mended.

The list of pitfalls, consequences and risks, and every figure on how often a pitfall was seen, are those of Reinke et
al., "Current validation practice undermines surgical AI development" (2025): a screening of the 46 papers on surgical
data science at MICCAI 2023 (Suppl. Note 3). The words are ours. Which consequence may follow from which pitfall is
drawn there in a figure (Fig. 2b) whose marks are not in the text; what is listed here are the consequences that the
text names: in the description of the pitfall (Section 2.1, Table SN 1.1), or in that of the consequence (Table SN
2.1). They can be fewer than the figure has.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple


class Category(StrEnum):
    """Where a pitfall lies."""

    DATA = "data"
    METRICS = "metric selection and configuration"
    REPORTING = "aggregation and reporting"


class Seldom(NamedTuple):
    """How often something was seen in the screened papers."""

    share: float
    """In percent."""
    what: str
    papers: int | None
    """Papers to which the question applied, where that is printed."""

    @property
    def text(self) -> str:
        """The figure as a sentence."""
        return f"{self.share:g} % of {f'{self.papers} ' if self.papers else ''}papers {self.what}"


CONSEQUENCES: Mapping[str, str] = {
    "bias": "systematic errors from flaws of the data; models may take short cuts",
    "unreliable": "values that move with details of the set-up, or say nothing",
    "opaque": "results that nobody can follow or repeat",
    "undetected": "failures under some conditions that stay unseen until use",
    "leakage": "values that are too good because the model knows the test data, or fits only what it was made on",
    "waste": "time and money spent on models that solve no clinical problem",
}
"""Consequences by a short name."""


class Pitfall(NamedTuple):
    """One pitfall of the catalogue."""

    code: str
    """As the source numbers it, such as `P1.6`."""
    title: str
    category: Category
    what: str
    """What it is, in two sentences."""
    consequences: tuple[str, ...]
    """Names in `CONSEQUENCES` that the source's text gives for it."""
    seen: tuple[Seldom, ...]
    """How often, in the screened papers."""
    checked: str
    """What the check computes, and when it fails."""
    fix: str

    @property
    def page(self) -> str:
        """The name of its page in the documentation."""
        return f"pitfalls/{self.code.lower().replace('.', '-')}.md"
