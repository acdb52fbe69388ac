"""Where a service keeps its things: one folder, named by `SURGVALID_HOST`.

challenge.toml    the challenge
texts, data       what it names: pages, terms, questions and media
private           references; only scoring workers read them
store             what teams handed in, runs, leaderboards
host.sqlite3      the database, unless `SURGVALID_HOST_DATABASE` names another
secret.key        signs sessions; made on first use
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path

FOLDER, DATABASE = "SURGVALID_HOST", "SURGVALID_HOST_DATABASE"
CHALLENGE = "challenge.toml"


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
    path = home() / "secret.key"
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return path.read_text(encoding="ascii").strip()
    with os.fdopen(file, "w", encoding="ascii") as handle:
        handle.write(key := secrets.token_urlsafe(64))
    return key
