"""Waiting for what a test waits for, and for no longer than that."""

from __future__ import annotations

import time
from collections.abc import Callable


def until(check: Callable[[], object], timeout_s: float, otherwise: str) -> None:
    """Wait for something to become true; after the time the test fails in those words."""
    deadline = time.monotonic() + timeout_s
    while not check():
        assert time.monotonic() < deadline, otherwise
        time.sleep(0.01)
