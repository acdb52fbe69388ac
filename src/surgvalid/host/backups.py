"""Back up a service while it runs, and bring it back.

The database is copied first, the files after it: files are only added, so every file that a row names is in the copy.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import unquote, urlsplit

from django.conf import settings
from django.db import connections

from surgvalid.errors import Misuse, WouldOverwrite
from surgvalid.host import places
from surgvalid.host.challenge.reading import read_challenge
from surgvalid.results.manifest import sha256_of

_DUMP, _LIST = "database", "files.json"
_SQLITE = b"SQLite format 3\0"
_PASSING = tuple(f"store/{name}" for name in ("uploads", "incoming", places.SPOOL, places.PICTURES))
"""Folders whose files are under way, or are made again; a backup does without them."""


def back_up(target: str | Path) -> Path:
    """A folder with everything that a service needs to go on elsewhere; whole, or not there.

    Raises:
        WouldOverwrite: It exists.
        Misuse: The database could not be copied.
    """
    place = Path(target)
    if place.exists():
        raise WouldOverwrite(place, by_force=False)
    place.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=place.parent, prefix=f".{place.name}.") as name:
        draft = Path(name) / "backup"
        draft.mkdir(mode=0o700)
        _copy_database(draft / _DUMP)
        listed = {}
        for place_in, source in sorted(_files(places.home(), Path(name)).items()):
            copy = _room_for(draft / place_in, draft)
            with suppress(FileNotFoundError):  # swept meanwhile; what a row names is not swept
                (_linked if place_in.startswith("store/") else shutil.copy2)(str(source), str(copy))
                listed[place_in] = sha256_of(copy)
        (draft / _LIST).write_text(json.dumps({_DUMP: sha256_of(draft / _DUMP)} | listed, indent=1), encoding="utf-8")
        draft.rename(place)
    _mark().parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    _mark().touch()
    return place


def _mark() -> Path:
    return places.store() / "last-backup"


def last_backup() -> datetime | None:
    """When this service was last backed up, or None."""
    return datetime.fromtimestamp(_mark().stat().st_mtime, UTC) if _mark().exists() else None


def _files(home: Path, draft: Path) -> dict[str, Path]:
    """Every file of a service by its place: below its folder, but for the database, backups and what is under way.

    Raises:
        Misuse: The challenge names a path outside the folder, which no backup could bring back.
    """
    challenge = read_challenge(home / places.CHALLENGE)
    named = [challenge.terms, *challenge.texts.values()]
    named += [path for phase in challenge.phases for path in (phase.questions, phase.references)]
    named += [str(phase.rules.warm_up) for phase in challenge.phases if phase.rules.warm_up is not None]
    outside = sorted({one for one in named if one and not Path(os.path.abspath(home / one)).is_relative_to(home)})
    if outside := [one for one in outside if (home / one).exists()]:
        raise Misuse(f"{', '.join(outside)} lies outside {home}: move it into the folder, so that it is kept")
    kept, seen = {}, {draft.resolve()}
    for folder, inner, files in os.walk(home, followlinks=True):
        place = Path(folder).relative_to(home)
        if Path(folder).resolve() in seen or place.as_posix() in _PASSING or {_DUMP, _LIST} <= set(files):
            inner.clear()
            continue
        seen.add(Path(folder).resolve())
        for name in files:
            if not (place == Path() and name in places.DATABASE_FILES) and (home / place / name).is_file():
                kept[(place / name).as_posix()] = home / place / name
    return kept


def _room_for(path: Path, root: Path) -> Path:
    """The path, in folders below the root that are there and are nobody else's."""
    for folder in reversed(path.relative_to(root).parents):
        (root / folder).mkdir(mode=0o700, exist_ok=True)
    return path


def prune(folder: Path, keep: int) -> list[Path]:
    """The oldest backups beside the newest `keep` of a folder, which are removed."""
    made = [one for one in folder.iterdir() if (one / _DUMP).is_file()]
    old = sorted(made, key=lambda one: (one / _DUMP).stat().st_mtime)[:-keep]
    for one in old:
        shutil.rmtree(one)
    return old


def _linked(source: str, target: str) -> None:
    """A second name for files that never change, where the disk is the same; a copy elsewhere."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def _copy_database(target: Path) -> None:
    facts = settings.DATABASES["default"]
    if facts["ENGINE"].endswith("sqlite3"):
        with (
            closing(sqlite3.connect(connections["default"].settings_dict["NAME"])) as source,
            closing(sqlite3.connect(target)) as copy,
        ):
            source.backup(copy)
        return
    _run_postgresql("pg_dump", "--format=custom", f"--file={target}", "--dbname")


def restore(source: str | Path, folder: str | Path) -> Path:
    """The folder of a service as it was when it was backed up; on PostgreSQL the database must be empty.

    Raises:
        WouldOverwrite: There is a service in the folder.
        Misuse: There is no backup, one of another kind of database, or the database could not be filled.
    """
    place, home = Path(source), Path(folder)
    if (home / places.CHALLENGE).exists():
        raise WouldOverwrite(home / places.CHALLENGE, by_force=False)
    _check_backup(place / _DUMP)
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    if os.environ.get(places.DATABASE):  # first: where it fails, the folder is still empty, and can be tried again
        _run_postgresql(
            "pg_restore", "--no-owner", "--exit-on-error", "--single-transaction", str(place / _DUMP), "--dbname"
        )
    else:
        shutil.copy2(place / _DUMP, home / "host.sqlite3")
    kept = [one for one in place.rglob("*") if one.is_file() and one not in (place / _DUMP, place / _LIST)]
    for source in kept:
        shutil.copy2(source, _room_for(home / source.relative_to(place), home))
    return home


def restore_problems(source: Path, home: Path) -> Iterator[str]:
    """Files that a backup lists and that the folder does not have as they were; nothing of one without a list."""
    if not (source / _LIST).is_file():
        return
    listed = json.loads((source / _LIST).read_text(encoding="utf-8"))
    for name, digest in listed.items():
        path = source / name if name == _DUMP else home / name
        if not path.is_file() or sha256_of(path) != digest:
            yield f"{name} is not as it was backed up" if path.is_file() else f"{name} is missing"


def _check_backup(dump: Path) -> None:
    if not dump.is_file():
        raise Misuse(f"{dump.parent} is no backup: there is no file `{_DUMP}` in it")
    with open(dump, "rb") as handle:
        is_sqlite = handle.read(len(_SQLITE)) == _SQLITE
    if is_sqlite and os.environ.get(places.DATABASE):
        raise Misuse(f"{dump.parent} was made with SQLite, and {places.DATABASE} names PostgreSQL; unset it")
    if not is_sqlite and not os.environ.get(places.DATABASE):
        raise Misuse(f"{dump.parent} was made with PostgreSQL; let {places.DATABASE} name an empty database")


def _run_postgresql(*words: str) -> None:
    """Run a program of PostgreSQL on the database; the password is not in its words, which everybody here can read."""
    address = urlsplit(os.environ[places.DATABASE])
    bare = address._replace(netloc=re.sub(r":[^@]*@", "@", address.netloc)).geturl()
    secret = {"PGPASSWORD": unquote(address.password)} if address.password else {}
    try:
        done = subprocess.run([*words, bare], capture_output=True, text=True, check=False, env=os.environ | secret)
    except FileNotFoundError:
        raise Misuse(f"{words[0]} is not installed here; it comes with PostgreSQL") from None
    if done.returncode:
        raise Misuse(f"{words[0]} failed: {done.stderr.strip()[-500:]}")
