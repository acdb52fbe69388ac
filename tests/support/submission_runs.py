"""Tiny runs for tests: questions with one-byte videos, quick rules, and the outcome per case."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from surgvalid.asking.driver import run_tasks
from surgvalid.asking.journal import EVENTS, Record, final_records
from surgvalid.asking.plan import AskedTask, AskingRules, PlanState
from surgvalid.asking.session import Participant
from surgvalid.sandbox import Engine, open_engine
from surgvalid.schema.questions.questions import Request

QUICK: dict[str, Any] = {
    "budget_s": 20.0, "start_up_s": 60.0, "health_s": 20.0, "poll_s": 0.05, "stop_s": 5.0, "state": PlanState.FREE,
}  # fmt: skip
"""Generous where a slow machine would otherwise turn a good answer into a late one."""


def tasks(folder: Path, count: int = 3, videos: int = 1) -> list[AskedTask]:
    """Questions `q0`, `q1`, ... spread over videos `v0`, `v1`, ..., each a file of a few bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    media = [folder / f"v{number}.mp4" for number in range(videos)]
    for number, path in enumerate(media):
        path.write_bytes(b"video %d" % number)
    return [
        AskedTask(Request(f"q{i}", f"v{i % videos}", 0.0, 5.0, "test", f"Question {i}?"), media[i % videos])
        for i in range(count)
    ]


def rules(**changes: Any) -> AskingRules:
    return AskingRules(**QUICK | changes)


def run(
    folder: Path,
    command: tuple[str, ...],
    asked: Iterable[AskedTask] | None = None,
    *,
    engine: Engine | None = None,
    progress: Callable[[int], None] | None = None,
    **changes: Any,
) -> dict[str, Record]:
    """The final record of each case of a run in `folder / "out"`."""
    asked = tasks(folder / "media") if asked is None else asked
    out = run_tasks(
        asked, engine=engine or open_engine("process"), entrant=Participant(command=command), rules=rules(**changes),
        out=folder / "out", progress=progress,
    )  # fmt: skip
    return records(out)


def records(out: Path) -> dict[str, Record]:
    found = list(final_records(out))
    assert len({record.case for record in found}) == len(found)
    return {record.case: record for record in found}


def outcomes(found: dict[str, Record]) -> dict[str, str]:
    return {case: record.outcome.value for case, record in sorted(found.items())}


def events(out: Path, what: str | None = None) -> list[dict[str, Any]]:
    lines = (out / EVENTS).read_text(encoding="utf-8").splitlines()
    return [row for row in map(json.loads, lines) if what in (None, row["event"])]
