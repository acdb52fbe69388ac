"""A trial run: something harmless is started with every limit, looked at, killed, and proved dead.

What an engine says of itself and what it does can differ; this asks it to do it. For engines that run images
the image is made here, byte by byte: one program that waits until it is killed, and nothing else.
"""

from __future__ import annotations

import struct
import tempfile
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

from surgeval.errors import EngineFailed, ImageRefused
from surgeval.sandbox._engine import Death, Engine, Guarantee, Problem
from surgeval.sandbox._intake_config import own_architecture
from surgeval.sandbox._launch import Launch, Limits, Mount
from surgeval.sandbox._own_image import elf_file, write_own_image

LIMITS = Limits(memory_mb=64, pids=16, cpus=1.0, tmp_mb=1, shm_mb=1, output_mb=1, log_mb=1, lifetime_s=120.0)
_WAITS = {
    # ppoll of nothing, for ever: number 271, four zero arguments; then again
    "amd64": bytes.fromhex("b80f01000031ff31f631d24531d20f05ebeb"),
    # the same with number 73
    "arm64": struct.pack("<7I", 0xD2800928, *range(0xD2800000, 0xD2800004), 0xD4000001, 0x17FFFFFA),
}


@dataclass(frozen=True, slots=True)
class Trial:
    """How a trial run went."""

    seconds: float
    """From the start of the engine's work to the proof of death."""
    evidence: tuple[str, ...]
    """Of its death."""
    problem: Problem | None = None
    unenforced: tuple[Guarantee, ...] = ()
    """What the engine could not enforce here."""


def trial_run(engine: Engine) -> Trial:
    """Whether an engine really starts a run with its limits and ends it; what is amiss is a problem with a fix."""
    start = time.monotonic()
    try:
        death, unenforced = _started_and_killed(engine)
    except (EngineFailed, ImageRefused, OSError) as error:
        fix = "mend what the engine says and try again, or use another engine"
        return Trial(time.monotonic() - start, (), Problem("trial-failed", f"a trial run failed: {error}", fix))
    return Trial(time.monotonic() - start, death.evidence, None, unenforced)


def _started_and_killed(engine: Engine) -> tuple[Death, tuple[Guarantee, ...]]:
    held = engine.images()
    with tempfile.TemporaryDirectory(prefix="surgeval-trial-") as folder:
        places = [Path(folder) / name for name in ("input", "output", "sockets")]
        for place in places:
            place.mkdir()
        mounts = (Mount.input(places[0]), Mount.output(places[1]), Mount.socket(places[2]))
        image = engine.store(_waiting_image(Path(folder) / "image.tar")) if engine.takes_images else None
        command = () if image else ("/bin/sleep", "60")
        try:
            with engine.start(Launch(image=image, command=command, mounts=mounts, limits=LIMITS)) as running:
                if not running.alive():
                    raise EngineFailed(engine.name, f"it ended at once with exit code {running.exit_code()}")
                return running.kill(), running.unenforced
        finally:
            if image is not None and image not in held:
                engine.forget(image)


def _waiting_image(path: Path) -> Path:
    """An image archive with one program that waits; no two are equal, so that trials do not share an image.

    Raises:
        EngineFailed: The machine is of a kind for which there is no program.
    """
    return write_own_image(path, "wait", _program(own_architecture()), {"TRIAL": str(uuid.uuid4())})


def _program(architecture: str) -> bytes:
    """An ELF file whose only code waits for ever."""
    if architecture not in _WAITS:
        raise EngineFailed("trial", f"there is no trial program for {architecture}")
    return elf_file(_WAITS[architecture], architecture)
