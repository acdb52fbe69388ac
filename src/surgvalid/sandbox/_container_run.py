"""A container that runs, as the host sees it."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from surgvalid.errors import EngineFailed
from surgvalid.sandbox._engine import Death, Guarantee, Running
from surgvalid.sandbox._folders import Folder
from surgvalid.sandbox._kernel import ControlGroup, Grouped, Watched
from surgvalid.sandbox._launch import Launch, MountKind
from surgvalid.sandbox._watchdog import Watchdog

_PASSED_ON = ("PATH", "HOME", "XDG_RUNTIME_DIR", "DOCKER_HOST", "DOCKER_CONTEXT", "CONTAINERS_STORAGE_CONF", "TMPDIR")
_MOST_LETTERS = 400


class Cli:
    """A program with the arguments that every call begins with."""

    def __init__(self, engine: str, *prefix: str) -> None:
        self._engine, self.prefix = engine, prefix

    def __call__(self, *arguments: str, timeout_s: float = 120.0, folder: str | None = None) -> bytes:
        """What the call printed; with a folder it is made there.

        Raises:
            EngineFailed: It could not be started, took too long or failed.
        """
        code, out, error = self.attempt(*arguments, timeout_s=timeout_s, folder=folder)
        if code != 0:
            raise EngineFailed(self._engine, f"`{self.prefix[0]} {arguments[0]}` failed: {_last_words(error)}")
        return out

    def attempt(self, *arguments: str, timeout_s: float = 120.0, folder: str | None = None) -> tuple[int, bytes, bytes]:
        """Exit code, output and errors of a call that may fail."""
        try:
            done = subprocess.run(
                [*self.prefix, *arguments],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=timeout_s,
                cwd=folder,
                env={name: os.environ[name] for name in _PASSED_ON if name in os.environ},
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            call = f"{self.prefix[0]} {arguments[0]}"
            raise EngineFailed(self._engine, f"`{call}` did not end within {timeout_s:g} s") from error
        except OSError as error:
            raise EngineFailed(self._engine, f"cannot start {self.prefix[0]!r}: {error.strerror}") from error
        return done.returncode, done.stdout, done.stderr


def _last_words(error: bytes) -> str:
    lines = error.decode("utf-8", "replace").strip().splitlines()
    return " ".join(lines[-2:])[-_MOST_LETTERS:] or "it gave no reason"


UNFORGOTTEN: set[str] = set()
"""Dead containers of this process whose engine did not answer when they ended; the next sweep removes them."""
_DEATH_S = 15.0
_GONE_S = 5.0
_KILLED = 128 + 9
_UNFINISHED = ("running", "stopping", "stopped", "removing")
"""States after which another comes; podman still cleans up after a container that is `stopped`."""


class ContainerRun(Grouped, Running):
    """A started container. Its output and socket folders are its own: made for it by the host, or reached through
    its first process, which at best still waits to be started."""

    def __init__(
        self,
        engine: str,
        cli: Cli,
        container: str,
        pid: int,
        launch: Launch,
        removal: tuple[str, ...],
        watchdog: Watchdog,
        folders: Mapping[MountKind, Folder] | None,
    ) -> None:
        self._process = _watched(pid)
        try:
            opened = _opened(pid, launch) if folders is None else folders
        except OSError as error:
            if not self._wait(_GONE_S):
                raise EngineFailed(engine, f"the container's folders cannot be opened ({error.strerror})") from error
            opened = {}  # it ended at once and took them along
        super().__init__(opened.get(MountKind.OUTPUT), opened.get(MountKind.SOCKET))
        self.id = container
        self.unenforced = () if os.geteuid() == 0 else (Guarantee.OUTPUT_QUOTA,)
        self._engine, self._cli, self._removal, self._watchdog = engine, cli, removal, watchdog
        self._group = _own_group(pid)
        self._limit_bytes = launch.limits.log_mb << 20
        self._state: dict[str, Any] | None = None
        self._last_words: bytes | None = None
        self._killed = False

    def alive(self) -> bool:
        """Whether the first process still runs, by its descriptor: no call to the engine."""
        return self._process is not None and self._process.alive()

    def exit_code(self) -> int | None:
        """The exit code, or None while it runs."""
        return None if self.alive() else int(self._ended()["ExitCode"])

    def out_of_memory(self) -> bool:
        """Whether the memory limit killed something in it.

        Where the record of that went with its control group: whether the first process was killed and not by us.
        Nothing inside can kill it, for it is the first of its process namespace.
        """
        if self._group is not None and self._group.oom_kills():
            return True
        if self.alive():
            return False
        ended = self._ended()
        by_us = self._killed or self._watchdog.has_ended_it()
        return bool(ended["OOMKilled"]) or (ended["ExitCode"] == _KILLED and not by_us)

    def logs(self, limit: int = 65536) -> bytes:
        """The last bytes it printed, bounded by the engine's own log limit."""
        if self._last_words is None:
            _, out, error = self._cli.attempt("logs", self.id)
            both = (out + error)[-self._limit_bytes :]
            if self._death is None:
                return both[-limit:]
            self._last_words = both
        return self._last_words[-limit:]

    def host_pid(self) -> int | None:
        """The first process."""
        return self._process.pid if self._process is not None and self.alive() else None

    def _end(self, grace_s: float) -> Death:
        self.peak_memory_mb()
        if self.alive() and grace_s > 0:
            self._cli.attempt("kill", "--signal", "TERM", self.id)
            self._wait(grace_s)
        if self.alive():
            self._kill_hard()
        evidence = ["the first process ended"]
        evidence += self._engine_forgets()
        if self._group is not None:
            if not self._group.empty_within(_DEATH_S):
                raise EngineFailed(self._engine, f"processes {self._group.processes()} outlive container {self.id}")
            evidence.append("its control group is empty or gone")
        self._watchdog.release()
        if self._process:
            self._process.close()
        return Death(self.id, self._state["ExitCode"] if self._state else None, tuple(evidence))

    def _kill_hard(self) -> None:
        """Through the engine, and past it when it does not answer."""
        assert self._process is not None
        self._killed = True
        try:
            code, _, _ = self._cli.attempt("kill", "--signal", "KILL", self.id, timeout_s=_DEATH_S)
        except EngineFailed:
            code = 1
        if code != 0 or not self._wait(_DEATH_S):
            self._process.kill()
        if not self._wait(_DEATH_S):
            raise EngineFailed(self._engine, f"the first process of container {self.id} survives SIGKILL")

    def _engine_forgets(self) -> list[str]:
        """Evidence that the engine has no such container any more; none when it does not answer.

        Raises:
            EngineFailed: It answers, and keeps the container.
        """
        with suppress(EngineFailed):  # its record may be lost with its monitor; that it goes is what counts
            self._ended()
            self._last_words = self.logs(self._limit_bytes)
        deadline = time.monotonic() + _DEATH_S
        while True:
            try:
                code, _, words = self._cli.attempt(*self._removal, self.id)
                listed = self._is_listed()
            except EngineFailed:
                UNFORGOTTEN.add(self.id)
                return []
            if code == 0 and not listed:
                return ["the engine knows no such container"]
            if time.monotonic() > deadline:
                raise EngineFailed(
                    self._engine, f"container {self.id} cannot be removed: {words.decode(errors='replace')[-200:]}"
                )
            time.sleep(0.05)

    def _is_listed(self) -> bool:
        return bool(self._cli("ps", "--all", "--quiet", "--filter", f"id={self.id}").strip())

    def _wait(self, timeout_s: float) -> bool:
        return self._process is None or self._process.wait(timeout_s)

    def _ended(self) -> dict[str, Any]:
        """The engine's last record of a container that ended."""
        deadline = time.monotonic() + _DEATH_S
        while self._state is None:
            state = self._record()
            if state is None:
                self._killed = True  # its watchdog removed it when its time was over
                self._state = {"ExitCode": _KILLED, "OOMKilled": False}
            elif state["Status"] not in _UNFINISHED:
                self._state = state
            elif time.monotonic() > deadline:
                raise EngineFailed(self._engine, f"it takes the dead container {self.id} for a running one")
            else:
                time.sleep(0.02)
        return self._state

    def _record(self) -> dict[str, Any] | None:
        """The engine's present record, or None when it has none any more."""
        code, out, _ = self._cli.attempt("inspect", "--type", "container", self.id)
        if code == 0:
            state: dict[str, Any] = json.loads(out)[0]["State"]
            return state
        return {"Status": "removing"} if self._is_listed() else None


def _watched(pid: int) -> Watched | None:
    try:
        return Watched(pid) if pid else None
    except ProcessLookupError:
        return None


def _own_group(pid: int) -> ControlGroup | None:
    """The run's control group; None when the process is gone or just going."""
    group = ControlGroup.of(pid) if pid else None
    return None if group is None or group.is_everyones() else group


def _opened(pid: int, launch: Launch) -> dict[MountKind, Folder]:
    is_root = os.geteuid() == 0
    return {
        mount.kind: Folder(f"/proc/{pid}/root{mount.target}" if is_root else mount.source)
        for mount in launch.mounts
        if mount.kind is not MountKind.INPUT
    }
