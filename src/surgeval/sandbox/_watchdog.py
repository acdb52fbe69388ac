"""Ends a run when its host process dies, however it dies, or when its lifetime is over.

Run as a script with a lifetime in seconds and the arguments of a command that ends the run. The host
holds the other end of this script's standard input: a byte there means that the run is over. The end of
the stream without one means that the host is gone; then, or when the time is up, the command is executed.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
from contextlib import suppress


class Watchdog:
    """A watching child; `release` tells it that the run is over."""

    def __init__(self, command: tuple[str, ...], *, lifetime_s: float) -> None:
        self._child = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__, f"{lifetime_s}", *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,  # Ctrl-C in the host's terminal must not end it first.
        )

    def release(self) -> None:
        """The run is over: nothing is left to watch."""
        pipe = self._child.stdin
        if pipe is not None and not pipe.closed:
            with suppress(BrokenPipeError):
                pipe.write(b".")
                pipe.flush()
            with suppress(BrokenPipeError):
                pipe.close()
        self._child.wait()


def _watch(lifetime_s: float, command: list[str]) -> None:
    ready, _, _ = select.select([0], [], [], lifetime_s)
    if not ready or not os.read(0, 1):
        os.execvp(command[0], command)


if __name__ == "__main__":
    _watch(float(sys.argv[1]), sys.argv[2:])
