"""How a bench row is measured: CPU time of this process, ours and the peer's in the same run."""

from __future__ import annotations

import gc
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table."""

    work: str
    ours_s: float
    peer: str
    peer_s: float | None
    goal: float | None = None
    """The ratio promised, or None where the row only informs."""
    note: str = ""

    @property
    def ratio(self) -> float | None:
        return None if self.peer_s is None else self.peer_s / self.ours_s

    @property
    def kept(self) -> bool | None:
        """Whether the promise is kept; None when there is none, or no peer to compare with."""
        return None if self.goal is None or self.ratio is None else self.ratio >= self.goal


def cpu_seconds(work: Callable[[], object], *, repeat: int = 3, warm_up: bool = True) -> float:
    """The least CPU time of `repeat` runs, after one that is not counted (imports, compilation)."""
    if warm_up:
        work()
    times = []
    for _ in range(repeat):
        gc.collect()
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def peak_memory_mb() -> float:
    """The largest memory this process ever held, in MB.

    Linux's own high-water mark is asked first: `ru_maxrss` also counts what the parent held when this process was
    forked from it.
    """
    status = Path("/proc/self/status")
    if status.exists():
        marks = [line.split()[1] for line in status.read_text().splitlines() if line.startswith("VmHWM:")]
        if marks:
            return int(marks[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
