"""Data: what the questions are made of, and the procedures behind them."""

from __future__ import annotations

from typing import Any

import polars as pl

from surgvalid.report.inputs import ReportInputs, StoredResult
from surgvalid.report.section import Block, Note, Prose, ReportTable, Section
from surgvalid.report.wording import missing
from surgvalid.report.words import count_of, plain
from surgvalid.schema.questions.taxonomy import Capability

TITLE = "Data"
_MOST_DEFECTS = 8


def section(inputs: ReportInputs) -> Section:
    """The data card of the questions and the list of procedures."""
    blocks = [block for result in inputs.of("questions") for block in _card(result)]
    blocks += [block for result in inputs.of("simulate") for block in _procedures(result)]
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
        title = "Questions by split, track and capability"
        blocks.append(ReportTable("question-counts", title, shown, shown_rows=20, folded=True))
    if not (classes := _rows(card, "classes")).is_empty():
        blocks.append(ReportTable("classes", "Classes of foreign objects", classes, shown_rows=60, folded=True))
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


def _procedures(result: StoredResult) -> list[Block]:
    frame = result.frame("procedures")
    if frame.is_empty():
        return []
    hours = frame["duration_s"].sum() / 3600
    text = f"{count_of(frame.height, 'procedure')} were simulated ({hours:.1f} hours); no patient is in these data."
    return [Prose(text)]
