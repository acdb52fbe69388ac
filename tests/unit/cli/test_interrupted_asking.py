"""Ctrl-C in the middle of an asking: what was answered is shown, and kept where there is a store."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import surgvalid
from fake_server import Behaviour, FakeServer, comparing, serving
from small_questions import answers, questions
from surgvalid.judges import VerdictStore, check_size
from surgvalid.schema.rows import write_json_rows

SOURCE = str(Path(surgvalid.__file__).parents[1])


def slow_after(replies: int) -> Behaviour:
    """A server that becomes slow after some replies."""
    return lambda number, body: comparing(number, body)._replace(delay_s=0.0 if number < replies else 0.5)


def interrupted(server: FakeServer, *words: object, after: int) -> subprocess.CompletedProcess[str]:
    """The verb, interrupted by the signal of Ctrl-C when the server has seen so many requests."""
    environment = os.environ | {"PYTHONPATH": SOURCE, "NO_PROXY": "127.0.0.1"}
    command = [sys.executable, "-m", "surgvalid", *map(str, words)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as run:
        while server.asked < after and run.poll() is None:
            time.sleep(0.01)
        run.send_signal(signal.SIGINT)
        out, err = run.communicate(timeout=60)
    return subprocess.CompletedProcess(command, run.returncode, out, err)


def test_a_check_that_is_interrupted_shows_what_was_answered_and_goes_on(tmp_path: Path) -> None:
    store = tmp_path / "store"
    with serving(slow_after(12)) as server:
        words = ("score", "judge", "check", "--judge", f"openai:m@{server.url}", "--store", store)
        ended = interrupted(server, *words, after=16)
        kept = len(VerdictStore(store))
    assert ended.returncode == 130
    assert 1 <= kept < check_size()
    assert f"interrupted after {kept} of {check_size()} cases" in ended.stdout
    assert "acceptance" in ended.stdout
    assert f"nothing is said about its fitness; answers are kept in {store}" in ended.stderr
    assert "fit for use" not in ended.stderr + ended.stdout
    assert "Traceback" not in ended.stderr


def test_a_scoring_that_is_interrupted_says_how_far_it_came_and_goes_on(tmp_path: Path) -> None:
    requests, references = questions()
    responses = answers("moody", requests, references, seed=1)
    files: list[object] = []
    for name, rows in (("requests", requests), ("references", references), ("responses", responses)):
        write_json_rows((row.as_row() for row in rows), tmp_path / f"{name}.json")
        files += [f"--{name}", tmp_path / f"{name}.json"]
    store = tmp_path / "store"
    with serving(slow_after(5)) as server:
        ended = interrupted(
            server, "score", *files, "--judge", f"openai:m@{server.url}", "--store", store, "--resamples", 5, after=7
        )
        kept = len(VerdictStore(store))
    assert ended.returncode == 130
    assert 1 <= kept < 10
    assert re.search(rf"interrupted, judging: {kept} of \d+, 0 failed, ", ended.stderr)
    assert f"verdicts are kept in {store}: run again to go on" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_terminal_shows_rate_failures_and_time_left_while_a_server_is_asked() -> None:
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    with serving(lambda n, b: comparing(n, b)._replace(delay_s=0.05)) as server:
        environment = os.environ | {"PYTHONPATH": SOURCE, "NO_PROXY": "127.0.0.1", "COLUMNS": "160"}
        command = [sys.executable, "-m", "surgvalid", "score", "judge", "check", "--judge", f"openai:m@{server.url}"]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=theirs, env=environment) as run:
            os.close(theirs)
            seen = b""
            while True:
                try:
                    seen += os.read(ours, 4096)
                except OSError:  # the other side was closed
                    break
            run.wait(timeout=60)
    os.close(ours)
    lines = seen.decode().split("\r\x1b[K")
    assert any(f" of {check_size()}, 0 failed, " in line and line.endswith(" left") for line in lines)
    assert lines[-1].startswith("openai:m@")  # the line is gone when the results come


def workers_of(parent: int) -> set[int]:
    """Processes that a process has started to share its work."""
    kids = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    return {int(kid) for kid in kids if "spawn_main" in Path(f"/proc/{kid}/cmdline").read_text()}


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="reads children of a process from /proc")
@pytest.mark.parametrize("later_s", [0.0, 1.0], ids=["they start", "they load modules"])
def test_ctrl_c_is_answered_once_where_several_processes_work(tmp_path: Path, later_s: float) -> None:
    words = ["data", "simulate", "--out", tmp_path / "out", "--procedures", 8, "--minutes", 30, "--workers", 2]
    command = [sys.executable, "-m", "surgvalid", *map(str, words)]
    environment = os.environ | {"PYTHONPATH": SOURCE}
    # A session of its own: a terminal sends the signal to the whole group, here neither to the test nor to its runner.
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True
    ) as run:
        while not (workers := workers_of(run.pid)) and run.poll() is None:
            time.sleep(0.02)
        time.sleep(later_s)
        os.killpg(run.pid, signal.SIGINT)
        _, err = run.communicate(timeout=60)
    assert workers
    assert run.returncode == 130, err
    assert [line for line in err.splitlines() if "working for" not in line] == ["stopped"]
    assert not [kid for kid in workers if Path(f"/proc/{kid}").exists()]
