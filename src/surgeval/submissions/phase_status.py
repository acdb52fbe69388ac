"""Where a submission stands: its stages as they were reached, and what its shards say of themselves."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from surgeval.asking.journal import is_at_work, read_events, stored_run
from surgeval.asking.lines import LineFile, json_lines
from surgeval.asking.messages import Outcome
from surgeval.errors import FileUnreadable, Misuse
from surgeval.schema.documents import json_text
from surgeval.submissions.phase import Phase
from surgeval.submissions.results import run_facts

STAGES, PHASE = "stages.jsonl", "phase"
_SHARD = re.compile(r"shard-(?P<number>\d+)-of-(?P<of>\d+)")


class Stage(StrEnum):
    """How far a submission came. The last four are ends without a score."""

    QUEUED = "queued"
    RUNNING = "running"
    INFERRED = "inferred"
    SCORED = "scored"
    INTAKE_REFUSED = "intake_refused"
    FAILED_PARTICIPANT = "failed_participant"
    """No container ever became ready."""
    FAILED_INFRA = "failed_infra"
    """It stopped on our side, or was killed; the same command goes on."""


def shard_folder(out: Path, number: int, of: int) -> Path:
    """Where a shard of a submission is kept."""
    return out / f"shard-{number}-of-{of}"


def shard_folders(out: Path) -> list[tuple[int, int, Path]]:
    """Every shard of a submission: number, of how many, and its folder."""
    named = [(_SHARD.fullmatch(path.name), path) for path in sorted(out.iterdir())] if out.is_dir() else []
    return [(int(match["number"]), int(match["of"]), path) for match, path in named if match]


def note_stage(out: Path, stage: Stage, **facts: Any) -> None:
    """Store that a submission reached a stage, and when."""
    lines = LineFile(out / STAGES, alone=False, sync=True)
    try:
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        lines.add(json_text({"stage": stage.value, "at": now, **facts}).encode() + b"\n")
    finally:
        lines.close()


def write_phase(out: Path, phase: Phase) -> None:
    """Keep the settings that hold with the submission; other settings later are refused.

    Raises:
        Misuse: The folder belongs to another phase, or to this one with other settings.
    """
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{PHASE}.json"
    if not path.exists():
        draft = path.with_name(path.name + ".part")
        content = {"digest": phase.digest(), PHASE: phase.as_dict()}
        draft.write_text(json_text(content, indent=2) + "\n", encoding="utf-8")
        draft.rename(path)
    elif stored_digest(out) != phase.digest():
        raise Misuse(f"{out} was run with other settings of its phase; choose another folder")


def stored_digest(out: Path) -> str:
    """The digest of the phase that a submission was run with.

    Raises:
        FileUnreadable: There are none.
    """
    path = out / f"{PHASE}.json"
    try:
        return str(json.loads(path.read_text(encoding="utf-8"))["digest"])
    except (OSError, ValueError, KeyError, TypeError):
        raise FileUnreadable(str(path), ["no phase is stored there; run the submission first"]) from None


def status_of(out: str | Path, phase: Phase | None = None) -> dict[str, Any]:
    """Where a submission stands, as plain data without a word of the container's own.

    With a phase, the code `other-settings` says that the submission was run with other ones.
    """
    folder = Path(out)
    other = phase is not None and (folder / f"{PHASE}.json").exists() and stored_digest(folder) != phase.digest()
    problems: list[str] = []
    history = [dict(row) for _, row in json_lines(folder / STAGES, problems)] if (folder / STAGES).exists() else []
    shards = [_shard(number, of, path) for number, of, path in shard_folders(folder)]
    codes = {code for shard in shards for code in shard["codes"]}
    return {
        "stage": _stage(history, shards).value,
        "codes": sorted(codes | _codes_of(history) | ({"other-settings"} if other else set())),
        "shards": shards,
        "history": history,
        "problems": problems,
    }


def _codes_of(history: list[dict[str, Any]]) -> set[str]:
    return {str(history[-1]["code"])} if history and "code" in history[-1] else set()


def _stage(history: list[dict[str, Any]], shards: list[dict[str, Any]]) -> Stage:
    last = Stage(history[-1]["stage"]) if history else Stage.QUEUED
    if last in (Stage.INTAKE_REFUSED, Stage.SCORED) or not shards:
        return last
    stages = {shard["stage"] for shard in shards}
    if Stage.RUNNING in stages:
        return Stage.RUNNING
    if Stage.FAILED_INFRA in stages:
        return Stage.FAILED_INFRA
    if len(shards) < shards[0]["of"]:
        return Stage.QUEUED
    return Stage.FAILED_PARTICIPANT if stages == {Stage.FAILED_PARTICIPANT} else Stage.INFERRED


def _shard(number: int, of: int, folder: Path) -> dict[str, Any]:
    events = list(read_events(folder))
    names = [event["event"] for event in events]
    if stored_run(folder) is None:
        return {"shard": f"{number}/{of}", "of": of, "stage": Stage.QUEUED.value, "codes": []}
    facts = run_facts(folder)
    if is_at_work(folder):
        stage = Stage.RUNNING
    elif "finished" not in names:
        stage = Stage.FAILED_INFRA
    else:
        stage = Stage.INFERRED if "started" in names or not facts.questions else Stage.FAILED_PARTICIPANT
    evidence: dict[str, Any] = next((event for event in reversed(events) if event["event"] == "evidence"), {})
    return {
        "shard": f"{number}/{of}", "of": of, "stage": stage.value, "codes": _codes(facts.outcomes, names, evidence),
        "questions": events[0].get("questions"), "outcomes": dict(facts.outcomes), "restarts": facts.restarts,
        "exchanged": facts.replaced, "began": events[0]["at"], "last": events[-1]["at"],
        "verdict": evidence.get("verdict"),
    }  # fmt: skip


def _codes(outcomes: Any, names: list[str], evidence: dict[str, Any]) -> list[str]:
    """What an organiser should know, in words of the system."""
    codes = {f"answers-{name.replace('_', '-')}" for name in outcomes if name != Outcome.OK.value}
    codes |= {"never-ready"} if "start_failed" in names and "started" not in names else set()
    codes |= {"no-restart-left"} if "gave_up" in names else set()
    codes |= {"machine-slower"} if evidence.get("verdict") == "slower" else set()
    return sorted(codes)
