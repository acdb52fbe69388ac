"""Ends a run when its host process dies, however it dies, or when its lifetime is over.

Run as a script with a lifetime in seconds and the arguments of a command that ends the run. The host
holds the other end of this script's standard input: one byte there says that the run is up and its lifetime
begins, another that it is over. The end of the stream without that means that the host is gone; then, or
when the time is up, the command is executed.

It is started before the run, so that no moment is unwatched. How long an engine takes to start a run is not
taken from the run's lifetime. For a run without an engine that could be
asked by name, `by_mark` gives a command: this script again, killing whatever carries the run's mark.
"""

from __future__ import annotations

import glob
import math
import os
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress

MARK = "SURGVALID_RUN"
"""Variable that names the run in the environment of the process that starts it."""
OWN_GROUP = "surgvalid-"
"""How the names of control groups begin that were made for a run."""
_PATIENCE_S = 10.0
_STARTING_S = 3600.0
"""A run that is not up after this time, and its lifetime, is ended."""
_UP, _OVER = b"+", b"."


def by_mark(run: str) -> tuple[str, ...]:
    """A command that kills every process with the mark of a run."""
    return (sys.executable, "-I", "-S", __file__, "--marked", run)


def marked(run: str) -> list[int]:
    """The live processes that carry the mark of a run."""
    wanted = f"{MARK}={run}".encode()
    pids = []
    for place in glob.glob("/proc/[0-9]*"):
        with suppress(OSError):  # ended meanwhile, or another user's
            if wanted in _bytes(f"{place}/environ").split(b"\0") and not _is_dead(place):
                pids.append(int(place.rpartition("/")[2]))
    return pids


def _is_dead(place: str) -> bool:
    return _bytes(f"{place}/stat").rpartition(b")")[2].split()[0] == b"Z"


def _bytes(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def kill_marked(run: str) -> list[int]:
    """The processes of a run that were still there, each sent SIGKILL."""
    pids = marked(run)
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
        _thaw(pid)
    return pids


def _thaw(pid: int) -> None:
    """Let a frozen control group of ours go on: in the old layout nothing in it dies before that."""
    with suppress(OSError):
        for line in _bytes(f"/proc/{pid}/cgroup").decode().splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers == "freezer" and OWN_GROUP in path:
                with open(f"/sys/fs/cgroup/freezer{path}/freezer.state", "w") as state:
                    state.write("THAWED")


class Watchdog:
    """A watching child; `begin` tells it that the run is up, `release` that it is over."""

    def __init__(self, command: tuple[str, ...], *, lifetime_s: float) -> None:
        self._child = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__, f"{lifetime_s}", *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,  # Ctrl-C in the host's terminal must not end it first.
        )
        self._lifetime_s = lifetime_s
        self._ends_at = math.inf

    def begin(self) -> None:
        """The run is up: from now on its lifetime counts."""
        self._ends_at = time.monotonic() + self._lifetime_s
        self._tell(_UP)

    def has_ended_it(self) -> bool:
        """Whether the lifetime is over, and with it the run."""
        return time.monotonic() >= self._ends_at

    def release(self) -> None:
        """The run is over: nothing is left to watch."""
        pipe = self._child.stdin
        if pipe is not None and not pipe.closed:
            self._tell(_OVER)
            with suppress(BrokenPipeError):
                pipe.close()
        self._child.wait()

    def _tell(self, what: bytes) -> None:
        assert self._child.stdin is not None
        with suppress(BrokenPipeError):
            self._child.stdin.write(what)
            self._child.stdin.flush()


def _watch(lifetime_s: float, command: list[str]) -> None:
    left_s, word = _STARTING_S + lifetime_s, _UP
    while word == _UP:
        ready, _, _ = select.select([0], [], [], left_s)
        left_s, word = lifetime_s, os.read(0, 1) if ready else b""
    if word != _OVER:
        os.execvp(command[0], command)


def _end(run: str) -> None:
    """Kill until nothing is left; a process that is just being started may show up a little late."""
    deadline = time.monotonic() + _PATIENCE_S
    quiet = 0
    while quiet < 5 and time.monotonic() < deadline:
        quiet = 0 if kill_marked(run) else quiet + 1
        time.sleep(0.05)


if __name__ == "__main__":
    if sys.argv[1] == "--marked":
        _end(sys.argv[2])
    else:
        _watch(float(sys.argv[1]), sys.argv[2:])
