"""The GPUs of this machine, as the driver's own program tells: which there are, and what one is doing."""

from __future__ import annotations

import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

_PROGRAM = "nvidia-smi"
_PLAIN = "--format=csv,noheader,nounits"
_EVERY_MS = 250


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU."""

    index: str
    uuid: str
    name: str
    memory_mb: int

    def __str__(self) -> str:
        return f"GPU {self.index} ({self.name}, {self.memory_mb} MB)"


def gpus_here() -> tuple[Gpu, ...]:
    """Every GPU that the driver knows; none where its program is not here or does not answer."""
    if shutil.which(_PROGRAM) is None:
        return ()
    words = [_PROGRAM, "--query-gpu=index,uuid,name,memory.total", _PLAIN]
    try:
        done = subprocess.run(words, capture_output=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return ()
    lines = done.stdout.decode("utf-8", "replace").splitlines()
    return tuple(gpu for line in lines if (gpu := _gpu(line)) is not None)


def _gpu(line: str) -> Gpu | None:
    index, _, rest = line.partition(",")
    uuid, _, rest = rest.partition(",")
    name, _, memory = rest.rpartition(",")
    with suppress(ValueError):
        return Gpu(index.strip(), uuid.strip(), name.strip(), int(memory))
    return None


class GpuWatch:
    """What one GPU is doing, looked at a few times a second by a process beside the run: nobody waits for it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last: tuple[float, float] | None = None
        self._looks: list[tuple[float, float]] = []

    def begin(self) -> None:
        """Forget all samples but the last: what follows is counted anew."""
        with self._lock:
            self._looks = [] if self._last is None else [self._last]

    def seen(self) -> dict[str, float]:
        """The most memory in use and the lowest clock since `begin`; nothing where nobody looked."""
        with self._lock:
            looks = list(self._looks)
        if not looks:
            return {}
        return {"gpu_memory_mb": max(memory for memory, _ in looks), "gpu_clock_mhz": min(clock for _, clock in looks)}

    def read(self, lines: Iterator[bytes]) -> None:
        """Take in the looks of a process until it ends; what is no look is passed over."""
        for line in lines:
            with suppress(ValueError):
                memory, clock = (float(field) for field in line.split(b","))
                with self._lock:
                    self._last = (memory, clock)
                    self._looks.append(self._last)


@contextmanager
def watched_gpu(gpu: str | None) -> Iterator[GpuWatch]:
    """A watch of a GPU by index or UUID for as long as the block runs; it sees nothing where there is none."""
    watch = GpuWatch()
    if gpu is None or shutil.which(_PROGRAM) is None:
        yield watch
        return
    words = [_PROGRAM, f"--id={gpu}", "--query-gpu=memory.used,clocks.sm", _PLAIN, f"--loop-ms={_EVERY_MS}"]
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdout is not None
    reader = threading.Thread(target=watch.read, args=(process.stdout,), name="surgvalid-gpu", daemon=True)
    reader.start()
    try:
        yield watch
    finally:
        process.kill()
        process.wait()
        reader.join()
        process.stdout.close()
