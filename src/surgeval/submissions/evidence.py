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


def canary_s() -> float:
    """Seconds that a fixed computation takes at its best: the same before and after, unless the machine changed."""
    block = bytes(_WORK_BYTES)
    best = float("inf")
    for _ in range(_ROUNDS):
        start = time.perf_counter()
        hashlib.sha256(block).digest()
        best = min(best, time.perf_counter() - start)
    return best


def canary_verdict(before_s: float, after_s: float, *, percent: float) -> str:
    """`ok`, or `slower` when the machine lost more than that many per cent."""
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
