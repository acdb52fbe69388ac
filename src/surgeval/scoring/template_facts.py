"""What the templates of a question set give away: single possible answers, and what training never showed.

A template with a single possible answer tests memory of the template, not sight of the video. Answers
are told apart by their values, so spelling does not count; a template that is asked once has one answer
by necessity, which is why the number of questions stands beside it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import polars as pl

from surgeval.results.tables import scoring as tables
from surgeval.scoring.blind_questions import BlindQuestion
from surgeval.scoring.slices import OVERALL


def template_table(questions: Sequence[BlindQuestion], training: Sequence[BlindQuestion] | None) -> pl.DataFrame:
    """One row per (format, template), the largest first; `unseen` is null without a training set."""
    groups: dict[tuple[str, str], list[BlindQuestion]] = {}
    for question in questions:
        groups.setdefault((question.format, question.template), []).append(question)
    seen = None if training is None else {question.template for question in training}
    rows = []
    for (name, template), members in groups.items():
        counts = Counter(answer for question in members if (answer := question.answer) is not None)
        commonest, times = min(counts.items(), key=lambda item: (-item[1], item[0]), default=(None, 0))
        videos = len({question.video for question in members})
        unseen = None if seen is None else template not in seen
        rows.append(
            {
                "format": name,
                "template": template,
                "questions": len(members),
                "videos": videos,
                "answers": len(counts),
                "single_answer": len(counts) == 1,
                "commonest": commonest,
                "commonest_share": times / len(members),
                "unseen": unseen,
            }
        )
    frame = tables.TEMPLATES.frame(rows)
    return frame.sort(["questions", "format", "template"], descending=[True, False, False])


def unseen_table(questions: Sequence[BlindQuestion], training: Sequence[BlindQuestion] | None) -> pl.DataFrame:
    """Per slice, how many questions have a template that the training set never shows."""
    if training is None:
        return tables.UNSEEN_TEMPLATES.frame([])
    seen = {question.template for question in training}
    totals: Counter[tuple[str, str]] = Counter()
    strangers: Counter[tuple[str, str]] = Counter()
    for question in questions:
        for name in (OVERALL, ("bucket", question.bucket), ("format", question.format)):
            totals[name] += 1
            strangers[name] += question.template not in seen
    order = [OVERALL, *sorted(name for name in totals if name != OVERALL)]
    rows = [
        {
            "level": name[0],
            "name": name[1],
            "questions": totals[name],
            "unseen": strangers[name],
            "share": strangers[name] / totals[name],
        }
        for name in order
    ]
    return tables.UNSEEN_TEMPLATES.frame(rows)
