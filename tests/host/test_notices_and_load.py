"""Mail to teams, and pages that ask the database no more often when there is more to show."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.core import mail
from django.db import connection
from django.test import override_settings
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from host_people import ready_person
from host_world import World, board_with, scored, small_world
from surgvalid.host.acting import acting, now
from surgvalid.host.acts.submissions import cancel, disqualify, run_folder
from surgvalid.host.outbox import send_waiting
from surgvalid.host.pages.boards import _drawn
from surgvalid.host.people import teams
from surgvalid.host.people.acts import decide_eligibility
from surgvalid.host.people.models import User
from surgvalid.host.people.rules import rules_now
from surgvalid.host.runs.models import Mail, RunRecord

LISTS = {
    "member": ("team", "submit", "boards"),
    "owner": ("organise", "organise_submissions", "organise_teams", "organise_boards", "organise_gate", "organise_log"),
}


@pytest.fixture
def world(home: Path) -> World:
    return small_world(home)


@override_settings(EMAIL_BACKEND="django.core.mail.backends.locmem.EmailBackend")
def test_a_team_is_told_when_something_comes_to_rest_and_never_a_value(world: World) -> None:
    mail.outbox = []
    one = scored(world.team, "final", image_digest="sha256:a")
    assert [sent.to for sent in mail.outbox] == [["member@example.org"]]
    assert "0.61" not in mail.outbox[0].body
    mail.outbox.clear()
    disqualify("user-1", one, reason="two accounts")
    assert [sent.subject for sent in mail.outbox] == [f"[Example challenge] Submission {one.pk} is disqualified."]
    mail.outbox.clear()
    User.objects.update(wants_mail=False)
    scored(world.team, "final")
    assert mail.outbox == []


@override_settings(MAIL_BACKEND="no.such.backend")
def test_mail_that_cannot_be_sent_undoes_nothing(world: World) -> None:
    one = scored(world.team, "pre-evaluation")
    one.stage = "queued"
    one.save()
    assert cancel("user-1", one, reason="a try").stage == "cancelled"
    assert send_waiting() == 0
    assert "The reason: a try" in Mail.objects.latest("pk").text


@override_settings(ORGANISERS_NEED_SECOND_FACTOR=False)
def test_lists_ask_the_database_as_often_for_many_as_for_few(world: World) -> None:
    def asked() -> dict[str, int]:
        counts = {}
        for persona, names in LISTS.items():
            client = world.client(persona)
            client.get("/")
            for name in names:
                with CaptureQueriesContext(connection) as queries:
                    assert client.get(reverse(name)).status_code == 200
                counts[name] = len(queries)
            for path in ("/api/submissions", "/api/standing"):
                with CaptureQueriesContext(connection) as queries:
                    assert world.client("member").get(path).status_code == 200
                counts[path] = len(queries)
            for phase in ("pre-evaluation",):
                with CaptureQueriesContext(connection) as queries:
                    client.get(reverse("board", kwargs={"phase": phase, "board": "technical"}))
                counts[f"leaderboard {persona}"] = len(queries)
        return counts

    scored(world.team, "final")
    few = asked()
    for number in range(12):
        more = teams.found_team(ready_person(f"more{number}", rules=rules_now()), f"More {number}", rules_now())
        board_with(scored(more, "final"), "final", "technical", published=number % 2 == 0)
        scored(world.team, "final")
        scored(world.team, "pre-evaluation")
    assert asked() == few


def test_what_containers_wrote_is_for_organisers_alone(world: World) -> None:
    one = world.submission
    RunRecord.objects.create(submission=one, number=1, shards=1, made_at=now())
    shard = run_folder(one, 1) / "shard-1-of-1"
    shard.mkdir(parents=True)
    from surgvalid.asking.journal import LOG, TROUBLE_LOG

    (shard / LOG).write_text("a frame of a patient")
    (world.home / "elsewhere").write_text("a secret of the host")
    (shard / TROUBLE_LOG).symlink_to(world.home / "elsewhere")
    place = reverse("container_text", kwargs={"number": one.pk})
    with override_settings(ORGANISERS_NEED_SECOND_FACTOR=False):
        answer = world.client("editor").get(place)
        assert b"a frame of a patient" in answer.content
        assert b"a secret of the host" not in answer.content
        assert answer["Content-Disposition"].startswith("attachment")
        for persona in ("member", "viewer", "judge"):
            assert world.client(persona).get(place).status_code == 403
    for name in ("submission", "submission_state"):
        assert b"a frame" not in world.client("member").get(reverse(name, kwargs={"number": one.pk})).content


def test_rows_of_boards_are_drawn_once_and_never_in_place_of_others(world: World) -> None:
    page = reverse("board", kwargs={"phase": "pre-evaluation", "board": "technical"})
    shown = [world.client(name).get(page).content.decode() for name in ("member", "rival", "stranger")]
    assert ["your team" in one for one in shown] == [True, False, False]
    with acting("system", "rename team", f"team-{world.team.pk}"):
        world.team.name = "<b>New</b> name"
        world.team.save()
    renamed = world.client("stranger").get(page).content.decode()
    assert "&lt;b&gt;New&lt;/b&gt; name" in renamed
    assert "no awards" not in renamed
    decide_eligibility(world.team, may_take_part=True, may_win=False, reason="<i>why</i>", by=world.people["editor"])
    barred = world.client("stranger").get(page).content.decode()
    assert 'title="&lt;i&gt;why&lt;/i&gt;">no awards' in barred
    assert "your team" not in barred
    assert "your team" in world.client("member").get(page).content.decode()
    row = {"model": "team-1", "name": "a", "place": 1, "baseline": False, "copeland": 1}
    assert '<td class="number">1</td>' in _drawn(row, 3, is_mine=False)
    assert '<td class="number">1.000</td>' in _drawn(row | {"copeland": 1.0}, 3, is_mine=False)
