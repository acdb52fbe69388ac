"""Data that are too large or not ours to keep in the repository: a folder `shared` beside or above it.

`SURGVALID_SHARED` names the folder; without it, it is the first one of that name in any folder above the repository.
What is not there is skipped with its name, so that whoever counts skips sees what was not tested.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from repository import REPOSITORY

VARIABLE = "SURGVALID_SHARED"


def shared_root() -> Path | None:
    """The folder; None where there is none."""
    if named := os.environ.get(VARIABLE):
        return Path(named)
    return next((folder / "shared" for folder in REPOSITORY.parents if (folder / "shared").is_dir()), None)


def shared_or_none(*parts: str) -> Path | None:
    """A file or folder in it; None where it is not there."""
    root = shared_root()
    path = None if root is None else root.joinpath(*parts)
    return path if path is not None and path.exists() else None


def shared(*parts: str) -> Path:
    """A file or folder in it, or a skip of the test that asks for it."""
    if (path := shared_or_none(*parts)) is None:
        pytest.skip(absent(*parts), allow_module_level=True)
    return path


def absent(*parts: str) -> str:
    """The reason of a skip: what was looked for, and where."""
    where = shared_root() or f"no folder 'shared' above {REPOSITORY}; name one with {VARIABLE}"
    return f"shared data {'/'.join(parts)} is not here ({where})"


def needs_shared(*parts: str) -> pytest.MarkDecorator:
    """The mark of tests that need something of it."""
    return pytest.mark.skipif(shared_or_none(*parts) is None, reason=absent(*parts))
