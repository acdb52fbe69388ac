"""A folder that untrusted code can write to, as the host may touch it.

Everything goes through a directory descriptor and never follows a link: a submission may put a
symbolic link to a host file where its answer should be, a pipe that blocks the reader, or a link to
somebody else's socket. Only regular files up to a size are read, only real sockets are connected to.
"""

from __future__ import annotations

import ctypes
import os
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from surgvalid.errors import Misuse, OutputRefused


class Folder:
    """A folder held open by descriptor; it stays readable after the run that filled it is dead."""

    def __init__(self, path: Path | str) -> None:
        self._where = str(path)
        self._fd = os.open(path, _directory_flags())

    def names(self) -> tuple[str, ...]:
        """The names directly inside, sorted."""
        return tuple(sorted(os.listdir(self._fd)))

    def read(self, name: str, *, max_bytes: int) -> bytes:
        """The bytes of a regular file."""
        parent = self._parent(name)
        try:
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            file = _open(PurePosixPath(name).name, flags, parent, name)
        finally:
            os.close(parent)
        try:
            facts = os.fstat(file)
            if not stat.S_ISREG(facts.st_mode):
                raise OutputRefused(name, "it is not a regular file")
            if facts.st_size > max_bytes:
                raise OutputRefused(name, f"it has {facts.st_size} bytes; allowed are {max_bytes}")
            with os.fdopen(file, "rb", closefd=False) as stream:
                data = stream.read(max_bytes + 1)
        finally:
            os.close(file)
        if len(data) > max_bytes:
            raise OutputRefused(name, f"it grew beyond the allowed {max_bytes} bytes while it was read")
        return data

    def remove(self, name: str) -> None:
        """Unlink a name directly inside; nothing happens when it is not there."""
        if len(_plain_parts(name)) != 1:
            raise Misuse(f"the host changes only what lies directly in this folder; got {name!r}")
        try:
            os.unlink(name, dir_fd=self._fd)
        except FileNotFoundError:
            pass
        except OSError as error:
            raise OutputRefused(name, f"it cannot be removed ({error.strerror})") from error

    def write(self, name: str, data: bytes) -> None:
        """Write a file; what lay there under this name is unlinked, never written through."""
        self.remove(name)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with _as_owner_of(self._fd):
            file = _open(name, flags, self._fd, name)
        with os.fdopen(file, "wb") as stream:
            os.fchmod(file, 0o644)
            stream.write(data)

    def connect(self, name: str, *, timeout_s: float) -> socket.socket:
        """A connection to a Unix socket that lies here."""
        if len(_plain_parts(name)) != 1:
            raise Misuse(f"a socket lies directly in its folder; got {name!r}")
        descriptor = _open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, self._fd, name)
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            mode = os.fstat(descriptor).st_mode
            if not stat.S_ISSOCK(mode):
                raise OutputRefused(name, "it is not a socket")
            connection.settimeout(timeout_s)
            connection.connect(f"/proc/self/fd/{descriptor}")
        except BaseException:
            connection.close()
            raise
        finally:
            os.close(descriptor)
        return connection

    def close(self) -> None:
        """Let go of the folder."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _parent(self, name: str) -> int:
        """A descriptor of the folder that holds `name`, each step taken without following links."""
        here = os.dup(self._fd)
        for name_inside in _plain_parts(name)[:-1]:
            try:
                below = _open(name_inside, _directory_flags(), here, name)
            finally:
                os.close(here)
            here = below
        return here

    def __repr__(self) -> str:
        return f"Folder({self._where!r})"


@contextmanager
def _as_owner_of(folder: int) -> Iterator[None]:
    """Make files as the folder's owner: in a user namespace the host's root is nobody, and may make none."""
    owner = os.fstat(folder)
    if os.geteuid() != 0 or (owner.st_uid, owner.st_gid) == (0, 0):
        yield
        return
    library = ctypes.CDLL(None)
    try:  # these two concern the calling thread only
        library.setfsgid(owner.st_gid)
        library.setfsuid(owner.st_uid)
        yield
    finally:
        library.setfsuid(os.geteuid())
        library.setfsgid(os.getegid())


def _plain_parts(name: str) -> tuple[str, ...]:
    parts = PurePosixPath(name).parts
    if not parts or "\0" in name or name.startswith("/") or ".." in parts:
        raise Misuse(f"a name below the folder is needed; got {name!r}")
    return parts


def _directory_flags() -> int:
    """Looked up when they are used: the module is imported where the system has none of them, too."""
    return os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def _open(entry: str, flags: int, folder: int, name: str) -> int:
    try:
        return os.open(entry, flags, dir_fd=folder)
    except FileNotFoundError:
        raise
    except OSError as error:  # ELOOP and ENOTDIR for links, ENXIO for sockets and pipes, ENAMETOOLONG
        raise OutputRefused(name, f"it cannot be opened as a plain file ({error.strerror})") from error
