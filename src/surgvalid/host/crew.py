"""Workers on the machine of the service itself, where an owner asked for them on a page: processes of their own.

One whose token was used a moment ago runs beside another process of the service, or goes on from before a restart.
"""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import timedelta

from surgvalid.host import places
from surgvalid.host.acting import now
from surgvalid.host.acts.jobs import LEASE_S
from surgvalid.host.acts.tokens import HERE, renew_worker_token
from surgvalid.host.runs.models import WorkerToken


class Crew:
    """The workers of one service, kept as the page wants them."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._running: dict[int, subprocess.Popen[bytes]] = {}

    def keep(self) -> None:
        """Start those that are missing, end those whose token was taken back."""
        wanted = {one.pk: one for one in WorkerToken.objects.filter(revoked_at=None, name__startswith=HERE)}
        for number, process in list(self._running.items()):
            if number not in wanted:
                process.terminate()
            if process.poll() is not None:
                del self._running[number]
        for number in wanted.keys() - self._running.keys():
            seen = wanted[number].seen_at
            if seen is None or now() - seen > timedelta(seconds=LEASE_S / 2):
                self._running[number] = self._started(wanted[number])

    def _started(self, token: WorkerToken) -> subprocess.Popen[bytes]:
        words = [sys.executable, "-m", "surgvalid", "host", "worker", "--url", self._url]
        words += ["--scratch", str(places.store() / places.SPOOL / token.name)]
        words += ["--challenge", str(places.home())] if "scoring" in token.duties else []
        return subprocess.Popen(words, env=os.environ | {"SURGVALID_TOKEN": renew_worker_token("system", token)})

    def end(self) -> None:
        """End every one; what it did is claimed again by another, or after the next start."""
        for process in self._running.values():
            process.terminate()
            process.wait()
