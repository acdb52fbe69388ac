"""An engine's command line, called with argument lists, a time limit and a short environment."""

from __future__ import annotations

import os
import subprocess

from surgeval.errors import EngineFailed

_PASSED_ON = ("PATH", "HOME", "XDG_RUNTIME_DIR", "DOCKER_HOST", "DOCKER_CONTEXT", "CONTAINERS_STORAGE_CONF", "TMPDIR")
_MOST_LETTERS = 400


class Cli:
    """A program with the arguments that every call begins with."""

    def __init__(self, engine: str, *prefix: str) -> None:
        self._engine, self.prefix = engine, prefix

    def __call__(self, *arguments: str, timeout_s: float = 120.0, folder: str | None = None) -> bytes:
        """What the call printed; with a folder it is made there.

        Raises:
            EngineFailed: It could not be started, took too long or failed.
        """
        code, out, error = self.attempt(*arguments, timeout_s=timeout_s, folder=folder)
        if code != 0:
            raise EngineFailed(self._engine, f"`{self.prefix[0]} {arguments[0]}` failed: {_last_words(error)}")
        return out

    def attempt(self, *arguments: str, timeout_s: float = 120.0, folder: str | None = None) -> tuple[int, bytes, bytes]:
        """Exit code, output and errors of a call that may fail."""
        try:
            done = subprocess.run(
                [*self.prefix, *arguments],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=timeout_s,
                cwd=folder,
                env={name: os.environ[name] for name in _PASSED_ON if name in os.environ},
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            call = f"{self.prefix[0]} {arguments[0]}"
            raise EngineFailed(self._engine, f"`{call}` did not end within {timeout_s:g} s") from error
        except OSError as error:
            raise EngineFailed(self._engine, f"cannot start {self.prefix[0]!r}: {error.strerror}") from error
        return done.returncode, done.stdout, done.stderr


def _last_words(error: bytes) -> str:
    lines = error.decode("utf-8", "replace").strip().splitlines()
    return " ".join(lines[-2:])[-_MOST_LETTERS:] or "it gave no reason"
