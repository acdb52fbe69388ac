"""A trial run: something harmless is started with every limit, looked at, killed, and proved dead.

What an engine says of itself and what it does can differ; this asks it to do it. For engines that run images
the image is made here, byte by byte: one program that waits until it is killed, and nothing else.
"""

from __future__ import annotations

import hashlib
import io
import json
import struct
import tarfile
import tempfile
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

from surgeval.errors import EngineFailed, ImageRefused
from surgeval.sandbox._engine import Death, Engine, Guarantee, Problem
from surgeval.sandbox._intake_config import own_architecture
from surgeval.sandbox._launch import Launch, Limits, Mount

LIMITS = Limits(memory_mb=64, pids=16, cpus=1.0, tmp_mb=1, shm_mb=1, output_mb=1, log_mb=1, lifetime_s=120.0)
_BASE, _HEADERS = 0x400000, 64 + 56
_WAITS = {
    # ppoll of nothing, for ever: number 271, four zero arguments; then again
    "amd64": (62, bytes.fromhex("b80f01000031ff31f631d24531d20f05ebeb")),
    # the same with number 73
    "arm64": (183, struct.pack("<7I", 0xD2800928, *range(0xD2800000, 0xD2800004), 0xD4000001, 0x17FFFFFA)),
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
    """An image archive with one program that waits; no two are equal, so that trials do not share an image."""
    architecture = own_architecture()
    layer = _tar({"wait": _program(architecture)}, mode=0o755)
    config = json.dumps(
        {
            "architecture": architecture,
            "os": "linux",
            "config": {"User": "65534:65534", "Entrypoint": ["/wait"], "Env": [f"TRIAL={uuid.uuid4()}"]},
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
        }
    ).encode()
    manifest = json.dumps([{"Config": "config.json", "RepoTags": [], "Layers": ["layer.tar"]}]).encode()
    path.write_bytes(_tar({"layer.tar": layer, "config.json": config, "manifest.json": manifest}))
    return path


def _program(architecture: str) -> bytes:
    """An ELF file whose only code waits for ever.

    Raises:
        EngineFailed: The machine is of another kind.
    """
    if architecture not in _WAITS:
        raise EngineFailed("trial", f"there is no trial program for {architecture}")
    machine, code = _WAITS[architecture]
    size = _HEADERS + len(code)
    head = b"\x7fELF\x02\x01\x01" + bytes(9)
    head += struct.pack("<HHIQQQIHHHHHH", 2, machine, 1, _BASE + _HEADERS, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    return head + struct.pack("<IIQQQQQQ", 1, 5, 0, _BASE, _BASE, size, size, 0x10000) + code


def _tar(files: dict[str, bytes], *, mode: int = 0o644) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(data), mode
            tar.addfile(info, io.BytesIO(data))
    return stream.getvalue()
