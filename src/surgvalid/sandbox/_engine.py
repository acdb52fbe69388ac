"""The one interface behind which untrusted code runs, what an engine promises, and engines by name.

A public file in this folder is an engine, and so is an entry point of `surgvalid.engines`.
"""

from __future__ import annotations

import os
import select
import socket
import sys
import threading
from abc import ABC, abstractmethod
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import IO, Any, ClassVar, Protocol, Self

from surgvalid.catalogue import Catalogue, Files, packages_named, with_attributes
from surgvalid.errors import HiddenDataRefused, Misuse
from surgvalid.sandbox._folders import Folder
from surgvalid.sandbox._intake import ImageFacts, ImageLimits
from surgvalid.sandbox._launch import Launch, Mount, MountKind

SOCKET_NAME = "model.sock"


class Guarantee(StrEnum):
    """Something an engine enforces; `tests/contracts/test_every_engine.py` probes each from inside."""

    NO_NETWORK = "no-network"
    READ_ONLY_ROOT = "read-only-root"
    NO_CAPABILITIES = "no-capabilities"
    SECCOMP = "seccomp"
    MEMORY = "memory"
    PIDS = "pids"
    OUTPUT_QUOTA = "output-quota"
    NO_HOST_FILES = "no-host-files"
    CLEAN_ENVIRONMENT = "clean-environment"
    LOG_CAP = "log-cap"
    DEATH = "death"
    """After `kill` no process of the run is left, however it forked."""


class ProblemSeverity(StrEnum):
    """Whether a problem stops the engine or only weakens it."""

    BLOCKS = "blocks"
    WEAKENS = "weakens"


@dataclass(frozen=True, slots=True)
class Problem:
    """Something about this machine that an engine cannot live with, and what to do about it."""

    code: str
    message: str
    fix: str
    severity: ProblemSeverity = ProblemSeverity.BLOCKS

    def __str__(self) -> str:
        return f"{self.message}; {self.fix}"


@dataclass(frozen=True, slots=True)
class Usage:
    """What a run has used since its start, as the kernel counts it; None where it does not say."""

    cpu_s: float | None = None
    throttled_s: float | None = None
    """Time in which it wanted to run and its limit of processors did not let it."""
    pressure_s: float | None = None
    """Time in which something in it waited for a processor."""

    def since(self, earlier: Usage) -> dict[str, float]:
        """What was used between two looks, by name; left out where nothing is known."""
        pairs = {name: (getattr(earlier, name), getattr(self, name)) for name in self.__slots__}
        return {name: round(b - a, 6) for name, (a, b) in pairs.items() if a is not None and b is not None}


@dataclass(frozen=True, slots=True)
class Death:
    """Proof that a run is over: what was looked at, and that nothing was left there."""

    id: str
    exit_code: int | None
    evidence: tuple[str, ...]


class Running(ABC):
    """A run that was started. Leaving its `with` block kills it."""

    id: str
    unenforced: tuple[Guarantee, ...] = ()
    """What the engine could not enforce on this machine for this run."""

    def __init__(self, output: Folder | None, sockets: Folder | None) -> None:
        self._output, self._sockets = output, sockets
        self._death: Death | None = None

    @abstractmethod
    def alive(self) -> bool:
        """Whether the main process still runs."""

    @abstractmethod
    def exit_code(self) -> int | None:
        """The exit code, or None while it runs. Ended by a signal: 128 plus its number."""

    @abstractmethod
    def out_of_memory(self) -> bool:
        """Whether the memory limit ended it."""

    @abstractmethod
    def logs(self, limit: int = 65536) -> bytes:
        """The last `limit` bytes that the run printed. It is the participant's text: show it to no one else."""

    @abstractmethod
    def peak_memory_mb(self) -> float | None:
        """The most memory it has used so far, or None where that cannot be read."""

    def usage(self) -> Usage:
        """What it has used since its start; nothing where this engine does not count."""
        return Usage()

    def host_pid(self) -> int | None:
        """A process inside, by its number on the host, where there is one: its namespaces are those of the run."""
        return None

    def freeze(self) -> bool:
        """Whether nothing of it runs any more until `thaw`; False where this engine or machine cannot do that."""
        return False

    def thaw(self) -> None:
        """Let a frozen run go on; nothing happens to one that is not."""
        return

    @abstractmethod
    def _end(self, grace_s: float) -> Death: ...

    def kill(self, grace_s: float = 0.0) -> Death:
        """Proof of death. With a grace the run is asked to stop first.

        Raises:
            EngineFailed: Something of the run is still there.
        """
        if self._death is None:
            self.thaw()
            self._death = self._end(grace_s)
        return self._death

    def connect(self, *, timeout_s: float, name: str = SOCKET_NAME) -> socket.socket:
        """A connection to the socket that the run opened in its socket folder.

        Raises:
            FileNotFoundError: It is not there yet.
            ConnectionError: It is there and nobody listens.
            OutputRefused: A symbolic link or another thing lies in its place.
        """
        return _given(self._sockets, MountKind.SOCKET).connect(name, timeout_s=timeout_s)

    def read_output(self, name: str, *, max_bytes: int) -> bytes:
        """The bytes of one regular file in the output folder, which may be nested.

        Raises:
            FileNotFoundError: It is not there.
            OutputRefused: It is a link, a pipe, a device or larger than allowed.
        """
        return _given(self._output, MountKind.OUTPUT).read(name, max_bytes=max_bytes)

    def write_output(self, name: str, data: bytes) -> None:
        """Put a file into the output folder. The run can read it and, lying under another's name, not change it."""
        _given(self._output, MountKind.OUTPUT).write(name, data)

    def remove_output(self, name: str) -> None:
        """Remove a file, link or pipe directly in the output folder, if there is one."""
        _given(self._output, MountKind.OUTPUT).remove(name)

    def output_names(self) -> tuple[str, ...]:
        """The names directly in the output folder, whatever they are."""
        return _given(self._output, MountKind.OUTPUT).names()

    def close(self) -> None:
        """Kill what runs and let go of everything; afterwards the output cannot be read any more."""
        try:
            self.kill()
        finally:
            for folder in (self._output, self._sockets):
                if folder is not None:
                    folder.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class Engine(Protocol):
    """A way to run untrusted code. A file in this folder whose `ENGINE` is such a class is an engine."""

    name: ClassVar[str]
    guarantees: ClassVar[frozenset[Guarantee]]
    takes_images: ClassVar[bool]
    """Runs images; otherwise commands."""

    def available(self) -> Problem | None:
        """The first problem that keeps this engine from running here, or None."""
        ...

    def problems(self) -> tuple[Problem, ...]:
        """Everything noticed about this machine, weaknesses too."""
        ...

    def inside(self, mount: Mount) -> str:
        """Where a mount appears to the submission: what to write into its environment."""
        ...

    def store(self, archive: Path, limits: ImageLimits | None = None) -> str:
        """The identifier of an image archive after intake, for `Launch.image`."""
        ...

    def facts(self, image: str) -> ImageFacts | None:
        """What intake found out about an image that this very object stored; None of any other."""
        ...

    def images(self) -> frozenset[str]:
        """The identifiers of every image that is stored."""
        ...

    def forget(self, image: str) -> None:
        """Remove a stored image, unless a run uses it."""
        ...

    def check(self, launch: Launch) -> None:
        """Nothing, when a launch can be asked of this engine on this machine; raises `Misuse` with the reason."""
        ...

    def start(self, launch: Launch) -> Running:
        """A run whose limits were checked after it started; anything amiss kills it and raises."""
        ...

    def sweep(self) -> tuple[str, ...]:
        """Identifiers of runs whose host process is dead, now removed."""
        ...


def refuse_hidden(engine: Engine, launch: Launch) -> None:
    """Raise when hidden data is in reach and the engine does not keep every guarantee."""
    lacking = sorted(set(Guarantee) - engine.guarantees)
    if launch.hidden and lacking:
        raise HiddenDataRefused(engine.name, lacking)


def _given(folder: Folder | None, kind: MountKind) -> Folder:
    if folder is None:
        text = f"no {kind.value} folder: the launch had none, or the run was over before it could be opened"
        raise FileNotFoundError(text)
    return folder


class LogTail:
    """Drains a pipe in the background and keeps its last bytes.

    Whoever asks for them reads what is waiting in the pipe first: a program that printed and then answered has printed,
    however late the background comes to it.
    """

    def __init__(self, pipe: IO[bytes], *, keep_bytes: int) -> None:
        self._pipe, self._keep = pipe, keep_bytes
        self._kept, self._ended = bytearray(), False
        self._lock = threading.Lock()
        os.set_blocking(pipe.fileno(), False)
        self._thread = threading.Thread(target=self._drain, name="surgvalid-log", daemon=True)
        self._thread.start()

    def tail(self, limit: int) -> bytes:
        """The last `limit` bytes so far."""
        with self._lock:
            self._read()
            return bytes(self._kept[-limit:]) if limit > 0 else b""

    def close(self, wait_s: float = 2.0) -> None:
        """Wait for the end of the pipe; a child that kept it open is not waited for any longer."""
        self._thread.join(wait_s)

    def _drain(self) -> None:
        waiting = select.poll()
        waiting.register(self._pipe, select.POLLIN)
        while not self._ended:
            waiting.poll()
            with self._lock:
                self._read()
        self._pipe.close()

    def _read(self) -> None:
        """What is waiting in the pipe, at most as much as is kept: one that never stops printing is not waited for."""
        taken = 0
        with suppress(BlockingIOError):
            while not self._ended and taken < self._keep:
                chunk = os.read(self._pipe.fileno(), 65536)
                self._ended = not chunk
                self._kept += chunk
                taken += len(chunk)
        if len(self._kept) > 2 * self._keep:
            del self._kept[: -self._keep]


ENGINES: Catalogue[Any] = Catalogue(
    "engine",
    "engines",
    Files("surgvalid.sandbox", "ENGINE"),
    take=with_attributes(["name", "guarantees", "takes_images", "problems", "check", "start"]),
)
"""The class of every engine by name."""


def engine_takes_images(name: str) -> bool:
    """Whether the engine of this name runs images.

    Raises:
        UnknownName: No file here and no installed package has that name.
    """
    return bool(ENGINES[name].takes_images)


@packages_named()
def open_engine(name: str, *, runtime: str | None = None) -> Engine:
    """The engine of this name; a container engine may be given another runtime than its usual one.

    Raises:
        UnknownName: No file here and no installed package has that name.
        Misuse: A runtime for an engine that has none, or a system that is not Linux.
    """
    if sys.platform != "linux":
        raise Misuse(
            f"engine {name!r} needs Linux, this is {sys.platform}: use WSL on Windows, a virtual machine on macOS"
        )
    kind = ENGINES[name]
    if runtime is not None and not kind.takes_images:
        raise Misuse(f"engine {name!r} has no runtimes to choose from; got {runtime!r}")
    engine: Engine = kind(runtime) if runtime is not None else kind()
    return engine
