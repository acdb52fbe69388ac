"""The end of what a child prints, kept in bounded memory however much it prints."""

from __future__ import annotations

import threading
from typing import IO


class LogTail:
    """Drains a pipe in the background and keeps its last bytes."""

    def __init__(self, pipe: IO[bytes], *, keep_bytes: int) -> None:
        self._pipe, self._keep = pipe, keep_bytes
        self._kept = bytearray()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._drain, name="surgeval-log", daemon=True)
        self._thread.start()

    def tail(self, limit: int) -> bytes:
        """The last `limit` bytes so far."""
        with self._lock:
            return bytes(self._kept[-limit:]) if limit > 0 else b""

    def close(self, wait_s: float = 2.0) -> None:
        """Wait for the end of the pipe; a child that kept it open is not waited for any longer."""
        self._thread.join(wait_s)

    def _drain(self) -> None:
        with self._pipe:
            while chunk := self._pipe.read1(65536):  # type: ignore[attr-defined]
                with self._lock:
                    self._kept += chunk
                    if len(self._kept) > 2 * self._keep:
                        del self._kept[: -self._keep]
