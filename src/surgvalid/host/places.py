"""Where a service keeps its things: one folder, named by `SURGVALID_HOST`.

challenge.toml    the challenge
texts, data       what it names: pages, terms, questions and media
private           references; only scoring workers read them
store             what teams handed in, runs, leaderboards
host.sqlite3      the database, unless `SURGVALID_HOST_DATABASE` names another
secret.key        signs sessions and seals rows; made on first use
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from surgvalid.results.manifest import sha256_of

FOLDER, DATABASE = "SURGVALID_HOST", "SURGVALID_HOST_DATABASE"
CHALLENGE, KEY = "challenge.toml", "secret.key"
DATABASE_FILES = tuple(f"host.sqlite3{ending}" for ending in ("", "-wal", "-shm", "-journal"))
"""Files of the database itself, which is copied by its own means."""
SPOOL, PICTURES = "spool", "pictures"
"""Folders of the store for what can be made again: bodies on their way in, and images of leaderboards."""


def home() -> Path:
    """The folder of the service."""
    return Path(os.environ.get(FOLDER, ".")).resolve()


def store() -> Path:
    """The folder of everything that was handed in or came out."""
    return home() / "store"


def secret_key() -> str:
    """The key that signs sessions, made on first use and readable by nobody else; a passing one without a folder."""
    if FOLDER not in os.environ:
        return secrets.token_urlsafe(64)
    path = home() / KEY
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return path.read_text(encoding="ascii").strip()
    with os.fdopen(file, "w", encoding="ascii") as handle:
        handle.write(key := secrets.token_urlsafe(64))
    return key


def listing(folder: Path) -> dict[str, str]:
    """Every file below a folder with its SHA-256; those of an attempt that was replaced are hidden, and left out."""
    kept = (one for one in sorted(folder.rglob("*")) if one.is_file() and not one.is_symlink())
    names = ((one.relative_to(folder), one) for one in kept)
    return {place.as_posix(): sha256_of(one) for place, one in names if not place.parts[0].startswith(".")}
