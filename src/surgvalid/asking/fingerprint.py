"""What a file or folder holds, in a few characters: a run is another one when its program or its videos are.

Small files are hashed whole. Of large ones the size and 64 pieces are, spread evenly and with both ends: enough to
tell a video from its next version, at the price of a few megabytes read.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path

_WHOLE_BYTES = 32 << 20
_PIECES, _PIECE_BYTES = 64, 64 << 10
_LEFT_OUT = frozenset(("__pycache__", "site-packages", "node_modules"))
_RUN = frozenset(("run.json", "events.jsonl"))
"""What a run leaves beside the program that it ran is no part of that program."""
_MOST_BESIDE = 2000


def file_mark(path: Path) -> str:
    """A hash of what a file holds."""
    digest = hashlib.sha256()
    with open(path, "rb") as handle:
        size = os.fstat(handle.fileno()).st_size
        digest.update(b"%d " % size)
        if size <= _WHOLE_BYTES:
            digest.update(handle.read())
            return digest.hexdigest()
        for number in range(_PIECES):
            handle.seek((size - _PIECE_BYTES) * number // (_PIECES - 1))
            digest.update(handle.read(_PIECE_BYTES))
    return digest.hexdigest()


def folder_mark(folder: Path) -> str:
    """A hash of every file below a folder, with its name; what programs leave behind by running is left out."""
    return joint_mark({str(path.relative_to(folder)): file_mark(path) for path in _files_below(folder)})


def joint_mark(marks: Mapping[str, str]) -> str:
    """One hash of several, by name."""
    return hashlib.sha256("\n".join(f"{name}\0{mark}" for name, mark in sorted(marks.items())).encode()).hexdigest()


def command_marks(command: Iterable[str]) -> dict[str, str]:
    """The hash of every file that a command names, and of all beside its scripts: sources, weights, settings."""
    named = [Path(word) for word in command if Path(word).is_file()]
    beside = [other for path in named if path.suffix for other in islice(_files_below(path.parent), _MOST_BESIDE)]
    return {str(path): file_mark(path) for path in [*named, *beside]}


def media_mark(media: Iterable[tuple[str, Path | None]]) -> str:
    """One hash of the files that questions are about, by case; equal files are read once."""
    known: dict[Path, str] = {}
    marks = {}
    for case, path in media:
        if path is not None and path not in known:
            known[path] = file_mark(path) if path.is_file() else ""
        marks[case] = "" if path is None else known[path]
    return joint_mark(marks)


def _files_below(folder: Path) -> Iterator[Path]:
    for root, folders, names in os.walk(folder):
        if set(names) >= _RUN:
            folders.clear()
            continue
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _LEFT_OUT)
        for name in sorted(names):
            path = Path(root, name)
            if path.is_file():
                yield path
