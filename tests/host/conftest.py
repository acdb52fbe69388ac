"""A service of its own for every test: an empty folder and a fresh database, on SQLite or PostgreSQL.

The tables are made once; each test gets a copy of them, so that tests may use threads and processes and never see
each other. PostgreSQL is used where SURGVALID_HOST_DATABASE names one (see scripts/test-host.sh).
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "support")]
TEMPLATE = Path(tempfile.mkdtemp(prefix="surgvalid-host-"))
(TEMPLATE / "static").mkdir()
os.environ["SURGVALID_HOST"] = str(TEMPLATE)
os.environ["DJANGO_SETTINGS_MODULE"] = "surgvalid.host.settings"

import django  # noqa: E402

django.setup()

from django.conf import settings  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import connections  # noqa: E402

from host_service import Clock, Service, patch_clock  # noqa: E402

settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # quick
settings.ALLOWED_HOSTS = ["*"]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "database: what both databases must promise")
    config.addinivalue_line("markers", "podman: really runs containers")


def on_postgresql() -> bool:
    return bool(os.environ.get("SURGVALID_HOST_DATABASE"))


def point_at(name: str) -> None:
    """Make every thread's next connection one to this database."""
    connections.close_all()
    connections.settings["default"]["NAME"] = name
    for one in connections.all(initialized_only=True):
        one.settings_dict["NAME"] = name


def _administer(statement: str) -> None:
    import psycopg

    with psycopg.connect(os.environ["SURGVALID_HOST_DATABASE"], autocommit=True) as connection:
        connection.execute(statement)


@pytest.fixture(scope="session")
def template() -> Iterator[str]:
    """A database with every table and no row."""
    if on_postgresql():
        name = f"template_{uuid4().hex[:8]}"
        _administer(f"CREATE DATABASE {name}")
    else:
        name = str(TEMPLATE / "host.sqlite3")
    point_at(name)
    call_command("migrate", verbosity=0)
    connections.close_all()
    yield name
    shutil.rmtree(TEMPLATE, ignore_errors=True)


@pytest.fixture
def home(template: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of an empty service whose database is in use here."""
    place = tmp_path / "home"
    place.mkdir()
    monkeypatch.setenv("SURGVALID_HOST", str(place))
    shutil.copy(TEMPLATE / "secret.key", place)  # seals have the key of this process
    if on_postgresql():
        name = f"test_{uuid4().hex[:8]}"
        _administer(f"CREATE DATABASE {name} TEMPLATE {template}")
    else:
        name = str(shutil.copy(template, place / "host.sqlite3"))
    point_at(name)
    yield place
    connections.close_all()
    if on_postgresql():
        _administer(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The time of every act, which the test sets."""
    made = Clock()
    patch_clock(monkeypatch, made)
    return made


@pytest.fixture
def service(home: Path, clock: Clock) -> Service:
    """An adopted challenge."""
    return Service(home, clock)
