"""Where the data are public a team reads what its containers wrote; nowhere else, and nobody else."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest
from django.test import override_settings
from django.urls import reverse

from host_service import PRE, Service
from host_world import World, scored, small_world
from surgvalid.asking.journal import LOG, TROUBLE_LOG
from surgvalid.errors import InputInvalid
from surgvalid.host.acts.challenge import adopt_challenge
from surgvalid.host.acts.submissions import keep_run, run_folder
from surgvalid.host.challenge.reading import changes_between, read_challenge
from surgvalid.host.runs.models import ChallengeVersion, RunRecord, Submission


@pytest.fixture
def world(home: Path) -> World:
    return small_world(home)


def change(world: World, old: str, new: str) -> None:
    path = world.home / "challenge.toml"
    path.write_text(path.read_text().replace(old, new, 1))
    adopt_challenge("system", "a change")


def wrote(submission: Submission) -> None:
    """A run whose engine had something to say, and whose container wrote a lot."""
    RunRecord.objects.create(submission=submission, number=1, shards=1, made_at=submission.at)
    shard = run_folder(submission, 1) / "shard-1-of-1"
    shard.mkdir(parents=True)
    (shard / TROUBLE_LOG).write_text("exec /app: exec format error\n")
    (shard / LOG).write_bytes(b"first\n" + b"x" * (64 << 10) + b"\nthe end \x1b[2J\x07\n")


def test_a_team_reads_what_its_containers_wrote_where_the_data_are_public(world: World) -> None:
    wrote(world.submission)
    address = reverse("own_text", kwargs={"number": world.submission.pk})
    page = reverse("submission", kwargs={"number": world.submission.pk})
    with override_settings(ORGANISERS_NEED_SECOND_FACTOR=False):
        assert world.client("member").get(address).status_code == 404, "a public leaderboard is no public data"
        assert address not in world.client("member").get(page).content.decode()
        change(world, 'visibility = "public"', 'visibility = "public"\npublic_data = true')
        answer = world.client("member").get(address)
        text = answer.content.decode()
        assert "exec format error" in text
        assert "the end [2J" in text
        assert "first" not in text, "the last 64 KiB"
        assert not {"\x1b", "\x07"} & set(text)
        assert answer.headers["Content-Type"].startswith("text/plain")
        assert address in world.client("member").get(page).content.decode()
        assert [world.client(name).get(address).status_code for name in ("rival", "loner", "viewer")] == [404] * 3
        hidden = scored(world.team, "final")
        wrote(hidden)
        assert world.client("member").get(reverse("own_text", kwargs={"number": hidden.pk})).status_code == 404
        secret = scored(world.team, "pre-evaluation", rules={"hidden": True})
        wrote(secret)
        assert world.client("member").get(reverse("own_text", kwargs={"number": secret.pk})).status_code == 404


def test_a_hidden_phase_has_no_public_data(service: Service) -> None:
    path = service.home / "challenge.toml"
    path.write_text(path.read_text().replace('visibility = "hidden"', 'visibility = "hidden"\npublic_data = true'))
    with pytest.raises(InputInvalid, match="public_data"):
        read_challenge(path)


def test_what_ran_on_a_slow_machine_waits_on_the_first_page_of_organisers(world: World) -> None:
    RunRecord.objects.create(submission=world.submission, number=1, shards=1, made_at=world.submission.at)
    with override_settings(ORGANISERS_NEED_SECOND_FACTOR=False):
        words = f"Decide about submission {world.submission.pk}"
        assert words not in world.client("viewer").get(reverse("organise")).content.decode()
        world.submission.codes = ["machine-slower"]
        world.submission.save()
        assert words in world.client("viewer").get(reverse("organise")).content.decode()
        keep_run("user-1", world.submission, reason="two per cent, and nothing late")
        assert words not in world.client("viewer").get(reverse("organise")).content.decode()


def test_changes_of_dates_are_told_in_utc(service: Service) -> None:
    text = ChallengeVersion.objects.latest("number").text
    assert 'time_zone = "Europe/Berlin"' in text
    closes = read_challenge(service.home / "challenge.toml").phase(PRE).closes
    local = next(line for line in text.splitlines() if line.startswith("closes"))
    later = text.replace(local, "closes = 2026-09-01T12:00:00", 1)
    row = next(one for one in changes_between(text, later) if one["name"] == f"phases.{PRE}.closes")
    assert row["new"] == "2026-09-01 10:00:00 UTC"
    assert datetime.fromisoformat(row["old"].replace(" UTC", "+00:00")) == closes
