"""What the templates of a question set give away: single possible answers, and what training never showed.

A template with a single possible answer tests memory of the template, not sight of the video. Answers
are told apart by their values, so spelling does not count; a template that is asked once has one answer
by necessity, which is why the number of questions stands beside it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import polars as pl

from surgeval.scoring.blind_questions import BlindQuestion
from surgeval.scoring.slices import OVERALL

TEMPLATE_SCHEMA = {
    "format": pl.String, "template": pl.String, "questions": pl.Int64, "videos": pl.Int64, "answers": pl.Int64,
    "single_answer": pl.Boolean, "commonest": pl.String, "commonest_share": pl.Float64, "unseen": pl.Boolean,
}  # fmt: skip
UNSEEN_SCHEMA = {"level": pl.String, "name": pl.String, "questions": pl.Int64, "unseen": pl.Int64, "share": pl.Float64}


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
        facts = (len(members), videos, len(counts), len(counts) == 1, commonest, times / len(members), unseen)
        rows.append((name, template, *facts))
    frame = pl.DataFrame(rows, schema=TEMPLATE_SCHEMA, orient="row")
    return frame.sort(["questions", "format", "template"], descending=[True, False, False])


def unseen_table(questions: Sequence[BlindQuestion], training: Sequence[BlindQuestion] | None) -> pl.DataFrame:
    """Per slice, how many questions have a template that the training set never shows."""
    if training is None:
        return pl.DataFrame(schema=UNSEEN_SCHEMA)
    seen = {question.template for question in training}
    totals: Counter[tuple[str, str]] = Counter()
    strangers: Counter[tuple[str, str]] = Counter()
    for question in questions:
        for name in (OVERALL, ("bucket", question.bucket), ("format", question.format)):
            totals[name] += 1
            strangers[name] += question.template not in seen
    order = [OVERALL, *sorted(name for name in totals if name != OVERALL)]
    rows = [(*name, totals[name], strangers[name], strangers[name] / totals[name]) for name in order]
    return pl.DataFrame(rows, schema=UNSEEN_SCHEMA, orient="row")
