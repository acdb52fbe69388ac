"""A compliance run: the same questions twice under other names, to see whether answers are looked up.

After MLPerf's audit of caching. Every question is asked once as it is and once about the same video under another
identifier and file name, in one container. A program that computes takes as long the second time; one that remembers
answers by what a question says or a file holds is quicker. Features of a video may be kept where the state rule allows
it, so this is a reason to look, no proof.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from surgeval.asking.journal import read_journal
from surgeval.asking.messages import Outcome
from surgeval.asking.plan import Task
from surgeval.stats.draws import stream

_AGAIN = "again "
_QUICKER = 0.5
_FEWEST = 5


@dataclass(frozen=True, slots=True)
class Compliance:
    """What a compliance run came to."""

    pairs: int
    """Questions that were answered both times."""
    first_s: float
    second_s: float
    """Medians of the latencies of whichever came first and second."""
    changed: int
    """Questions whose answer was another the second time."""

    @property
    def verdict(self) -> str:
        """`ok`, `quicker` when the second answers took less than half as long, or `too few`."""
        if self.pairs < _FEWEST:
            return "too few"
        return "quicker" if self.second_s < _QUICKER * self.first_s else "ok"


def doubled(tasks: Sequence[Task], count: int, folder: Path, *, seed: int) -> list[Task]:
    """Up to `count` of the tasks and as many again under other names; files are linked below `folder`."""
    usable = [task for task in tasks if task.media is not None]
    order = stream(seed, "submissions", "compliance").permutation(len(usable))[:count]
    chosen = [usable[index] for index in order]
    return [*chosen, *(_again(task, number, folder) for number, task in enumerate(chosen))]


def _again(task: Task, number: int, folder: Path) -> Task:
    assert task.media is not None
    link = folder / f"{number}{task.media.suffix}"
    os.symlink(task.media.absolute(), link)
    request = replace(task.request, case=_AGAIN + task.request.case, video=_AGAIN + task.request.video)
    return Task(request, link)


def compliance_of(folder: Path) -> Compliance:
    """What the run in a folder says, whose questions came from `doubled`."""
    by_case: dict[str, list[tuple[float, str | None]]] = {}
    for record in read_journal(folder):
        if record.outcome is Outcome.OK:
            by_case.setdefault(record.case.removeprefix(_AGAIN), []).append((record.latency_s, record.content))
    pairs = [given for given in by_case.values() if len(given) == 2]
    first, second = ([pair[turn][0] for pair in pairs] or [0.0] for turn in (0, 1))
    changed = sum(one[1] != other[1] for one, other in pairs)
    return Compliance(len(pairs), statistics.median(first), statistics.median(second), changed)
