"""Data: what the questions are made of, and the procedures behind them."""

from __future__ import annotations

from typing import Any

import polars as pl

from surgvalid.errors import SurgvalidError
from surgvalid.report.charts.procedure_lanes import timeline_table
from surgvalid.report.figures import picture
from surgvalid.report.inputs import ReportInputs, StoredResult
from surgvalid.report.section import Block, Note, Prose, ReportTable, Section, Sheet
from surgvalid.report.sheets import sound_frames
from surgvalid.report.wording import missing
from surgvalid.report.words import count_of, plain
from surgvalid.schema.procedures.procedure_files import read_procedure
from surgvalid.schema.questions.question_files import load_questions
from surgvalid.schema.questions.questions import Request
from surgvalid.schema.questions.taxonomy import Capability

TITLE = "Data"
_MOST_DEFECTS = 8
_TRIED = 3
"""Files that are tried before a timeline is given up."""
_MOST_BYTES = 50_000_000
_SHOWN_QUESTIONS = 12
_SHOWN_FRAMES = 6


def section(inputs: ReportInputs) -> Section:
    """The data card of the questions and the list of procedures."""
    blocks = [block for result in inputs.of("questions") for block in _card(result)]
    blocks += [block for result in inputs.of("simulate") for block in _procedures(result)]
    blocks += [*_timeline(inputs), *_frames(inputs)]
    if not blocks:
        return missing(
            "data", TITLE, "There is no data card.", "surgvalid data questions ANNOTATIONS --out DIR/questions"
        )
    return Section("data", TITLE, tuple(blocks))


def _card(result: StoredResult) -> list[Block]:
    card = result.records.get("data_card", {})
    counts, videos = _rows(card, "counts"), _rows(card, "videos")
    if counts.is_empty() or "questions" not in counts.columns:
        return []
    counts = counts.with_columns(pl.col("questions").cast(pl.Int64, strict=False).fill_null(0))
    blocks: list[Block] = [
        Prose(f"{count_of(int(counts['questions'].sum()), 'question')} from {count_of(videos.height, 'video')}.")
    ]
    keys = [name for name in ("split", "track", "capability", "ood") if name in counts.columns]
    if keys:
        shown = _in_words(counts.group_by(keys, maintain_order=True).agg(pl.col("questions").sum()))
        blocks.append(ReportTable("question-counts", "Questions by split, track and capability", shown, folded=True))
    for key, title in (("classes", "Classes of foreign objects"), ("videos", "Videos")):
        if not (frame := _rows(card, key)).is_empty():
            blocks.append(ReportTable(key, title, frame, shown_rows=60, folded=True))
    defects = card.get("defects")
    listed = [str(defect) for defect in defects] if isinstance(defects, list) else []
    blocks += [Note(plain(defect, limit=300)) for defect in listed[:_MOST_DEFECTS]]
    if len(listed) > _MOST_DEFECTS:
        blocks.append(Note(f"{len(listed) - _MOST_DEFECTS} more defects are in data_card.json"))
    return blocks


def _in_words(counts: pl.DataFrame) -> pl.DataFrame:
    """The counts with capabilities by name; a code that is not known stays as it is."""
    if "capability" not in counts.columns:
        return counts
    known = {code: Capability.named(code) for code in counts["capability"].cast(pl.String).drop_nulls().unique()}
    words = {
        code: f"{capability.code} {capability.label.lower()}"
        for code, capability in known.items()
        if capability is not None
    }
    return counts.with_columns(pl.col("capability").cast(pl.String).replace(words))


def _rows(card: dict[str, Any], key: str) -> pl.DataFrame:
    """A table of the card, if it is one: a list of objects with plain values."""
    rows = card.get(key)
    if not isinstance(rows, list):
        return pl.DataFrame()
    plain_rows = [
        {str(name): value for name, value in row.items() if isinstance(value, str | int | float | bool | None)}
        for row in rows
        if isinstance(row, dict)
    ]
    try:
        return pl.DataFrame(plain_rows, infer_schema_length=None, strict=False)
    except (pl.exceptions.PolarsError, TypeError, OverflowError):
        return pl.DataFrame()


def _timeline(inputs: ReportInputs) -> list[Block]:
    """A procedure over time with its questions: that of the hardest video, or else the first that can be read."""
    hardest = _hardest(inputs)
    for path in sorted(inputs.procedures, key=lambda path: path.stem != hardest)[:_TRIED]:
        try:
            procedure = read_procedure(path)
            frame = timeline_table(procedure, questions=_asked(inputs, procedure.video))
        except SurgvalidError:
            continue
        return [picture("timeline", frame, video=procedure.video)]
    return []


def _frames(inputs: ReportInputs) -> list[Block]:
    """A contact sheet of frames that questions are about."""
    shown = sound_frames(inputs.frames, most=_SHOWN_FRAMES)
    if not shown:
        return []
    text = (
        f"{len(shown)} of {count_of(len(inputs.frames), 'frame')} that questions are about, as participants saw them."
    )
    alt = f"Contact sheet of the frames {', '.join(plain(name, limit=40) for name, _ in shown)}."
    return [Sheet("frames", "Frames", alt, text, tuple(shown))]


def _hardest(inputs: ReportInputs) -> str | None:
    if inputs.rows.is_empty():
        return None
    means = inputs.rows.group_by("video").agg(pl.col("value").mean()).drop_nulls().sort("value", "video")
    return str(means["video"][0]) if means.height else None


def _asked(inputs: ReportInputs, video: str) -> list[Request]:
    """The first questions about the video, from the question files beside a data card."""
    files = [
        file for result in inputs.of("questions") for file in sorted(result.path.glob("*/*/requests.json"))[:_TRIED]
    ]
    asked: list[Request] = []
    for file in files:
        if not file.is_symlink() and file.stat().st_size < _MOST_BYTES:
            asked += [one for one in load_questions(file, ()).requests.values() if one.video == video]
    return asked[:_SHOWN_QUESTIONS]


def _procedures(result: StoredResult) -> list[Block]:
    frame = result.frame("procedures")
    if frame.is_empty():
        return []
    hours = frame["duration_s"].sum() / 3600
    text = f"{count_of(frame.height, 'procedure')} were simulated ({hours:.1f} hours); no patient is in these data."
    return [Prose(text), ReportTable("procedures", "Simulated procedures", frame, shown_rows=40, folded=True)]
