"""What is known of a submission: its stages as they were reached, what its shards say, and decisions on it.

A decision publishes, cancels or disqualifies, or takes one of the last two back.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from surgvalid.asking.journal import ANSWERS, EVENTS, TROUBLE_LOG, is_at_work, read_events, stored_run
from surgvalid.asking.messages import ExchangeOutcome
from surgvalid.errors import FileUnreadable, Misuse
from surgvalid.results.manifest import MANIFEST, sha256_of
from surgvalid.results.request import VerbRequest, requested
from surgvalid.results.result import Result
from surgvalid.results.tables.tasks import HISTORY, SHARDS
from surgvalid.schema.documents import json_text
from surgvalid.schema.shown_text import as_cell
from surgvalid.submissions.phase import SubmissionPhase
from surgvalid.submissions.results import RunFacts, run_facts
from surgvalid.submissions.stages import DECISIONS, HELD, SCORES, STAGES, Stage, history_of, hold_in, note_stage

PHASE = "phase"
_SHARD = re.compile(r"shard-(?P<number>\d+)-of-(?P<of>\d+)")
_NOTED = ("stage", "at", "shard", "code", "reason")
_COPIED = ("shard", "stage", "questions", "restarts", "exchanged", "verdict", "began", "last")
_SHOWN = (
    "shard", "stage", "questions", "ok", "timeout", "invalid", "crashed", "not_asked", "infra_error", "restarts",
    "exchanged", "p95_s", "verdict", "codes",
)  # fmt: skip


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class SubmissionStatus(Result):
    """Where a submission stands: tables `shards` and `history`."""

    status: dict[str, Any] = field(default_factory=dict)
    """As `status_of` gives it."""

    @property
    def title(self) -> str:
        """The stage, and what an organiser should know."""
        logs = f"; printed in trouble: {', '.join(self.status['logs'])}" if self.status["logs"] else ""
        return f"stage {self.status['stage']}; codes: {', '.join(self.status['codes']) or 'none'}{logs}"

    def screen(self) -> Mapping[str, pl.DataFrame]:
        """The shards in a few columns, and the history."""
        return {"shards": self.tables["shards"].select(_SHOWN), "history": self.tables["history"]}

    def as_dict(self) -> dict[str, Any]:
        """Stage, codes, shards with their outcomes, the whole history, and lines that cannot be read."""
        return dict(self.status)


def shard_folder(out: Path, number: int, of: int) -> Path:
    """Where a shard of a submission is kept."""
    return out / f"shard-{number}-of-{of}"


def shard_folders(out: Path) -> list[tuple[int, int, Path]]:
    """Every shard of a submission: number, of how many, and its folder."""
    named = [(_SHARD.fullmatch(path.name), path) for path in sorted(out.iterdir())] if out.is_dir() else []
    return [(int(match["number"]), int(match["of"]), path) for match, path in named if match]


def is_finished(shard: Path) -> bool:
    """Whether every question of a shard has its outcome."""
    return any(event["event"] == "finished" for event in read_events(shard))


def write_phase(out: Path, phase: SubmissionPhase) -> None:
    """Keep the settings that hold with the submission; other settings later are refused.

    Raises:
        Misuse: The folder belongs to another phase, or to this one with other settings.
    """
    check_phase(out, phase)
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{PHASE}.json"
    if not path.exists():
        draft = path.with_name(path.name + ".part")
        content = {"digest": phase.digest(), PHASE: phase.as_dict()}
        draft.write_text(json_text(content, indent=2) + "\n", encoding="utf-8")
        draft.rename(path)


def check_phase(out: Path, phase: SubmissionPhase) -> None:
    """Nothing, when a folder is free or of this phase.

    Raises:
        Misuse: It belongs to another phase, or to this one with other settings.
    """
    if (out / f"{PHASE}.json").exists() and stored_digest(out) != phase.digest():
        raise Misuse(f"{out} belongs to another phase, or to this one with other settings; choose another folder")


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


@requested("submission status", files=("run",))
def submission_status(run: str | Path, phase: SubmissionPhase | None = None) -> SubmissionStatus:
    """Where a submission stands, as a result: tables `shards` and `history`.

    Args:
        run: The folder of the submission.
        phase: The one that it should have been run with.
    """
    folder = Path(run)
    status = status_of(folder, phase)
    shards = [
        _shard_row(shard, path) for shard, (_, _, path) in zip(status["shards"], shard_folders(folder), strict=True)
    ]
    history = [
        {name: as_cell(str(row[name])) if row.get(name) else None for name in _NOTED} for row in status["history"]
    ]
    read = [folder / STAGES, folder / f"{PHASE}.json"]
    read += [path / name for _, _, path in shard_folders(folder) for name in (ANSWERS, EVENTS)]
    return SubmissionStatus(
        tables={"shards": SHARDS.frame(shards), "history": HISTORY.frame(history)},
        prose=f"Stage {status['stage']}; codes: {', '.join(status['codes']) or 'none'}.",
        status=status,
        request=VerbRequest(inputs={"run": [path for path in read if path.is_file()]}),
    )


def _shard_row(shard: dict[str, Any], folder: Path) -> dict[str, Any]:
    facts = run_facts(folder) if "outcomes" in shard else None
    row = {name: shard.get(name) for name in _COPIED}
    counts = {outcome.value: shard.get("outcomes", {}).get(outcome.value, 0) for outcome in ExchangeOutcome}
    return {**row, **counts, **_latencies(facts), "codes": ", ".join(shard["codes"])}


def _latencies(facts: RunFacts | None) -> dict[str, float]:
    if facts is None:
        return dict.fromkeys(("p50_s", "p95_s", "p95_most_s", "first_s"), float("nan"))
    first_s = max(facts.first_s, default=float("nan"))
    return {"p50_s": facts.p50_s, "p95_s": facts.p95_s, "p95_most_s": facts.p95_most_s, "first_s": first_s}


def status_of(out: str | Path, phase: SubmissionPhase | None = None) -> dict[str, Any]:
    """Where a submission stands, as plain data without a word of the container's own.

    With a phase, the code `other-settings` says that the submission was run with other ones.

    Raises:
        Misuse: There is no such folder.
    """
    folder = Path(out)
    if not folder.is_dir():
        raise Misuse(f"{folder} is no folder of a submission; name one that was handed in or run")
    other = phase is not None and (folder / f"{PHASE}.json").exists() and stored_digest(folder) != phase.digest()
    problems: list[str] = []
    history = history_of(folder, problems)
    shards = [_shard(number, of, path) for number, of, path in shard_folders(folder)]
    codes = {code for shard in shards for code in shard["codes"]}
    codes |= {"mixed-shards"} if len({shard["of"] for shard in shards}) > 1 else set()
    return {
        "stage": _stage(history, shards).value,
        "codes": sorted(codes | _codes_of(history) | ({"other-settings"} if other else set())),
        "shards": shards,
        "history": history,
        "problems": problems,
        "logs": [str(log) for _, _, path in shard_folders(folder) if (log := path / TROUBLE_LOG).is_file()],
    }


def _codes_of(history: list[dict[str, Any]]) -> set[str]:
    return {str(history[-1]["code"])} if history and "code" in history[-1] else set()


def _stage(history: list[dict[str, Any]], shards: list[dict[str, Any]]) -> Stage:
    if (hold := hold_in(history)) is not None:
        return Stage(hold["stage"])
    reached = [Stage(row["stage"]) for row in history if row["stage"] not in (*HELD, Stage.REINSTATED)]
    last = reached[-1] if reached else Stage.QUEUED
    if last in (Stage.INTAKE_REFUSED, Stage.SCORED, Stage.PUBLISHED) or not shards:
        return last
    stages = {shard["stage"] for shard in shards}
    if Stage.RUNNING in stages:
        return Stage.RUNNING
    if Stage.FAILED_INFRA in stages:
        return Stage.FAILED_INFRA
    if any(len(shards) != shard["of"] for shard in shards):
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
    elif not is_finished(folder):
        stage = Stage.FAILED_INFRA
    else:
        never_ready = "start_failed" in names and "started" not in names
        stage = Stage.FAILED_PARTICIPANT if never_ready else Stage.INFERRED
    verdict = _verdict(events)
    return {
        "shard": f"{number}/{of}",
        "of": of,
        "stage": stage.value,
        "codes": _codes(facts.outcomes, names, verdict),
        "questions": events[0].get("questions"),
        "outcomes": dict(facts.outcomes),
        "restarts": facts.restarts,
        "exchanged": facts.replaced,
        "began": events[0]["at"],
        "last": events[-1]["at"],
        "verdict": verdict,
    }


def _verdict(events: list[dict[str, Any]]) -> str | None:
    """The worst verdict of a shard: each go that started a container has one, unknown where its host was killed."""
    verdicts: list[str | None] = []
    for event in events:
        if event["event"] in ("begun", "resumed") and verdicts[-1:] == [None]:
            verdicts[-1] = "unknown"
        if event["event"] == "started" and verdicts[-1:] != [None]:
            verdicts.append(None)
        if event["event"] == "evidence":
            verdicts = [*verdicts[: -1 if verdicts[-1:] == [None] else None], str(event["verdict"])]
    return next((one for one in ("slower", "unknown", "ok") if one in verdicts), None)


def _codes(outcomes: Any, names: list[str], verdict: str | None) -> list[str]:
    """What an organiser should know, in words of the system."""
    codes = {f"answers-{name.replace('_', '-')}" for name in outcomes if name != ExchangeOutcome.OK.value}
    codes |= {"never-ready"} if "start_failed" in names and "started" not in names else set()
    codes |= {"no-restart-left"} if "gave_up" in names else set()
    codes |= {"machine-slower"} if verdict == "slower" else set()
    codes |= {"machine-unknown"} if verdict == "unknown" else set()
    return sorted(codes)


_MOST_REASON = 1000


def mark_submission(run: str | Path, stage: str, *, reason: str) -> dict[str, Any]:
    """The status of a submission after a decision on it was stored, with its reason.

    Args:
        run: The folder of the submission.
        stage: `published`, `cancelled`, `disqualified`, or `reinstated`, which takes the last two back.
        reason: Why; it stays in the history.

    Raises:
        Misuse: No such decision, no reason, or it cannot be taken now.
    """
    folder = Path(run)
    if stage not in [str(one) for one in DECISIONS]:
        raise Misuse(f"a submission is marked as one of {', '.join(DECISIONS)}; got {stage!r}")
    if not reason.strip() or len(reason) > _MOST_REASON:
        raise Misuse(f"a decision needs a reason of 1 to {_MOST_REASON} characters; got {len(reason.strip())}")
    if not (folder / STAGES).exists():
        raise Misuse(f"{folder} holds no submission; name the folder of one")
    now = status_of(folder)["stage"]
    if problem := _not_now(Stage(stage), now):
        raise Misuse(f"{folder} is {now}: {problem}")
    facts = {"scores": sha256_of(folder / SCORES / MANIFEST)} if stage == Stage.PUBLISHED else {}
    note_stage(folder, Stage(stage), reason=reason.strip(), **facts)
    return status_of(folder)


def _not_now(stage: Stage, now: str) -> str:
    """Why a submission cannot be marked so at its present stage, or nothing."""
    if stage is Stage.PUBLISHED and now != Stage.SCORED:
        return "only what is scored can be published"
    if stage is Stage.REINSTATED and now not in HELD:
        return "only what is cancelled or disqualified can be reinstated"
    if stage is Stage.CANCELLED and now in (Stage.PUBLISHED, *HELD):
        return "it can be disqualified, not cancelled" if now == Stage.PUBLISHED else "it is over already"
    return "it is that already" if stage == now else ""
