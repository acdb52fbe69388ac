"""The input folder of a container: a video stands there only while a question about it may run.

A video is staged beside the folder before the clock starts (a hard link, or a copy where that is not
possible), moved in when the clock of its first question starts, and removed after its last question. So
nothing can be computed about it while the container starts or while other videos are asked about.
"""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path

_READABLE_BY_ALL = 0o444


def place(source: Path, target: Path) -> None:
    """Let `target` be the file `source`, readable by everyone: a link, or a copy where that is not possible.

    Raises:
        OSError: The file cannot be read, or there is no room for a copy.
    """
    source = source.resolve(strict=True)
    if (source.stat().st_mode & _READABLE_BY_ALL) == _READABLE_BY_ALL:
        with suppress(OSError):
            os.link(source, target)
            return
    shutil.copyfile(source, target)
    target.chmod(0o644)


class Shelf:
    """Files on show in one folder."""

    def __init__(self, root: Path) -> None:
        self.input = root / "input"
        """What is mounted, read-only, as /input."""
        self._staged = root / "staged"
        for folder in (root, self.input, self._staged):
            folder.mkdir(parents=True, exist_ok=True)
        self.input.chmod(0o755)
        self._staged.chmod(0o700)

    def stage(self, source: Path, name: str) -> None:
        """Make `source` ready to be shown under `name`; may take as long as a copy.

        Raises:
            OSError: The file cannot be read, or there is no room for a copy.
        """
        target = self._staged / name
        if target.exists() or (self.input / name).exists():
            return
        draft = target.with_name(target.name + ".part")
        try:
            place(source, draft)
            draft.rename(target)
        finally:
            draft.unlink(missing_ok=True)

    def show(self, name: str) -> None:
        """Let the staged file appear; one rename, and nothing if it is on show already."""
        with suppress(FileNotFoundError):
            os.rename(self._staged / name, self.input / name)

    def withdraw(self) -> None:
        """Move everything on show back, until it is shown again; nothing is to be seen while a container starts."""
        for path in self.input.iterdir():
            os.rename(path, self._staged / path.name)

    def hide(self, name: str) -> None:
        """Take the file away for good."""
        for folder in (self.input, self._staged):
            (folder / name).unlink(missing_ok=True)

    def on_show(self) -> list[str]:
        """The names in the input folder."""
        return sorted(path.name for path in self.input.iterdir())

    def clear(self) -> None:
        """Take everything away."""
        for folder in (self.input, self._staged):
            for path in folder.iterdir():
                path.unlink()
