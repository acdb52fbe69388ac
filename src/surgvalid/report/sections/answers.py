"""Answers: what became of every question, and where models fail most."""

from __future__ import annotations

import polars as pl

from surgvalid.report.inputs import ReportInputs, StoredResult
from surgvalid.report.section import Block, Prose, ReportTable, Section
from surgvalid.report.wording import missing
from surgvalid.report.words import count_of
from surgvalid.schema.outcomes import WITHOUT_ANSWER

TITLE = "Answers"
_WORST_VIDEOS = 15


def section(inputs: ReportInputs) -> Section:
    """Outcomes per model, the hardest videos and targeted metrics."""
    if inputs.rows.is_empty():
        return missing("answers", TITLE, "There are no scored answers.", "surgvalid score ... --out DIR/MODEL")
    blocks = [*outcomes(inputs), *_videos(inputs), *_targeted(inputs)]
    return Section("answers", TITLE, tuple(blocks))


def outcomes(inputs: ReportInputs) -> list[Block]:
    """What became of the answers of every model; nothing where all were given and scored."""
    rows = inputs.rows
    column = "reason" if "reason" in rows.columns else "status"
    counts = rows.group_by("model", column).len().sort(column)
    wide = counts.pivot(column, index="model", values="len", aggregate_function="first").fill_null(0)
    order = pl.DataFrame({"model": inputs.models})
    wide = order.join(wide, on="model", how="inner", maintain_order="left")
    total = rows.group_by("model").len().rename({"len": "questions"})
    not_scored = rows.group_by("model").agg(pl.col("value").is_null().sum().cast(pl.Int64).alias("not_scored"))
    wide = wide.join(total, on="model", maintain_order="left").join(not_scored, on="model", maintain_order="left")
    unscored, lost = int(wide["not_scored"].sum()), rows.filter(pl.col("status").is_in(WITHOUT_ANSWER)).height
    if column == "status" and not unscored and not lost:
        return []
    text = (
        f"Of {count_of(rows.height, 'expected answer')}, {lost:,} were not given in time or at all, and {unscored:,}"
        " could not be scored."
    )
    labels = {name: name.replace("_", " ") for name in wide.columns}
    caption = "One row per model; every question has exactly one outcome. Only unscored ones leave the averages."
    return [Prose(text), ReportTable("outcomes", "What became of the answers", wide, caption, labels=labels)]


def _videos(inputs: ReportInputs) -> list[Block]:
    if inputs.scores is None or not inputs.scores.has_videos:
        return []
    frame = (
        inputs.rows.group_by("video")
        .agg(
            pl.col("value").mean().alias("mean_over_models"),
            pl.col("value").count().alias("answers"),
            pl.col("case").n_unique().alias("cases"),
        )
        .sort("mean_over_models", "video", descending=[inputs.better == "smaller", False], nulls_last=True)
    )
    is_directed = inputs.better is not None
    first = "hardest" if is_directed else "lowest"
    caption = f"Mean {inputs.metric} over all models and cases of the video; the {first} first."
    title = "The hardest videos" if is_directed else "Videos by their mean"
    return [ReportTable("videos", title, frame, caption, shown_rows=_WORST_VIDEOS)]


def _targeted(inputs: ReportInputs) -> list[Block]:
    frames = [
        result.frame("targeted").insert_column(0, pl.lit(_model(result)).alias("model"))
        for result in inputs.of("score")
        if not result.frame("targeted").is_empty()
    ]
    if not frames:
        return []
    frame = pl.concat(frames, how="diagonal_relaxed").filter(pl.col("estimand") == "rows")
    wanted = [name for name in "model format metric value n n_missing videos".split() if name in frame.columns]
    caption = "How far wrong answers are off: error of times, counts and percentages, overlap of sets."
    return [ReportTable("targeted", "Metrics by answer format", frame.select(wanted), caption, shown_rows=30)]


def _model(result: StoredResult) -> str:
    return str(result.options.get("model", result.label))
