"""What is read from the kernel about a run that is just ending."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

from surgvalid.sandbox._container_run import _own_group
from surgvalid.sandbox._kernel import ControlGroup, OwnGroup

FOLDERS = {"memory": Path("/sys/fs/cgroup/memory/run"), "pids": Path("/sys/fs/cgroup/pids/run")}


@pytest.mark.parametrize(
    ("folders", "unified", "everyones"),
    [
        (FOLDERS, False, False),
        (FOLDERS | {"pids": Path("/sys/fs/cgroup/pids")}, False, True),
        (dict.fromkeys(("memory", "pids"), Path("/sys/fs/cgroup")), True, True),
        (dict.fromkeys(("memory", "pids"), Path("/sys/fs/cgroup/run")), True, False),
    ],
)
def test_the_root_group_is_no_group_of_a_run(folders: dict[str, Path], unified: bool, everyones: bool) -> None:
    assert ControlGroup(folders, unified).is_everyones() is everyones


def test_a_run_that_is_over_is_not_blamed_for_the_processes_of_the_machine() -> None:
    """A process that has ended and was not waited for is in the root group, with everyone else."""
    if not OwnGroup.possible():
        pytest.skip("control groups cannot be made here")
    group = OwnGroup("test-ending", memory_bytes=64 << 20, pids=8, cpus=1.0)
    child = subprocess.Popen(["/bin/sleep", "600"])
    try:
        group.admit([child.pid])
        found = _own_group(child.pid)
        assert found is not None
        assert found.processes() == [child.pid]
        child.kill()
        deadline = time.monotonic() + 60
        while Path(f"/proc/{child.pid}/stat").read_text().split()[2] != "Z":
            assert time.monotonic() < deadline
        ended = _own_group(child.pid)
        assert ended is None or not ended.is_everyones()
    finally:
        child.kill()
        child.wait()
        assert group.empty_within(10)
        group.remove()
    assert _own_group(0) is None


def test_only_groups_of_dead_hosts_are_swept() -> None:
    """A group is made empty; a sweep by another run at that moment must not take it away."""
    if not OwnGroup.possible():
        pytest.skip("control groups cannot be made here")
    mine = OwnGroup("0123456789abcdef", memory_bytes=64 << 20, pids=8, cpus=1.0)
    stale = next(iter(mine._roots().values())) / f"{OwnGroup.PREFIX}999999999.1.some-boot-0123456789abcdef"
    stale.mkdir()
    try:
        OwnGroup.sweep()  # a neighbour may sweep it in the same moment, and then names it instead
        assert not stale.exists()
        assert mine.pids_limit() == 8
    finally:
        mine.remove()
    assert mine.pids_limit() is None
