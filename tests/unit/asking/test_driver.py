"""Real programs, good and hostile, driven through a plain process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest

import surgvalid
from hostile_programs import good, raw, script
from repository import REPOSITORY
from submission_runs import events, outcomes, records, rules, run, tasks
from surgvalid.asking import driver
from surgvalid.asking.journal import ANSWERS
from surgvalid.asking.messages import ProtocolQuestion
from surgvalid.asking.plan import AskedTask, AskingRules, PlanState
from surgvalid.asking.session import Answered, Participant, Session, Workplace
from surgvalid.errors import EngineFailed, HiddenDataRefused, Misuse, RunInterrupted
from surgvalid.sandbox import SOCKET_NAME, Engine, Launch, Mount, Running, open_engine
from surgvalid.sandbox._watchdog import marked
from surgvalid.sandbox.process import MARK, ProcessEngine
from surgvalid.schema.questions.questions import Request
from surgvalid.submissions.results import run_facts, write_responses
from waiting import until

SHORT: dict[str, Any] = {"budget_s": 0.5}
ALL_OK = {"q0": "ok", "q1": "ok", "q2": "ok"}


def test_every_question_is_answered_and_timed(tmp_path: Path) -> None:
    found = run(tmp_path, good(tmp_path, "return {'content': question['question'], 'extra': {'n': state['asked']}}"))
    assert outcomes(found) == ALL_OK
    assert {r.content for r in found.values()} == {"Question 0?", "Question 1?", "Question 2?"}
    assert sorted(r.extra["n"] for r in found.values()) == [1, 2, 3]  # type: ignore[index]
    assert all(0 < r.latency_s < 20 for r in found.values())


def test_answers_are_streamed_and_none_is_kept_in_memory(tmp_path: Path) -> None:
    """Thirty megabytes of answers pass through; what the host holds does not grow with them."""
    held: list[int] = []
    tracemalloc.start()
    try:
        out = driver.run_tasks(
            tasks(tmp_path / "media", 600), engine=open_engine("process"), rules=rules(), out=tmp_path / "out",
            entrant=Participant(command=good(tmp_path, "return 'x' * 50000")),
            progress=lambda _: held.append(tracemalloc.get_traced_memory()[0]),
        )  # fmt: skip
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        facts = run_facts(out)
        write_responses(out, with_late=True)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert facts.answered == 600
    assert (tmp_path / "out" / ANSWERS).stat().st_size > 30_000_000
    assert held[-1] - held[99] < 1_000_000
    assert peak - before < 3_000_000


def test_every_container_is_proven_dead(tmp_path: Path) -> None:
    run(tmp_path, good(tmp_path), tasks(tmp_path / "media", 4, 2), state=PlanState.PER_VIDEO)
    started, ended = events(tmp_path / "out", "started"), events(tmp_path / "out", "ended")
    assert [e["id"] for e in started] == [e["id"] for e in ended]
    assert len(started) == 2
    assert all(e["evidence"] for e in ended)
    assert not (tmp_path / "out" / driver.WORK).exists()


def test_the_program_is_told_where_to_listen_and_nothing_else(tmp_path: Path) -> None:
    found = run(tmp_path, good(tmp_path, "return ' '.join(sorted(os.environ))"))
    known = {"PATH", MARK, "SURG_PROTOCOL", "SURG_SOCKET", "LC_CTYPE"}
    assert set(str(found["q0"].content).split()) <= known


# --- attacks (specification 5: 32 to 38) ----------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("reply(connection, b'garbage')", "not JSON"),
        ("reply(connection, b'x' * 70000)", "65536"),
        ("connection.sendall(head(10**9))", "65536"),
        ("reply(connection, good, status=b'302 Found', extra=b'Location: /answer\\r\\n')", "status 302"),
        ("reply(connection, good, status=b'500 Oops')", "status 500"),
        ("connection.sendall(b'HTTP/1.1 200 OK\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n5\\r\\n')", "chunked"),
        ("reply(connection, good.replace(question['qID'].encode(), b'0' * 32))", "another question"),
        ('reply(connection, b\'{"qID":"x",\' + good[1:])', "twice"),
        ('reply(connection, good[:-1] + b\', "extra": {"k": NaN}}\')', "NaN"),
        ("reply(connection, good[:-1] + b', \"extra\": ' + b'[' * 20000 + b']' * 20000 + b'}')", "nested"),
        ("reply(connection, b'\\xff\\xfe')", "UTF-8"),
        ("connection.sendall(head(500) + good)", "declared bytes"),
        ("pass", "without any reply"),
    ],
)
def test_an_answer_that_is_none_costs_its_question_and_no_restart(tmp_path: Path, body: str, reason: str) -> None:
    bad_first = f"if count == 1:\n    {body}\nelse:\n    reply(connection, good)"
    found = run(tmp_path, raw(tmp_path, bad_first))
    assert sorted(outcomes(found).values()) == ["invalid", "ok", "ok"]
    (bad,) = [r for r in found.values() if r.outcome == "invalid"]
    assert reason in bad.detail
    assert bad.content is None
    assert len(events(tmp_path / "out", "started")) == 1


@pytest.mark.parametrize(
    "body",
    [
        "time.sleep(600)",
        "for byte in head(len(good)) + good: connection.sendall(bytes([byte])); time.sleep(0.05)",
        "connection.sendall(head(len(good))); time.sleep(600)",
    ],
)
def test_hanging_or_trickling_is_cut_and_the_program_restarted(tmp_path: Path, body: str) -> None:
    once = f"if not os.path.exists({str(tmp_path / 'seen')!r}):\n    open({str(tmp_path / 'seen')!r}, 'w').close()"
    found = run(tmp_path, raw(tmp_path, f"{once}\n    {body}\nreply(connection, good)"), **SHORT, health_s=0.5)
    assert sorted(outcomes(found).values())[-1] == "timeout"
    late = [r for r in found.values() if r.outcome == "timeout"]
    assert all(r.latency_s > 0.5 and r.content is None for r in late)
    assert events(tmp_path / "out", "started")[0]["planned"]


def test_a_late_answer_to_an_earlier_question_is_no_answer_to_this_one(tmp_path: Path) -> None:
    """The program keeps the answer to its first question and gives it when asked the second."""
    body = (
        "if count == 1:\n    kept = good; connection.recv(1)  # until the host cuts it\n"
        "elif count == 2:\n    reply(connection, kept)\n"
        "else:\n    reply(connection, good)"
    )
    found = run(tmp_path, raw(tmp_path, body), budget_s=4.0)
    assert sorted(outcomes(found).values()) == ["invalid", "ok", "timeout"]
    assert "another question" in next(r.detail for r in found.values() if r.outcome == "invalid")
    assert len(events(tmp_path / "out", "started")) == 1


def test_a_slow_answer_is_no_dead_program_and_costs_itself_alone(tmp_path: Path) -> None:
    """The starter says that it lives and is busy; it is exchanged, which spends none of its restarts."""
    body = "if not os.path.exists(MARK):\n    open(MARK, 'w').close(); time.sleep(600)\nreturn str(state['asked'])"
    command = good(tmp_path, body.replace("MARK", repr(str(tmp_path / "slept"))))
    found = run(tmp_path, command, budget_s=4.0, most_restarts=0)
    assert sorted(outcomes(found).values()) == ["ok", "ok", "timeout"]
    assert {r.content for r in found.values()} == {None, "1", "2"}
    assert "still at work" in events(tmp_path / "out", "replaced")[0]["detail"]


def test_a_program_that_was_late_stands_still_until_it_is_asked_again(tmp_path: Path) -> None:
    """A thread of it ticks every ten milliseconds; meanwhile the host takes four seconds until its next question."""
    body = (
        "if count == 1:\n    ticks = [0]; connection.recv(1)  # until the host cuts it\n"
        "    def tick():\n        while True: time.sleep(0.01); ticks[0] += 1\n"
        "    __import__('threading').Thread(target=tick, daemon=True).start()\n"
        "else:\n    reply(connection, good.replace(b'yes', b'%d' % ticks[0]))"
    )
    waited: list[int] = []

    def wait(_: int) -> None:
        waited.append(1)
        if len(waited) == 1:
            time.sleep(4.0)

    found = run(tmp_path, raw(tmp_path, body), tasks(tmp_path / "media", 2), budget_s=1.0, progress=wait)
    assert sorted(outcomes(found).values()) == ["ok", "timeout"]
    assert int(next(str(r.content) for r in found.values() if r.outcome == "ok")) < 130
    assert len(events(tmp_path / "out", "started")) == 1


def test_a_late_sign_of_life_buys_no_time_either(tmp_path: Path) -> None:
    """It answers GET /health only after it has thought for three seconds more; then it is another that is asked."""
    once = f"if not os.path.exists({str(tmp_path / 'seen')!r}):\n    open({str(tmp_path / 'seen')!r}, 'w').close()"
    command = raw(tmp_path, f"{once}; time.sleep(4.0)\nreply(connection, good.replace(b'yes', b'%d' % count))")
    found = run(tmp_path, command, tasks(tmp_path / "media", 2), budget_s=1.0)
    assert sorted(outcomes(found).values()) == ["ok", "timeout"]
    assert {r.content for r in found.values()} == {None, "1"}
    assert "for a sign of life" in events(tmp_path / "out", "replaced")[0]["detail"]
    assert all(e["planned"] for e in events(tmp_path / "out", "started"))


def test_a_warm_up_question_is_asked_first_and_counts_for_nothing(tmp_path: Path) -> None:
    (tmp_path / "warm.mp4").write_bytes(b"warm")
    warm = AskedTask(Request("warm", "warm", 0, 1, "p", "Is this a warm-up?"), tmp_path / "warm.mp4")
    command = good(tmp_path, "return str(state['asked']) + ' ' + open(question['video']).read()")
    out = driver.run_tasks(
        tasks(tmp_path / "media", 2), engine=open_engine("process"), entrant=Participant(command=command),
        rules=rules(), out=tmp_path / "out", warm_up=warm,
    )  # fmt: skip
    assert sorted(str(r.content) for r in records(out).values()) == ["2 video 0", "3 video 0"]
    assert events(out, "warmed_up")[0]["outcome"] == "ok"


def test_a_crash_costs_its_question_and_the_rest_is_answered(tmp_path: Path) -> None:
    marker = str(tmp_path / "crashed")
    body = f"if not os.path.exists({marker!r}):\n    open({marker!r}, 'w').close()\n    os._exit(3)\nreturn 'yes'"
    found = run(tmp_path, good(tmp_path, body))
    assert sorted(outcomes(found).values()) == ["crashed", "ok", "ok"]
    assert "exit code 3" in next(r.detail for r in found.values() if r.outcome == "crashed")
    assert [e["planned"] for e in events(tmp_path / "out", "started")] == [True, False]


def test_a_crash_loop_ends_after_the_restarts_allowed(tmp_path: Path) -> None:
    found = run(tmp_path, good(tmp_path, "os._exit(3)"), tasks(tmp_path / "media", 6), most_restarts=2)
    assert set(outcomes(found).values()) == {"crashed"}
    assert len(events(tmp_path / "out", "started")) == 3
    assert sum("no restart is left" in r.detail for r in found.values()) == 3


def test_a_program_that_never_starts_is_given_up_with_the_reason(tmp_path: Path) -> None:
    found = run(tmp_path, script(tmp_path, "raise SystemExit(7)"), most_restarts=1)
    assert set(outcomes(found).values()) == {"crashed"}
    assert all("exit code 7" in e["detail"] for e in events(tmp_path / "out", "start_failed"))
    assert len(events(tmp_path / "out", "start_failed")) == 2


def test_a_slow_start_is_cut_by_a_clock_of_its_own(tmp_path: Path) -> None:
    found = run(tmp_path, script(tmp_path, "import time; time.sleep(600)"), start_up_s=0.4, most_restarts=0)
    assert set(outcomes(found).values()) == {"crashed"}
    (failed,) = events(tmp_path / "out", "start_failed")
    assert "not ready within 0.4 s" in failed["detail"]
    assert failed["seconds"] < 20


def test_start_up_time_is_no_answering_time(tmp_path: Path) -> None:
    found = run(tmp_path, good(tmp_path, start="time.sleep(4.1)"), budget_s=4.0)
    assert outcomes(found) == ALL_OK
    assert events(tmp_path / "out", "started")[0]["seconds"] > 4.0


def test_false_health_buys_nothing(tmp_path: Path) -> None:
    """Ready at once, and then no answer to anything: every question is lost, no restart is spent."""
    found = run(tmp_path, raw(tmp_path, "pass"))
    assert set(outcomes(found).values()) == {"invalid"}


def test_health_of_another_protocol_is_not_ready(tmp_path: Path) -> None:
    text = raw(tmp_path, "pass")
    path = Path(text[-1])
    path.write_text(path.read_text().replace('"protocol":"1"', '"protocol":"9"'))
    found = run(tmp_path, text, most_restarts=0)
    assert set(outcomes(found).values()) == {"crashed"}
    assert "protocol '9'" in events(tmp_path / "out", "start_failed")[0]["detail"]


@pytest.mark.parametrize(
    "swap",
    [
        "os.unlink(path); os.symlink('/dev/null', path)",
        "os.unlink(path); open(path, 'w').close()",
        "os.unlink(path); os.mkfifo(path)",
        "os.unlink(path)",
    ],
)
def test_a_socket_that_turns_into_something_else_is_a_crash(tmp_path: Path, swap: str) -> None:
    body = f"path = os.environ['SURG_SOCKET']\n{swap}\nreply(connection, good)"
    found = run(tmp_path, raw(tmp_path, body), health_s=0.3, most_restarts=0)
    assert sorted(outcomes(found).values()) == ["crashed", "crashed", "ok"]


def test_many_listeners_on_one_socket_give_one_answer_per_question(tmp_path: Path) -> None:
    """Five processes wait on the socket at once; each question goes to one of them, and all of them end."""
    command = raw(tmp_path, "reply(connection, good.replace(b'yes', b'%d' % os.getpid()))")
    path = Path(command[-1])
    forked = "for _ in range(4):\n    if os.fork() == 0: break\ncount, earlier = 0, None"
    path.write_text(path.read_text().replace("count, earlier = 0, None", forked))
    found = run(tmp_path, command, tasks(tmp_path / "media", 12))
    assert set(outcomes(found).values()) == {"ok"}
    assert len(found) == 12
    assert marked(events(tmp_path / "out", "started")[0]["id"]) == []


def test_no_video_is_there_while_a_container_starts(tmp_path: Path) -> None:
    """Pre-computation finds nothing: not at the start, not of other videos, not during a restart."""
    seen = str(tmp_path / "seen.txt")
    look = f"""
folder = os.path.join(open({str(tmp_path)!r} + '/out/.work/folders').read().splitlines()[1], 'input')
open({seen!r}, 'a').write('start ' + str(len(os.listdir(folder))) + chr(10))
"""
    body = (
        "names = os.listdir(os.path.dirname(question['video']))\n"
        f"open({seen!r}, 'a').write('ask ' + str(len(names)) + chr(10))\n"
        f"if os.path.getsize({seen!r}) < 20: os._exit(1)\n"
        "return open(question['video']).read()"
    )
    asked = tasks(tmp_path / "media", 6, 3)
    found = run(tmp_path, good(tmp_path, body, start=look), asked, state=PlanState.PER_VIDEO)
    assert sorted(outcomes(found).values()) == ["crashed"] + ["ok"] * 5
    assert all(r.content == f"video {r.video[1:]}" for r in found.values() if r.outcome == "ok")
    lines = Path(seen).read_text().split("\n")[:-1]
    assert {line for line in lines if line.startswith("start")} == {"start 0"}
    assert {line for line in lines if line.startswith("ask")} == {"ask 1"}


def test_a_video_appears_with_the_clock_of_its_first_question_and_goes_after_its_last(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []

    class Watching(Session):
        def ask(self, question: ProtocolQuestion, *, before: Callable[[], None] | None = None) -> Answered:
            folder = Path(question.path).parent
            earlier = len(list(folder.iterdir()))
            given = super().ask(question, before=before)
            seen.append((earlier, len(list(folder.iterdir()))))
            return given

    def watched(engine: Engine, entrant: Participant, rules: AskingRules, place: Workplace) -> Session:
        sockets = Mount.socket(place.sockets)
        env = {"SURG_SOCKET": f"{place.sockets}/{SOCKET_NAME}"}
        return Watching(engine, entrant.launch((Mount.input(place.input), sockets), env), rules)

    driver.run_tasks(
        tasks(tmp_path / "media", 4, 2), engine=open_engine("process"), entrant=Participant(command=good(tmp_path)),
        rules=rules(), out=tmp_path / "out", open_with=watched,
    )  # fmt: skip
    assert seen == [(0, 1), (1, 1), (0, 1), (1, 1)]


@pytest.mark.parametrize(
    ("state", "sessions"), [(PlanState.PER_QUESTION, 4), (PlanState.PER_VIDEO, 2), (PlanState.FREE, 1)]
)
def test_nothing_is_remembered_beyond_what_the_policy_allows(tmp_path: Path, state: PlanState, sessions: int) -> None:
    found = run(tmp_path, good(tmp_path, "return str(state['asked'])"), tasks(tmp_path / "media", 4, 2), state=state)
    assert set(outcomes(found).values()) == {"ok"}
    assert sorted(str(r.content) for r in found.values()) == sorted(str(1 + i % (4 // sessions)) for i in range(4))


def test_a_question_without_a_video_is_not_asked_and_says_why(tmp_path: Path) -> None:
    asked = [*tasks(tmp_path / "media", 2), AskedTask(Request("q9", "v9", 0, 1, "p", "?"), None, "v9.mp4 is empty")]
    found = run(tmp_path, good(tmp_path), asked)
    assert outcomes(found) == {"q0": "ok", "q1": "ok", "q9": "not_asked"}
    assert found["q9"].detail == "v9.mp4 is empty"


# --- our own failures, and going on ---------------------------------------------------------------


class FailingEngine(ProcessEngine):
    """A plain process whose start fails as often as told."""

    name: ClassVar[str] = "process"

    def __init__(self, failures: int) -> None:
        self.failures = failures

    def start(self, launch: Launch) -> Running:
        if self.failures:
            self.failures -= 1
            raise EngineFailed("process", "the daemon is gone")
        return super().start(launch)


def test_a_failure_of_ours_is_logged_and_the_question_asked_again(tmp_path: Path) -> None:
    found = run(tmp_path, good(tmp_path), engine=FailingEngine(2))
    assert outcomes(found) == ALL_OK
    assert max(r.attempt for r in found.values()) == 3
    assert len(events(tmp_path / "out", "infra_error")) == 2


def test_an_engine_that_stays_away_stops_the_run_which_goes_on_later(tmp_path: Path) -> None:
    asked = tasks(tmp_path / "media", 5)
    command = good(tmp_path)
    with pytest.raises(RunInterrupted, match="daemon is gone"):
        run(tmp_path, command, asked, engine=FailingEngine(10**6))
    assert set(outcomes(records(tmp_path / "out")).values()) == {"infra_error"}
    found = run(tmp_path, command, asked)
    assert set(outcomes(found).values()) == {"ok"}
    assert len(found) == 5


def test_a_program_killed_from_outside_is_a_crash_and_the_run_goes_on(tmp_path: Path) -> None:
    marker = str(tmp_path / "killed")
    body = (
        f"if not os.path.exists({marker!r}):\n    open({marker!r}, 'w').close()\n    os.kill(os.getpid(), 9)\nreturn ''"
    )
    found = run(tmp_path, good(tmp_path, body))
    assert sorted(outcomes(found).values()) == ["crashed", "ok", "ok"]
    assert "exit code 137" in next(r.detail for r in found.values() if r.outcome == "crashed")


def test_an_interrupted_run_keeps_its_answers_and_leaves_nothing_running(tmp_path: Path) -> None:
    command, asked = good(tmp_path, "return str(os.getpid())"), tasks(tmp_path / "media", 5)
    calls = []

    def stop_after_two(step: int) -> None:
        calls.append(step)
        if len(calls) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, command, asked, progress=stop_after_two)
    first = records(tmp_path / "out")
    assert len(first) == 2
    for record in first.values():
        with pytest.raises(ProcessLookupError):
            os.kill(int(str(record.content)), 0)
    found = run(tmp_path, command, asked)
    assert set(outcomes(found).values()) == {"ok"}
    assert {case: found[case] for case in first} == first
    assert len(found) == 5


def test_a_killed_host_process_loses_no_answer_and_no_process_survives_it(tmp_path: Path) -> None:
    go_on = tmp_path.parent / f"{tmp_path.name}-go-on"  # not beside the program: what lies there is of the run
    wait = f"if state['asked'] == 5 and not os.path.exists({str(go_on)!r}): time.sleep(600)"
    command = good(tmp_path, f"{wait}\nreturn str(os.getpid())")
    asked = tasks(tmp_path / "media", 12)
    host = f"""
import sys; sys.path[:0] = {[str(REPOSITORY / "tests" / "support"), str(Path(surgvalid.__file__).parents[1])]!r}
from pathlib import Path
from submission_runs import run, tasks
run(Path({str(tmp_path)!r}), {command!r}, tasks(Path({str(tmp_path / "media")!r}), 12), budget_s=600.0)
"""
    child = subprocess.Popen([sys.executable, "-c", host])
    answers = tmp_path / "out" / ANSWERS
    until(lambda: answers.exists() and answers.read_bytes().count(b"\n") >= 2, 60, "it did not answer twice")
    child.send_signal(signal.SIGKILL)
    child.wait()
    first = {row["case"]: row for row in map(json.loads, answers.read_text().splitlines())}
    assert 2 <= len(first) <= 4
    pid = int(next(iter(first.values()))["content"])
    until(lambda: not os.path.exists(f"/proc/{pid}"), 60, "the program outlived its host")
    left = [Path(line) for line in (tmp_path / "out" / driver.WORK / "folders").read_text().splitlines()]
    assert all(folder.is_dir() for folder in left)
    go_on.touch()
    found = run(tmp_path, command, asked, budget_s=600.0)
    assert not any(folder.exists() for folder in left)
    assert set(outcomes(found).values()) == {"ok"}
    assert len(found) == 12
    assert all(found[case].content == row["content"] for case, row in first.items())
    assert events(tmp_path / "out", "resumed")[0]["done"] == len(first)


@pytest.mark.parametrize("place", ["kept", "sg-kept", "../sg-kept", "\udcff\0"])
def test_a_note_of_sockets_that_are_not_ours_removes_nothing(tmp_path: Path, place: str) -> None:
    (tmp_path / "out" / driver.WORK).mkdir(parents=True)
    for name in ("kept", "sg-kept"):
        (tmp_path / name).mkdir()
    note = str(tmp_path / place).encode("utf-8", "surrogateescape")
    (tmp_path / "out" / driver.WORK / "folders").write_bytes(note)
    with driver.working_folders(tmp_path / "out"):
        pass
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kept", "out", "sg-kept"]


def test_other_questions_are_another_run(tmp_path: Path) -> None:
    command = good(tmp_path)
    run(tmp_path, command, tasks(tmp_path / "media", 2))
    with pytest.raises(Misuse, match="holds another run: media, questions differ"):
        run(tmp_path, command, tasks(tmp_path / "media", 3))


def test_the_engine_of_hidden_data_must_keep_it_in(tmp_path: Path) -> None:
    entrant = Participant(command=good(tmp_path), hidden=True)
    with pytest.raises(HiddenDataRefused):
        driver.run_tasks(
            tasks(tmp_path / "media"), engine=open_engine("process"), entrant=entrant, rules=rules(),
            out=tmp_path / "out",
        )  # fmt: skip
    assert not (tmp_path / "out").exists(), "a folder is claimed only when the launch is possible"
