"""The files that a run read, found again: where they lay, or below the folder that is reported.

A manifest may come from anywhere, so a file that it names is read only where its hash is the recorded one: nobody can
make a report show a file whose content he does not know already.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from surgeval.results.manifest import sha256_of
from surgeval.results.reading import StoredResult

MOST_BYTES = 300_000_000
MOST_FILES = 20_000
"""Of one folder."""


def originals(result: StoredResult, parameter: str, source: Path) -> list[str]:
    """The files given as that parameter, as `FILE` or `NAME=FILE`; those that are gone or changed are left out.

    Args:
        result: The run.
        parameter: Such as `requests`.
        source: The folder that is reported.
    """
    hashes = _hashes(result, parameter)
    home = source if source.is_dir() else source.parent
    files = []
    for word in _words(result.request.given.get(parameter)):
        name, path = _split(word)
        place = next((place for place in _places(path, home) if _is_that(place, hashes)), None)
        if place is not None:
            files.append(f"{name}={place}" if name else str(place))
    return files


def originals_below(result: StoredResult, parameter: str, source: Path) -> Path | None:
    """The file or folder given as that parameter, where all that a run read of it is there unchanged; None otherwise.

    Args:
        result: The run.
        parameter: Such as `predictions`.
        source: The folder that is reported.
    """
    if files := originals(result, parameter, source):
        return Path(files[0])
    given, hashes = result.request.given.get(parameter), _hashes(result, parameter)
    home = source if source.is_dir() else source.parent
    for place in _places(Path(given), home) if isinstance(given, str) and hashes else ():
        if place.is_dir() and not place.is_symlink() and _are_those(place, hashes):
            return place
    return None


def _are_those(folder: Path, hashes: set[Any]) -> bool:
    """Whether the folder holds as many files as were read, each with a recorded content."""
    files = []
    for below, _, names in os.walk(folder, followlinks=False):
        files += [Path(below, name) for name in names]
        if len(files) > MOST_FILES:
            return False
    return all(_is_that(file, hashes) for file in files)


def _hashes(result: StoredResult, parameter: str) -> set[Any]:
    listed = result.stored.get("inputs")
    rows = listed if isinstance(listed, list) else []
    return {row.get("sha256") for row in rows if isinstance(row, Mapping) and row.get("parameter") == parameter}


def _words(given: Any) -> Iterator[str]:
    if isinstance(given, str):
        yield given
    elif isinstance(given, Mapping):
        yield from (f"{name}={path}" for name, path in given.items() if isinstance(path, str))
    elif isinstance(given, Sequence):
        yield from (word for word in given if isinstance(word, str))


def _split(word: str) -> tuple[str, Path]:
    name, equals, path = word.partition("=")
    return (name, Path(path)) if equals and "/" not in name else ("", Path(word))


def _places(path: Path, home: Path) -> Iterator[Path]:
    """Where it may lie: as it was given, below the folder, and there without the folders it was given with."""
    yield path
    if not path.is_absolute():
        yield home.parent / path
    parts = path.parts
    yield from (home.joinpath(*parts[start:]) for start in range(len(parts)))


def _is_that(place: Path, hashes: set[Any]) -> bool:
    try:
        if place.is_symlink() or not place.is_file() or place.stat().st_size > MOST_BYTES:
            return False
        return _digest(place, place.stat().st_mtime_ns) in hashes
    except OSError:
        return False


@cache
def _digest(path: Path, _: int) -> str:
    return sha256_of(path)
