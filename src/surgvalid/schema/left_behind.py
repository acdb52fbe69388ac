"""Files that nobody put into a folder: what macOS, Windows and office programs leave between the others."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

_BEGINNINGS = (".", "~$")
_NAMES = ("__macosx", "thumbs.db", "desktop.ini")


def left_behind(path: Path, root: Path) -> bool:
    """Whether a file below `root` is one of these: hidden, a lock file, or what an archive of macOS carries along.

    Example:
        >>> left_behind(Path("in/__MACOSX/._a.txt"), Path("in")), left_behind(Path(".in/a.txt"), Path(".in"))
        (True, False)
    """
    names = path.relative_to(root).parts
    return any(name.startswith(_BEGINNINGS) or name.lower() in _NAMES for name in names)


def put_there(paths: Iterable[Path], root: Path) -> list[Path]:
    """The files below `root` that somebody put there, sorted."""
    return sorted(path for path in paths if not left_behind(path, root))
