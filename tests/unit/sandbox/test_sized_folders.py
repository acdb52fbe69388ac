"""Folders that the host makes for a run: limited, held open, mounted nowhere afterwards."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox_engines import reason_not_to_run, until
from surgvalid.errors import EngineFailed
from surgvalid.sandbox import Launch, Limits, Mount, MountKind, bubblewrap, open_engine
from surgvalid.sandbox._kernel import mounts_of
from surgvalid.sandbox._sized_folder import can_show_mounts, sized_folders, sweep_folders

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where temporary folders go during the test; nothing may stay mounted there."""
    (tmp_path / "home").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "home"))
    yield tmp_path / "home"
    assert mounted_below(tmp_path / "home") == []


def mounted_below(folder: Path) -> list[str]:
    return [point for point in mounts_of(os.getpid()) if point.startswith(f"{folder}/")]


def launch(tmp_path: Path) -> Launch:
    mounts = (Mount.input(tmp_path), Mount.output(tmp_path / "output"), Mount.socket(tmp_path / "sockets"))
    return Launch(command=("true",), mounts=mounts, limits=Limits(output_mb=2))


@needs_root
def test_they_are_limited_held_open_and_mounted_only_while_the_engine_needs_them(home: Path, tmp_path: Path) -> None:
    with sized_folders("test", launch(tmp_path)) as (changed, folders):
        given, output, sockets = changed.mounts
        assert given == Mount.input(tmp_path)
        assert {output.source.parent, sockets.source.parent} == {home}
        for mount in (output, sockets):
            options, kind = mounts_of(os.getpid())[str(mount.source)]
            assert kind == "tmpfs"
            assert {"nosuid", "nodev", "noexec"} <= options
            assert mount.source.stat().st_mode & 0o7777 == 0o1777
        sizes = [os.statvfs(mount.source).f_blocks * os.statvfs(mount.source).f_frsize for mount in (output, sockets)]
        assert sizes == [2 << 20, 1 << 20]
        (output.source / "answer").write_bytes(b"yes")
    assert list(home.iterdir()) == []
    assert folders[MountKind.OUTPUT].read("answer", max_bytes=10) == b"yes"
    for folder in folders.values():
        folder.close()


@needs_root
def test_an_error_while_the_engine_starts_leaves_nothing_open_or_mounted(home: Path, tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(EngineFailed, match="no start"), sized_folders("test", launch(tmp_path)):
        raise EngineFailed("test", "no start")
    assert len(os.listdir("/proc/self/fd")) == before
    assert list(home.iterdir()) == []


@needs_root
def test_an_engine_that_does_not_see_them_is_found_out(home: Path, tmp_path: Path) -> None:
    """A daemon with mounts of its own would write into the plain folder below, where no limit holds."""
    other = tmp_path / "as-the-daemon-sees-it"
    other.mkdir()
    subprocess.run(["mount", "--bind", "--make-private", str(home), str(other)], check=True)
    try:
        with pytest.raises(EngineFailed, match="does not see"), sized_folders("test", launch(tmp_path)) as (changed, _):
            (other / changed.mounts[1].source.name / "answer").write_bytes(b"yes")
    finally:
        subprocess.run(["umount", str(other)], check=True)


@needs_root
def test_what_a_killed_host_left_mounted_is_swept_and_no_live_ones(home: Path, tmp_path: Path) -> None:
    with sized_folders("test", launch(tmp_path)) as (changed, folders):
        live = [mount.source for mount in changed.mounts[1:]]
        left = home / "surgvalid-folder-999999999.1.0-a_00ff"
        left.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(left)], check=True)
        sweep_folders()
        assert sorted(home.iterdir()) == sorted(live)
        assert sorted(mounted_below(home)) == sorted(map(str, live))
    for folder in folders.values():
        folder.close()


@pytest.mark.parametrize(("of_first", "can"), [("mnt:[1]", True), ("mnt:[2]", False), (None, True)])
def test_a_service_with_mounts_of_its_own_cannot_show_them(
    of_first: str | None, can: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def told(path: str) -> str:
        if path.startswith("/proc/1/") and of_first is None:
            raise PermissionError
        return of_first if path.startswith("/proc/1/") and of_first else "mnt:[1]"

    monkeypatch.setattr(os, "readlink", told)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert can_show_mounts() is can
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert not can_show_mounts()


def test_a_command_in_bubblewrap_waits_until_its_folders_are_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if reason := reason_not_to_run("bubblewrap"):
        pytest.skip(reason)
    awaited = bubblewrap._await_mounts

    def slow(*arguments: Any) -> None:
        awaited(*arguments)
        time.sleep(0.3)  # a command that did not wait would be over, and its folders gone

    monkeypatch.setattr(bubblewrap, "_await_mounts", slow)
    command = ("/bin/sh", "-c", 'echo "$0 $(cat)" > /output/answer')
    with open_engine("bubblewrap").start(Launch(command=command, mounts=(Mount.output(tmp_path),))) as running:
        until(lambda: not running.alive(), 60, "it did not end")
        assert running.read_output("answer", max_bytes=100) == b"/bin/sh \n"
