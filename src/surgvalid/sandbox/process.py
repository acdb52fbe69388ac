"""A plain process on this machine: for participants at home and for tests. It keeps nothing in.

The command sees the host's files and network under the caller's own user. Hidden data is refused.
What it does give: a clean environment, bounded logs, and an end of everything that was started and did not hide:
children that left the process group are found by a mark in their environment, which a program can take off.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
import uuid
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

from surgvalid.errors import EngineFailed, Misuse
from surgvalid.sandbox._engine import Death, Guarantee, LogTail, Problem, ProblemSeverity, Running, refuse_hidden
from surgvalid.sandbox._folders import Folder
from surgvalid.sandbox._intake import ImageFacts, ImageLimits
from surgvalid.sandbox._launch import Launch, Mount, MountKind
from surgvalid.sandbox._watchdog import MARK as MARK
from surgvalid.sandbox._watchdog import Watchdog, by_mark, kill_marked, marked

_DEATH_S = 10.0


class ProcessEngine:
    """Starts a command as it is."""

    name: ClassVar[str] = "process"
    guarantees: ClassVar[frozenset[Guarantee]] = frozenset({Guarantee.CLEAN_ENVIRONMENT, Guarantee.LOG_CAP})
    takes_images: ClassVar[bool] = False

    def available(self) -> Problem | None:
        """None: there is always a process."""
        return None

    def problems(self) -> tuple[Problem, ...]:
        """That nothing is kept in, always."""
        text = "a plain process keeps nothing in: no hidden data"
        return (Problem("no-isolation", text, "use podman or docker for submissions", ProblemSeverity.WEAKENS),)

    def inside(self, mount: Mount) -> str:
        """The host's own path."""
        return str(mount.source)

    def store(self, archive: Path, limits: ImageLimits | None = None) -> str:  # noqa: ARG002
        """Nothing: a plain process cannot run an image."""
        raise Misuse(f"the process engine runs commands, not images; got {archive}; use podman or docker")

    def facts(self, image: str) -> ImageFacts | None:  # noqa: ARG002
        """None: it runs commands."""
        return None

    def images(self) -> frozenset[str]:
        """None: it runs commands."""
        return frozenset()

    def forget(self, image: str) -> None:
        """Nothing to remove."""

    def check(self, launch: Launch) -> None:
        """Nothing, when a launch can be asked of a plain process.

        Raises:
            Misuse: With the reason.
        """
        self._refuse(launch)
        if shutil.which(launch.command[0]) is None:
            raise Misuse(f"{launch.command[0]!r} is no program of this machine; name one on the PATH, or its path")

    def start(self, launch: Launch) -> Running:
        """The command, running in its own session."""
        self._refuse(launch)
        return _Process(launch)

    def _refuse(self, launch: Launch) -> None:
        refuse_hidden(self, launch)
        if launch.image or not launch.command:
            raise Misuse("the process engine runs commands, not images; use podman or docker for an image")

    def sweep(self) -> tuple[str, ...]:
        """Nothing: the watchdog of each run ends it with its host."""
        return ()


class _Process(Running):
    def __init__(self, launch: Launch) -> None:
        super().__init__(_folder(launch, MountKind.OUTPUT), _folder(launch, MountKind.SOCKET))
        self.id = uuid.uuid4().hex
        self.unenforced = tuple(sorted(set(Guarantee) - ProcessEngine.guarantees))
        self._peak_kb = 0
        self._frozen = False
        self._watchdog = Watchdog(by_mark(self.id), lifetime_s=launch.limits.lifetime_s)
        try:
            self._child = subprocess.Popen(
                launch.command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env={"PATH": os.environ.get("PATH", os.defpath), **launch.env, MARK: self.id},
                start_new_session=True,
            )
        except OSError as error:
            self._watchdog.release()
            self._let_go()
            raise EngineFailed("process", f"cannot start {launch.command[0]!r}: {error.strerror}") from error
        self._watchdog.begin()
        assert self._child.stdout is not None
        self._log = LogTail(self._child.stdout, keep_bytes=launch.limits.log_mb << 20)

    def alive(self) -> bool:
        return self._child.poll() is None

    def exit_code(self) -> int | None:
        code = self._child.poll()
        return code if code is None or code >= 0 else 128 - code

    def out_of_memory(self) -> bool:
        return False

    def logs(self, limit: int = 65536) -> bytes:
        if not self.alive():
            self._log.close()
        return self._log.tail(limit)

    def peak_memory_mb(self) -> float | None:
        total = sum(_high_water_kb(pid) for pid in marked(self.id))
        self._peak_kb = max(self._peak_kb, total)
        return self._peak_kb / 1024 or None

    def freeze(self) -> bool:
        """Whether its processes were told to stand still; a program that wants to can undo that."""
        for pid in marked(self.id):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGSTOP)
        self._frozen = True
        return self.alive()

    def thaw(self) -> None:
        for pid in marked(self.id) if self._frozen else ():
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGCONT)
        self._frozen = False

    def _end(self, grace_s: float) -> Death:
        self.peak_memory_mb()
        if grace_s > 0:
            self._signal_group(signal.SIGTERM)
            _wait(self._child, grace_s)
        deadline = time.monotonic() + _DEATH_S
        while True:
            self._signal_group(signal.SIGKILL)
            left = kill_marked(self.id)
            if not left and self._child.poll() is not None:
                break
            if time.monotonic() > deadline:
                raise EngineFailed("process", f"processes {left} of run {self.id} survive SIGKILL")
            _wait(self._child, 0.01)
        self._watchdog.release()
        self._log.close()
        evidence = (
            "the process was reaped",
            "no process carries the mark of the run, which one that hides can take off",
        )
        return Death(self.id, self.exit_code(), evidence)

    def _signal_group(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._child.pid, number)

    def _let_go(self) -> None:
        for folder in (self._output, self._sockets):
            if folder is not None:
                folder.close()


def _folder(launch: Launch, kind: MountKind) -> Folder | None:
    mount = launch.mount(kind)
    return Folder(mount.source) if mount else None


def _wait(child: subprocess.Popen[bytes], timeout_s: float) -> None:
    with suppress(subprocess.TimeoutExpired):
        child.wait(timeout_s)


def _high_water_kb(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM:")), 0)


ENGINE = ProcessEngine
