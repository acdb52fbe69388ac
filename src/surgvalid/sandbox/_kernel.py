"""What the kernel says about a run: its processes, its control group, its rights. Engines may err; it does not."""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from surgvalid.sandbox._engine import Usage
from surgvalid.sandbox._leases import host_lives, host_mark
from surgvalid.sandbox._watchdog import OWN_GROUP

_GROUPS = Path("/sys/fs/cgroup")
_UNLIMITED = 1 << 60


class Watched:
    """A process held by descriptor, so that its number cannot come to mean another one."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._fd = os.pidfd_open(pid)

    def alive(self) -> bool:
        """Whether it still runs."""
        return not self.wait(0)

    def wait(self, timeout_s: float) -> bool:
        """Whether it ended within the time."""
        if self._fd < 0:
            return True
        poll = select.poll()
        poll.register(self._fd, select.POLLIN)
        return bool(poll.poll(max(0, int(timeout_s * 1000))))

    def kill(self) -> None:
        """Send SIGKILL; nothing happens when it is gone or not ours."""
        if self._fd >= 0:
            with suppress(ProcessLookupError, PermissionError):
                signal.pidfd_send_signal(self._fd, signal.SIGKILL)

    def close(self) -> None:
        """Let go of it."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


@dataclass(frozen=True)
class ProcessStatus:
    """The rights of a process."""

    uids: tuple[int, ...]
    capabilities: tuple[int, ...]
    no_new_privileges: bool
    seccomp: bool


def status_of(pid: int) -> ProcessStatus | None:
    """The rights of a process, or None when it is gone."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return None
    fields = {name: value.split() for name, _, value in (line.partition(":") for line in lines)}
    sets = [int(value[0], 16) for name, value in fields.items() if name.startswith("Cap")]
    return ProcessStatus(
        tuple(int(uid) for uid in fields["Uid"]),
        tuple(sets),
        fields.get("NoNewPrivs") == ["1"],
        fields.get("Seccomp") == ["2"],
    )


def is_over(pid: int, *, within_s: float) -> bool:
    """Whether a process ended within the time; one that is ending has already lost its namespaces."""
    try:
        process = Watched(pid)
    except OSError:
        return True
    try:
        return process.wait(within_s)
    finally:
        process.close()


def mounts_of(pid: int) -> dict[str, tuple[frozenset[str], str]]:
    """Options and file system by mount point; of several at one place the last, which is the one seen."""
    mounts = {}
    for line in Path(f"/proc/{pid}/mountinfo").read_text().splitlines():
        left, _, right = line.partition(" - ")
        point, options = left.split()[4:6]
        kind, _, super_options = right.split(maxsplit=2)
        mounts[point] = (frozenset(options.split(",")) | frozenset(super_options.split(",")), kind)
    return mounts


def interfaces_of(pid: int) -> list[str]:
    """Network interfaces that a process sees."""
    lines = Path(f"/proc/{pid}/net/dev").read_text().splitlines()[2:]
    return [line.partition(":")[0].strip() for line in lines]


class ControlGroup:
    """The control group of a run, in the old (v1, hybrid) or the new (v2) layout."""

    def __init__(self, folders: dict[str, Path], unified: bool) -> None:
        self._folders, self._unified = folders, unified
        self._peak = 0

    @classmethod
    def of(cls, pid: int) -> ControlGroup | None:
        """The group a process is in, or None when it is gone."""
        try:
            lines = Path(f"/proc/{pid}/cgroup").read_text().splitlines()
        except OSError:
            return None
        folders: dict[str, Path] = {}
        for line in lines:
            _, controllers, path = line.split(":", 2)
            for controller in controllers.split(","):
                root = _GROUPS / controller if controller else _GROUPS
                folders[controller] = root / path.lstrip("/")
        if set(folders) == {""}:
            return cls(dict.fromkeys(("memory", "pids", "cpu"), folders[""]), True)
        return cls({name: folder for name, folder in folders.items() if name}, False)

    def is_everyones(self) -> bool:
        """Whether it is the root group, to which a process returns while it is ending: no group of a run."""
        return any(self._is_root(name) for name in ("memory", "pids"))

    def memory_limit(self) -> int | None:
        """Bytes of memory allowed, or None without a limit."""
        return self._limit("memory", "memory.max" if self._unified else "memory.limit_in_bytes")

    def swap_included(self) -> bool:
        """Whether swap cannot add to the memory: none is allowed, none is counted apart, or the machine has none."""
        if not any(Path("/proc/swaps").read_text().splitlines()[1:]):
            return True
        if self._unified:
            return self._limit("memory", "memory.swap.max") == 0
        return self._limit("memory", "memory.memsw.limit_in_bytes") == self.memory_limit()

    def pids_limit(self) -> int | None:
        """Processes allowed, or None without a limit."""
        return self._limit("pids", "pids.max")

    def peak_mb(self) -> float | None:
        """The most memory used so far, also of a group that has gone since the last look."""
        names = ("memory.peak", "memory.current") if self._unified else ("memory.max_usage_in_bytes",)
        seen = [value for name in names if (value := self._number("memory", name)) is not None]
        self._peak = max([self._peak, *seen])
        return self._peak / 2**20 or None

    def usage(self) -> Usage:
        """Processor time, time held back by the limit, and time spent waiting for a processor."""
        counts = self._counts("cpu", "cpu.stat")
        if self._unified:
            pressure = self._counts("cpu", "cpu.pressure").get("some total")
            return Usage(
                *(_seconds(n, 1e6) for n in (counts.get("usage_usec"), counts.get("throttled_usec"), pressure))
            )
        used = self._number("cpuacct", "cpuacct.usage") if "cpuacct" in self._folders else None
        return Usage(_seconds(used, 1e9), _seconds(counts.get("throttled_time"), 1e9))

    def _counts(self, controller: str, name: str) -> dict[str, int]:
        """The numbers in a file of the group, by name; of a pressure file its totals."""
        counts: dict[str, int] = {}
        with suppress(OSError, KeyError, ValueError):
            for line in (self._folders[controller] / name).read_text().splitlines():
                words = line.replace("=", " ").split()
                counts[words[0] if len(words) == 2 else f"{words[0]} total"] = int(words[-1])
        return counts

    def oom_kills(self) -> int:
        """How often the memory limit killed something."""
        file = self._folders["memory"] / ("memory.events" if self._unified else "memory.oom_control")
        with suppress(OSError):
            fields = dict(line.split() for line in file.read_text().splitlines())
            return int(fields.get("oom_kill", 0))
        return 0

    def processes(self) -> list[int]:
        """Everything that is still in the group."""
        pids: set[int] = set()
        for folder in {folder for name, folder in self._folders.items() if not self._is_root(name)}:
            with suppress(OSError):
                pids |= {int(line) for line in (folder / "cgroup.procs").read_text().split()}
        return sorted(pids)

    def empty_within(self, timeout_s: float) -> bool:
        """Whether nothing was left in it within the time."""
        deadline = time.monotonic() + timeout_s
        while self.processes():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.01)
        return True

    def freeze(self, *, within_s: float = 2.0) -> bool:
        """Whether everything in it stands still; where that cannot be had it goes on."""
        if not self._write_freezer(frozen=True):
            return False
        deadline = time.monotonic() + within_s
        while not self.is_frozen():
            if time.monotonic() > deadline:
                self.thaw()
                return False
            time.sleep(0.002)
        return True

    def thaw(self) -> None:
        """Let everything in it go on."""
        self._write_freezer(frozen=False)

    def is_frozen(self) -> bool:
        """Whether the kernel says that everything in it stands still."""
        name, wanted = ("cgroup.events", "frozen 1") if self._unified else ("freezer.state", "FROZEN")
        with suppress(OSError, KeyError):
            return wanted in (self._folders[self._freezer] / name).read_text().splitlines()
        return False

    @property
    def _freezer(self) -> str:
        return "memory" if self._unified else "freezer"

    def _write_freezer(self, *, frozen: bool) -> bool:
        """Whether the kernel took the order; never given to a group that others are in."""
        if self._freezer not in self._folders or self._is_root(self._freezer):
            return False
        name, words = ("cgroup.freeze", "01") if self._unified else ("freezer.state", ("THAWED", "FROZEN"))
        try:
            (self._folders[self._freezer] / name).write_text(words[frozen])
        except OSError:
            return False
        return True

    def _is_root(self, controller: str) -> bool:
        return self._folders.get(controller) in (_GROUPS, _GROUPS / controller)

    def _limit(self, controller: str, name: str) -> int | None:
        value = self._number(controller, name)
        return None if value is None or value >= _UNLIMITED else value

    def _number(self, controller: str, name: str) -> int | None:
        try:
            text = (self._folders[controller] / name).read_text().strip()
        except (OSError, KeyError):
            return None
        return None if text == "max" else int(text)


class Grouped:
    """A run whose processes are in a control group, where it could be given one."""

    _group: ControlGroup | None

    def peak_memory_mb(self) -> float | None:
        """The most memory its control group has held, or None without one."""
        return self._group.peak_mb() if self._group else None

    def usage(self) -> Usage:
        """What its control group has used."""
        return self._group.usage() if self._group else Usage()

    def freeze(self) -> bool:
        """Whether the kernel says that its control group stands still."""
        return self._group is not None and self._group.freeze()

    def thaw(self) -> None:
        """Let its control group go on."""
        if self._group is not None:
            self._group.thaw()


def _seconds(count: int | None, per_second: float) -> float | None:
    return None if count is None else count / per_second


class OwnGroup(ControlGroup):
    """A control group made for one run, where this process may make one."""

    CONTROLLERS = ("memory", "pids", "cpu")
    PREFIX = OWN_GROUP

    @classmethod
    def possible(cls) -> bool:
        """Whether this process may make control groups with limits."""
        return all(os.access(root, os.W_OK) for root in cls._roots().values())

    @classmethod
    def _roots(cls) -> dict[str, Path]:
        unified = (_GROUPS / "cgroup.controllers").exists()
        if unified:
            delegated = (_GROUPS / "cgroup.subtree_control").read_text().split()
            ready = set(cls.CONTROLLERS) <= set(delegated)
            return dict.fromkeys(cls.CONTROLLERS, _GROUPS if ready else Path("/nonexistent"))
        further = [name for name in ("freezer", "cpuacct") if os.access(_GROUPS / name, os.W_OK)]
        return {name: _GROUPS / name for name in (*cls.CONTROLLERS, *further)}

    def __init__(self, name: str, *, memory_bytes: int, pids: int, cpus: float, cpuset: str = "") -> None:
        roots = self._roots()
        if cpuset:
            roots["cpuset"] = roots["memory"] if len(set(roots.values())) == 1 else _GROUPS / "cpuset"
        super().__init__(
            {key: root / f"{self.PREFIX}{host_mark()}-{name}" for key, root in roots.items()},
            len(set(roots.values())) == 1,
        )
        for folder in set(self._folders.values()):
            folder.mkdir()
        if cpuset:
            memories = "cpuset.mems.effective" if self._unified else "cpuset.mems"
            self._set("cpuset", "cpuset.mems", (roots["cpuset"] / memories).read_text().strip())
            self._set("cpuset", "cpuset.cpus", cpuset)
        period = 100_000
        quota = int(cpus * period)
        self._set("pids", "pids.max", str(pids))
        if self._unified:
            self._set("memory", "memory.max", str(memory_bytes))
            self._set("memory", "memory.swap.max", "0", needed=False)
            self._set("cpu", "cpu.max", f"{quota} {period}")
        else:
            self._set("memory", "memory.limit_in_bytes", str(memory_bytes))
            self._set("memory", "memory.memsw.limit_in_bytes", str(memory_bytes), needed=False)
            self._set("cpu", "cpu.cfs_period_us", str(period))
            self._set("cpu", "cpu.cfs_quota_us", str(quota))

    def admit(self, pids: Iterable[int]) -> None:
        """Put processes into it; what they start later stays in it."""
        for pid in pids:
            for folder in set(self._folders.values()):
                (folder / "cgroup.procs").write_text(str(pid))

    @classmethod
    def sweep(cls) -> tuple[str, ...]:
        """Names of groups of dead hosts that could be removed, for nothing runs in them.

        A group is empty for a moment after it was made; a live host's is left alone.
        """
        gone = set()
        for root in set(cls._roots().values()):
            for folder in root.glob(f"{cls.PREFIX}*"):
                if host_lives(folder.name.removeprefix(cls.PREFIX).rpartition("-")[0]):
                    continue
                with suppress(OSError):
                    (folder / "freezer.state").write_text("THAWED")  # so that what was killed in it can end
                with suppress(OSError):
                    folder.rmdir()  # refused by the kernel while anything runs in it
                    gone.add(folder.name)
        return tuple(sorted(gone))

    def remove(self) -> None:
        """Remove the empty group."""
        for folder in set(self._folders.values()):
            with suppress(OSError):
                folder.rmdir()

    def _set(self, controller: str, name: str, value: str, needed: bool = True) -> None:
        try:
            (self._folders[controller] / name).write_text(value)
        except OSError:
            if needed:
                raise
