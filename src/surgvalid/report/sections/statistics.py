"""Statistics: intervals clustered by video, conditions, and what statistics verbs left."""

from __future__ import annotations

from surgvalid.report.figures import picture
from surgvalid.report.inputs import ReportInputs, StoredResult
from surgvalid.report.live import Live
from surgvalid.report.section import Block, Note, Prose, ReportTable, Section
from surgvalid.report.wording import heading_of, missing
from surgvalid.report.words import slug
from surgvalid.results.tables import RESULT_FILES

TITLE = "Uncertainty and conditions"
_CHARTS = {
    "compare": "difference_intervals",
    "strata": "strata_deltas",
}
"""Images of results that lie in the folder, by verb."""


def section(inputs: ReportInputs) -> Section:
    """Intervals and strata of the main metric, and what the statistics verbs left."""
    live = None if inputs.first("rank") else inputs.live  # a ranking has its own, kind by kind
    blocks: list[Block] = [] if live is None else [*_intervals(inputs, live), *_strata(live)]
    blocks += [block for result in inputs.of(*RESULT_FILES) for block in _file(result)]
    if not blocks:
        return missing("statistics", TITLE, "There is no score table.", "surgvalid score ... --out DIR/MODEL")
    return Section("statistics", TITLE, tuple(blocks))


def _intervals(inputs: ReportInputs, live: Live) -> list[Block]:
    frame, why = live.intervals
    if frame.is_empty():
        return [Note(f"Intervals over videos could not be computed: {why}")]
    caption = f"95 % intervals from leaving out one video, or one case, at a time; {_estimand(inputs)}."
    if not live.table.has_videos:
        caption += " The table names no videos, so every case stands for itself and intervals may be too narrow."
    return [ReportTable("intervals", "Intervals over videos", frame, caption)]


def _estimand(inputs: ReportInputs) -> str:
    return "accuracy, mean over questions" if inputs.metric == "correct" else f"mean {inputs.metric} over cases"


def _strata(live: Live) -> list[Block]:
    frame, why = live.strata
    if frame.is_empty():
        return [Note(f"Conditions were not compared: {why}.", "hint")]
    return [picture("strata_deltas", frame, title="Values under each condition, not corrected for their number")]


def _file(result: StoredResult) -> list[Block]:
    """What a statistics verb wrote: its image where it has one, its words and its table."""
    frame = result.table
    blocks: list[Block] = [Prose(result.prose)] if result.prose else []
    name = slug(f"{result.kind} {result.label}")
    if result.kind in _CHARTS and not frame.is_empty():
        blocks.append(picture(_CHARTS[result.kind], frame, name=name))
    return [*blocks, ReportTable(name, heading_of(result), frame, folded=result.kind in _CHARTS)]
