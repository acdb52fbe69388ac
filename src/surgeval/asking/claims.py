"""Which questions somebody is asking now, so that two runs at once do not pay for the same one.

For each question one byte of an empty file is locked, at a place that its key gives. A lock ends with its process,
however that ends: nothing is left behind that would have to be cleaned up or that could outlive its owner.
"""

from __future__ import annotations

import os
import struct
import sys
from pathlib import Path

from surgeval.asking.lines import check_system

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_PLACE_LETTERS = 15
"""Hexadecimal digits of a key that give the place: the longest that every system takes."""
_FLOCK = "hhqqi4x"
"""Kind, from where, place, length and process of a lock, as 64-bit Linux lays them out."""


class Claims:
    """Claims on questions by one run. Two of these in one process keep each other out as well, where the system can.

    Args:
        path: The file; made at the first claim.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fd = -1

    def take(self, key: str) -> bool:
        """Whether the question is this run's to ask, until it is given back; not so while another run asks it.

        Where files cannot be locked, such as on some network drives, every question is.

        Raises:
            OSError: The file cannot be made.
        """
        if self._fd < 0:
            check_system(self.path)
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            self._lock(key, fcntl.F_WRLCK)
        except (BlockingIOError, PermissionError):
            return False
        except OSError:
            return True
        return True

    def give_back(self, key: str) -> None:
        """Let others ask it: the reply is stored, or there is none."""
        if self._fd >= 0:
            self._lock(key, fcntl.F_UNLCK)

    def close(self) -> None:
        """Give back whatever is claimed."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _lock(self, key: str, kind: int) -> None:
        place = int(key[:_PLACE_LETTERS], 16)
        if sys.platform == "linux" and sys.maxsize > 2**32:
            # Locks of an open file: those of a process would all end as soon as it closes the file anywhere.
            fcntl.fcntl(self._fd, fcntl.F_OFD_SETLK, struct.pack(_FLOCK, kind, os.SEEK_SET, place, 1, 0))
        else:
            fcntl.lockf(self._fd, fcntl.LOCK_UN if kind == fcntl.F_UNLCK else fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
