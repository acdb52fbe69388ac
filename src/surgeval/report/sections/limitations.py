"""Limitations found in the results themselves."""

from __future__ import annotations

from surgeval.report.inputs import Inputs
from surgeval.report.limits import limitations
from surgeval.report.section import Prose, Section

TITLE = "Limitations found"
_NONE = (
    "None of the limitations that can be found automatically shows in these results. How videos and cases were chosen,"
    " and whether references are right, cannot be seen from here."
)


def section(inputs: Inputs) -> Section:
    """Every limitation that could be found without being told."""
    notes = limitations(inputs)
    if not notes:
        return Section("limitations", TITLE, (Prose(_NONE),))
    text = "These were found by looking at the results; they are no complete list of what can be wrong with a study."
    return Section("limitations", TITLE, (Prose(text), *notes))
