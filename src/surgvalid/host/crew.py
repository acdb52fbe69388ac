"""Workers on the machine of the service itself, where an owner asked for them on a page: processes of their own."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from contextlib import suppress
from typing import IO

from surgvalid.host import places
from surgvalid.host.acts.tokens import HERE, renew_worker_token
from surgvalid.host.runs.models import WorkerToken


class Crew:
    """The workers of one service, kept as the page wants them; of several processes, one keeps them."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._texts: dict[int, str] = {}
        self._running: dict[int, subprocess.Popen[bytes]] = {}
        self._lock: IO[str] | None = None

    def keep(self) -> None:
        """Start those that are missing, end those whose token was taken back."""
        if not self._is_ours():
            return
        wanted = {one.pk: one for one in WorkerToken.objects.filter(revoked_at=None, name__startswith=HERE)}
        for number, process in list(self._running.items()):
            if number not in wanted:
                process.terminate()
            if process.poll() is not None:
                del self._running[number]
        for number in wanted.keys() - self._running.keys():
            if number not in self._texts:
                self._texts[number] = renew_worker_token("system", wanted[number])
            self._running[number] = self._started(wanted[number])

    def _is_ours(self) -> bool:
        if self._lock is None:
            file = open(places.store() / "crew.lock", "w", encoding="ascii")  # noqa: SIM115 - held until the end
            with suppress(OSError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self._lock = file
        return self._lock is not None

    def _started(self, token: WorkerToken) -> subprocess.Popen[bytes]:
        words = [sys.executable, "-m", "surgvalid.host.worker", self._url]
        words += [str(places.store() / places.SPOOL / token.name)]
        words += [str(places.home())] if "scoring" in token.duties else []
        env = os.environ | {"SURGVALID_TOKEN": self._texts[token.pk]}
        return subprocess.Popen(words, env=env, stdin=subprocess.PIPE)  # which ends when this process does

    def end(self) -> None:
        """End every one; what it did is claimed again by another, or after the next start."""
        for process in self._running.values():
            process.terminate()
        for process in self._running.values():
            process.wait()
