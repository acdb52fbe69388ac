"""Folders in memory with a size limit that the host makes and an engine only shows to a run.

An engine that starts a container in one step gives nobody time to open the folders of a run that is over within
milliseconds. So the host makes them before the start and holds them open; they are mounted where the engine finds
them only until the container has them, and their content goes with the last descriptor.
"""

from __future__ import annotations

import ctypes
import os
import re
import tempfile
import uuid
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from surgvalid.errors import EngineFailed
from surgvalid.sandbox._folders import Folder
from surgvalid.sandbox._kernel import mounts_of
from surgvalid.sandbox._launch import Launch, MountKind
from surgvalid.sandbox._leases import host_lives, host_mark

SOCKET_MB = 1
_PREFIX = "surgvalid-folder-"
_NAME = re.compile(rf"{_PREFIX}(?P<host>[0-9a-f.-]+)_[0-9a-f]+")
_NOSUID, _NODEV, _NOEXEC, _DETACH = 2, 4, 8, 2


def can_show_mounts() -> bool:
    """Whether what is mounted here is seen by the machine's services: not in a service with mounts of its own.

    Where the machine does not tell, it is counted as seen: a run that is shown something else is refused.
    """
    if os.geteuid() != 0:
        return False
    try:
        return os.readlink("/proc/self/ns/mnt") == os.readlink("/proc/1/ns/mnt")
    except OSError:
        return True


@contextmanager
def sized_folders(engine: str, launch: Launch) -> Iterator[tuple[Launch, Mapping[MountKind, Folder]]]:
    """The launch with output and socket folders of the host's own making, and these held open.

    Afterwards they are mounted nowhere but in the container. The folders are the caller's to close unless an error
    leaves the block.

    Raises:
        EngineFailed: They cannot be mounted here, or the engine showed the run something else in their place.
    """
    made: dict[MountKind, Folder] = {}
    mounts = []
    try:
        with ExitStack() as shown:
            for mount in launch.mounts:
                if mount.kind is not MountKind.INPUT:
                    size_mb = launch.limits.output_mb if mount.kind is MountKind.OUTPUT else SOCKET_MB
                    place = shown.enter_context(_mounted(engine, size_mb))
                    made[mount.kind] = Folder(place)
                    mount = replace(mount, source=place)
                mounts.append(mount)
            yield replace(launch, mounts=tuple(mounts)), made
    except BaseException:
        for folder in made.values():
            folder.close()
        raise


def sweep_folders() -> None:
    """Unmount what hosts left behind that were killed while an engine started a run for them."""
    for point in mounts_of(os.getpid()):
        match = _NAME.fullmatch(Path(point).name)
        if match and not host_lives(match["host"]):
            _unmount(Path(point))


@contextmanager
def _mounted(engine: str, size_mb: int) -> Iterator[Path]:
    place = Path(tempfile.gettempdir()) / f"{_PREFIX}{host_mark()}_{uuid.uuid4().hex}"
    place.mkdir(mode=0o700)
    try:
        _call("mount", b"tmpfs", bytes(place), b"tmpfs", _NOSUID | _NODEV | _NOEXEC, f"size={size_mb}m,mode=1777")
    except OSError as error:
        place.rmdir()
        raise EngineFailed(engine, f"a folder with a size limit cannot be mounted ({error.strerror})") from error
    try:
        yield place
    finally:
        _unmount(place)
        if place.exists():
            raise EngineFailed(engine, f"it does not see what is mounted at {place}, and wrote into the folder below")


def _unmount(place: Path) -> None:
    """Take the folder away from here; what holds it open keeps it. What lies below the mount stays."""
    _call("umount2", bytes(place), _DETACH)
    try:
        place.rmdir()
    except OSError:
        return


def _call(name: str, *arguments: bytes | int | str) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    given = [one.encode() if isinstance(one, str) else one for one in arguments]
    if getattr(library, name)(*given) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
