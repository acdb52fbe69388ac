"""The stages of a submission: what they are called, how they are kept, and what somebody decides on them.

`stages.jsonl` in the folder of a submission has a line for each stage that was reached, and only grows.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from surgvalid.asking.lines import LineFile, json_lines
from surgvalid.schema.documents import json_text

STAGES, SCORES = "stages.jsonl", "scores"


class Stage(StrEnum):
    """How far a submission came."""

    UPLOADED = "uploaded"
    """What the team handed in is stored whole; nobody has looked at it."""
    INTAKE_OK = "intake_ok"
    INTAKE_REFUSED = "intake_refused"
    QUEUED = "queued"
    RUNNING = "running"
    INFERRED = "inferred"
    SCORED = "scored"
    PUBLISHED = "published"
    FAILED_PARTICIPANT = "failed_participant"
    """No container ever became ready."""
    FAILED_INFRA = "failed_infra"
    """It stopped on our side, or was killed; the same command goes on."""
    CANCELLED = "cancelled"
    DISQUALIFIED = "disqualified"
    REINSTATED = "reinstated"
    """Cancelled or disqualified no more. It is in the history alone: the stage is again the one before."""


HELD = (Stage.CANCELLED, Stage.DISQUALIFIED)
"""Stages in which nothing more is run, scored or published."""
DECISIONS = (Stage.PUBLISHED, *HELD, Stage.REINSTATED)
"""Stages that somebody decides on, with a reason."""


def note_stage(out: Path, stage: Stage, **facts: Any) -> None:
    """Store that a submission reached a stage, and when."""
    lines = LineFile(out / STAGES, alone=False, sync=True)
    try:
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        lines.add(json_text({"stage": stage.value, "at": now, **facts}).encode() + b"\n")
    finally:
        lines.close()


def history_of(folder: Path, problems: list[str]) -> list[dict[str, Any]]:
    """The stages as they were reached; a line that names none that is known is a problem."""
    rows = [dict(row) for _, row in json_lines(folder / STAGES, problems)] if (folder / STAGES).exists() else []
    known = [row for row in rows if row.get("stage") in [stage.value for stage in Stage]]
    problems += [f"{STAGES}: no such stage: {row.get('stage')!r}" for row in rows if row not in known]
    return known


def hold_in(history: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """The decision that a submission is out of the running, unless it was taken back."""
    last = next((row for row in reversed(history) if row["stage"] in (*HELD, Stage.REINSTATED)), None)
    return last if last is not None and last["stage"] in HELD else None


def why_held(out: Path) -> str:
    """Why nothing more may be done with a submission, or nothing."""
    row = hold_in(history_of(out, []))
    if row is None:
        return ""
    return f"{out} was {row['stage']} at {row['at']} ({row.get('reason', 'no reason given')})"
