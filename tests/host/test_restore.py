"""The documented backup, by the documented commands, on both databases: a service goes on elsewhere as it was."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import pytest
from django.db import connections

from host_server import Crew, entrant, pusher, serving, tiny_image
from host_service import PRE, Service
from repository import REPOSITORY
from surgvalid.host import places
from surgvalid.host.acts import tokens, uploads
from surgvalid.host.client import Host, push_submission
from surgvalid.host.runs.models import AccessToken, LogHead

pytestmark = pytest.mark.database
ON_POSTGRESQL = places.DATABASE in os.environ


def address(name: str) -> dict[str, str]:
    """What the environment says about a database of this server; nothing on SQLite."""
    if not ON_POSTGRESQL:
        return {}
    return {places.DATABASE: urlsplit(os.environ[places.DATABASE])._replace(path=f"/{name}").geturl()}


@contextmanager
def empty_database() -> Iterator[dict[str, str]]:
    if not ON_POSTGRESQL:
        yield {}
        return
    import psycopg

    name = f"restored_{uuid4().hex[:8]}"
    with psycopg.connect(os.environ[places.DATABASE], autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        yield address(name)
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def surgvalid(*words: object, env: dict[str, str]) -> tuple[int, str]:
    """Exit status and what was said."""
    source = str(REPOSITORY / "src")
    bare = {name: value for name, value in os.environ.items() if name != places.DATABASE}
    done = subprocess.run(
        [sys.executable, "-m", "surgvalid", *map(str, words)], capture_output=True, text=True, check=False,
        env=bare | {"PYTHONPATH": source} | env,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


@contextmanager
def served(folder: Path, env: dict[str, str]) -> Iterator[str]:
    """The address of a service in a process of its own."""
    source = str(REPOSITORY / "src")
    bare = {name: value for name, value in os.environ.items() if name != places.DATABASE}
    command = [sys.executable, "-m", "surgvalid", "host", "serve", "--challenge", str(folder), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=bare | {"PYTHONPATH": source} | env) as web:
        try:
            assert web.stdout is not None
            yield web.stdout.readline().strip()
        finally:
            web.terminate()


def test_a_service_that_was_backed_up_while_it_ran_goes_on_elsewhere(service: Service, tmp_path: Path) -> None:
    ours = address(connections.settings["default"]["NAME"])
    team, later = service.team("a"), service.team("b")
    text = tokens.make_access_token("system", team.leader, "laptop")[1]
    AccessToken.objects.update(ends_at=None)  # the service elsewhere has the clock of the wall
    with serving() as url:
        crew = Crew(service, url, tmp_path / "scratch")
        push_submission(Host(url, text), tiny_image(tmp_path / "a.tar", "a"), phase=PRE)
        crew.trusted()
        crew.inference(engine="process", program=entrant(tmp_path / "program", "one", 0.8))
        crew.trusted()
        before = Host(url, text).call("GET", "submissions")
        assert [one["stage"] for one in before["submissions"]] == ["scored"]
        half = uploads.announce_upload("system", later, PRE, "image.tar", size_bytes=9, digest="0" * 64)
        uploads.add_piece(half, offset=0, piece=b"half")
        end = LogHead.objects.get()
        status, said = surgvalid("host", "admin", "backup", tmp_path / "kept", "--challenge", service.home, env=ours)
        assert status == 0, said
        push_submission(pusher(url, later), tiny_image(tmp_path / "b.tar", "b"), phase=PRE)  # is in no backup
    with empty_database() as theirs:
        home = tmp_path / "elsewhere"
        home.mkdir()
        status, said = surgvalid("host", "admin", "restore", tmp_path / "kept", "--challenge", home, env=theirs)
        assert (status, said.strip()) == (0, f"{home} is as it was")
        witness = ("--witness", f"{end.number}:{end.digest}")
        assert surgvalid("host", "admin", "verify-log", "--challenge", home, *witness, env=theirs)[0] == 0
        with served(home, theirs) as url:
            assert Host(url, text).call("GET", "submissions") == before
            assert Host(url, crew.texts["inference"]).call("POST", "worker/claim", {})["job"] is None
        (home / "store" / "received" / os.listdir(home / "store" / "received")[0]).unlink()
        status, said = surgvalid("host", "admin", "verify-log", "--challenge", home, env=theirs)
        assert status == 1
        assert "is not in the store" in said


def tree(home: Path) -> dict[str, bytes]:
    """Every file of a service but its database and what is under way."""
    passing = ("host.sqlite3", "store/uploads", "store/incoming", "store/spool")
    there = (Path(folder) / one for folder, _, names in os.walk(home, followlinks=True) for one in names)
    files = {one.relative_to(home).as_posix(): one for one in there}
    return {name: one.read_bytes() for name, one in files.items() if not name.startswith(passing)}


def test_a_restored_folder_has_every_file_and_losses_are_named(service: Service, tmp_path: Path) -> None:
    ours = address(connections.settings["default"]["NAME"])
    service.hand_in(service.team("a"))
    for name in ("downloads/videos.zip", "data/uploads/a.txt", "texts/incoming/b.md", "more/notes.txt", "loose.txt"):
        place = service.home / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(name)
    beside = tmp_path / "large disk"
    beside.mkdir()
    (beside / "film.mp4").write_text("a film")
    (service.home / "data" / "films").symlink_to(beside)
    kept = service.home / "backups" / "monday"
    for number, target in enumerate((kept, kept.with_name("tuesday"), kept.with_name("wednesday"))):
        pruned = ("--newest", 2) if number == 2 else ()
        status, said = surgvalid("host", "admin", "backup", target, "--challenge", service.home, *pruned, env=ours)
        assert status == 0, said
    assert sorted(os.listdir(kept.parent)) == ["tuesday", "wednesday"]
    last = kept.with_name("wednesday").rename(tmp_path / "wednesday")
    shutil.rmtree(kept.parent)
    before = tree(service.home)
    assert len(before) > 20
    assert before["data/films/film.mp4"] == b"a film"
    with empty_database() as theirs:
        home = tmp_path / "elsewhere"
        status, said = surgvalid("host", "admin", "restore", last, "--challenge", home, env=theirs)
        assert (status, said.strip()) == (0, f"{home} is as it was")
    assert tree(home) == before
    assert not [one for one in home.rglob("*") if one.is_dir() and one.stat().st_mode & 0o077]
    (last / "downloads" / "videos.zip").write_text("another")
    (last / "loose.txt").unlink()
    with empty_database() as theirs:
        status, said = surgvalid("host", "admin", "restore", last, "--challenge", tmp_path / "third", env=theirs)
    assert status == 1
    assert {"downloads/videos.zip is not as it was backed up", "loose.txt is missing"} <= set(said.splitlines())


def test_a_path_outside_the_folder_is_not_left_out_in_silence(service: Service, tmp_path: Path) -> None:
    (tmp_path / "answers.json").write_text("{}")
    ours = address(connections.settings["default"]["NAME"])
    text = (service.home / "challenge.toml").read_text()
    (service.home / "challenge.toml").write_text(text.replace("private/final/references.json", "../answers.json"))
    status, said = surgvalid("host", "admin", "backup", tmp_path / "kept", "--challenge", service.home, env=ours)
    assert (status, "../answers.json lies outside" in said) == (2, True), said


def test_what_is_no_backup_is_named_and_nothing_is_left_behind(service: Service, tmp_path: Path) -> None:
    ours = address(connections.settings["default"]["NAME"])
    home, kept = tmp_path / "elsewhere", tmp_path / "kept"
    status, said = surgvalid("host", "admin", "restore", tmp_path, "--challenge", home, env=ours)
    assert (status, "is no backup" in said) == (2, True), said
    assert surgvalid("host", "admin", "backup", kept, "--challenge", service.home, env=ours)[0] == 0
    other = {} if ON_POSTGRESQL else {places.DATABASE: "postgresql://nobody@127.0.0.1:1/none"}
    status, said = surgvalid("host", "admin", "restore", kept, "--challenge", home, env=other)
    assert (status, places.DATABASE in said) == (2, True), said
    assert not (home / "challenge.toml").exists()
    if ON_POSTGRESQL:
        status, said = surgvalid("host", "admin", "restore", kept, "--challenge", home, env=ours)
        assert (status, "already exists" in said) == (2, True), said
        assert not (home / "challenge.toml").exists(), "it can be tried again with an empty database"
        gone = ours | {"PATH": str(tmp_path)}
        status, said = surgvalid("host", "admin", "backup", tmp_path / "half", "--challenge", service.home, env=gone)
        assert (status, "pg_dump is not installed" in said) == (2, True), said
        assert not [one for one in tmp_path.iterdir() if "half" in one.name]


@pytest.mark.skipif(not ON_POSTGRESQL, reason="SQLite has no password")
def test_the_password_of_the_database_is_in_no_command(service: Service, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    spy = tmp_path / "bin" / "pg_dump"
    spy.write_text('#!/bin/sh\necho "$@" >&2\nexit 1\n')
    spy.chmod(0o755)
    ours = address(connections.settings["default"]["NAME"])
    env = ours | {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    said = surgvalid("host", "admin", "backup", tmp_path / "kept", "--challenge", service.home, env=env)[1]
    assert "--dbname postgresql://" in said
    secret = urlsplit(os.environ[places.DATABASE]).password
    assert secret
    assert secret not in said
