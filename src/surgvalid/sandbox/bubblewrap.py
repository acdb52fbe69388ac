"""bubblewrap: namespaces without a daemon, for laptops and quick tests. It runs commands, not images.

The command sees the host's programs (`/usr` and the linker's files) read-only and nothing else of the host.
Limits are kept by a control group where this process may make one; where it may not, hidden data is refused.
Not for untrusted code with a GPU: drivers would need the host's devices.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import ClassVar

from surgvalid.errors import EngineFailed, HiddenDataRefused, Misuse
from surgvalid.sandbox import _machine as machine
from surgvalid.sandbox._bubblewrap_run import BubblewrapRun
from surgvalid.sandbox._engine import Guarantee, Problem, ProblemSeverity, Running
from surgvalid.sandbox._intake import ImageFacts, ImageLimits
from surgvalid.sandbox._kernel import OwnGroup, mounts_of
from surgvalid.sandbox._launch import SCRATCH, SCRATCH_HOME, Launch, Mount, MountKind
from surgvalid.sandbox._seccomp import bpf_program
from surgvalid.sandbox._sized_folder import SOCKET_MB
from surgvalid.sandbox._watchdog import MARK, Watchdog, by_mark, kill_marked

BY_GROUP = frozenset({Guarantee.MEMORY, Guarantee.PIDS})
_HOST_PLACES = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc/ld.so.cache", "/etc/alternatives")
_NAMESPACES = ("ipc", "pid", "net", "uts", "cgroup-try")
_INFO_BYTES = 4096
_MOUNT_S = 60.0
_SHUT = """
import ctypes, fcntl, os, sys
def call(name, *arguments):
    if getattr(library, name)(*arguments):
        raise OSError(ctypes.get_errno(), name)
library, mounts = ctypes.CDLL(None, use_errno=True), os.open(f"/proc/{sys.argv[1]}/ns/mnt", os.O_RDONLY)
if os.geteuid():
    call("setns", fcntl.ioctl(mounts, 0xB701), 0)
call("setns", mounts, 0)
for place in sys.argv[2:]:
    call("mount", None, place.encode(), None, 32 | 4096 | 2 | 4 | 8, None)
"""
"""Makes places of a run's mounts not executable (remount, bind, nosuid, nodev, noexec), which bubblewrap has no flag
for; as nobody special by way of the namespace of users that owns the mounts."""
_GATE = 'read -r _ && exec "$@" </dev/null'
"""Holds the command back until the host has opened the folders of the run; ends it should the host be gone."""


class BubblewrapEngine:
    """Commands in namespaces of their own."""

    name: ClassVar[str] = "bubblewrap"
    guarantees: ClassVar[frozenset[Guarantee]] = frozenset(Guarantee)
    takes_images: ClassVar[bool] = False

    def _noticed(self) -> Iterator[Problem | None]:
        missing = machine.missing_program("bwrap", "bubblewrap")
        yield missing
        if missing:
            return
        if platform.machine() not in ("x86_64", "aarch64"):
            yield Problem(
                "no-filter", f"there is no system call filter for {platform.machine()}", "use podman or docker"
            )
        yield machine.missing_seccomp()
        yield machine.no_namespaces()
        if not OwnGroup.possible():
            text = "control groups cannot be made here, so memory and processes are not limited"
            yield Problem("no-groups", text, "run as root, or use podman or docker", ProblemSeverity.WEAKENS)

    def available(self) -> Problem | None:
        """The first problem that keeps this engine from running here, or None."""
        return machine.first_blocking(self._noticed())

    def problems(self) -> tuple[Problem, ...]:
        """Everything noticed about this machine, weaknesses too."""
        return tuple(filter(None, self._noticed()))

    def inside(self, mount: Mount) -> str:
        """The place inside."""
        return mount.target

    def store(self, archive: Path, limits: ImageLimits | None = None) -> str:  # noqa: ARG002
        """Nothing: it runs commands of this machine."""
        raise Misuse(f"the bubblewrap engine runs commands, not images; got {archive}; use podman or docker")

    def facts(self, image: str) -> ImageFacts | None:  # noqa: ARG002
        """None: it runs commands."""
        return None

    def images(self) -> frozenset[str]:
        """None: it runs commands."""
        return frozenset()

    def forget(self, image: str) -> None:
        """Nothing to remove."""

    def sweep(self) -> tuple[str, ...]:
        """Names of empty control groups that dead hosts left behind, now removed; their runs died with them."""
        return OwnGroup.sweep()

    def check(self, launch: Launch) -> None:
        """Nothing, when a launch can be asked of this engine on this machine.

        Raises:
            Misuse: With the reason.
        """
        if launch.image or not launch.command:
            raise Misuse("the bubblewrap engine runs commands, not images; use podman or docker for an image")
        if launch.gpu is not None:
            raise Misuse("the bubblewrap engine gives no GPU; use podman or docker")
        if launch.hidden and not OwnGroup.possible():
            raise HiddenDataRefused(self.name, sorted(BY_GROUP))

    def start(self, launch: Launch) -> Running:
        """The command in its namespaces, held back until it is in its control group.

        Raises:
            EngineFailed: It could not be started; nothing is left running.
        """
        self.check(launch)
        run_id = uuid.uuid4().hex
        limits = launch.limits
        group = None
        if OwnGroup.possible():
            group = OwnGroup(
                run_id, memory_bytes=limits.memory_mb << 20, pids=limits.pids, cpus=limits.cpus, cpuset=limits.cpuset
            )
        try:
            return self._held_back(run_id, launch, group)
        except BaseException:
            if group:
                group.remove()
            raise

    def _held_back(self, run_id: str, launch: Launch, group: OwnGroup | None) -> BubblewrapRun:
        filter_read, filter_write = os.pipe()
        info_read, info_write = os.pipe()
        block_read, block_write = os.pipe()
        inherited = (os.memfd_create("arguments", 0), filter_read, info_write, block_read)
        watchdog = Watchdog(by_mark(run_id), lifetime_s=launch.limits.lifetime_s)
        try:
            os.set_blocking(filter_write, False)
            os.write(filter_write, bpf_program())
            os.close(filter_write)
            arguments = _unseen(inherited[0], _flags(launch, inherited[1:]))
            child = _spawn(run_id, [*arguments, *_command(launch)], inherited)
        except BaseException:
            watchdog.release()
            raise
        finally:
            for descriptor in inherited:
                os.close(descriptor)
        try:
            first = _first_process(info_read, child)
            if group:
                group.admit([first])
            os.write(block_write, b".")
            _await_mounts(first, child)
            _shut(first, launch)
            run = BubblewrapRun(run_id, child, first, launch, group, watchdog)
            _let_go(child)
            watchdog.begin()
            return run
        except BaseException:
            kill_marked(run_id)
            child.wait()
            for pipe in (child.stdin, child.stdout):
                if pipe:
                    pipe.close()
            watchdog.release()
            raise
        finally:
            os.close(info_read)
            os.close(block_write)


def _unseen(file: int, flags: list[str]) -> list[str]:
    """The call of bubblewrap with its flags in a file: the first process shows its call to everyone inside, and the
    flags name folders of the host."""
    os.write(file, b"".join(os.fsencode(flag) + b"\0" for flag in flags))
    os.lseek(file, 0, os.SEEK_SET)
    return ["bwrap", "--args", str(file), "--"]


def _spawn(run_id: str, arguments: list[str], inherited: tuple[int, ...]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            arguments,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=inherited,
            env={"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", MARK: run_id},  # of bubblewrap, not of the command
            start_new_session=True,
        )
    except OSError as error:
        raise EngineFailed("bubblewrap", f"cannot start bwrap: {error.strerror}") from error


def _first_process(info: int, child: subprocess.Popen[bytes]) -> int:
    """The number of the first process inside, as bubblewrap tells it."""
    output = b""
    while piece := os.read(info, _INFO_BYTES):
        output += piece
        if b"}" in output:
            return int(json.loads(output)["child-pid"])
    raise EngineFailed("bubblewrap", f"bwrap did not come up: {_last_words(child)}")


def _last_words(child: subprocess.Popen[bytes]) -> str:
    return child.stdout.read(400).decode("utf-8", "replace").strip() if child.stdout else ""


def _await_mounts(first: int, child: subprocess.Popen[bytes]) -> None:
    """Wait until all folders are the run's own, not yet the host's: its root is closed last."""
    deadline = time.monotonic() + _MOUNT_S
    while not _is_closed(first):
        if child.poll() is not None or time.monotonic() > deadline:
            child.kill()
            raise EngineFailed("bubblewrap", f"the run's folders did not appear: {_last_words(child)}")
        time.sleep(0.002)


def _is_closed(first: int) -> bool:
    with suppress(OSError, KeyError):
        options, kind = mounts_of(first)["/"]
        return kind == "tmpfs" and "ro" in options
    return False


def _shut(first: int, launch: Launch) -> None:
    """Nothing may be executed in folders that can be written but the scratch folder, as in every other engine."""
    command = [sys.executable, "-I", "-S", "-c", _SHUT, str(first), "/dev", "/dev/shm"]
    command += [mount.target for mount in launch.mounts if mount.kind is not MountKind.INPUT]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise EngineFailed("bubblewrap", f"folders cannot be made not executable: {done.stderr[-200:]}")


def _let_go(child: subprocess.Popen[bytes]) -> None:
    """Open the barrier behind which the command waits."""
    assert child.stdin is not None
    with suppress(BrokenPipeError), child.stdin:
        child.stdin.write(b"\n")


def _flags(launch: Launch, descriptors: tuple[int, ...]) -> list[str]:
    program, info, block = (str(descriptor) for descriptor in descriptors)
    flags = [
        "--die-with-parent",  # of the thread that starts it: should the watchdog be killed together with the host
        *(f"--unshare-{kind}" for kind in _NAMESPACES),
        "--new-session",
        "--hostname",
        "sandbox",
        "--clearenv",
    ]
    flags += ["--seccomp", program, "--info-fd", info, "--block-fd", block, "--cap-drop", "ALL"]
    if os.geteuid() == 0:  # needed only to become somebody else, and gone by then
        for capability in ("CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP"):
            flags += ["--cap-add", capability]
    else:
        uid, _, gid = launch.user.partition(":")
        flags += ["--unshare-user", "--disable-userns", "--uid", uid, "--gid", gid]
    for name, value in _environment(launch).items():
        flags += ["--setenv", name, value]
    above = {str(parent) for mount in launch.mounts for parent in PurePosixPath(mount.target).parents} - {"/"}
    for folder in sorted({"/etc", "/run"} | above):
        flags += ["--perms", "0755", "--dir", folder]
    for place in _HOST_PLACES:
        flags += _host_place(Path(place))
    flags += ["--proc", "/proc", "--dev", "/dev", *_tmpfs("/dev/shm", launch.limits.shm_mb)]
    flags += _tmpfs(SCRATCH, launch.limits.tmp_mb)
    for mount in launch.mounts:
        flags += _mounted(mount, launch)
    return [*flags, "--remount-ro", "/", "--chdir", "/tmp"]


def _host_place(place: Path) -> list[str]:
    if place.is_symlink():
        return ["--symlink", os.readlink(place), str(place)]
    return ["--ro-bind", str(place), str(place)] if place.exists() else []


def _mounted(mount: Mount, launch: Launch) -> list[str]:
    if mount.kind is MountKind.INPUT:
        if not mount.source.is_dir():
            raise Misuse(f"the input folder {mount.source} is not there")
        return ["--ro-bind", str(mount.source), mount.target]
    return _tmpfs(mount.target, launch.limits.output_mb if mount.kind is MountKind.OUTPUT else SOCKET_MB)


def _tmpfs(target: str, size_mb: int) -> list[str]:
    return ["--perms", "1777", "--size", str(size_mb << 20), "--tmpfs", target]


def _environment(launch: Launch) -> dict[str, str]:
    return {"PATH": "/usr/bin:/bin", **SCRATCH_HOME, **launch.env}


def _command(launch: Launch) -> list[str]:
    """The command behind its barrier, without rights; the shell of the barrier leaves nothing in the environment."""
    variables = [f"{name}={value}" for name, value in _environment(launch).items()]
    files = f"ulimit -c 0; ulimit -n {launch.limits.open_files} 2>/dev/null; "  # a lower limit of the host stays
    gated = ["/bin/sh", "-c", files + _GATE, "gate", "/usr/bin/env", "-i", *variables, *launch.command]
    if os.geteuid() != 0:
        return gated
    uid, _, gid = launch.user.partition(":")
    setpriv = shutil.which("setpriv") or "setpriv"
    dropped = ["--clear-groups", "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs"]
    return [setpriv, f"--reuid={uid}", f"--regid={gid}", *dropped, "--", *gated]


ENGINE = BubblewrapEngine
