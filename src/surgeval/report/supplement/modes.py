"""The section on failures one by one: what became of answers, which questions nobody answers, what models wrote."""

from __future__ import annotations

import polars as pl

from surgeval.report.answer_tables import hardest_questions
from surgeval.report.section import Block, Note, Prose, Table
from surgeval.report.sections._wording import count_of
from surgeval.report.sections.answers import examples, outcomes
from surgeval.report.supplement.study import Study


def qualitative(study: Study) -> list[Block]:
    """Outcomes, the questions that the fewest models answer, and examples."""
    hardest = hardest_questions(study.rows)
    never = hardest.filter(pl.col("models_right") == 0)
    text = (
        f"{count_of(never.height, 'question')} of {hardest.height:,} "
        f"{'was' if never.height == 1 else 'were'} answered by no model."
    )
    if never.height:
        common = never.group_by("template").len().sort("len", "template", descending=[True, False]).row(0, named=True)
        text += f" The wording most often among them ({common['len']} times): {common['template']!r}."
    shown = hardest.filter(pl.col("models_right") < pl.col("models"))
    caption = (
        "Questions that some model failed, those that the fewest answered first, with the reasons that scoring gave. "
        "Templates are the wording without its particulars."
    )
    blocks: list[Block] = [Prose(text), *outcomes(study.inputs)]
    blocks.append(Table("hardest", "Questions that models fail", shown, caption, shown_rows=40))
    shown_failures = examples(study.inputs)
    return [*blocks, *(shown_failures or [Note("No answer was judged wrong in words.", "missing")])]
