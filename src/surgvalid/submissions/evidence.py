"""What speaks for a run: the machine and its speed before and after, and whether answers were computed anew.

The machine is described with its engine, and a canary shows whether it was as fast afterwards as before.

A compliance run asks the same questions twice under other names, after MLPerf's audit of caching: once as they are and
once about the same video under another identifier and file name, in one container. A program that computes takes as
long the second time; one that remembers answers by what a question says or a file holds is quicker. Features of a video
may be kept where the state rule allows it, so this is a reason to look, no proof.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import statistics
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from surgvalid.asking.journal import read_journal
from surgvalid.asking.messages import ExchangeOutcome
from surgvalid.asking.plan import AskedTask
from surgvalid.sandbox import Engine, ImageFacts, Limits, canary_run_s, has_canary
from surgvalid.stats.draws import stream

_GPU_FACTS = "name,uuid,driver_version,memory.total,clocks.sm"
_WORK_BYTES, _ROUNDS = 8 << 20, 12


def machine_facts(engine: str) -> dict[str, Any]:
    """Kernel, processors, memory, load, GPU and the version of the engine, as far as the machine says."""
    return {
        "kernel": platform.release(),
        "machine": platform.machine(),
        "processor": _field("/proc/cpuinfo", "model name"),
        "processors": os.cpu_count(),
        "memory": _field("/proc/meminfo", "MemTotal"),
        "load": [round(value, 2) for value in os.getloadavg()],
        "engine": engine,
        "engine_version": _output_of(engine, "--version")
        if engine != "bubblewrap"
        else _output_of("bwrap", "--version"),
        "gpu": _output_of("nvidia-smi", f"--query-gpu={_GPU_FACTS}", "--format=csv,noheader"),
    }


def image_facts(facts: ImageFacts | None) -> dict[str, Any]:
    """The digest of an image as it was handed in and as it is run, and what intake took out; nothing of a command."""
    if facts is None:
        return {}
    return {"image": facts.digest, "clean_image": facts.clean_digest, "image_notes": list(facts.notes)}


def canary_s(engine: Engine, limits: Limits) -> float:
    """Seconds that a fixed computation takes at its best in the engine, under the limits of a participant.

    On machines for which there is no program to run there, the host computes instead.

    Raises:
        EngineFailed: It could not be run.
    """
    return canary_run_s(engine, limits) if has_canary() else _host_canary_s()


def canary_place(engine: Engine) -> str:
    """Where that computation takes place."""
    return engine.name if has_canary() else "host"


def _host_canary_s() -> float:
    block = bytes(_WORK_BYTES)
    best = float("inf")
    for _ in range(_ROUNDS):
        start = time.perf_counter()
        hashlib.sha256(block).digest()
        best = min(best, time.perf_counter() - start)
    return best


def canary_verdict(before_s: float, after_s: float | None, *, percent: float) -> str:
    """`ok`, `slower` when more than that many per cent were lost, or `unknown` without a second time."""
    if after_s is None:
        return "unknown"
    return "slower" if after_s > before_s * (1 + percent / 100) else "ok"


def _field(path: str, name: str) -> str | None:
    with suppress(OSError):
        for line in Path(path).read_text(encoding="utf-8", errors="replace").splitlines():
            if line.partition(":")[0].strip() == name:
                return line.partition(":")[2].strip()
    return None


def _output_of(program: str, *arguments: str) -> str | None:
    if shutil.which(program) is None:
        return None
    with suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run([program, *arguments], capture_output=True, timeout=20, check=True, text=True)
        return done.stdout.strip()[:500]
    return None


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


def doubled(tasks: Sequence[AskedTask], count: int, folder: Path, *, seed: int) -> list[AskedTask]:
    """Up to `count` of the tasks and as many again under other names; files are linked below `folder`."""
    usable = [task for task in tasks if task.media is not None]
    order = stream(seed, "submissions", "compliance").permutation(len(usable))[:count]
    chosen = [usable[index] for index in order]
    return [*chosen, *(_again(task, number, folder) for number, task in enumerate(chosen))]


def _again(task: AskedTask, number: int, folder: Path) -> AskedTask:
    assert task.media is not None
    link = folder / f"{number}{task.media.suffix}"
    os.symlink(task.media.absolute(), link)
    request = replace(task.request, case=_AGAIN + task.request.case, video=_AGAIN + task.request.video)
    return AskedTask(request, link)


def compliance_of(folder: Path) -> Compliance:
    """What the run in a folder says, whose questions came from `doubled`."""
    by_case: dict[str, list[tuple[float, str | None]]] = {}
    for record in read_journal(folder):
        if record.outcome is ExchangeOutcome.OK:
            by_case.setdefault(record.case.removeprefix(_AGAIN), []).append((record.latency_s, record.content))
    pairs = [given for given in by_case.values() if len(given) == 2]
    first, second = ([pair[turn][0] for pair in pairs] or [0.0] for turn in (0, 1))
    changed = sum(one[1] != other[1] for one, other in pairs)
    return Compliance(len(pairs), statistics.median(first), statistics.median(second), changed)
