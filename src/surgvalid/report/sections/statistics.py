"""Statistics: intervals clustered by video beside those that ignore videos,
and conditions under which models differ.
"""

from __future__ import annotations

import polars as pl

from surgvalid.report.figures import picture
from surgvalid.report.inputs import ReportInputs, StoredResult
from surgvalid.report.live import Live
from surgvalid.report.section import Block, Note, Prose, ReportTable, Section
from surgvalid.report.wording import heading_of, missing
from surgvalid.report.words import count_of, names_of, slug
from surgvalid.results.tables import RESULT_FILES

TITLE = "Uncertainty and conditions"
MEDIAN = "(median of models)"
"""The row that `strata` adds for all models together."""


_CHARTS = {
    "compare": "difference_intervals",
    "strata": "strata_deltas",
}
"""Images of results that lie in the folder, by verb."""


def section(inputs: ReportInputs) -> Section:
    """Intervals, dependence within videos and strata of the main metric, and what the statistics verbs left."""
    live = inputs.live
    blocks: list[Block] = [] if live is None else [*_intervals(inputs, live), *_dependence(live), *_strata(live)]
    blocks += [block for result in inputs.of(*RESULT_FILES) for block in _file(result)]
    if not blocks:
        return missing("statistics", TITLE, "There is no score table.", "surgvalid score ... --out DIR/MODEL")
    return Section("statistics", TITLE, tuple(blocks))


def _intervals(inputs: ReportInputs, live: Live) -> list[Block]:
    frame, why = live.intervals
    if frame.is_empty():
        return [Note(f"Intervals over videos could not be computed: {why}")]
    widths = frame.select(ratio=(pl.col("high") - pl.col("low")) / (pl.col("naive_high") - pl.col("naive_low")))
    ratio = widths["ratio"].filter(widths["ratio"].is_finite()).median()
    videos = live.table.frame["video"].n_unique()
    text = (
        f"Intervals with whole videos as units (n = {videos:,}) are compared with naive ones that take every"
        " question as independent."
    )
    if isinstance(ratio, float):
        text += f" For the median model the former are {ratio:.2f} times as wide. They are the ones to report."
    if not live.table.has_videos:
        text = "The table names no videos, so every case stands for itself and intervals may be too narrow."
    caption = f"95 % intervals from leaving out one video, or one case, at a time; {_estimand(inputs)}."
    return [Prose(text), ReportTable("intervals", "Intervals clustered by video, and naive ones", frame, caption)]


def _estimand(inputs: ReportInputs) -> str:
    return "accuracy, mean over questions" if inputs.metric == "correct" else f"mean {inputs.metric} over cases"


def _dependence(live: Live) -> list[Block]:
    frame, why = live.dependence
    if frame.is_empty():
        return [Note(f"Dependence within videos: {why}", "hint")] if why else []
    caption = (
        "ICC: share of the variance that lies between videos. Design effect: how many times larger the variance of the"
        " mean is because cases of a video hang together. Effective cases: the number of cases divided by it."
    )
    return [ReportTable("dependence", "Dependence within videos", frame, caption, folded=True)]


def _strata(live: Live) -> list[Block]:
    frame, why = live.strata
    if frame.is_empty():
        return [Note(f"Conditions were not compared: {why}.", "hint")]
    rows = frame.filter(pl.col("model") != MEDIAN)
    apart = rows.filter((pl.col("low") > 0) | (pl.col("high") < 0))
    text = (
        f"Every condition ({names_of(live.strata_columns)}) was compared with all cases: {apart.height} of"
        f" {count_of(rows.height, 'difference')} have an interval that leaves out zero (not corrected for number)."
    )
    columns = ["column", "stratum", "model", "value", "delta", "low", "high", "cases", "videos"]
    caption = (
        "Delta: value in the condition minus value over all cases; 95 % intervals from leaving out one video at a time,"
        " both sides at once. Strata of different columns overlap."
    )
    shown = frame.select(columns).sort(pl.col("delta").abs(), descending=True, nulls_last=True)
    table = ReportTable("strata", "Differences between conditions", shown, caption, shown_rows=60, folded=True)
    return [Prose(text), picture("strata_deltas", frame), table]


def _file(result: StoredResult) -> list[Block]:
    """What a statistics verb wrote: its image where it has one, its words and its table."""
    frame = result.table
    blocks: list[Block] = [Prose(result.prose)] if result.prose else []
    name = slug(f"{result.kind} {result.label}")
    if result.kind in _CHARTS and not frame.is_empty():
        blocks.append(picture(_CHARTS[result.kind], frame, name=name))
    return [*blocks, ReportTable(name, heading_of(result), frame, folded=result.kind in _CHARTS)]
