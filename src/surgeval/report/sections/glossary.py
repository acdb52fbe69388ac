"""The words of the report, explained."""

from __future__ import annotations

import polars as pl

from surgeval.report.glossary import TERMS
from surgeval.report.inputs import Inputs
from surgeval.report.section import Section, Table

TITLE = "Glossary"


def section(_: Inputs) -> Section:
    """Every word that a reader may want explained."""
    frame = pl.DataFrame({"word": list(TERMS), "what it means": list(TERMS.values())})
    return Section("glossary", TITLE, (Table("glossary", "Words of this report", frame),), folded=True)
