"""docker: containers by its daemon, wherever DOCKER_HOST points."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import ClassVar

from surgvalid.errors import EngineFailed, Misuse
from surgvalid.sandbox import _machine as machine
from surgvalid.sandbox._container import ContainerEngine
from surgvalid.sandbox._container_run import Cli
from surgvalid.sandbox._engine import Problem, ProblemSeverity
from surgvalid.sandbox._folders import Folder
from surgvalid.sandbox._launch import Launch, Mount, MountKind
from surgvalid.sandbox._sized_folder import can_show_mounts, sized_folders, sweep_folders


class DockerEngine(ContainerEngine):
    """Containers by docker. Users are mapped away from the host's only when its daemon was told to.

    It starts a container in one step, so output and socket folders are made by the host; see `_sized_folder`. Where
    the daemon could not see them it makes them itself, and a run that is over at once may take them along unread.
    """

    name: ClassVar[str] = "docker"

    def __init__(self, runtime: str | None = None) -> None:
        self._runtime = runtime
        super().__init__(Cli(self.name, "docker"))

    def _noticed(self) -> Iterator[Problem | None]:
        named = machine.runtime_problem(self._runtime, is_program=False)  # its daemon knows runtimes by other names
        missing = machine.missing_program("docker", "docker.io") or named
        yield missing
        if missing:
            return
        yield machine.missing_seccomp()
        yield machine.missing_controllers()
        yield from self._answers()
        yield machine.no_limits_capability()
        yield machine.not_root()
        yield machine.gpu_problem()

    def _answers(self) -> Iterator[Problem]:
        try:
            facts = json.loads(self._cli("info", "--format", "{{json .}}", timeout_s=20))
        except EngineFailed as error:
            fix = "start the daemon (`systemctl start docker`, or `dockerd --bridge=none --iptables=false`)"
            yield Problem("docker-fails", error.problem, fix)
            return
        options = " ".join(facts.get("SecurityOptions") or [])
        if facts.get("ServerErrors") or not facts.get("ServerVersion"):
            reason = " ".join(facts.get("ServerErrors") or ["the daemon does not answer"])
            yield Problem("docker-fails", reason, "start the daemon (`systemctl start docker`)")
        elif self._runtime is not None and self._runtime not in (facts.get("Runtimes") or {}):
            known = ", ".join(sorted(facts.get("Runtimes") or {})) or "none"
            text = f"the daemon knows no runtime {self._runtime!r}; it knows {known}"
            yield Problem("no-runtime", text, "name it in the daemon's configuration, or leave the runtime to it")
        elif "name=seccomp" not in options:
            yield Problem("no-seccomp", "the daemon filters no system calls", "start it with its seccomp profile")
        elif "name=userns" not in options:
            text = "users of a container are users of the host"
            yield Problem("no-userns", text, "start the daemon with `--userns-remap=default`", ProblemSeverity.WEAKENS)

    def check(self, launch: Launch) -> None:
        """Nothing, when a launch can be asked of this engine on this machine.

        Raises:
            Misuse: With the reason. A daemon that knows no CDI would take the name of a GPU for that of a file.
        """
        super().check(launch)
        if launch.gpu is None:
            return
        facts = json.loads(self._cli("info", "--format", "{{json .}}", timeout_s=20))
        if not facts.get("CDISpecDirs"):
            text = f"the daemon (version {facts.get('ServerVersion')}) gives no device by its CDI name"
            raise Misuse(f"GPU {launch.gpu!r} was asked for, and {text}; use podman, or docker 28.2 or newer")

    def _own_flags(self, launch: Launch) -> list[str]:
        runtime = ["--runtime", self._runtime] if self._runtime else []
        logs = [
            "--log-driver",
            "json-file",
            "--log-opt",
            f"max-size={launch.limits.log_mb}m",
            "--log-opt",
            "max-file=1",
        ]
        return [*runtime, *logs]

    def _volume_options(self) -> str:
        return ",rprivate"

    def _folders(self, launch: Launch) -> AbstractContextManager[tuple[Launch, Mapping[MountKind, Folder] | None]]:
        return sized_folders(self.name, launch) if can_show_mounts() else nullcontext((launch, None))

    def _mounted(self, mount: Mount, launch: Launch) -> list[str]:
        if mount.kind is MountKind.INPUT or not can_show_mounts():
            return super()._mounted(mount, launch)
        return ["--volume", f"{mount.source}:{mount.target}:rw{self._volume_options()}"]

    def sweep(self) -> tuple[str, ...]:
        """Identifiers of containers that are dead or whose host process is, now removed."""
        if os.geteuid() == 0:
            sweep_folders()
        return super().sweep()


ENGINE = DockerEngine
