"""Back up a service while it runs, and bring it back.

The database is copied first, the files after it: files are only added, so every file that a row names is in the copy.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from django.conf import settings
from django.db import connections

from surgeval.errors import Misuse, WouldOverwrite
from surgeval.host import places
from surgeval.host.acts.submissions import run_folder
from surgeval.host.acts.uploads import received_path
from surgeval.host.log.acting import log_problems
from surgeval.host.runs.models import RunRecord, Upload
from surgeval.results.manifest import MANIFEST, sha256_of
from surgeval.submissions.stages import SCORES

_DUMP, _FILES = "database", ("challenge.toml", "texts", "data", "private", "store", "secret.key")
_PASSING = ("uploads", "incoming")
"""Folders of the store whose files are under way; a backup does without them."""


def back_up(target: str | Path) -> Path:
    """A folder with everything that a service needs to go on elsewhere.

    Raises:
        WouldOverwrite: It exists.
        Misuse: The database could not be copied.
    """
    place = Path(target)
    if place.exists():
        raise WouldOverwrite(place, by_force=False)
    place.mkdir(parents=True, mode=0o700)
    _copy_database(place / _DUMP)
    home = places.home()
    for name in _FILES:
        source = home / name
        if source.is_dir():
            copy = _linked if name == "store" else shutil.copy2
            shutil.copytree(source, place / name, copy_function=copy, ignore=shutil.ignore_patterns(*_PASSING))
        elif source.exists():
            shutil.copy2(source, place / name)
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
    _run("pg_dump", "--format=custom", f"--file={target}", os.environ[places.DATABASE])


def restore(source: str | Path, folder: str | Path) -> Path:
    """The folder of a service as it was when it was backed up; on PostgreSQL the database must be empty.

    Raises:
        WouldOverwrite: There is a service in the folder.
        Misuse: The database could not be filled.
    """
    place, home = Path(source), Path(folder)
    if (home / places.CHALLENGE).exists():
        raise WouldOverwrite(home / places.CHALLENGE, by_force=False)
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    for name in _FILES:
        if (place / name).is_dir():
            shutil.copytree(place / name, home / name)
        elif (place / name).exists():
            shutil.copy2(place / name, home / name)
    if os.environ.get(places.DATABASE):
        _run("pg_restore", "--no-owner", f"--dbname={os.environ[places.DATABASE]}", str(place / _DUMP))
    else:
        shutil.copy2(place / _DUMP, home / "host.sqlite3")
    return home


def _run(*words: str) -> None:
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
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
