"""podman: containers without a daemon, users mapped away from the host's, image volumes ignored."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from typing import ClassVar

from surgvalid.errors import EngineFailed
from surgvalid.sandbox import _machine as machine
from surgvalid.sandbox._container import ContainerEngine
from surgvalid.sandbox._container_run import Cli
from surgvalid.sandbox._engine import Problem
from surgvalid.sandbox._intake_layer import MAPPED_IDS
from surgvalid.sandbox._launch import Launch

_AFTER_WATCHDOG_S = 60
"""podman's own time limit comes after the watchdog's, should that be gone."""
MAPPED_FROM = 200_000
"""Users of a container become users from this number on, which nobody on the host is."""


class PodmanEngine(ContainerEngine):
    """Containers by podman, with runc where it is installed: crun refuses hybrid control groups."""

    name: ClassVar[str] = "podman"
    removal: ClassVar[tuple[str, ...]] = ("rm", "--force", "--volumes", "--time", "0")
    bring_up: ClassVar[tuple[str, ...]] = ("init",)

    def __init__(self, runtime: str | None = None) -> None:
        self._runtime = runtime or ("runc" if shutil.which("runc", path=machine.admin_path()) else None)
        super().__init__(Cli(self.name, "podman", *(("--runtime", self._runtime) if self._runtime else ())))

    def _noticed(self) -> Iterator[Problem | None]:
        missing = machine.missing_program("podman", "podman runc") or machine.runtime_problem(self._runtime)
        yield missing
        if missing:
            return
        yield machine.hybrid_needs_runc(self._runtime)
        yield machine.missing_seccomp()
        yield machine.missing_controllers()
        yield machine.rootless_limits()
        yield self._answers()
        yield machine.no_limits_capability()
        yield machine.not_root()
        yield machine.gpu_problem()

    def _answers(self) -> Problem | None:
        try:
            facts = json.loads(self._cli("info", "--format", "json"))
        except EngineFailed as error:
            return Problem("podman-fails", error.problem, "run `podman info` and follow what it says")
        if not facts["host"]["security"]["seccompEnabled"]:
            return Problem("no-seccomp", "podman was built without system call filters", "install another podman")
        return None

    def _own_flags(self, launch: Launch) -> list[str]:
        flags = ["--read-only-tmpfs=false", "--image-volume", "ignore", "--no-hosts", "--http-proxy=false"]
        flags += ["--systemd=false", "--timeout", f"{round(launch.limits.lifetime_s) + _AFTER_WATCHDOG_S}"]
        flags += ["--log-driver", "k8s-file", "--log-opt", f"max-size={launch.limits.log_mb}m"]
        if os.geteuid() == 0:
            mapping = f"0:{MAPPED_FROM}:{MAPPED_IDS}"
            flags += ["--uidmap", mapping, "--gidmap", mapping]
        return flags

    def _volume_options(self) -> str:
        return ",noexec,nosuid,nodev,rprivate"

    def _tmpfs(self, target: str, size_mb: int, execution: str = "noexec") -> list[str]:
        option, value = super()._tmpfs(target, size_mb, execution)
        return [option, f"{value},notmpcopyup"]


ENGINE = PodmanEngine
