"""Who is alive and what is in use, told by file locks: a lock ends with its process, however that ends.

Process numbers say nothing here. They come back, and in another process namespace they mean another process; a
host that went by them would take the live runs of a neighbour in a container for leftovers. A lease that cannot
be seen from here, because its host has other files, is left alone; only another boot of the machine proves its end.
"""

from __future__ import annotations

import os
import re
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from surgvalid.sandbox._engine import Engine
from surgvalid.sandbox._intake import ImageLimits

try:
    import fcntl
except ImportError:  # Windows, where no engine runs
    fcntl = None  # type: ignore[assignment]

MARK = re.compile(r"(?P<lease>[0-9a-f]{32})\.(?P<boot>[0-9a-f-]{36})")
_FORGOTTEN_S = 7 * 24 * 3600.0
_TRIES = 3
_OURS = b"stored by a rehearsal"


@cache
def lease_folder() -> Path:
    """Where the hosts of this machine and user keep their locks."""
    shared = Path("/run/surgvalid") if os.geteuid() == 0 and os.access("/run", os.W_OK) else None
    folder = shared or Path(tempfile.gettempdir()) / f"surgvalid-leases-{os.geteuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.stat().st_uid != os.geteuid():
        raise PermissionError(f"{folder} belongs to somebody else")
    return folder


def host_mark() -> str:
    """This process, named so that others can tell whether it still runs."""
    return f"{_lease_of(os.getpid())}.{_boot()}"


def host_lives(mark: str) -> bool:
    """Whether the process of a mark still runs, or may do so unseen; what is no mark belongs to nobody."""
    match = MARK.fullmatch(mark)
    if match is None:
        return False
    return match["boot"] == _boot() and not _is_free(lease_folder() / f"{match['lease']}.lease")


@contextmanager
def held_image(engine: Engine, archive: Path, limits: ImageLimits | None = None) -> Iterator[str]:
    """The identifier of an archive's image in an engine, there until the last one who holds it lets go.

    An image that the engine had before anybody stored it here is never removed.
    """
    for _ in range(_TRIES):
        before = engine.images()
        image = engine.store(archive, limits) if limits else engine.store(archive)
        hold = _locked(lease_folder() / f"{engine.name}-{image}.image", fcntl.LOCK_SH)
        if image not in before:
            os.pwrite(hold, _OURS, 0)
        if image in engine.images():
            break
        os.close(hold)  # the last holder removed it between the two looks
    try:
        yield image
    finally:
        _let_go(engine, image, hold)


def _let_go(engine: Engine, image: str, hold: int) -> None:
    try:
        fcntl.flock(hold, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.pread(hold, len(_OURS), 0) == _OURS:
            engine.forget(image)
            os.ftruncate(hold, 0)
    except BlockingIOError:
        return  # somebody else's run needs it
    finally:
        os.close(hold)


@cache
def _lease_of(_pid: int) -> str:
    """The name of a lock that this process holds until it ends; a forked child takes one of its own.

    The file stays: what a host leaves behind is swept because its lock is there and free.
    """
    folder, name = lease_folder(), uuid.uuid4().hex
    _remove_forgotten(folder)
    _locked(folder / f"{name}.lease", fcntl.LOCK_EX)
    return name


def _locked(path: Path, kind: int) -> int:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    fcntl.flock(descriptor, kind)
    return descriptor


def _is_free(path: Path) -> bool:
    """Whether a lock is there and nobody holds it."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True


def _remove_forgotten(folder: Path) -> None:
    for path in folder.glob("*.lease"):
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > _FORGOTTEN_S and _is_free(path):
                path.unlink()


@cache
def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
