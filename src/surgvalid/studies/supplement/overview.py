"""Sections on what the data are, on the values of every model, and on failures one by one."""

from __future__ import annotations

import polars as pl

from surgvalid.report.figures import picture
from surgvalid.report.section import Block, Note, Prose, ReportTable
from surgvalid.report.sections.answers import outcomes
from surgvalid.report.words import count_of, name_of
from surgvalid.results.tables.supplement import HARDEST
from surgvalid.scoring.ood import SHARED
from surgvalid.scoring.summary import CLINICAL, HEADLINE
from surgvalid.stats.intervals.few_videos import correction_unreachable, few_videos
from surgvalid.stats.intervals.interval import interval
from surgvalid.studies.supplement.study import SupplementStudy, against_zero, extreme, limits, listed, shown

_BOARDS = {HEADLINE[1]: "all questions", CLINICAL[1]: "clinical questions"}


def data(study: SupplementStudy) -> list[Block]:
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


def values(study: SupplementStudy) -> list[Block]:
    """Primary results, accuracies, the out-of-distribution gap and targeted metrics of every model."""
    return [*_headlines(study), *_accuracies(study), *_gaps(study), *_targeted(study)]


def _headlines(study: SupplementStudy) -> list[Block]:
    summary = study.whose("summary")
    if summary.is_empty() or summary["estimand"].is_null().all():
        return [
            Note(
                "The models were scored under an official profile, which has no primary result with interval.",
                "missing",
            )
        ]
    frame = summary.filter(pl.col("level") == "headline").drop("level", "estimand")
    boards = frame.filter(pl.col("name").is_in(list(_BOARDS)))
    sentences = []
    for name, words in _BOARDS.items():
        best = extreme(boards.filter(pl.col("name") == name), "accuracy", largest=True)
        if best is not None:
            sentences.append(
                f"On {words} the highest primary result is {shown(best, 'accuracy')} ({name_of(best['model'])})"
            )
    panel = pl.col("name").replace_strict(_BOARDS, return_dtype=pl.String)
    drawn = boards.select("model", value="accuracy", low="low", high="high", n="videos", panel=panel)
    caption = (
        "The mean over buckets (capability group, in or out of distribution) of their accuracies, for all questions "
        "and for the clinical ones. Intervals leave out one video at a time; none where a bucket rests on one video."
    )
    return [
        Prose(
            f"{'. '.join(sentences)}. Which model is better is a question for the section on differences."
            if sentences
            else "No model has a primary result."
        ),
        *(
            [picture("value_intervals", drawn, name="headlines", title="Primary result", estimand="mean over buckets")]
            if drawn["low"].is_not_null().any()
            else []
        ),
        ReportTable("headlines", "Headlines", frame, caption),
    ]


def _accuracies(study: SupplementStudy) -> list[Block]:
    analysis = [
        interval(study.table, estimand=estimand, level=study.level, **study.how) for estimand in ("rows", "videos")
    ]
    frame = pl.concat([one.table for one in analysis])
    caption = f"{analysis[0].prose} The estimand 'videos' is the mean over videos of their accuracies."
    return [
        ReportTable("values", "Accuracy over all questions", frame, caption),
        *limits(analysis[0].findings),
    ]


def _gaps(study: SupplementStudy) -> list[Block]:
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
        ReportTable("ood_gaps", "Gap between in and out of distribution", frame, caption),
    ]


def _targeted(study: SupplementStudy) -> list[Block]:
    frame = study.whose("targeted")
    if frame.is_empty():
        return []
    caption = (
        "How far wrong answers are off, by answer format: overlap of sets, errors of times, counts and percentages, "
        "Expected Cost of counts; intervals over videos. A missing answer has the value named in the last columns."
    )
    return [ReportTable("targeted_metrics", "Targeted metrics", frame, caption, folded=True)]


def qualitative(study: SupplementStudy) -> list[Block]:
    """Outcomes, and the questions that the fewest models answer."""
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
    return [*blocks, ReportTable("hardest", "Questions that models fail", shown, caption, shown_rows=40)]


def hardest_questions(rows: pl.DataFrame) -> pl.DataFrame:
    """Every question with how many models answered it, those that the fewest answered first.

    Args:
        rows: One per model and question: `model, case, video, value`, and what else describes them where known.

    Example:
        >>> rows = {"model": ["A", "B"], "case": ["q", "q"], "video": ["v", "v"], "value": [1.0, 0.0],
        ...         "reason": ["right", "wrong"]}
        >>> hardest_questions(pl.DataFrame(rows)).select("case", "models_right", "models", "reasons").row(0)
        ('q', 1.0, 2, 'wrong: 1')
    """
    given = [name for name in ("capability", "format", "template") if name in rows.columns]
    reason = pl.col("reason" if "reason" in rows.columns else "status").cast(pl.String).alias("reason")
    failed = pl.col("value").fill_null(0.0) < 1
    frame = rows.group_by("case", "video", maintain_order=True).agg(
        *(pl.col(name).first() for name in given),
        pl.col("value").sum().alias("models_right"),
        pl.col("value").count().cast(pl.Int64).alias("models"),
        reason.filter(failed).value_counts(sort=True).alias("reasons"),
    )
    texts = ["; ".join(f"{one['reason']}: {one['count']}" for one in counts) for counts in frame["reasons"].to_list()]
    absent = [
        pl.lit(None, dtype=pl.String).alias(name) for name in ("capability", "format", "template") if name not in given
    ]
    whole = frame.with_columns(pl.Series("reasons", texts, dtype=pl.String), *absent)
    return HARDEST.frame(whole.select(list(HARDEST.columns)).sort("models_right", "case", maintain_order=True))
