"""Tables of the first version, with everything that the demo had in them, come to this one on both databases."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import DatabaseError, connection, transaction
from django.db.migrations.executor import MigrationExecutor
from django.test import Client, override_settings
from django.urls import reverse

from host_service import Clock, Service, patch_clock
from host_upgrade import FIRST, dump, fill, stored
from surgvalid.host.acting import log_problems
from surgvalid.host.acts import boards, gates
from surgvalid.host.challenge.example import new_challenge
from surgvalid.host.people.models import Team, User
from surgvalid.host.runs.models import ChallengeVersion, LogEntry, Submission

pytestmark = pytest.mark.database
PRE = "pre-evaluation"


@pytest.fixture
def upgraded(home: Path) -> Path:
    """The service of the demo, whose tables were those of the first version a moment ago."""
    new_challenge(home, start=datetime(2026, 10, 27), videos=6)
    for label, name in FIRST:
        call_command("migrate", label, name, verbosity=0)
    loader = MigrationExecutor(connection).loader
    first = loader.project_state([*FIRST, *loader.graph.leaf_nodes("account")]).apps
    fill(first)
    with transaction.atomic():  # there were no guards then
        assert first.get_model("runs.LogEntry").objects.filter(number=1).update(actor="system") == 1
    call_command("migrate", verbosity=0)
    (home / "challenge.toml").write_text(ChallengeVersion.objects.latest("number").text)
    return home


def test_every_row_comes_along_and_the_log_is_whole(upgraded: Path) -> None:
    assert Submission.objects.count() == 8
    now = dump(apps)
    for label, rows in stored().items():
        assert [{name: row[name] for name in old} for row, old in zip(now[label], rows, strict=True)] == rows, label
    assert log_problems() == []
    with pytest.raises(DatabaseError, match="never changed"), transaction.atomic():
        LogEntry.objects.update(actor="x")


def test_boards_gates_and_pages_are_as_they_were(upgraded: Path) -> None:
    for board in ("technical", "clinical"):
        snapshot = boards.public_leaderboard(PRE, board)
        assert snapshot is not None
        assert len(boards.rounded_rows(snapshot, 3)) == 6
    assert all(gates.is_gate_open(team, "final") for team in Team.objects.all())
    clients: dict[str, Any] = {name: Client() for name in ("organiser", "aurora")}
    for name, client in clients.items():
        user = User.objects.get(email=f"{name}@example.org")
        client.force_login(user, backend="allauth.account.auth_backends.AuthenticationBackend")
    with override_settings(ORGANISERS_NEED_SECOND_FACTOR=False):
        assert "Team Dune" in clients["organiser"].get(reverse("organise_teams")).content.decode()
    text = clients["aurora"].get(reverse("team")).content.decode()
    assert "0.917" in text


def test_the_challenge_goes_on(upgraded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    clock.at = datetime.fromisoformat("2026-11-20T12:00:00+00:00")
    patch_clock(monkeypatch, clock)
    service = Service.__new__(Service)
    service.home, service.clock, service.made = upgraded, clock, 0
    handed = service.hand_in(Team.objects.get(name="Team Aurora"))
    assert handed.pk == 9
    assert service.team("Newcomers").pk == 5
    assert log_problems() == []


def test_the_models_and_the_migrations_agree(home: object) -> None:
    call_command("makemigrations", "--check", "--dry-run", verbosity=0)
    with connection.cursor() as cursor:
        tables = connection.introspection.table_names(cursor)
    assert {"runs_job", "runs_logentry", "people_team"} <= set(tables)
