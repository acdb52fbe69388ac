"""Programs of our own in an engine: a trial run that must die when killed, and the canary that measures speed.

The images are made here byte by byte, one small program each: nothing of them comes from anywhere.

What an engine says of itself and what it does can differ; the trial asks it to do it: something harmless is started
with every limit, looked at, killed, and proved dead.

The canary is a fixed computation in the same engine and under the same limits as a participant. A host that is quick
says little about a container: another quota of processors, another set of them or a neighbour in the same control group
slow the container alone. It walks over 8 MB of memory many times, twelve rounds, and writes down the time of each; the
quickest one counts, for a round that was interrupted says nothing of the machine's speed.
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
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from surgvalid.catalogue import packages_named
from surgvalid.errors import EngineFailed, ImageRefused
from surgvalid.sandbox._engine import Death, Engine, Guarantee, Problem, Running
from surgvalid.sandbox._intake_config import own_architecture
from surgvalid.sandbox._launch import Launch, Limits, Mount
from surgvalid.sandbox._leases import held_image

_NAME, _ROUNDS = "canary", "rounds"
_TIMES = 13
_PATIENCE_S = 120.0
_CODE = {
    # mmap 8 MB; thirteen times: clock_gettime(MONOTONIC), then 40 passes of x = 31 x + line over its lines of 64 bytes;
    # write the thirteen times to the file that the first argument names
    "amd64": bytes.fromhex(
        "488b5c24104881ec00020000b80900000031ffbe00008000ba0300000041ba2200000049c7c0ffffffff4531c90f054989c64531e4"
        "4c89e648c1e6044801e6bf01000000b8e40000000f054183fc0c742a41ffc441bd280000004c89f6b900000200486bd21f48031648"
        "89164883c640ffc975ee41ffcd75e1ebba4889dfbe41020000baa4010000b8020000000f0589c74889e6bad0000000b8010000000f"
        "0531ffb83c0000000f05"
    ),
}


def has_canary() -> bool:
    """Whether there is such a program for machines of this kind."""
    return own_architecture() in _CODE


def canary_run_s(engine: Engine, limits: Limits) -> float:
    """Seconds of the quickest round in a run of this engine with these limits.

    Raises:
        EngineFailed: It could not be run, or left no times.
    """
    with tempfile.TemporaryDirectory(prefix="surgvalid-canary-") as home, _started(engine, limits, Path(home)) as run:
        deadline = time.monotonic() + _PATIENCE_S
        while run.alive():
            if time.monotonic() > deadline:
                raise EngineFailed(engine.name, f"the canary did not end within {_PATIENCE_S:g} s")
            time.sleep(0.01)
        try:
            written = run.read_output(_ROUNDS, max_bytes=1024)
        except OSError as error:
            code = run.exit_code()
            raise EngineFailed(engine.name, f"the canary left no times (exit code {code}; {error})") from None
    return _quickest_s(engine, written)


@contextmanager
def _started(engine: Engine, limits: Limits, folder: Path) -> Iterator[Running]:
    folder.chmod(0o755)
    program, output = elf_file(_CODE[own_architecture()], own_architecture()), folder / "output"
    output.mkdir()
    output.chmod(0o777)
    mounts = (Mount.output(output),)
    times = f"{engine.inside(mounts[0])}/{_ROUNDS}"
    if engine.takes_images:
        archive = write_own_image(folder / "image.tar", _NAME, program)
        with held_image(engine, archive) as image:
            yield from _run(engine, Launch(image=image, command=(f"/{_NAME}", times), mounts=mounts, limits=limits))
        return
    code = folder / "code"
    code.mkdir()
    (code / _NAME).write_bytes(program)
    (code / _NAME).chmod(0o755)
    shown = Mount.input(code, "/app")
    command = (f"{engine.inside(shown)}/{_NAME}", times)
    yield from _run(engine, Launch(command=command, mounts=(*mounts, shown), limits=limits))


def _run(engine: Engine, launch: Launch) -> Iterator[Running]:
    with engine.start(launch) as run:
        yield run


def _quickest_s(engine: Engine, written: bytes) -> float:
    if len(written) != 16 * _TIMES:
        raise EngineFailed(engine.name, f"the canary wrote {len(written)} bytes instead of {16 * _TIMES}")
    parts: tuple[int, ...] = struct.unpack(f"<{2 * _TIMES}q", written)
    times = [seconds + nanos / 1e9 for seconds, nanos in zip(parts[::2], parts[1::2], strict=True)]
    return min(after - before for before, after in pairwise(times))


_BASE, _HEADERS = 0x400000, 64 + 56
_ELF_MACHINES = {"amd64": 62, "arm64": 183}


def elf_file(code: bytes, architecture: str) -> bytes:
    """A program file for an architecture with this machine code, which is entered at its first byte."""
    size = _HEADERS + len(code)
    head = b"\x7fELF\x02\x01\x01" + bytes(9)
    entry = (2, _ELF_MACHINES[architecture], 1, _BASE + _HEADERS, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    head += struct.pack("<HHIQQQIHHHHHH", *entry)
    return head + struct.pack("<IIQQQQQQ", 1, 5, 0, _BASE, _BASE, size, size, 0x10000) + code


def write_own_image(path: Path, name: str, program: bytes, env: Mapping[str, str] | None = None) -> Path:
    """An image archive of this machine's architecture that starts one program; equal contents, equal image."""
    layer = _tar({name: program}, mode=0o755)
    variables = [f"{variable}={value}" for variable, value in (env or {}).items()]
    config = json.dumps(
        {
            "architecture": own_architecture(),
            "os": "linux",
            "config": {"User": "65534:65534", "Entrypoint": [f"/{name}"], "Env": variables},
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
        }
    ).encode()
    manifest = json.dumps([{"Config": "config.json", "RepoTags": [], "Layers": ["layer.tar"]}]).encode()
    path.write_bytes(_tar({"layer.tar": layer, "config.json": config, "manifest.json": manifest}))
    return path


def _tar(files: dict[str, bytes], *, mode: int = 0o644) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(data), mode
            tar.addfile(info, io.BytesIO(data))
    return stream.getvalue()


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


@packages_named()
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
    with tempfile.TemporaryDirectory(prefix="surgvalid-trial-") as folder:
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
