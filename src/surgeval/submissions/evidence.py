"""What a latency was measured on: the machine, its engine, and whether it was as fast afterwards as before."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from surgeval.sandbox import Engine, ImageFacts, Limits, canary_run_s, has_canary

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
    """Seconds that a fixed computation takes at its best in the engine, under the limits of an entrant.

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
