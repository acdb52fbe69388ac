"""A service of version 0.1.0 goes on: its backup is brought back, its log holds, its runs and exports are read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import surgvalid
from repository import GOLDEN, SOURCE
from surgvalid import results
from surgvalid.host import places
from surgvalid.host.challenge.reading import read_challenge
from surgvalid.host.client import Host
from surgvalid.submissions.phase_status import status_of, stored_digest

STORED = GOLDEN / "v0_1_0" / "host" / "service.tar.xz"
NAME = surgvalid.__name__


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What that version left: a backup, an export, and what its service said."""
    place = tmp_path_factory.mktemp("kept")
    with tarfile.open(STORED) as archive:
        archive.extractall(place, filter="data")
    return place


@pytest.fixture(scope="module")
def facts(kept: Path) -> dict[str, Any]:
    return dict(json.loads((kept / "facts.json").read_text()))


@pytest.fixture
def restored(kept: Path, tmp_path: Path) -> Path:
    """The service brought back into an empty folder, on SQLite as it was."""
    home = tmp_path / "elsewhere"
    status, said = run("host", "admin", "restore", kept / "backup", "--challenge", home)
    assert (status, said.strip()) == (0, f"{home} is as it was")
    return home


def environment() -> dict[str, str]:
    bare = {name: value for name, value in os.environ.items() if name not in (places.DATABASE, places.FOLDER)}
    return bare | {"PYTHONPATH": str(SOURCE)}


def run(*words: object) -> tuple[int, str]:
    """Exit status and what was said."""
    done = subprocess.run(
        [sys.executable, "-m", NAME, *map(str, words)], capture_output=True, text=True, check=False, env=environment()
    )
    return done.returncode, done.stdout + done.stderr


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of the service in a process of its own."""
    command = [sys.executable, "-m", NAME, "host", "serve", "--challenge", str(folder), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment()) as web:
        try:
            assert web.stdout is not None
            yield web.stdout.readline().strip()
        finally:
            web.terminate()


def test_its_log_holds_and_its_teams_find_what_they_handed_in(restored: Path, facts: dict[str, Any]) -> None:
    status, said = run("host", "admin", "verify-log", "--challenge", restored, "--witness", facts["witness"])
    assert (status, said.splitlines()[0]) == (0, f"the log is whole: {facts['witness']}")
    assert "not under seal yet" in said
    with served(restored) as url:
        assert Host(url, facts["token"]).call("GET", "submissions") == facts["submissions"]
    # Served, it looked at its challenge: the same version as before, which is noted.
    assert run("host", "admin", "adopt", "nothing is new", "--challenge", restored) == (0, "version 1\n")
    status, said = run("host", "admin", "verify-log", "--challenge", restored, "--witness", facts["witness"])
    assert (status, "seal" in said) == (0, False), "from now on its rows are held against the log"


def test_its_challenge_is_read(kept: Path) -> None:
    challenge = read_challenge(kept / "backup" / "challenge.toml")
    assert (challenge.name, [phase.slug for phase in challenge.phases]) == (
        "Example challenge", ["pre-evaluation", "final"],
    )  # fmt: skip
    text = (kept / "backup" / "challenge.toml").read_bytes()
    assert text == (STORED.parent / "challenge.toml").read_bytes()
    assert challenge.ranking.rule == "focus"


def test_its_runs_belong_to_the_phases_of_its_challenge(kept: Path, facts: dict[str, Any]) -> None:
    challenge = read_challenge(kept / "backup" / "challenge.toml")
    folder = kept / "backup" / "store" / "submissions" / "1" / "run-1"
    assert stored_digest(folder) == challenge.phases[0].rules.digest()
    assert status_of(folder)["stage"] == "inferred"  # that it was scored stands in the database
    scores = results.read(folder / "scores")
    assert (scores.stored[NAME], scores.tables["results"].height) == ("0.1.0", 32)


def test_its_export_is_read(kept: Path) -> None:
    scores = results.read(kept / "export" / "pre-evaluation" / "scores" / "1-1")
    assert (scores.kind, scores.stored[NAME]) == ("score", "0.1.0")
    place = kept / "export" / "pre-evaluation" / "scores" / "1-1"
    assert surgvalid.interval([place], metric="correct").table["value"].to_list() == [
        scores.tables["results"]["correctness"].mean()
    ]
