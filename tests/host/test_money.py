"""Prizes are signed once, when nothing can change a leaderboard any more; what was published can be taken back."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import IntegrityError, transaction
from django.test import Client, override_settings
from django.urls import reverse

from host_service import Clock, at_once, patch_clock
from host_world import World, board_with, payable_board, remade_board, scored, small_world
from surgvalid.host.acts import boards, prizes, publishing, submissions
from surgvalid.host.acts.challenge import adopt_challenge, current_challenge
from surgvalid.host.acts.refused import Refused
from surgvalid.host.people import acts as people_acts
from surgvalid.host.runs.models import BoardSnapshot, LogEntry, PrizeProposal, Submission, Upload

pytestmark = pytest.mark.database
CHALLENGE = "challenge.toml"


@pytest.fixture
def world(home: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A challenge whose final closes in a day."""
    world = small_world(home)
    clock = Clock()
    clock.at = current_challenge().phase("final").closes - timedelta(days=1)
    patch_clock(monkeypatch, clock)
    world.clock = clock
    return world


def over(world: World) -> None:
    """The final has closed, and the grace of its uploads too."""
    phase = current_challenge().phase("final")
    world.clock.at = phase.closes + timedelta(seconds=2 + phase.upload_grace_s)


def signed(world: World, snapshot: BoardSnapshot, reason: str = "by the rule", actor: str = "user-1") -> PrizeProposal:
    proposal = prizes.propose_prizes("user-1", snapshot)
    return prizes.sign_prizes(actor, proposal, world.people["owner"], amounts={}, reason=reason)


def refused(code: str, act: Callable[[], object]) -> None:
    with pytest.raises(Refused) as found:
        act()
    assert found.value.code == code, str(found.value)
    assert found.value.remedy


def test_what_can_still_change_is_neither_proposed_nor_signed(world: World) -> None:
    half = payable_board(world, without="closed")
    refused("phase-open", lambda: prizes.propose_prizes("user-1", half))
    over(world)
    refused("baselines-missing", lambda: prizes.propose_prizes("user-1", half))
    whole = payable_board(world)
    refused("board-older", lambda: prizes.propose_prizes("user-1", half))
    proposal = prizes.propose_prizes("user-1", whole)
    newer = remade_board()
    owner = world.people["owner"]
    refused("board-older", lambda: prizes.sign_prizes("user-1", proposal, owner, amounts={}, reason="in haste"))
    assert signed(world, newer).in_force == "final/technical"
    refused("prizes-signed", lambda: prizes.propose_prizes("user-1", newer))
    refused("prizes-signed", lambda: prizes.propose_prizes("user-1", remade_board()))
    paid = PrizeProposal.objects.exclude(in_force=None)
    assert sum(row["amount"] for one in paid for row in one.signed_rows) <= newer.rule["prize_pool"]


def test_nothing_is_paid_while_something_is_under_way_or_waits_for_a_person(world: World) -> None:
    snapshot = payable_board(world)
    over(world)
    late = scored(world.rival, "final", codes=["machine-slower"])
    for stage, code in (("running", "under-way"), ("failed_infra", "under-way"), ("scored", "undecided")):
        Submission.objects.filter(pk=late.pk).update(stage=stage, team=None, baseline="closed")
        late.runs.get_or_create(number=1, defaults={"shards": 1, "made_at": late.at, "scores_digest": "0" * 64})
        refused(code, lambda: prizes.propose_prizes("user-1", snapshot))
    late.refresh_from_db()
    submissions.keep_run("user-1", late, reason="three per cent slower, no answer was late")
    refused("not-now", lambda: submissions.keep_run("user-1", late, reason="again"))
    assert signed(world, remade_board()).signed_at
    described = Submission.objects.filter(team=world.team, stage="scored", phase="final")
    about = {"team": world.team, "phase": "final", "announced_at": late.at, "received_at": late.at}
    described.update(description=Upload.objects.create(key="d" * 32, name="m.md", size_bytes=1, digest="", **about))
    described.update(description_verdict="")
    refused("undecided", lambda: prizes.propose_prizes("user-1", payable_board(world, "clinical")))


def test_an_upload_that_may_still_arrive_is_waited_for(world: World) -> None:
    snapshot = payable_board(world)
    phase = current_challenge().phase("final")
    about = {"team": world.rival, "phase": "final", "announced_at": phase.closes}
    Upload.objects.filter(team__isnull=False, phase="final").update(team=None)  # those of the fixture are handed in
    Upload.objects.create(key="e" * 32, name="image.tar", size_bytes=9, digest="", **about)
    world.clock.at = phase.closes + timedelta(seconds=5)
    refused("under-way", lambda: prizes.propose_prizes("user-1", snapshot))
    over(world)
    assert prizes.propose_prizes("user-1", snapshot)


def test_a_board_that_would_be_another_now_is_not_paid(world: World) -> None:
    snapshot = payable_board(world)
    over(world)
    owner = world.people["owner"]
    proposal = prizes.propose_prizes("user-1", snapshot)
    people_acts.decide_eligibility(world.team, may_take_part=True, may_win=False, reason="a colleague", by=owner)
    refused("board-outdated", lambda: prizes.sign_prizes("user-1", proposal, owner, amounts={}, reason="friends"))
    text = (world.home / CHALLENGE).read_text()
    people_acts.decide_eligibility(world.team, may_take_part=True, may_win=True, reason="", by=owner)
    (world.home / CHALLENGE).write_text(text.replace("technical = 10000", "technical = 400"))
    adopt_challenge("system", "less money")
    refused("board-outdated", lambda: prizes.propose_prizes("user-1", snapshot))


def test_of_twenty_signatures_at_once_one_holds(world: World) -> None:
    snapshot = payable_board(world)
    over(world)
    owner = world.people["owner"]
    offered = [prizes.propose_prizes("user-1", snapshot) for _ in range(20)]
    found = at_once(20, lambda n: prizes.sign_prizes("user-1", offered[n], owner, amounts={}, reason=f"signature {n}"))
    assert sum(isinstance(one, PrizeProposal) for one in found) == 1
    assert {one.code for one in found if isinstance(one, Refused)} == {"prizes-signed"}
    assert LogEntry.objects.filter(act="sign-prizes").count() == 1
    other = PrizeProposal.objects.filter(in_force=None).first()
    with pytest.raises(IntegrityError), transaction.atomic():  # and the database itself refuses a second
        PrizeProposal.objects.filter(pk=other.pk if other else 0).update(in_force="final/technical")


def test_prizes_are_withdrawn_with_a_reason_and_the_next_names_them(world: World) -> None:
    snapshot = payable_board(world)
    over(world)
    first = signed(world, snapshot)
    publishing.publish("user-1", snapshot, reason="the conference")
    address = reverse("board", kwargs={"phase": "final", "board": "technical"})
    assert "500.00" in Client().get(address).content.decode()
    refused("reason-missing", lambda: prizes.withdraw_prizes("user-1", first, reason=" "))
    prizes.withdraw_prizes("user-1", first, reason="a video was counted twice")
    text = Client().get(address).content.decode()
    assert "a video was counted twice" in text
    assert "500.00" not in text
    second = signed(world, snapshot, "without the video")
    assert second.replaces == first
    assert f'"replaces":"prizes-{first.pk}"' in LogEntry.objects.filter(act="sign-prizes").latest("number").facts
    assert "without the video" in Client().get(address).content.decode()


def test_who_proposes_does_not_sign_where_the_challenge_wants_four_eyes(world: World) -> None:
    text = (world.home / CHALLENGE).read_text()
    (world.home / CHALLENGE).write_text(text.replace('currency = "USD"', 'currency = "USD", four_eyes = true'))
    adopt_challenge("system", "four eyes")
    snapshot = payable_board(world)
    over(world)
    refused("four-eyes", lambda: signed(world, snapshot))
    assert signed(world, snapshot, actor="user-2").signed_at


def test_what_was_published_last_is_what_everybody_sees_until_it_is_withdrawn(world: World) -> None:
    older = board_with(world.submission, "final", "technical", published=False)
    newer = board_with(world.submission, "final", "technical", published=False)
    publishing.publish("user-1", newer, reason="the conference")
    world.clock.at += timedelta(hours=1)
    publishing.publish("user-1", older, reason="the newer one had a wrong reference")
    assert boards.public_leaderboard("final", "technical") == older
    refused("not-now", lambda: publishing.withdraw("user-1", newer, reason="it is not shown"))
    with override_settings(ORGANISERS_NEED_SECOND_FACTOR=False):
        page = reverse("withdraw", kwargs={"number": older.pk})
        world.client("owner").post(page, {"reason": "a reference is wrong"})
    assert boards.public_leaderboard("final", "technical") is None
    text = Client().get(reverse("board", kwargs={"phase": "final", "board": "technical"})).content.decode()
    assert "withdrawn" in text
    assert "a reference is wrong" in text
    publishing.publish("user-1", older, reason="it was right after all")
    assert boards.public_leaderboard("final", "technical") == older


def test_prizes_stand_on_the_public_board_with_their_amounts_once_signed(world: World) -> None:
    snapshot = payable_board(world)
    over(world)
    publishing.publish("user-1", snapshot, reason="the conference")
    address = reverse("board", kwargs={"phase": "final", "board": "technical"})
    proposal = prizes.propose_prizes("user-1", snapshot)
    assert "Prizes" not in Client().get(address).content.decode()
    amounts = {f"team-{world.team.pk}": 499.5}
    prizes.sign_prizes("user-1", proposal, world.people["owner"], amounts=amounts, reason="rounded down")
    text = " ".join(re.sub(r"<[^>]+>", " ", Client().get(address).content.decode()).split())
    assert re.search(r"Prizes .*Lovelace lab 1 499\.50 USD", text)
    assert "rounded down" in text


def test_nobody_is_paid_whom_the_board_leaves_unpaid(world: World) -> None:
    owner = world.people["owner"]
    people_acts.decide_eligibility(world.team, may_take_part=True, may_win=False, reason="a colleague", by=owner)
    snapshot = payable_board(world, rival=True)
    over(world)
    proposal = prizes.propose_prizes("user-1", snapshot)
    amounts = {f"team-{world.team.pk}": 1.0, f"team-{world.rival.pk}": 1.0}
    with pytest.raises(Refused, match=r"team-\d+ gets no prize: a colleague"):
        prizes.sign_prizes("user-1", proposal, owner, amounts=amounts, reason="friends")
    amounts[f"team-{world.team.pk}"] = 0.0
    assert prizes.sign_prizes("user-1", proposal, owner, amounts=amounts, reason="by the rule").signed_at
