"""Files that grow by whole lines: each goes out in one write, so a reader meets whole lines and one cut tail at most.

Stores and journals stand on this. Nothing here is ever rewritten; what a kill cut off is set aside under
`NAME.damaged`, never deleted and never in silence.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from surgvalid.errors import FileUnreadable, Misuse

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

DAMAGED = ".damaged"
_BLOCK = 65536


class LineFile:
    """A file that grows by whole lines.

    Args:
        path: The file; it and its folder are made.
        alone: Nobody else writes it: a cut tail is set aside at once, and what a failed write left is
            taken back. Otherwise the tail stays and the first line begins on a new one.
        lock: Refuse a file that another writer has locked; the lock ends with its process, however that ends.
        sync: Have the system store each line before `add` returns.

    Raises:
        BlockingIOError: Another writer holds the lock.
        Misuse: The system has no file locks.
        OSError: The file cannot be opened.
    """

    def __init__(self, path: Path, *, alone: bool = True, lock: bool = False, sync: bool = False) -> None:
        check_system(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path, self._alone, self._sync = path, alone, sync
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        try:
            if lock:
                fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self.set_aside = _set_torn_aside(self._fd, path) if alone else 0
            """Bytes of a cut tail that were moved to the damaged file."""
            self._end = size = os.fstat(self._fd).st_size
            self._start = b"\n" if size and os.pread(self._fd, 1, size - 1) != b"\n" else b""
        except OSError:
            self.close()
            raise

    def add(self, line: bytes) -> int:
        """Where the line begins, after it was appended; on failure nothing of it stays in a file of one's own."""
        data = self._start + line
        try:
            written = os.write(self._fd, data)
            while written < len(data):
                written += os.write(self._fd, data[written:])
            if self._sync:
                getattr(os, "fdatasync", os.fsync)(self._fd)
        except OSError:
            if self._alone:
                with suppress(OSError):
                    os.ftruncate(self._fd, self._end)
            raise
        self._start, self._end = b"", os.lseek(self._fd, 0, os.SEEK_CUR)
        return self._end - len(line)

    def close(self) -> None:
        """Close the file and give up the lock."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def check_system(path: Path) -> None:
    """Refuse to share a file between writers where the system cannot keep them apart.

    Raises:
        Misuse: The system has no file locks of POSIX, nor reading at a place; Windows has neither.
    """
    if fcntl is None:
        raise Misuse(
            f"{path}: stores and journals need the file locks of Linux or macOS, which this system does not have; run "
            "under WSL, or in Python without store="
        )


def is_being_written(path: Path) -> bool:
    """Whether another writer holds the lock of the file; its last line may then still be on its way."""
    check_system(path)
    try:
        with open(path, "rb") as handle:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        pass
    return False


def json_lines(path: str | Path, problems: list[str]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The objects of a JSON Lines file with their line numbers; damaged lines go to `problems`.

    Unlike the reader of answer files it goes on after a damaged line: an interrupted writer leaves
    one, and whoever mends a file wants to see all of them.

    Raises:
        FileUnreadable: The file cannot be opened.
    """
    for number, raw in raw_lines(path):
        row = object_in(raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw)
        if isinstance(row, str):
            problems.append(f"line {number}: {row}")
        elif row is not None:
            yield number, row


def raw_lines(path: str | Path) -> Iterator[tuple[int, bytes]]:
    """The lines of a file as they stand, with their numbers from 1.

    Raises:
        FileUnreadable: The file cannot be opened.
    """
    try:
        handle = open(path, "rb")  # noqa: SIM115 - opened here so that only the opening is guarded
    except OSError as error:
        raise FileUnreadable(str(path), [error.strerror or "cannot be opened"]) from None
    with handle:
        yield from enumerate(handle, start=1)


def damaged_file(path: Path) -> Path:
    """Where the damaged lines of a file are set aside."""
    return path.with_name(path.name + DAMAGED)


def lines_set_aside(path: Path) -> frozenset[bytes]:
    """The damaged lines of a file that were set aside before, without their line ends."""
    place = damaged_file(path)
    return frozenset(raw.removesuffix(b"\n") for _, raw in raw_lines(place)) if place.exists() else frozenset()


def set_lines_aside(path: Path, lines: Sequence[bytes]) -> None:
    """Keep damaged lines of a file beside it; the file itself stays as it is."""
    with open(damaged_file(path), "ab") as damaged:
        damaged.write(b"".join(raw.removesuffix(b"\n") + b"\n" for raw in lines))


def object_in(raw: bytes) -> Mapping[str, Any] | str | None:
    """The object on a line, None for a blank line, or what is wrong with it."""
    try:
        text = raw.decode("utf-8").strip()
        row = json.loads(text) if text else None
    except UnicodeDecodeError as error:
        return f"not UTF-8 text (byte {error.object[error.start]:#04x})"
    except json.JSONDecodeError as error:
        return f"column {error.colno}: {error.msg}; every line must be one JSON object"
    except (RecursionError, ValueError):
        return "nested too deeply, or a number of too many digits"
    if (row is None and not text) or isinstance(row, dict):
        return row
    return f"expected a JSON object, got {type(row).__name__}"


def _set_torn_aside(descriptor: int, path: Path) -> int:
    """The bytes of a last line without an end, moved to the damaged file."""
    size = end = os.fstat(descriptor).st_size
    while end > 0:
        start = max(0, end - _BLOCK)
        if (newline := os.pread(descriptor, end - start, start).rfind(b"\n")) >= 0:
            end = start + newline + 1
            break
        end = start
    if end != size:
        set_lines_aside(path, [os.pread(descriptor, size - end, end)])
        os.ftruncate(descriptor, end)
    return size - end
