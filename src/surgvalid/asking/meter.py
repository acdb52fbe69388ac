"""How an asking goes, in one line: done of how many, reused, failed, how fast, how long still.

The counting knows no screen. Whoever shows it brings a function that takes a line, and `reporting` calls it again and
again, also while nothing happens: a server that says nothing for minutes must not look like a program that does
nothing.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

RECENT = 256
"""Steps over which the rate is taken."""


class Meter:
    """Counts of one asking. Called with a number, it counts so many as done.

    Args:
        what: The beginning of the line.
        clock: Seconds that only grow.
    """

    def __init__(self, what: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.what = what
        self.total = self.done = self.reused = self.failed = 0
        self.requests: int | None = None
        """What must be asked of the total, where somebody knows: the rest is equal or was asked before."""
        self.money: float | None = None
        """Spent so far, where somebody knows."""
        self.elsewhere = 0
        """Left to another run, which asks them now."""
        self._clock = clock
        self._steps: deque[tuple[float, int]] = deque(maxlen=RECENT)
        """When so many had been asked; what was reused took no time and says nothing about the rate."""

    def __call__(self, by: int) -> None:
        """So many more are done."""
        self.count(by)

    def expect(self, more: int) -> None:
        """So many more are to be done, or fewer where negative."""
        if not self._steps:
            self._steps.append((self._clock(), 0))
        self.total += more

    def count(self, by: int = 1, *, failed: int = 0, reused: bool = False) -> None:
        """So many more are done, of which some failed, or none had to be asked."""
        self.done += by
        self.failed += failed
        if reused:
            self.reused += by
        else:
            self._steps.append((self._clock(), self.done - self.reused))

    @property
    def per_second(self) -> float:
        """What was asked per second of late, the time since the last reply included; 0 before the first."""
        if not self._steps:
            return 0.0
        start_s, before = self._steps[0]
        passed_s = self._clock() - start_s
        return (self.done - self.reused - before) / passed_s if passed_s > 0 else 0.0

    @property
    def left_s(self) -> float | None:
        """Seconds until the end at this rate, or None where nobody can know."""
        left = self.total - self.done if self.requests is None else self.requests - (self.done - self.reused)
        return max(0, left) / rate if (rate := self.per_second) and self.total else None

    def line(self) -> str:
        """The counts in words; nothing where nothing is to be done.

        Example:
            >>> meter = Meter("judging", clock=iter([0.0, 60.0, 60.0, 60.0]).__next__)
            >>> meter.expect(100)
            >>> meter.count(30, failed=2)
            >>> meter.line()
            'judging: 30 of 100, 2 failed, 0.5 per s, 2 min 20 s left'
        """
        if not (self.total or self.done):
            return ""
        rate, left_s = self.per_second, self.left_s
        facts = [f"{self.what}: {self.done}" + (f" of {self.total}" if self.total else "")]
        facts += [f"{self.reused} reused"] if self.reused else []
        facts += [f"{self.failed} failed"]
        facts += [f"{rate:.2g} per s" if rate < 10 else f"{rate:.0f} per s"] if rate else ["no reply yet"]
        facts += [] if left_s is None else [f"{_duration(left_s)} left"]
        facts += [f"{self.elsewhere} wait for another run that asks them"] if self.elsewhere else []
        facts += [f"{self.money:.2f} spent"] if self.money else []
        return ", ".join(facts)


Progress = Callable[[int], None] | None
"""Who hears of further work: a function of the number of things done, or a meter that also counts failures."""


def expect(progress: Progress, more: int) -> None:
    """Tell a meter how many are to be done; a plain function does not hear of it."""
    if isinstance(progress, Meter):
        progress.expect(more)


def advance(progress: Progress, by: int = 1, *, failed: int = 0, reused: bool = False) -> None:
    """Tell whoever listens that so many more are done."""
    if isinstance(progress, Meter):
        progress.count(by, failed=failed, reused=reused)
    elif progress is not None:
        progress(by)


@contextmanager
def reporting(meter: Meter, say: Callable[[str], None], *, every_s: float) -> Iterator[Meter]:
    """The meter, whose line is said every so many seconds for as long as the block runs."""
    ended = threading.Event()

    def repeat() -> None:
        while not ended.wait(every_s):
            if line := meter.line():
                say(line)

    thread = threading.Thread(target=repeat, name="surgvalid-meter", daemon=True)
    thread.start()
    try:
        yield meter
    finally:
        ended.set()
        thread.join()


def _duration(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
