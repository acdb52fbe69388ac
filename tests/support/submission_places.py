"""Every engine that can run here with the starter pack in it, for tests that drive whole submissions."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from python_image import python_archive, reason_not_to_build
from sandbox_engines import DockerDaemon, docker_daemon, reason_not_to_run
from submission_runs import events
from surgvalid.asking.session import Participant
from surgvalid.sandbox import Engine, Limits, open_engine
from surgvalid.submissions.starter import new_pack

LIMITS = Limits(memory_mb=256, pids=64, cpus=1.0, tmp_mb=16, shm_mb=16, output_mb=8, log_mb=1)


class Place:
    """An engine, and the starter pack in it."""

    def __init__(self, name: str, home: Path, daemon: DockerDaemon | None) -> None:
        self.engine: Engine = open_engine(name)
        self.home, self.daemon = home, daemon
        new_pack(home / "pack")
        self.archive = python_archive(home / "image.tar", home / "pack") if self.engine.takes_images else None
        self.image = self.engine.store(self.archive) if self.archive else None

    def entrant(self, command: tuple[str, ...]) -> Participant:
        """A program of this machine, as this engine can run it."""
        folder = Path(command[-1]).parent
        if self.engine.name == "process":
            return Participant(command=command, limits=LIMITS)
        if self.image is None:
            inside = ("/usr/bin/python3", "-S", "-E", f"/app/{Path(command[-1]).name}")
            return Participant(command=inside, limits=LIMITS, code=folder)
        text = "import sys; exec(compile(sys.argv[1], 'program', 'exec'))"
        inside = ("/usr/bin/python3", "-S", "-E", "-c", text, Path(command[-1]).read_text())
        return Participant(image=self.image, command=inside, limits=LIMITS)


@contextmanager
def submission_place(name: str, home: Path) -> Iterator[Place]:
    """A ready engine; the test is skipped, with the reason, where it cannot run."""
    reason = reason_not_to_run(name) or (None if name == "process" else reason_not_to_build())
    if reason:
        pytest.skip(reason)
    with ExitStack() as stack:
        daemon = stack.enter_context(docker_daemon(home / "docker")) if name == "docker" else None
        made = Place(name, home, daemon)
        if made.image:
            stack.callback(made.engine.forget, made.image)
        yield made


def leftovers(place: Place, out: Path) -> list[str]:
    """Containers of the run that the engine still knows."""
    started = [e["id"] for e in events(out) if e["event"] in ("started", "start_failed")]
    ended = {e["id"]: e["evidence"] for e in events(out, "ended")}
    assert set(started) == set(ended)
    assert all(ended.values())
    if not place.engine.takes_images:
        return []
    return sorted(set(started) & containers(place.engine.name))


def containers(engine: str) -> set[str]:
    """Every container that podman or docker knows, running or not."""
    return set(subprocess.check_output([engine, "ps", "--all", "--quiet", "--no-trunc"], text=True).split())
