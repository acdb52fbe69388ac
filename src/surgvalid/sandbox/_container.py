"""What podman and docker have in common: create, check, start, check again, watch, kill, prove."""

from __future__ import annotations

import json
import os
import re
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, ClassVar

from surgvalid.errors import EngineFailed, HiddenDataRefused, Misuse, ProgramMissing
from surgvalid.sandbox._container_checks import GPU_VOID, declared_problems, rights_problems, world_problems
from surgvalid.sandbox._container_run import UNFORGOTTEN, Cli, ContainerRun
from surgvalid.sandbox._engine import Guarantee, Problem, Running
from surgvalid.sandbox._folders import Folder
from surgvalid.sandbox._intake import ImageFacts, ImageLimits, write_clean_image
from surgvalid.sandbox._launch import SCRATCH, SCRATCH_HOME, Launch, Mount, MountKind
from surgvalid.sandbox._leases import host_lives, host_mark
from surgvalid.sandbox._machine import first_blocking, gpu_request_problem
from surgvalid.sandbox._seccomp import oci_profile
from surgvalid.sandbox._sized_folder import SOCKET_MB
from surgvalid.sandbox._watchdog import Watchdog

LABEL = "surgvalid.host"
_SETTLE_S = 5.0
_MORE_TRIES = 3
_GONE = ("layer not known", "image not known")
"""How podman says that what it had found in its store is no longer there."""
_NO_PROGRAM = re.compile(
    r"exec: .{1,300}?(?:executable file not found|no such file or directory|permission denied|is a directory)"
    r"|exec .{1,300}?(?:exec format error|no such file or directory|permission denied)",
    re.IGNORECASE | re.DOTALL,
)
"""How runtimes say that the program of an image is not there, not executable or not for this machine."""


class ContainerEngine:
    """A container engine driven by its command line; subclasses add what differs."""

    name: ClassVar[str]
    guarantees: ClassVar[frozenset[Guarantee]] = frozenset(Guarantee)
    takes_images: ClassVar[bool] = True
    removal: ClassVar[tuple[str, ...]] = ("rm", "--force", "--volumes")
    """How a container is removed at once, whatever state it is in."""
    bring_up: ClassVar[tuple[str, ...]] = ("start",)
    """How its namespaces and folders come to be; where that can be had without starting it, it is started later."""

    def __init__(self, cli: Cli) -> None:
        self._cli = cli
        self._taken: dict[str, ImageFacts] = {}

    def _noticed(self) -> Iterator[Problem | None]:
        raise NotImplementedError

    def _own_flags(self, launch: Launch) -> list[str]:
        raise NotImplementedError

    def _volume_options(self) -> str:
        raise NotImplementedError

    def available(self) -> Problem | None:
        """The first problem that keeps this engine from running here, or None."""
        return first_blocking(self._noticed())

    def problems(self) -> tuple[Problem, ...]:
        """Everything noticed about this machine, weaknesses too."""
        return tuple(problem for problem in self._noticed() if problem)

    def inside(self, mount: Mount) -> str:
        """The place inside the container."""
        return mount.target

    def store(self, archive: Path, limits: ImageLimits | None = None) -> str:
        """The identifier of an image archive after intake.

        What is loaded is a copy of our own writing, named by its digest; the engine must report that digest.

        Raises:
            ImageRefused: Intake does not let it in.
            EngineFailed: The engine did not store what it was given.
        """
        with tempfile.TemporaryDirectory(prefix="surgvalid-intake-") as folder:
            clean = Path(folder) / "image.tar"
            facts = write_clean_image(archive, clean, limits)
            self._of_the_store("load", "--input", str(clean), timeout_s=3600)
        digest = facts.clean_digest.removeprefix("sha256:")
        stored = self._cli("image", "inspect", digest, "--format", "{{.Id}}").decode().strip()
        if stored.removeprefix("sha256:") != digest:
            raise EngineFailed(self.name, f"it stored image {stored} instead of {digest}")
        self._taken[digest] = facts
        return digest

    def _of_the_store(self, *arguments: str, timeout_s: float = 120.0) -> bytes:
        """What a call printed that goes through the engine's store.

        It is made again where another process removed an image or a layer meanwhile that the engine had counted on.
        """
        for _ in range(_MORE_TRIES):
            try:
                return self._cli(*arguments, timeout_s=timeout_s)
            except EngineFailed as error:
                if not any(words in str(error) for words in _GONE):
                    raise
        return self._cli(*arguments, timeout_s=timeout_s)

    def facts(self, image: str) -> ImageFacts | None:
        """What intake found out about an image that this very object stored; None of any other."""
        return self._taken.get(image)

    def images(self) -> frozenset[str]:
        """The identifiers of every image that the engine holds."""
        listed = self._of_the_store("images", "--all", "--quiet", "--no-trunc").decode().split()
        return frozenset(digest.removeprefix("sha256:") for digest in listed)

    def forget(self, image: str) -> None:
        """Remove a stored image, unless a run uses it."""
        self._cli.attempt("rmi", image)

    def check(self, launch: Launch) -> None:
        """Nothing, when a launch can be asked of this engine on this machine.

        Raises:
            Misuse: With the reason.
        """
        if not launch.image:
            raise Misuse(f"the {self.name} engine runs images; store one and name it in the launch")
        if launch.hidden and os.geteuid() != 0:
            raise HiddenDataRefused(self.name, [Guarantee.OUTPUT_QUOTA])
        if launch.gpu is not None and (problem := gpu_request_problem(launch.gpu)):
            raise Misuse(f"GPU {launch.gpu!r} was asked for, and {problem}")

    def start(self, launch: Launch) -> Running:
        """A container whose limits were checked before and after it started.

        Raises:
            EngineFailed: It could not start, or something is not as asked for; nothing is left running.
        """
        self.check(launch)
        name = f"surgvalid-{uuid.uuid4().hex}"
        watchdog = Watchdog(self._ender(name), lifetime_s=launch.limits.lifetime_s)
        try:
            return self._started(name, launch, watchdog)
        except BaseException:
            self._cli.attempt(*self.removal, name)
            watchdog.release()
            raise

    def sweep(self) -> tuple[str, ...]:
        """Identifiers of containers that are dead or whose host process is, now removed."""
        listed = self._cli("ps", "--all", "--quiet", "--no-trunc", "--filter", f"label={LABEL}").decode().split()
        gone = []
        for container in listed:
            code, out, _ = self._cli.attempt("inspect", container)
            mark = json.loads(out)[0]["Config"]["Labels"].get(LABEL, "") if code == 0 else host_mark()
            if container in UNFORGOTTEN or not host_lives(mark):
                self._cli.attempt(*self.removal, container)
                gone.append(container)
        return tuple(gone)

    def _started(self, name: str, launch: Launch, watchdog: Watchdog) -> ContainerRun:
        with self._folders(launch) as (launch, folders):
            record = self._brought_up(name, launch)
            pid = int(record["State"]["Pid"])
            if os.geteuid() == 0 and pid:
                _fail_on(self.name, world_problems(pid, launch))
        run = ContainerRun(self.name, self._cli, str(record["Id"]), pid, launch, self.removal, watchdog, folders)
        try:
            if self.bring_up != ("start",):
                self._told_to("start", name)
            _fail_on(self.name, _settled(pid))
        except BaseException:
            run.close()
            raise
        watchdog.begin()
        return run

    def _brought_up(self, name: str, launch: Launch) -> dict[str, Any]:
        """The engine's record of a container that was checked and then brought up."""
        with tempfile.NamedTemporaryFile("w", prefix="surgvalid-seccomp-", suffix=".json") as profile:
            profile.write(oci_profile())
            profile.flush()
            self._cli(*self._create(name, launch, profile.name))
        declared = self._record(name)
        _fail_on(self.name, declared_problems(declared, launch))
        self._told_to(*self.bring_up, name, folder=_own_folder(declared))
        return self._record(name)

    def _told_to(self, *arguments: str, folder: str | None = None) -> None:
        """Have the engine start something; that there is nothing to start is the image's fault.

        Raises:
            ProgramMissing: What the image starts is not in it, or is no program.
            EngineFailed: Anything else.
        """
        code, _, error = self._cli.attempt(*arguments, folder=folder)
        message = error.decode("utf-8", "replace")
        if code != 0 and (reason := _NO_PROGRAM.search(message)):
            raise ProgramMissing(f"what the image starts cannot be started: {reason.group()[-200:]}")
        if code != 0:
            raise EngineFailed(self.name, f"`{arguments[0]}` failed: {' '.join(message.split())[-400:]}")

    def _folders(self, launch: Launch) -> AbstractContextManager[tuple[Launch, Mapping[MountKind, Folder] | None]]:
        """The launch with folders that the host made for it, where the engine makes none that can be opened in time."""
        return nullcontext((launch, None))

    def _record(self, name: str) -> dict[str, Any]:
        record: dict[str, Any] = json.loads(self._cli("inspect", "--type", "container", name))[0]
        return record

    def _ender(self, name: str) -> tuple[str, ...]:
        return (*self._cli.prefix, *self.removal, name)

    def _create(self, name: str, launch: Launch, profile: str) -> list[str]:
        limits = launch.limits
        flags = ["create", "--name", name, "--label", f"{LABEL}={host_mark()}", "--pull", "never", "--network", "none"]
        flags += ["--read-only", "--cap-drop", "all", "--security-opt", "no-new-privileges", "--user", launch.user]
        flags += ["--security-opt", f"seccomp={profile}"]
        flags += ["--memory", f"{limits.memory_mb}m", "--memory-swap", f"{limits.memory_mb}m"]
        flags += ["--pids-limit", f"{limits.pids}", "--cpus", f"{limits.cpus:g}", "--shm-size", f"{limits.shm_mb}m"]
        # Named limits need no right to raise any, which root may lack on a virtual machine.
        for what, most in (("nofile", limits.open_files), ("nproc", max(1024, 4 * limits.pids)), ("core", 0)):
            flags += ["--ulimit", f"{what}={most}:{most}"]
        flags += ["--ipc", "private", "--cgroupns", "private", "--hostname", "sandbox", "--no-healthcheck"]
        flags += ["--restart", "no", "--env", GPU_VOID]
        flags += ["--cpuset-cpus", limits.cpuset] if limits.cpuset else []
        for variable, value in (SCRATCH_HOME | dict(launch.env)).items():
            flags += ["--env", f"{variable}={value}"]
        flags += self._tmpfs(SCRATCH, limits.tmp_mb, "exec")
        for mount in launch.mounts:
            flags += self._mounted(mount, launch)
        if launch.gpu is not None:
            flags += ["--device", f"nvidia.com/gpu={launch.gpu}"]
        flags += self._own_flags(launch)
        if launch.command:
            return [*flags, "--entrypoint", launch.command[0], str(launch.image), *launch.command[1:]]
        return [*flags, str(launch.image)]

    def _mounted(self, mount: Mount, launch: Launch) -> list[str]:
        if mount.kind is MountKind.INPUT:
            if not mount.source.is_dir():
                raise Misuse(f"the input folder {mount.source} is not there")
            return ["--volume", f"{mount.source}:{mount.target}:ro{self._volume_options()}"]
        if os.geteuid() != 0:
            return ["--volume", f"{mount.source}:{mount.target}:rw{self._volume_options()}"]
        return self._tmpfs(mount.target, launch.limits.output_mb if mount.kind is MountKind.OUTPUT else SOCKET_MB)

    def _tmpfs(self, target: str, size_mb: int, execution: str = "noexec") -> list[str]:
        return ["--tmpfs", f"{target}:rw,size={size_mb}m,{execution},nosuid,nodev,mode=1777"]


def _own_folder(record: dict[str, Any]) -> str | None:
    """The engine's folder of a container, where it has one here.

    podman's monitor stays in the folder that it is started from, leaves a file `oom` there when the memory
    limit strikes, and looks for it in this one.
    """
    folder = str(record.get("StaticDir") or "")
    return folder if os.path.isdir(folder) else None


def _settled(pid: int) -> list[str]:
    """Problems with the rights of the first process once the runtime has handed over to it."""
    deadline = time.monotonic() + _SETTLE_S
    while (problems := rights_problems(pid)) and time.monotonic() < deadline:
        time.sleep(0.005)
    return problems


def _fail_on(engine: str, problems: list[str]) -> None:
    if problems:
        raise EngineFailed(engine, f"the container is not as asked for, so it was removed: {'; '.join(problems)}")
