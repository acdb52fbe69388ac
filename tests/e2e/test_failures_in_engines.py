"""What goes wrong on either side, in every engine: no answer is lost, nothing survives, the run goes on."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from hostile_programs import raw, script
from sandbox_engines import ENGINES, processes_with, until
from submission_places import Place, containers, leftovers, submission_place
from submission_runs import events, outcomes, records, rules, tasks
from surgvalid.asking.driver import run_tasks
from surgvalid.asking.journal import ANSWERS, Record, read_journal
from surgvalid.asking.messages import ExchangeOutcome
from surgvalid.asking.plan import AskedTask, AskingRules, PlanState
from surgvalid.asking.session import Participant
from surgvalid.errors import RunInterrupted
from surgvalid.sandbox._watchdog import marked

CALM = rules(budget_s=60.0, health_s=60.0, stop_s=0.3)
HOST = """
import pickle, sys
from pathlib import Path
from surgvalid.sandbox import open_engine
from surgvalid.asking.driver import run_tasks
engine, rest = pickle.loads(Path(sys.argv[1]).read_bytes())
run_tasks(engine=open_engine(engine), **rest)
"""


@pytest.fixture(scope="module", params=ENGINES)
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with submission_place(request.param, tmp_path_factory.mktemp(request.param)) as made:
        yield made


def marked_entrant(place: Place, command: tuple[str, ...]) -> tuple[Participant, str]:
    """The program, with a word on its command line by which its processes are found on the whole machine."""
    word = uuid.uuid4().hex
    entrant = place.entrant(command)
    return replace(entrant, command=(*entrant.command, word)), word


def run(
    place: Place, asked: list[AskedTask], entrant: Participant, out: Path, *, limits: AskingRules = CALM,
    progress: Callable[[int], None] | None = None,
) -> dict[str, Record]:  # fmt: skip
    run_tasks(asked, engine=place.engine, entrant=entrant, rules=limits, out=out, progress=progress)
    assert not leftovers(place, out)
    return records(out)


def once(act: Callable[[], None]) -> Callable[[int], None]:
    """Something to do after the first answer."""
    calls: list[int] = []

    def after_first(step: int) -> None:
        calls.append(step)
        if len(calls) == 1:
            act()

    return after_first


def test_a_slow_start_is_cut_by_a_clock_of_its_own(place: Place, tmp_path: Path) -> None:
    entrant, word = marked_entrant(place, script(tmp_path / "programs", "import time; time.sleep(600)"))
    brief = rules(start_up_s=1.0, most_restarts=1, stop_s=0.1)
    found = run(place, tasks(tmp_path / "media", 3), entrant, tmp_path / "out", limits=brief)
    assert set(outcomes(found).values()) == {"crashed"}
    assert ["not ready within 1 s" in e["detail"] for e in events(tmp_path / "out", "start_failed")] == [True, True]
    assert processes_with(word) == []


def test_an_oversized_answer_and_one_that_comes_late_cost_their_questions(place: Place, tmp_path: Path) -> None:
    """The answer to the first question is held back and given to the second, as if it were that one's."""
    body = (
        "if count == 1: kept = good; connection.recv(1)  # until the host cuts it\n"
        "elif count == 2: reply(connection, kept)\n"
        "elif count == 3: reply(connection, b'x' * 70000)\n"
        "else: reply(connection, good)"
    )
    entrant, word = marked_entrant(place, raw(tmp_path / "programs", body))
    found = run(place, tasks(tmp_path / "media", 4), entrant, tmp_path / "out", limits=replace(CALM, budget_s=4.0))
    assert sorted(outcomes(found).values()) == ["invalid", "invalid", "ok", "timeout"]
    reasons = " ".join(record.detail for record in found.values())
    assert "another question" in reasons
    assert "65536" in reasons
    assert len(events(tmp_path / "out", "started")) == 1
    assert processes_with(word) == []


@pytest.mark.parametrize("interrupted", [False, True])
def test_restarts_belong_to_a_video_and_an_interruption_gives_none_back(
    interrupted: bool, place: Place, tmp_path: Path
) -> None:
    """One video kills its container with every question and has one restart; the other one is answered all the same."""
    body = "if open(question['video']).read() == 'video 0': os._exit(3)\nreply(connection, good)"
    entrant, out = place.entrant(raw(tmp_path / "programs", body)), tmp_path / "out"
    asked = tasks(tmp_path / "media", 8, 2)
    one = rules(state=PlanState.PER_VIDEO, most_restarts=1, budget_s=60.0, health_s=60.0, stop_s=0.3)

    def stop_at_a_crash(_: int) -> None:
        if any(record.outcome is ExchangeOutcome.CRASHED for record in read_journal(out)):
            raise KeyboardInterrupt

    if interrupted:
        with pytest.raises(KeyboardInterrupt):
            run_tasks(asked, engine=place.engine, entrant=entrant, rules=one, out=out, progress=stop_at_a_crash)
    run_tasks(asked, engine=place.engine, entrant=entrant, rules=one, out=out)
    assert outcomes(records(out)) == {f"q{n}": "ok" if n % 2 else "crashed" for n in range(8)}
    assert len(events(out, "started")) == 3, "two for the one video, one for the other"
    assert not leftovers(place, out)


def test_a_host_that_is_killed_loses_no_answer_leaves_nothing_and_goes_on(place: Place, tmp_path: Path) -> None:
    """The program takes its time for its tenth question; after nine or fewer are left, it is never asked so many."""
    body = "if count == 10: time.sleep(600)\nreply(connection, good.replace(b'yes', b'%d' % count))"
    entrant, word = marked_entrant(place, raw(tmp_path / "programs", body))
    asked, out = tasks(tmp_path / "media", 12), tmp_path / "out"
    told = {"tasks": asked, "entrant": entrant, "rules": CALM, "out": out}
    (tmp_path / "told").write_bytes(pickle.dumps((place.engine.name, told)))
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    host = subprocess.Popen([sys.executable, "-c", HOST, str(tmp_path / "told")], env=env)
    try:
        until(lambda: (out / ANSWERS).exists() and (out / ANSWERS).read_bytes().count(b"\n") >= 3, 60, "no answers")
    finally:
        host.send_signal(signal.SIGKILL)
        host.wait()
    until(lambda: processes_with(word) == [], 60, "it outlives its host")
    given = {row["case"]: row["content"] for row in map(json.loads, (out / ANSWERS).read_text().splitlines())}
    assert 3 <= len(given) <= 9
    (orphan,) = (event["id"] for event in events(out, "started"))

    run_tasks(asked, engine=place.engine, entrant=entrant, rules=CALM, out=out)
    found = records(out)
    assert set(outcomes(found).values()) == {"ok"}
    assert len(found) == 12
    assert {case: found[case].content for case in given} == given
    assert events(out, "resumed")[0]["done"] == len(given)
    if place.engine.takes_images:
        assert orphan not in containers(place.engine.name)
    assert processes_with(word) == []


def test_a_disk_that_is_full_stops_the_run_which_goes_on_when_there_is_room(place: Place, tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mounted = ["mount", "-t", "tmpfs", "-o", "size=1m,mode=755", "tmpfs", str(small)]
    if os.geteuid() != 0 or subprocess.run(mounted, capture_output=True).returncode:
        pytest.skip("a small disk can be mounted by root only")
    body = "print('y' * 60000, flush=True)\nreply(connection, good.replace(b'yes', b'x' * 60000))"
    command = raw(tmp_path / "programs", body)
    entrant, word = marked_entrant(place, command)
    asked, out = tasks(tmp_path / "media", 30), small / "out"
    answered: list[int] = []
    try:
        with pytest.raises(RunInterrupted, match="disk is full"):
            run(place, asked, entrant, out, progress=answered.append)
        assert processes_with(word) == []
        given = set(records(out))
        assert sum(answered) <= len(given) < 30
        subprocess.run(["mount", "-o", "remount,size=20m", str(small)], check=True)
        run_tasks(asked, engine=place.engine, entrant=entrant, rules=CALM, out=out)
        found = records(out)
        assert set(outcomes(found).values()) == {"ok"}
        assert len(found) == 30
        assert given <= set(found)
        assert processes_with(word) == []
    finally:
        subprocess.run(["umount", str(small)], check=True)


def engine_killer(place: Place, out: Path) -> Callable[[], None]:
    """Kills what stands between the host and the run: the daemon, the monitor, or bubblewrap itself."""

    def kill() -> None:
        name = events(out, "started")[-1]["id"]
        if place.daemon is not None:
            place.daemon.kill()
        elif place.engine.name == "podman":
            told = subprocess.check_output(["podman", "inspect", name, "--format", "{{.State.ConmonPid}}"])
            os.kill(int(told), signal.SIGKILL)
        else:
            os.kill(min(marked(name)), signal.SIGKILL)

    return kill


def test_an_engine_that_is_killed_costs_no_answer_and_the_run_goes_on(place: Place, tmp_path: Path) -> None:
    entrant, word = marked_entrant(place, raw(tmp_path / "programs", "reply(connection, good)"))
    asked, out = tasks(tmp_path / "media", 4, 4), tmp_path / "out"
    policy = replace(CALM, state=PlanState.PER_VIDEO)
    try:
        run_tasks(
            asked, engine=place.engine, entrant=entrant, rules=policy, out=out, progress=once(engine_killer(place, out))
        )
    except RunInterrupted:
        assert place.daemon is not None, "only a daemon that stays away stops a run"
    assert processes_with(word) == []
    first = {case: record for case, record in records(out).items() if record.outcome == "ok"}
    assert first
    if place.daemon is not None:
        place.daemon.start_again()
        run_tasks(asked, engine=place.engine, entrant=entrant, rules=policy, out=out)
    found = records(out)
    assert len(found) == 4
    assert set(outcomes(found).values()) <= {"ok", "crashed"}
    assert {case: found[case] for case in first} == first
    assert processes_with(word) == []
    if place.engine.takes_images:
        assert not {event["id"] for event in events(out, "started")} & containers(place.engine.name)
