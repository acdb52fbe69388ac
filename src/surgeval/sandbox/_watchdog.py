"""Ends a run when the host process that started it dies, however it dies.

Run as a script with the arguments of a command that ends the run. The host holds the other end of
this script's standard input: a byte there means that the run is over, the end of the stream without
one means that the host is gone, and then the command is executed.
"""

from __future__ import annotations

import os
import subprocess
import sys


class Watchdog:
    """A watching child; `release` tells it that the run is over."""

    def __init__(self, command: tuple[str, ...]) -> None:
        self._child = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__, *command],
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
            try:
                pipe.write(b".")
                pipe.close()
            except BrokenPipeError:
                pass
        self._child.wait()


def _watch(command: list[str]) -> None:
    if not os.read(0, 1):
        os.execvp(command[0], command)


if __name__ == "__main__":
    _watch(sys.argv[1:])
