"""Back up a service while it runs, and bring it back.

The database is copied first, the files after it: files are only added, so every file that a row names is in the copy.
"""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import unquote, urlsplit

from django.conf import settings
from django.db import connections

from surgvalid.errors import Misuse, WouldOverwrite
from surgvalid.host import places
from surgvalid.host.acting import log_problems
from surgvalid.host.acts.submissions import run_folder
from surgvalid.host.acts.uploads import received_path
from surgvalid.host.runs.models import RunRecord, Upload
from surgvalid.results.manifest import MANIFEST, sha256_of
from surgvalid.submissions.stages import SCORES

_DUMP, _FILES = "database", ("challenge.toml", "texts", "data", "private", "store", "secret.key")
_SQLITE = b"SQLite format 3\0"
_PASSING = ("uploads", "incoming")
"""Folders of the store whose files are under way; a backup does without them."""


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
        home = places.home()
        for one in _FILES:
            source = home / one
            if source.is_dir():
                copy = _linked if one == "store" else shutil.copy2
                shutil.copytree(source, draft / one, copy_function=copy, ignore=shutil.ignore_patterns(*_PASSING))
            elif source.exists():
                shutil.copy2(source, draft / one)
        draft.rename(place)
    return place


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
    for name in _FILES:
        if (place / name).is_dir():
            shutil.copytree(place / name, home / name)
        elif (place / name).exists():
            shutil.copy2(place / name, home / name)
    return home


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


def store_problems() -> Iterator[str]:
    """What rows name and the store does not have as it was: every image, description and folder of scores."""
    for upload in Upload.objects.exclude(received_at=None).iterator():
        path = received_path(upload)
        if not path.is_file() or sha256_of(path) != upload.digest:
            yield f"upload {upload.pk} ({upload.name}) is not in the store as it was handed in"
    for run in RunRecord.objects.exclude(scores_digest="").select_related("submission").iterator():
        manifest = run_folder(run.submission, run.number) / SCORES / MANIFEST
        if not manifest.is_file() or sha256_of(manifest) != run.scores_digest:
            yield f"the scores of submission {run.submission.pk}, run {run.number}, are not as they were reported"


def service_problems() -> list[str]:
    """Everything that is wrong with the log and the store."""
    return [*log_problems(), *store_problems()]
