"""A line that says what runs and for how long, whenever a verb has said nothing for two seconds.

Verbs that can count what they do show a bar or a meter of their own; this is for all the others, and for the time
before the first step of a bar. Whatever else is printed takes the line away first.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Lock, Thread

SILENT_S = 2.0
"""How long a terminal hears nothing before the line appears."""
LOGGED_EVERY_S = 30.0
"""How often a log, where there is no terminal, hears of work that is under way."""


class Waiting:
    """The line of one verb, moved by a thread of its own."""

    def __init__(self, verb: str) -> None:
        self._verb, self._began, self._process = verb, time.monotonic(), os.getpid()
        self._heard, self._holders, self._shown = self._began, 0, False
        self._lock, self._over = Lock(), Event()
        self._on_screen = sys.stderr.isatty()

    def hush(self) -> None:
        """Take the line away: something else is about to be printed."""
        if os.getpid() != self._process:
            return
        with self._lock:
            self._clear()
            self._heard = time.monotonic()

    @contextmanager
    def held(self) -> Iterator[None]:
        """No line as long as something else tells how far the work is."""
        self.hush()
        self._holders += 1
        try:
            yield
        finally:
            self._holders -= 1
            self.hush()

    @contextmanager
    def shown(self) -> Iterator[None]:
        """The line appears and goes during the block."""
        thread = Thread(target=self._run, daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._over.set()
            thread.join()
            self.hush()

    def _run(self) -> None:
        every_s = SILENT_S / 4 if self._on_screen else LOGGED_EVERY_S / 4
        while not self._over.wait(every_s):
            with self._lock:
                self._say()

    def _say(self) -> None:
        now = time.monotonic()
        silent_s = SILENT_S if self._on_screen else LOGGED_EVERY_S
        if self._holders or now - self._heard < silent_s:
            return
        line = f"{self._verb}: working for {now - self._began:.0f} s"
        if self._on_screen:
            line = f"\r\x1b[K{line[: shutil.get_terminal_size().columns - 1]}"
            self._shown = True
        else:
            line, self._heard = f"{line}\n", now
        print(line, end="", file=sys.stderr, flush=True)

    def _clear(self) -> None:
        if self._shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
        self._shown = False


_RUNNING: list[Waiting] = []


@contextmanager
def waiting(verb: str) -> Iterator[None]:
    """During the block, work that says nothing is told of."""
    line = Waiting(verb)
    _RUNNING.append(line)
    try:
        with line.shown():
            yield
    finally:
        _RUNNING.remove(line)


def hush() -> None:
    """Take the line away, where there is one, before something else is printed."""
    for line in _RUNNING:
        line.hush()


@contextmanager
def held() -> Iterator[None]:
    """No line during the block, which tells itself how far it is."""
    if not _RUNNING:
        yield
        return
    with _RUNNING[-1].held():
        yield
