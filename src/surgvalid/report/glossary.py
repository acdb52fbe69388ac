"""Words of the report that a reader may want explained, each in one sentence."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from surgvalid.report.inputs import ReportInputs
from surgvalid.report.section import ReportTable, Section

TERMS: Mapping[str, str] = {
    "95 % interval": "The values that the data do not rule out; of a hundred such intervals about ninety-five hold the"
    " true value.",
    "accuracy": "The share of questions answered rightly.",
    "baseline": "A model that others must beat; it does not compete itself.",
    "board": "One order of all competitors; a challenge may have one for technical and one for clinical questions.",
    "bucket": "The questions of one kind (capability), asked on videos like those of training or on others; final "
    "ranks rest"
    " on how models compare inside each.",
    "capability": "What a question asks for, such as recognising an object or counting.",
    "Copeland score": "In how many comparisons with other models a model comes out ahead, less those it loses.",
    "floor": "What input-blind systems reach.",
    "Holm": "A correction of p-values for the number of tests; the chance of even one false claim stays below 5 %.",
    "ID": "In distribution: videos like those that models were trained on.",
    "macro accuracy": "The mean of the accuracies of all buckets, so that every kind of question counts the same.",
    "margin": "How far a model is above the trivial baseline.",
    "mixed model": "A regression that knows which answers belong to the same video and the same model.",
    "odds ratio": "By what factor the odds of a right answer change with a property; below 1 it harms.",
    "OOD": "Out of distribution: videos unlike those that models were trained on, such as of another hospital.",
    "p-value": "How often chance alone would give a difference at least as large as the one seen.",
    "resample": "The same analysis on videos drawn again from those there are, to see what would change with others.",
    "significant": "Hardly explained by chance: a p-value of at most 0.05 after correction.",
    "tie-break": "What decides between models that are level by the ranking rule.",
    "win rate": "How often a model is ahead of the others it is tied with, when videos are drawn again.",
}
"""By word, in the order of the alphabet."""


TITLE = "Glossary"


def section(_: ReportInputs) -> Section:
    """Every word that a reader may want explained."""
    frame = pl.DataFrame({"word": list(TERMS), "what it means": list(TERMS.values())})
    return Section("glossary", TITLE, (ReportTable("glossary", "Words of this report", frame),), folded=True)
