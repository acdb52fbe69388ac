"""Whether a machine has the processors and the memory that a phase promises to a container."""

from __future__ import annotations

import os
from collections.abc import Iterator

from surgeval.errors import Misuse
from surgeval.sandbox import Engine, Guarantee, Limits
from surgeval.submissions.phase import Phase


def check_machine(phase: Phase, engine: Engine) -> None:
    """Nothing, when this machine can give what a phase promises; an engine that limits nothing promises nothing.

    Raises:
        Misuse: With every reason.
    """
    if Guarantee.MEMORY in engine.guarantees and (reasons := "; ".join(lacking_here(phase.run))):
        raise Misuse(f"phase {phase.name!r} gives a container more than this machine has: {reasons}")


def lacking_here(limits: Limits) -> Iterator[str]:
    """What of the limits this machine does not have."""
    here = os.sched_getaffinity(0)
    if limits.cpus > len(here):
        yield f"{limits.cpus:g} processors of {len(here)}"
    if missing := sorted(_processors(limits.cpuset) - here):
        yield f"processor {', '.join(map(str, missing))} of cpuset {limits.cpuset!r}"
    memory_mb = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20
    if limits.memory_mb > memory_mb:
        yield f"{limits.memory_mb} MB of memory of {memory_mb}"


def _processors(cpuset: str) -> set[int]:
    """The numbers in a text as `0-3,8`."""
    bounds = [(span.partition("-")[0], span.rpartition("-")[2]) for span in cpuset.split(",") if span]
    return {number for first, last in bounds for number in range(int(first), int(last) + 1)}
