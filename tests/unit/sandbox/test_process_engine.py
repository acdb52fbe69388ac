from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from repository import REPOSITORY
from surgvalid.errors import EngineFailed, HiddenDataRefused, Misuse
from surgvalid.sandbox import Launch, Limits, Mount, Running, open_engine
from surgvalid.sandbox._engine import LogTail
from surgvalid.sandbox._watchdog import Watchdog
from waiting import until

LISTEN = "import socket,sys,time; s=socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(); time.sleep(60)"
ESCAPE = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        open(sys.argv[1], "w").write(str(os.getpid()))
        time.sleep(60)
time.sleep(60)
"""


def python(code: str, *arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-I", "-S", "-c", code, *arguments)


def eventually(check: Callable[[], object]) -> None:
    until(check, 60, "it never happened")


def connects(running: Running) -> bool:
    """Whether the program listens by now; its socket is there a little before it does."""
    try:
        running.connect(timeout_s=5).close()
    except ConnectionError:
        return False
    return True


def runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_hidden_data_is_refused_by_a_plain_process() -> None:
    with pytest.raises(HiddenDataRefused, match="no-network"):
        open_engine("process").start(Launch(command=python("pass"), hidden=True))


def test_an_image_is_refused_by_a_plain_process(tmp_path: Path) -> None:
    engine = open_engine("process")
    with pytest.raises(Misuse, match="podman"):
        engine.start(Launch(image="sha256:00", command=("true",)))
    with pytest.raises(Misuse, match="podman"):
        engine.store(tmp_path / "image.tar")


def test_a_command_that_is_not_there_is_an_engine_failure_and_leaks_nothing(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(EngineFailed, match="no-such-program"):
        open_engine("process").start(Launch(command=("no-such-program",), mounts=(Mount.output(tmp_path),)))
    assert len(os.listdir("/proc/self/fd")) == before


def test_exit_code_and_last_words_are_kept() -> None:
    with open_engine("process").start(Launch(command=python("print('bye'); raise SystemExit(7)"))) as running:
        eventually(lambda: not running.alive())
        assert running.exit_code() == 7
        assert running.logs() == b"bye\n"
        assert running.kill().exit_code == 7


def test_a_signal_is_told_as_128_plus_its_number() -> None:
    with open_engine("process").start(Launch(command=python("import time; time.sleep(60)"))) as running:
        assert running.exit_code() is None
        assert running.kill().exit_code == 128 + 9


def test_a_grace_lets_the_run_say_goodbye() -> None:
    code = "import signal,sys,time; signal.signal(15, lambda *a: sys.exit(3)); print('up', flush=True); time.sleep(60)"
    with open_engine("process").start(Launch(command=python(code))) as running:
        eventually(lambda: running.logs())
        assert running.kill(grace_s=20).exit_code == 3


def test_a_child_that_left_the_session_dies_too(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    with open_engine("process").start(Launch(command=python(ESCAPE, str(note)))) as running:
        eventually(lambda: note.exists() and note.read_text())
        stray = int(note.read_text())
        assert runs(stray)
        running.kill()
        assert not runs(stray)


def test_the_run_dies_with_a_host_that_is_killed(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    sleeper = f"import os,time; open({str(note)!r},'w').write(str(os.getpid())); time.sleep(60)"
    host = (
        "import sys,time; from surgvalid.sandbox import Launch, open_engine\n"
        f"r = open_engine('process').start(Launch(command=(sys.executable,'-I','-S','-c',{sleeper!r})))\n"
        "time.sleep(60)"
    )
    source = REPOSITORY / "src"
    child = subprocess.Popen([sys.executable, "-c", host], env={**os.environ, "PYTHONPATH": str(source)})
    eventually(lambda: note.exists() and note.read_text())
    pid = int(note.read_text())
    child.kill()
    child.wait()
    eventually(lambda: not runs(pid))


def test_the_lifetime_of_a_run_begins_when_it_is_up(tmp_path: Path) -> None:
    ended = tmp_path / "ended"
    watchdog = Watchdog((sys.executable, "-I", "-S", "-c", f"open({str(ended)!r}, 'w')"), lifetime_s=0.1)
    try:
        time.sleep(1.0)  # an engine on a busy machine takes longer to start a run than this one may live
        assert not ended.exists()
        assert not watchdog.has_ended_it()
        watchdog.begin()
        eventually(ended.exists)
        assert watchdog.has_ended_it()
    finally:
        watchdog.release()


def test_logs_are_kept_in_bounded_memory() -> None:
    code = "import sys\nfor _ in range(300): sys.stdout.write('x' * 65536)\nprint('end')"
    with open_engine("process").start(Launch(command=python(code), limits=Limits(log_mb=1))) as running:
        eventually(lambda: not running.alive())
        assert running.logs(10**9).endswith(b"xend\n")
        assert len(running.logs(10**9)) <= 2 * 2**20


def test_the_socket_is_reached_through_its_folder(tmp_path: Path) -> None:
    engine = open_engine("process")
    mount = Mount.socket(tmp_path)
    launch = Launch(command=python(LISTEN, f"{engine.inside(mount)}/model.sock"), mounts=(mount,))
    with engine.start(launch) as running:
        eventually(lambda: "model.sock" in os.listdir(tmp_path))
        eventually(lambda: connects(running))
        connection = running.connect(timeout_s=5)
        with connection:
            assert connection.family == socket.AF_UNIX
        assert running.peak_memory_mb() > 1


@pytest.mark.parametrize("user", ["0:0", "0", "1000:0", "root", "", "app", "65534", "1000:1000;id"])
def test_a_launch_takes_no_root_and_no_names_as_user(user: str) -> None:
    with pytest.raises(Misuse, match="numeric user"):
        Launch(command=("true",), user=user)


@pytest.mark.parametrize("gpu", ["all", "0,1", "nvidia.com/gpu=0"])
def test_a_launch_takes_one_gpu(gpu: str) -> None:
    with pytest.raises(Misuse, match="one GPU, named by its index or UUID"):
        Launch(command=("true",), gpu=gpu)


def test_a_launch_needs_something_to_run_and_plain_variables(tmp_path: Path) -> None:
    with pytest.raises(Misuse, match="neither"):
        Launch()
    for env in ({"A=B": "x"}, {"A": "x\nLD_PRELOAD=y"}, {"": "x"}):
        with pytest.raises(Misuse, match="environment variable"):
            Launch(command=("true",), env=env)
    with pytest.raises(Misuse, match="share a path"):
        Launch(command=("true",), mounts=(Mount.input(tmp_path), Mount.output(tmp_path, "/input")))
    with pytest.raises(Misuse, match="positive"):
        Limits(pids=0)


@pytest.mark.parametrize("target", ["input", "/in put", "/a/../etc", "/a:b", "/a,b", "//a", "/"])
def test_a_mount_needs_a_plain_place_inside(target: str, tmp_path: Path) -> None:
    with pytest.raises(Misuse, match="absolute plain path"):
        Mount.input(tmp_path, target)


def test_a_mount_source_that_an_engine_would_misread_is_refused() -> None:
    with pytest.raises(Misuse, match="cannot mount"):
        Mount.input(Path("/data:/etc"))


def test_what_was_printed_is_known_before_the_background_comes_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LogTail, "_drain", lambda _: None)
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as pipe, os.fdopen(writing, "wb", buffering=0) as program:
        log = LogTail(pipe, keep_bytes=100)
        program.write(b"the last words")
        assert log.tail(9) == b"ast words"
        program.write(b"x" * 1000)
        assert log.tail(200).endswith(b"x" * 100)
