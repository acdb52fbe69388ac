"""Methods, ready for a paper."""

from __future__ import annotations

from surgeval.report.inputs import Inputs
from surgeval.report.methods import methods
from surgeval.report.section import Prose, Section


def section(inputs: Inputs) -> Section:
    """What was done, in paragraphs that can be copied."""
    return Section("methods", "Methods", tuple(Prose(paragraph) for paragraph in methods(inputs)))
