"""Restarts belong to a video and to the journal: whoever kills the host, and when, the outcomes are the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from how_many import many
from submission_runs import events, outcomes, records, rules, tasks
from surgvalid.asking.driver import run_tasks
from surgvalid.asking.lines import LineFile
from surgvalid.asking.messages import ExchangeOutcome, ProtocolQuestion
from surgvalid.asking.plan import AskingRules, PlanState
from surgvalid.asking.session import Answered, Participant, StartUp, Workplace
from surgvalid.sandbox import Death, Engine, Mount, Usage

OK, HANGS, CRASHES, LATE, GARBAGE = "ok hangs crashes late garbage".split()
GIVEN = {
    OK: Answered(ExchangeOutcome.OK, 0.1, "yes"),
    HANGS: Answered(ExchangeOutcome.TIMEOUT, 99.0, usable=False),
    CRASHES: Answered(ExchangeOutcome.CRASHED, 0.1, usable=False),
    LATE: Answered(ExchangeOutcome.TIMEOUT, 99.0, replace="it was late"),
    GARBAGE: Answered(ExchangeOutcome.INVALID, 0.1),
}


class Killed(BaseException):
    """The host is gone; nothing of it runs any more."""


class NoEngine:
    """Stands in for an engine; the sessions below never ask it for anything."""

    name = "none"
    guarantees: frozenset[str] = frozenset()
    takes_images = False

    def inside(self, mount: Mount) -> str:
        return mount.target

    def check(self, launch: object) -> None:
        return None

    def sweep(self) -> tuple[str, ...]:
        return ()


class Program:
    """A deterministic participant: what becomes of a question is a matter of the question,
    of a start one of its video.
    """

    def __init__(self, behaviour: dict[str, str], unready: frozenset[str] = frozenset()) -> None:
        self.behaviour, self.unready = behaviour, unready
        self.video = ""

    def open(self, _engine: Engine, _entrant: Participant, _rules: AskingRules, _place: Workplace) -> Any:
        return FakeSession(self)


class FakeRunning:
    id, unenforced = "x", ()

    def logs(self) -> bytes:
        return b""

    def usage(self) -> Usage:
        return Usage()


class FakeSession:
    running, peak_memory_mb = FakeRunning(), None

    def __init__(self, program: Program) -> None:
        self.program = program

    def __enter__(self) -> FakeSession:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def wait_until_ready(self) -> StartUp:
        return StartUp(bool(self.program.behaviour) and not self.program.unready, 0.1)

    def ask(self, question: ProtocolQuestion, *, before: Callable[[], None] | None = None) -> Answered:
        return GIVEN[self.program.behaviour[question.text]]

    def end(self, *, grace_s: float = 0.0) -> Death:
        return Death("x", 0, ("it is none",))


@contextmanager
def killed_at(write: int, how: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A host that is killed at its n-th line: before it, in the middle of it, or after it; then nothing is written."""
    written = [0]
    add = LineFile.add

    def dying(file: LineFile, line: bytes) -> int:
        written[0] += 1
        if written[0] < write:
            return add(file, line)
        if written[0] == write and how == "after":
            add(file, line)
        if written[0] == write and how == "within":
            with open(file.path, "ab") as handle:
                handle.write(line[: len(line) // 2])
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(LineFile, "add", dying)
        yield


def asked(folder: Path, program: Program, state: PlanState, count: int, videos: int) -> dict[str, str]:
    limits = rules(state=state, most_restarts=2, most_unready=2)
    run_tasks(
        tasks(folder / "media", count, videos), engine=NoEngine(), entrant=Participant(command=("none",)), rules=limits,  # type: ignore[arg-type]
        out=folder / "out", open_with=program.open,
    )  # fmt: skip
    return outcomes(records(folder / "out"))


KILLS = st.lists(st.tuples(st.integers(1, 30), st.sampled_from(("before", "within", "after"))), max_size=6)
DEEDS = st.lists(st.sampled_from((OK, HANGS, CRASHES, CRASHES, LATE, GARBAGE)), min_size=3, max_size=14)


@settings(max_examples=many(150), deadline=None)
@given(
    deeds=DEEDS,
    videos=st.integers(1, 3),
    state=st.sampled_from(PlanState),
    kills=KILLS,
    ready=st.sampled_from((1, 1, 0)),
)
def test_a_run_that_was_killed_at_any_line_ends_as_one_that_was_not(
    deeds: list[str], videos: int, state: PlanState, kills: list[tuple[int, str]], ready: int
) -> None:
    behaviour = {f"Question {number}?": deed for number, deed in enumerate(deeds)}
    program = Program(behaviour, frozenset() if ready else frozenset({"all"}))
    with TemporaryDirectory() as one, TemporaryDirectory() as other:
        whole = asked(Path(one), program, state, len(deeds), videos)
        for write, how in kills:
            try:
                with pytest.MonkeyPatch.context() as patch, killed_at(write, how, patch):
                    asked(Path(other), program, state, len(deeds), videos)
            except Killed:
                continue
        assert asked(Path(other), program, state, len(deeds), videos) == whole


@pytest.mark.parametrize("state", list(PlanState))
@pytest.mark.parametrize("how", ["before", "within", "after"])
def test_a_kill_at_every_line_in_turn_changes_nothing(
    state: PlanState, how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four crashes among ten questions and two restarts: what is asked after the third crash shows who forgot them."""
    deeds = [CRASHES, OK, CRASHES, OK, OK, CRASHES, OK, CRASHES, OK, OK]
    program = Program({f"Question {number}?": deed for number, deed in enumerate(deeds)})
    whole = asked(tmp_path / "whole", program, state, len(deeds), 1)
    assert state is PlanState.PER_QUESTION or list(whole.values()).count("crashed") > 4
    for write in range(1, 200):
        folder = tmp_path / str(write)
        folder.mkdir()
        try:
            with killed_at(write, how, monkeypatch):
                asked(folder, program, state, len(deeds), 1)
            break
        except Killed:
            assert asked(folder, program, state, len(deeds), 1) == whole, f"killed {how} line {write}"
    assert write > 20


def test_ten_hanging_questions_of_forty_cost_ten(tmp_path: Path) -> None:
    """Two in each of five videos; with restarts for the whole run, the third video would have been the last."""
    behaviour = {f"Question {number}?": HANGS if number < 10 else OK for number in range(40)}
    found = asked(tmp_path, Program(behaviour), PlanState.PER_VIDEO, 40, 5)
    assert list(found.values()).count("timeout") == 10
    assert list(found.values()).count("ok") == 30


def test_a_video_that_has_spent_its_restarts_takes_nothing_from_the_next(tmp_path: Path) -> None:
    behaviour = {f"Question {number}?": CRASHES if number % 2 else OK for number in range(12)}
    found = asked(tmp_path, Program(behaviour), PlanState.FREE, 12, 2)
    assert [found[f"q{number}"] for number in range(0, 12, 2)] == ["ok"] * 6
    assert len(events(tmp_path / "out", "gave_up")) == 1


def test_a_program_that_never_starts_is_not_tried_for_every_video(tmp_path: Path) -> None:
    program = Program({f"Question {number}?": OK for number in range(10)}, frozenset({"all"}))
    assert set(asked(tmp_path, program, PlanState.PER_VIDEO, 10, 10).values()) == {"crashed"}
    assert len(events(tmp_path / "out", "start_failed")) == 2 * 3


def test_a_late_answer_spends_no_restart(tmp_path: Path) -> None:
    behaviour = {f"Question {number}?": LATE for number in range(8)}
    found = asked(tmp_path, Program(behaviour), PlanState.PER_VIDEO, 8, 1)
    assert set(found.values()) == {"timeout"}
    assert len(events(tmp_path / "out", "replaced")) == 8
    assert all(event["planned"] for event in events(tmp_path / "out", "started"))
