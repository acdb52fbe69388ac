"""Who is alive is told by locks, across process namespaces; an image stays while anybody needs it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import surgvalid
from surgvalid.sandbox import held_image
from surgvalid.sandbox._leases import host_lives, host_mark
from waiting import until

HOST = (
    "import sys, time; from surgvalid.sandbox._leases import host_mark; print(host_mark(), flush=True); time.sleep(600)"
)


def host(*before: str) -> tuple[subprocess.Popen[bytes], str]:
    """Another host process, and its mark."""
    env = {**os.environ, "PYTHONPATH": str(Path(surgvalid.__file__).parents[1])}
    child = subprocess.Popen([*before, sys.executable, "-c", HOST], stdout=subprocess.PIPE, env=env)
    assert child.stdout is not None
    return child, child.stdout.readline().decode().strip()


def test_a_host_lives_until_it_is_killed() -> None:
    child, mark = host()
    try:
        assert host_lives(mark)
        assert host_lives(host_mark())
    finally:
        child.kill()
        child.communicate()
    assert not host_lives(mark)


def test_what_a_host_leaves_that_ended_by_itself_can_be_swept() -> None:
    env = {**os.environ, "PYTHONPATH": str(Path(surgvalid.__file__).parents[1])}
    mark = subprocess.check_output([sys.executable, "-c", HOST.replace("time.sleep(600)", "0")], env=env, text=True)
    assert not host_lives(mark.strip())


def test_a_live_host_of_another_process_namespace_is_left_alone() -> None:
    """Its number here means nothing, or another process; it used to be swept."""
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("a process namespace of its own needs root and unshare")
    child, mark = host("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")
    try:
        assert host_lives(mark)
    finally:
        child.kill()
        child.communicate()
    until(lambda: not host_lives(mark), 60, "its lease outlives it")


def test_a_lease_that_cannot_be_seen_is_left_alone_unless_the_machine_was_booted_since() -> None:
    boot = host_mark().partition(".")[2]
    assert host_lives(f"{'0' * 32}.{boot}")
    assert not host_lives(f"{'0' * 32}.{boot[::-1].replace('-', '0')[:8]}-0000-0000-0000-000000000000")


class StagedMedia:
    """An engine as far as images go."""

    name = "shelf"

    def __init__(self, *had: str) -> None:
        self.held = set(had)

    def images(self) -> frozenset[str]:
        return frozenset(self.held)

    def store(self, _archive: Path) -> str:
        self.held.add(IMAGE)
        return IMAGE

    def forget(self, image: str) -> None:
        self.held.discard(image)


IMAGE = "a" * 64


def test_an_image_stays_until_the_last_one_lets_go() -> None:
    shelf = StagedMedia()
    first = held_image(shelf, Path("x"))  # type: ignore[arg-type]
    assert first.__enter__() == IMAGE
    with held_image(shelf, Path("x")):  # type: ignore[arg-type]
        first.__exit__(None, None, None)
        assert shelf.held == {IMAGE}
    assert shelf.held == set()


def test_an_image_that_was_there_before_is_not_removed() -> None:
    shelf = StagedMedia(IMAGE)
    with held_image(shelf, Path("x")):  # type: ignore[arg-type]
        pass
    assert shelf.held == {IMAGE}


def test_an_image_that_its_last_holder_just_removed_is_stored_again() -> None:
    class Racing(StagedMedia):
        def store(self, archive: Path) -> str:
            found = super().store(archive)
            if not self.raced:
                self.raced = True
                self.held.clear()
            return found

        raced = False

    shelf = Racing(IMAGE)
    with held_image(shelf, Path("x")):  # type: ignore[arg-type]
        assert shelf.held == {IMAGE}
