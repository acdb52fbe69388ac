"""Wrong answers, or the worst cases, one by one."""

from __future__ import annotations

from surgeval.report.cases.collect import collect
from surgeval.report.inputs import Inputs
from surgeval.report.section import Browser, Section
from surgeval.report.sections._wording import count_of, missing

TITLE = "Wrong answers one by one"


def section(inputs: Inputs) -> Section:
    """Cases to look through, those first that a found weakness explains."""
    made = collect(inputs)
    if not made.cases:
        return missing("cases", TITLE, "There are no scored cases.", "surgeval score ... --out DIR/MODEL")
    are_answers = inputs.metric == "correct"
    noun = "question" if are_answers else "case"
    what = "that at least one model has wrong" if are_answers else "that are among the worst of at least one model"
    shown = f"{len(made.cases):,} of " if len(made.cases) < made.total else ""
    text = f"{shown}{count_of(made.total, noun)} {what}; those first that a weakness found above explains."
    if not made.texts.requests and are_answers:
        text += " What was asked and answered is not shown: the files of the scorings were moved or changed."
    title = TITLE if are_answers else "The worst cases one by one"
    return Section("cases", title, (Browser("cases", title, text, tuple(made.cases)),))
