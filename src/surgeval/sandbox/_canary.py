"""The canary: a fixed computation of ours in the same engine and under the same limits as an entrant.

A host that is quick says little about a container: another quota of processors, another set of them or a neighbour in
the same control group slow the container alone. The program is a few instructions of our own, so nothing of an
entrant's image can flatter it. It walks over 8 MB of memory many times, twelve rounds, and writes down the time
of each; the quickest one counts, for a round that was interrupted says nothing of the machine's speed.
"""

from __future__ import annotations

import struct
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

from surgeval.errors import EngineFailed
from surgeval.sandbox._engine import Engine, Running
from surgeval.sandbox._intake_config import own_architecture
from surgeval.sandbox._launch import Launch, Limits, Mount
from surgeval.sandbox._leases import held_image
from surgeval.sandbox._own_image import elf_file, write_own_image

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
    with tempfile.TemporaryDirectory(prefix="surgeval-canary-") as home, _started(engine, limits, Path(home)) as run:
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
