"""Sections on what the data are, and on the values of every model."""

from __future__ import annotations

import polars as pl

from surgeval.report.section import Block, Note, Prose, Table
from surgeval.report.sections._pictures import picture
from surgeval.report.sections._wording import count_of, name_of
from surgeval.report.supplement.study import Study
from surgeval.report.supplement.words import against_zero, extreme, limits, listed, shown
from surgeval.scoring.ood_gap import SHARED
from surgeval.scoring.summary import CLINICAL, HEADLINE
from surgeval.stats.few_videos import correction_unreachable, few_videos
from surgeval.stats.interval import interval

_BOARDS = {HEADLINE[1]: "all questions", CLINICAL[1]: "clinical questions"}


def data(study: Study) -> list[Block]:
    """How much there is, and what so much can show."""
    each = study.rows.filter(pl.col("model") == study.models[0]).group_by("video").len()["len"]
    questions = study.rows["case"].n_unique()
    least, most = min(each), max(each)
    sizes = f"{most} questions" if least == most else f"{least} to {most} questions"
    named = [words for column, words in study.axes.items() if study.varies(column)]
    same = [words for column, words in study.axes.items() if column in study.rows.columns and not study.varies(column)]
    absent = [
        f"{words} (column {column!r})" for column, words in study.axes.items() if column not in study.rows.columns
    ]
    text = (
        f"{count_of(len(study.models), 'model')}, {count_of(questions, 'question')} from "
        f"{count_of(study.videos, 'video')} ({sizes} each). Questions of one video are not independent: every interval "
        f"here is over videos. The questions differ in {listed(named)}"
        f"{f'; they do not differ in {listed(same)}' if same else ''}."
    )
    blocks: list[Block] = [Prose(text)]
    if absent:
        blocks.append(Note(f"Not in the scores, so not analysed: {listed(absent)}.", "missing"))
    pairs = len(study.models) * (len(study.models) - 1) // 2
    few = few_videos(study.videos, study.videos - 1)
    hopeless = correction_unreachable(study.videos, pairs) if pairs else None
    return [*blocks, *limits(one for one in (few, hopeless) if one is not None)]


def values(study: Study) -> list[Block]:
    """Headlines, accuracies, the out-of-distribution gap and targeted metrics of every model."""
    return [*_headlines(study), *_accuracies(study), *_gaps(study), *_targeted(study)]


def _headlines(study: Study) -> list[Block]:
    summary = study.whose("summary")
    if summary.is_empty() or summary["estimand"].is_null().all():
        return [
            Note("The models were scored under an official profile, which has no headline with interval.", "missing")
        ]
    frame = summary.filter(pl.col("level") == "headline").drop("level", "estimand")
    boards = frame.filter(pl.col("name").is_in(list(_BOARDS)))
    sentences = []
    for name, words in _BOARDS.items():
        best = extreme(boards.filter(pl.col("name") == name), "accuracy", largest=True)
        if best is not None:
            sentences.append(f"On {words} the highest headline is {shown(best, 'accuracy')} ({name_of(best['model'])})")
    panel = pl.col("name").replace_strict(_BOARDS, return_dtype=pl.String)
    drawn = boards.select("model", value="accuracy", low="low", high="high", n="videos", panel=panel)
    caption = (
        "The mean over buckets (capability group, in or out of distribution) of their accuracies, for all questions "
        "and for the clinical ones. Intervals leave out one video at a time; none where a bucket rests on one video."
    )
    return [
        Prose(f"{'. '.join(sentences)}. Which model is better is a question for the section on differences."
              if sentences else "No model has a headline."),
        *([picture("value_intervals", drawn, name="headlines", title="Headline accuracy",
                   estimand="mean over buckets")] if drawn["low"].is_not_null().any() else []),
        Table("headlines", "Headlines", frame, caption),
    ]  # fmt: skip


def _accuracies(study: Study) -> list[Block]:
    analysis = [
        interval(study.table, estimand=estimand, level=study.level, **study.how) for estimand in ("rows", "videos")
    ]
    frame = pl.concat([one.table for one in analysis])
    caption = f"{analysis[0].prose} The estimand 'videos' is the mean over videos of their accuracies."
    return [
        Table("values", "Accuracy over all questions", frame, caption),
        *limits(analysis[0].findings),
    ]


def _gaps(study: Study) -> list[Block]:
    frame = study.whose("ood_gap")
    shared = frame.filter(pl.col("capability") == SHARED) if not frame.is_empty() else frame
    if shared.is_empty():
        why = "no question is out of distribution, or none in distribution, in the same capability"
        return [Note(f"There is no gap between in and out of distribution: {why}.", "missing")]
    sentences = [
        f"{name_of(row['model'])} {shown(row, 'gap', signed=True)}, {against_zero(row)}"
        for row in shared.iter_rows(named=True)
    ]
    caption = (
        "Accuracy out of distribution minus in distribution. The means take the same capabilities on both sides and "
        "weigh them equally, so that a side that holds more easy questions gains nothing; what only one side has is "
        "listed with a note."
    )
    return [
        Prose(f"Out of distribution minus in distribution, over the same capabilities: {'; '.join(sentences)}."),
        Table("ood_gaps", "Gap between in and out of distribution", frame, caption),
    ]


def _targeted(study: Study) -> list[Block]:
    frame = study.whose("targeted")
    if frame.is_empty():
        return []
    caption = (
        "How far wrong answers are off, by answer format: overlap of sets, errors of times, counts and percentages, "
        "Expected Cost of counts; intervals over videos. A missing answer has the value named in the last columns."
    )
    return [Table("targeted_metrics", "Targeted metrics", frame, caption, folded=True)]
