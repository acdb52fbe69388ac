"""What a result rests on and somebody changes without an act is named: columns, rows, files; boards come out again."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, models

from host_server import Crew, entrant, pusher, serving, tiny_image
from host_service import FINAL, PRE, Service
from surgvalid.host import evidence
from surgvalid.host.acting import acting
from surgvalid.host.acts import gates, submissions
from surgvalid.host.acts.boards import board_folder, public_leaderboard
from surgvalid.host.acts.challenge import announce
from surgvalid.host.client import push_submission
from surgvalid.host.people import acts as people
from surgvalid.host.people.models import MemberRole, OrganiserRole
from surgvalid.host.replay import replays
from surgvalid.host.runs.models import BoardSnapshot, GateDecision, LogEntry, PrizeProposal, Submission
from surgvalid.host.seals import changed_columns, seal_of, sealed_tables

pytestmark = pytest.mark.database
SKILLS = {"good": 1.0, "closed": 0.6, "open": 0.5}


def found(**options: Any) -> list[str]:
    return list(evidence.problems(**options))


@contextmanager
def unguarded() -> Iterator[None]:
    """As somebody with the password of the database: guards are dropped, references need not lead anywhere."""
    with connection.cursor() as cursor:
        for table in ("runs_logentry", "runs_challengeversion", "runs_boardsnapshot"):
            if connection.vendor == "sqlite":
                for what in ("UPDATE", "DELETE"):
                    cursor.execute(f"DROP TRIGGER IF EXISTS {table}_no_{what}")
            else:
                cursor.execute(f"DROP TRIGGER IF EXISTS {table}_never ON {table}")
        if connection.vendor == "postgresql":
            cursor.execute("SET session_replication_role = replica")
    with connection.constraint_checks_disabled():
        yield


def another(field: models.Field[Any, Any], value: Any) -> Any:
    """A value that is not this one, and that the column takes."""
    if field.is_relation:
        return None if field.null and value is not None else 999_999
    if isinstance(field, models.DateTimeField):
        return (value or datetime.fromisoformat("2026-01-01T00:00:00+00:00")) + timedelta(microseconds=1)
    if isinstance(field, models.BooleanField):
        return not value
    if isinstance(field, models.JSONField):
        return [*value, "x"] if isinstance(value, list) else {**value, "x": 1e-9}
    if isinstance(field, models.IntegerField):
        return value + 1000
    return ("x" + (value or ""))[: field.max_length or 99]


@pytest.fixture
def run_service(service: Service, tmp_path: Path) -> Service:
    """A team and both baselines, scored; every sealed table has a row."""
    service.change("replicates = 1000", "replicates = 20")
    team, owner = service.team("good"), service.person("owner")
    people.give_role(owner, MemberRole.OWNER, by=None)
    with serving() as url:
        crew = Crew(service, url, tmp_path / "scratch")
        organisers = pusher(url, type("", (), {"leader": owner})())  # type: ignore[arg-type]
        text = tmp_path / "method.md"
        text.write_text("# Method\n\nIt looks at the colour.\n")
        for name, skill in SKILLS.items():
            image = tiny_image(tmp_path / f"{name}.tar", name)
            if name == "good":
                push_submission(pusher(url, team), image, phase=PRE, description=text)
            else:
                push_submission(organisers, image, phase=PRE, baseline=name)
            crew.trusted()
            crew.inference(program=entrant(tmp_path / name, name, skill), engine="process")
            crew.trusted()
    people.decide_eligibility(team, may_take_part=True, may_win=True, reason="", by=owner)
    submissions.grant_quota("user-1", team, PRE, scored=1, reason="a power cut")
    mine = Submission.objects.get(team=team)
    submissions.judge_description("user-1", mine, "sufficient")
    announce("user-1", "News", "There are some.")
    gates.decide_by_hand("user-1", team, FINAL, opened=True, reason="they beat it")
    with acting("user-1", "propose-prizes"):
        snapshot = public_leaderboard(PRE, "technical")
        PrizeProposal.objects.create(snapshot=snapshot, rows=[{"model": mine.model_name}], at=service.clock.at)
    return service


def check_untouched() -> None:
    assert found(images=True) == []
    said = dict(replays())
    assert len(said) == 2, "both leaderboards of the public phase"
    assert all("3 places made again" in one for one in said)
    assert [one for differences in said.values() for one in differences] == []


def test_every_change_of_every_column_and_rows_that_come_or_go_are_named(run_service: Service) -> None:
    with unguarded():
        seen = 0
        for model in sealed_tables():
            row = model._default_manager.order_by("pk").first()
            assert row is not None, f"{model.__name__} has no row to change"
            label = f"{model._meta.model_name}-{row.pk}"
            for field in model._meta.concrete_fields:
                if field.primary_key or field.attname == "seen_at":
                    continue
                old = getattr(row, field.attname)
                new = another(field, old)
                model._default_manager.filter(pk=row.pk).update(**{field.attname: new})
                said = found()
                model._default_manager.filter(pk=row.pk).update(**{field.attname: old})
                assert any(one.startswith(f"{label}: ") and field.attname in one for one in said), (label, field, said)
                seen += 1
        assert seen > 100
        assert found() == []
    decision = GateDecision.objects.first()
    assert decision is not None
    facts = {"team_id": decision.team_id, "phase": FINAL, "opened": True, "evidence": {}, "at": decision.at}
    made = GateDecision.objects.create(**facts)
    assert found() == [f"gatedecision-{made.pk} is in the tables, and no act of the log made it"]
    made.delete()
    with unguarded():
        GateDecision.objects.filter(pk=decision.pk).delete()
        (said,) = found()
    assert said.startswith(f"gatedecision-{decision.pk} is missing; entry ")


def meddled(path: Path, do: Callable[[Path], object]) -> list[str]:
    """What is found after something was done to a file, which is put back."""
    kept = path.read_bytes() if path.exists() else None
    do(path)
    said = found(images=True)
    path.unlink(missing_ok=True)
    if kept is not None:
        path.write_bytes(kept)
    return said


def test_every_file_that_is_changed_lost_or_added_is_named_and_boards_come_out_again(run_service: Service) -> None:
    check_untouched()
    snapshot = public_leaderboard(PRE, "technical")
    assert snapshot is not None
    entry = next(iter(snapshot.inputs.values()))
    folder = submissions.run_folder(Submission.objects.get(pk=entry["submission"]), entry["run"])
    for place in (folder, board_folder(snapshot)):
        files = [one for one in sorted(place.rglob("*")) if one.is_file()]
        assert files
        for one in files:
            for do in (lambda path: path.write_bytes(b"x"), Path.unlink):
                said = meddled(one, do)
                assert any(one.relative_to(place).as_posix() in sentence for sentence in said), (one, said)
        said = meddled(place / "more.csv", lambda path: path.write_text("x"))
        assert [one.partition(": ")[2] for one in said] == ["more.csv was put there later"]
    received = next((run_service.home / "store" / "received").iterdir())
    assert meddled(received, lambda path: path.write_bytes(b"x" * received.stat().st_size))[0].startswith("upload ")
    assert found(images=True) == []
    check_replay_of(snapshot)


def check_replay_of(snapshot: BoardSnapshot) -> None:
    """A place that was changed, and scores that are those of somebody else."""
    places = snapshot.tables["places"]
    places[0]["copeland"] = 17.5
    with unguarded():
        BoardSnapshot.objects.filter(pk=snapshot.pk).update(tables=snapshot.tables | {"places": places})
    model, entry = next(iter(snapshot.inputs.items()))
    folder = submissions.run_folder(Submission.objects.get(pk=entry["submission"]), entry["run"])
    other = next(one for one in snapshot.inputs.values() if one != entry)
    theirs = submissions.run_folder(Submission.objects.get(pk=other["submission"]), other["run"])
    shutil.copy(theirs / "scores" / "scores.parquet", folder / "scores" / "scores.parquet")
    differences = [one for _, said in replays() for one in said]
    assert any("copeland was 17.5, comes out as" in one for one in differences)
    assert any(f"scores of {model} are not those of its answers" in one for one in differences)


def test_an_act_seals_what_it_wrote_and_a_failed_one_nothing(service: Service) -> None:
    team = service.team("a")
    before = LogEntry.objects.count()
    submissions.grant_quota("user-1", team, PRE, scored=1, reason="a power cut")
    entry = LogEntry.objects.latest("number")
    assert '"seals":{"quotagrant-1":"' in entry.facts
    assert "seals" not in entry.shown_facts
    assert LogEntry.objects.count() == before + 1
    role = OrganiserRole(pk=3, user_id=1, role="owner", given_at=service.clock.at)
    values = {field.attname: getattr(role, field.attname) for field in OrganiserRole._meta.concrete_fields}
    seal = seal_of(OrganiserRole, values)
    assert changed_columns(OrganiserRole, values | {"role": "viewer"}, seal) == ["role"]
    assert changed_columns(OrganiserRole, values | {"role": ""}, seal) == ["role"]
    for model in sealed_tables():  # each column can be told from the others by its mark
        assert changed_columns(model, {one.attname: None for one in model._meta.concrete_fields}, "") == []
