"""A command in bubblewrap's namespaces, as the host sees it."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress

from surgvalid.errors import EngineFailed
from surgvalid.sandbox._engine import Death, Guarantee, LogTail, Running
from surgvalid.sandbox._folders import Folder
from surgvalid.sandbox._kernel import Grouped, OwnGroup, Watched
from surgvalid.sandbox._launch import Launch, MountKind
from surgvalid.sandbox._watchdog import Watchdog

_DEATH_S = 15.0


class BubblewrapRun(Grouped, Running):
    """A started command. The first process of its namespace takes all others along when it dies."""

    _group: OwnGroup | None

    def __init__(
        self,
        run_id: str,
        child: subprocess.Popen[bytes],
        first: int,
        launch: Launch,
        group: OwnGroup | None,
        watchdog: Watchdog,
    ) -> None:
        super().__init__(*(_folder(first, launch, kind) for kind in (MountKind.OUTPUT, MountKind.SOCKET)))
        self.id = run_id
        self.unenforced = () if group else (Guarantee.MEMORY, Guarantee.PIDS)
        self._child, self._first, self._group = child, Watched(first), group
        self._oom = False
        assert child.stdout is not None
        self._log = LogTail(child.stdout, keep_bytes=launch.limits.log_mb << 20)
        self._watchdog = watchdog

    def alive(self) -> bool:
        """Whether the command still runs."""
        return self._child.poll() is None

    def exit_code(self) -> int | None:
        """The command's exit code, or None while it runs."""
        code = self._child.poll()
        return code if code is None or code >= 0 else 128 - code

    def out_of_memory(self) -> bool:
        """Whether the memory limit killed something in it."""
        self._oom = self._oom or bool(self._group and self._group.oom_kills())
        return self._oom

    def logs(self, limit: int = 65536) -> bytes:
        """The last bytes it printed."""
        if not self.alive():
            self._log.close()
        return self._log.tail(limit)

    def host_pid(self) -> int | None:
        """The first process."""
        return self._first.pid if self.alive() else None

    def _end(self, grace_s: float) -> Death:
        self.peak_memory_mb()
        if grace_s > 0 and self.alive():
            self._ask_to_stop()
            self._wait(grace_s)
        self._first.kill()
        if not self._first.wait(_DEATH_S) or not self._wait(_DEATH_S):
            raise EngineFailed("bubblewrap", f"run {self.id} survives SIGKILL")
        evidence = ["the first process of its namespace ended, and all others with it", "bubblewrap was reaped"]
        if self._group:
            self.out_of_memory()
            if not self._group.empty_within(_DEATH_S):
                raise EngineFailed("bubblewrap", f"processes {self._group.processes()} outlive run {self.id}")
            self._group.remove()
            evidence.append("its control group was empty and is removed")
        self._watchdog.release()
        self._first.close()
        self._log.close()
        return Death(self.id, self.exit_code(), tuple(evidence))

    def _ask_to_stop(self) -> None:
        """TERM to everything but the first process, which is bubblewrap's own."""
        inside = self._group.processes() if self._group else []
        for pid in inside:
            if pid != self._first.pid:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGTERM)

    def _wait(self, timeout_s: float) -> bool:
        try:
            self._child.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return False
        return True


def _folder(first: int, launch: Launch, kind: MountKind) -> Folder | None:
    mount = launch.mount(kind)
    return Folder(f"/proc/{first}/root{mount.target}") if mount else None
