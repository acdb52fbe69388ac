"""What to run, with what in reach, and within which limits. No engine is named here."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path, PurePosixPath

from surgvalid.errors import Misuse

NOBODY = "65534:65534"
INPUT_TARGET, OUTPUT_TARGET, SOCKET_TARGET = "/input", "/output", "/run/surgvalid"
WEIGHTS_TARGET = "/opt/ml/model"
"""Where weights that come apart from the image are shown, read-only; grand-challenge's place."""
SCRATCH, SCRATCH_HOME = "/tmp", {"HOME": "/tmp"}
"""The one place from which files that were written can be executed: compilers of kernels keep their caches there."""

_USER = re.compile(r"[1-9][0-9]{0,8}:[1-9][0-9]{0,8}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TARGET = re.compile(r"(/[A-Za-z0-9._-]+)+")
_CPUSET = re.compile(r"\d+(-\d+)?(,\d+(-\d+)?)*")
_GPU = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a run may use. Memory includes swap, /tmp (the scratch folder), /dev/shm and the output folder."""

    memory_mb: int = 8192
    pids: int = 256
    cpus: float = 2.0
    tmp_mb: int = 1024
    shm_mb: int = 256
    output_mb: int = 64
    log_mb: int = 4
    open_files: int = 1024
    cpuset: str = ""
    """Processors of the machine that it may use, as `0-3,8`; empty: any."""
    lifetime_s: float = 24 * 3600.0
    """The engine ends the run after this time even when nobody asks it to."""

    def __post_init__(self) -> None:
        if self.cpuset and not _CPUSET.fullmatch(self.cpuset):
            raise Misuse(f"cpuset names processors, as '0-3,8'; got {self.cpuset!r}")
        wrong = [name for name in self.__slots__ if name != "cpuset" and not getattr(self, name) > 0]
        if wrong:
            raise Misuse(f"limits must be positive; got {', '.join(f'{n}={getattr(self, n)}' for n in wrong)}")


class MountKind(StrEnum):
    """What a folder is for, which decides who may write to it."""

    INPUT = "input"
    """Read-only inside; the host may add and remove files while the run lives."""
    OUTPUT = "output"
    """Writable inside up to `Limits.output_mb`; read it with `Running.read_output`."""
    SOCKET = "socket"
    """Writable inside for one small socket; reach it with `Running.connect`."""


@dataclass(frozen=True, slots=True)
class Mount:
    """A folder of the host and where it appears inside."""

    kind: MountKind
    source: Path
    """Input: the folder itself. Output and socket: where a plain process writes; a real engine keeps a
    folder of its own with a size limit and leaves this one alone."""
    target: str

    def __post_init__(self) -> None:
        if not _TARGET.fullmatch(self.target) or ".." in PurePosixPath(self.target).parts:
            raise Misuse(f"a mount needs an absolute plain path inside; got {self.target!r}")
        if set(str(self.source)) & set(':,"\n\0'):
            raise Misuse(f"engines cannot mount a path with ':', ',', quotes or line breaks; got {str(self.source)!r}")

    @classmethod
    def input(cls, source: Path, target: str = INPUT_TARGET) -> Mount:
        """A read-only folder."""
        return cls(MountKind.INPUT, Path(source).absolute(), target)

    @classmethod
    def output(cls, source: Path, target: str = OUTPUT_TARGET) -> Mount:
        """A writable folder with a size limit."""
        return cls(MountKind.OUTPUT, Path(source).absolute(), target)

    @classmethod
    def socket(cls, source: Path, target: str = SOCKET_TARGET) -> Mount:
        """The folder in which the submission opens its socket."""
        return cls(MountKind.SOCKET, Path(source).absolute(), target)


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """One run: an image or a command, its folders, environment, user, GPU and limits.

    Raises:
        Misuse: Neither image nor command, a root user, two folders of one kind at one place, a variable
            that is no variable.
    """

    image: str | None = None
    """The identifier that `Engine.store` gave back; never a name somebody else chose."""
    command: tuple[str, ...] = ()
    """Argument list. With an image it replaces the image's own entry point."""
    mounts: tuple[Mount, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    user: str = NOBODY
    gpu: str | None = None
    """One GPU by its index or UUID, or none."""
    limits: Limits = field(default_factory=Limits)
    hidden: bool = False
    """Hidden data is in reach: an engine that cannot keep it in refuses."""

    def __post_init__(self) -> None:
        if not self.image and not self.command:
            raise Misuse("a launch needs an image or a command; got neither")
        if not _USER.fullmatch(self.user):
            raise Misuse(f"a launch needs a numeric user and group that are not root, as {NOBODY!r}; got {self.user!r}")
        if self.gpu is not None and (self.gpu == "all" or not _GPU.fullmatch(self.gpu)):
            raise Misuse(f"a launch takes one GPU, named by its index or UUID; got {self.gpu!r}")
        for name, value in self.env.items():
            if not _VARIABLE.fullmatch(name) or "\0" in value or "\n" in value:
                raise Misuse(f"{name!r} is not an environment variable with a one-line value")
        targets = [mount.target for mount in self.mounts]
        if len(set(targets)) != len(targets):
            raise Misuse(f"two mounts share a path inside; got {', '.join(targets)}")

    def mount(self, kind: MountKind) -> Mount | None:
        """The first mount of a kind, or None."""
        return next((mount for mount in self.mounts if mount.kind is kind), None)
