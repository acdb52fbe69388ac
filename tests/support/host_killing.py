"""Programs of a service that tests kill with signal 9 and start again, as a supervisor would."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path


class Cast:
    """Programs by name, and the database where it is one; each can be killed, and is started again."""

    def __init__(self, commands: Mapping[str, Sequence[str]], folder: Path, *, database: Postmaster | None) -> None:
        self._commands, self._folder, self._database = commands, folder, database
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self.killed: Counter[str] = Counter()
        self.names = sorted([*commands, *(["database"] if database else [])])
        for name in commands:
            self._start(name)

    def _start(self, name: str) -> None:
        with open(self._folder / f"{name}.log", "ab") as log:
            self._running[name] = subprocess.Popen(
                [sys.executable, "-m", "surgvalid", *self._commands[name]], stdout=log, stderr=log
            )

    def kill(self, name: str) -> None:
        """End it at once, whatever it does, and start it again."""
        self.killed[name] += 1
        if name == "database" and self._database is not None:
            self._database.kill()
            self._database.start()
            return
        self._end(name)
        self._start(name)

    def tend(self) -> None:
        """Start again what ended by itself, as a web service does that finds no database."""
        for name, process in list(self._running.items()):
            if process.poll() is not None:
                self._start(name)

    def _end(self, name: str) -> None:
        self._running[name].send_signal(signal.SIGKILL)
        self._running[name].wait()

    def end(self) -> None:
        """End all but the database, which is others' too."""
        for name in self._running:
            self._end(name)


class Postmaster:
    """The PostgreSQL server behind an address on this machine; it is started with the words it was started with."""

    def __init__(self, url: str, log: Path) -> None:
        import psycopg

        self._url, self._log = url, log
        with psycopg.connect(url) as connection:
            row = connection.execute("SHOW data_directory").fetchone()
        self._folder = Path(str(row[0] if row else ""))
        place = Path("/proc") / str(self._pid())
        self._command = place.joinpath("cmdline").read_text().strip("\0").split("\0")
        self._owner = place.stat()

    def _pid(self) -> int:
        return int((self._folder / "postmaster.pid").read_text().split()[0])

    def kill(self) -> None:
        """End the server and every process that it started, none of which can finish anything."""
        first = self._pid()
        everybody = [first, *_children(first)]
        for pid in everybody:
            _kill(pid)
        while any(Path(f"/proc/{pid}").exists() for pid in everybody):  # also until somebody has asked how it ended
            time.sleep(0.02)

    def start(self) -> None:
        """Start it again; it may take a while until it answers, and nobody waits for that here."""
        user = {"user": self._owner.st_uid, "group": self._owner.st_gid} if os.getuid() == 0 else {}
        with open(self._log, "ab") as log:
            subprocess.run(  # type: ignore[call-overload]
                ["setsid", "--fork", *self._command], stdout=log, stderr=log, check=True, **user
            )  # fmt: skip

    def wait(self) -> None:
        """Return once it answers."""
        import psycopg

        for _ in range(600):
            try:
                psycopg.connect(self._url).close()
                return
            except psycopg.OperationalError:
                time.sleep(0.1)
        raise TimeoutError("the database does not come back")


def _children(pid: int) -> list[int]:
    text = "".join(one.read_text() for one in Path(f"/proc/{pid}/task").glob("*/children"))
    return [int(one) for one in text.split()]


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
