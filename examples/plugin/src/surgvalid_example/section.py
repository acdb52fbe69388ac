"""How many cases each model answered: the least that a section can be."""

from __future__ import annotations

import polars as pl

from surgvalid.report.inputs import ReportInputs
from surgvalid.report.section import Prose, ReportTable, Section


def section(inputs: ReportInputs) -> Section:
    """The number of cases of each model."""
    counts = inputs.rows.group_by("model", maintain_order=True).agg(cases=pl.col("case").n_unique())
    text = f"{counts.height} models have scores in this folder."
    return Section("case_counts", "Cases by model", (Prose(text), ReportTable("case-counts", "Cases by model", counts)))
