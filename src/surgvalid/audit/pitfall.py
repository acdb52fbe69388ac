"""A pitfall as data: what it is, what may follow, how often it was seen, how it is checked and how it is mended.

The list of pitfalls, consequences and risks, and every figure on how often a pitfall was seen, are those of Reinke et
al., "Current validation practice undermines surgical AI development" (2025): a screening of the 46 papers on surgical
data science at MICCAI 2023 (Suppl. Note 3). The words are ours. Which consequence may follow from which pitfall is
drawn there in a figure (Fig. 2b) whose marks are not in the text; what is listed here are the consequences that the
text names: in the description of the pitfall (Section 2.1, Table SN 1.1), or in that of the consequence (Table SN
2.1). They can be fewer than the figure has.

Numbers and subjects of the items of reporting guidelines are facts of these; their wording is not repeated. They were
compared with published copies of each list:

    TRIPOD+AI   Collins et al., BMJ 2024;385:e078378 (27 items)
    CLAIM       Tejani et al., Radiology: Artificial Intelligence 2024 (update of 2024, 44 items)
    DECIDE-AI   Vasey et al., BMJ 2022;377:e070904 (17 items on AI, ten general ones in Roman numbers)
    FUTURE-AI   Lekadir et al., BMJ 2025;388:e081554 (30 recommendations, numbered within principles)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, NamedTuple


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
    items: tuple[str, ...] = ()
    """Items of reporting guidelines that the evidence is about; see `guidelines`."""

    @property
    def page(self) -> str:
        """The name of its page in the documentation."""
        return f"pitfalls/{self.code.lower().replace('.', '-')}.md"


_SUBJECTS = """\
TRIPOD+AI 3a: context and rationale
TRIPOD+AI 5a: sources of data and how representative they are
TRIPOD+AI 6a: setting, number and place of centres
TRIPOD+AI 6b: eligibility
TRIPOD+AI 8a: outcome and how it was assessed
TRIPOD+AI 8b: who assessed the outcome
TRIPOD+AI 10: sample size
TRIPOD+AI 11: missing data
TRIPOD+AI 12a: use and partition of the data
TRIPOD+AI 12d: differences between clusters
TRIPOD+AI 12e: measures of performance and why these
TRIPOD+AI 13: class imbalance
TRIPOD+AI 14: fairness
TRIPOD+AI 17: ethics approval
TRIPOD+AI 18a: funding
TRIPOD+AI 18e: sharing of data
TRIPOD+AI 18f: sharing of code
TRIPOD+AI 20b: characteristics of participants
TRIPOD+AI 21: numbers in each analysis
TRIPOD+AI 23a: performance with intervals, also in subgroups
TRIPOD+AI 23b: performance across clusters
TRIPOD+AI 25: interpretation
TRIPOD+AI 26: limitations
CLAIM 3: background, intended use and role
CLAIM 7: data sources
CLAIM 8: inclusion and exclusion
CLAIM 12: missing data
CLAIM 13: image acquisition
CLAIM 14: how the reference was obtained
CLAIM 15: why this reference
CLAIM 16: source of the annotations
CLAIM 17: annotation of the test set
CLAIM 18: variability of raters
CLAIM 19: assignment to partitions
CLAIM 20: level at which partitions are disjoint
CLAIM 21: intended sample size
CLAIM 26: choice of the final model
CLAIM 28: metrics
CLAIM 29: significance and uncertainty
CLAIM 30: robustness or sensitivity
CLAIM 35: numbers included and excluded
CLAIM 36: characteristics of each partition
CLAIM 37: performance and its uncertainty
CLAIM 39: analysis of failures
CLAIM 41: implications for practice
CLAIM 43: availability of software, model and data
CLAIM 44: funding
DECIDE-AI 2a: condition, practice and patients intended for
DECIDE-AI 3a: recruitment, inclusion and exclusion of patients and data
DECIDE-AI 13a: errors and malfunctions
DECIDE-AI 15: support for the intended use
DECIDE-AI 17: availability of data and code
DECIDE-AI III: protocol, registration and ethics
FUTURE-AI Fairness 1: sources of bias
FUTURE-AI Fairness 2: attributes of patients and data
FUTURE-AI Fairness 3: evaluation of fairness
FUTURE-AI Universality 1: intended clinical settings
FUTURE-AI Traceability 2: documentation
FUTURE-AI Usability 5: clinical utility
FUTURE-AI Robustness 1: sources of variation of the data
FUTURE-AI Robustness 3: evaluation of robustness
FUTURE-AI General 4: plan of the evaluation
"""
SUBJECTS: Mapping[str, str] = dict(line.split(": ", 1) for line in _SUBJECTS.splitlines())
"""Every item that some check gives facts for, with what it is about in our words."""


def item_rows(checks: Mapping[str, tuple[Any, str, list[str]]]) -> Iterator[dict[str, str]]:
    """One row per item and pitfall: what the audit can say of it.

    Args:
        checks: By code of a pitfall: its entry, the outcome and the sentences of the evidence.
    """
    for item, subject in SUBJECTS.items():
        for code, (about, outcome, sentences) in checks.items():
            if item in about.items:
                guideline, _, number = item.partition(" ")
                yield {
                    "guideline": guideline,
                    "item": number,
                    "subject": subject,
                    "pitfall": code,
                    "outcome": outcome,
                    "facts": " ".join(sentences),
                }
