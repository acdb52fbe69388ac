"""Nobody gets more than the quota, nobody is late, and nobody enters without qualifying."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from host_service import FINAL, PRE, Service, at_once
from surgvalid.errors import Misuse, UploadRefused
from surgvalid.host.acting import log_problems
from surgvalid.host.acts import gates, quotas, submissions, uploads
from surgvalid.host.acts.challenge import current_challenge
from surgvalid.host.acts.refused import Refused
from surgvalid.host.runs.models import ChallengeVersion, Job, Submission
from surgvalid.submissions.stages import Stage

pytestmark = pytest.mark.database


def code_of(do: object) -> str:
    with pytest.raises(Refused) as caught:
        do()  # type: ignore[operator]
    assert caught.value.remedy
    return caught.value.code


def end(submission: Submission, stage: Stage, *, answered: int = 0, value: float | None = None) -> None:
    """Make a submission end so, as reports would."""
    submission.refresh_from_db()
    submission.answered = answered
    submission.values = {} if value is None else {"technical": value, "clinical": value}
    submissions.move(submission, stage, submission.at)


def test_of_twenty_at_once_only_the_free_places_come_through(service: Service) -> None:
    team = service.team("a")
    service.change("quota = 10  ", "quota = 4\nopen_at_once = 9  ")
    for _ in range(3):
        end(service.hand_in(team), Stage.SCORED, value=0.5)
    service.change('track = "frame"', 'track = "frame"\nupload = { most_open = 30 }')
    files = [service.upload(team) for _ in range(20)]
    outcomes = at_once(20, lambda n: submissions.hand_in("system", team, PRE, files[n]))
    taken = [one for one in outcomes if isinstance(one, Submission)]
    assert len(taken) == 1, outcomes
    assert {one.code for one in outcomes if isinstance(one, Refused)} == {"quota-reserved"}
    assert Submission.objects.count() == 4
    assert log_problems() == []


OUTCOMES = {
    "scored": (Stage.SCORED, 5, 0.5), "own-early": (Stage.FAILED_PARTICIPANT, 0, None),
    "own-late": (Stage.FAILED_PARTICIPANT, 3, None), "infra": (Stage.FAILED_INFRA, 3, None),
    "refused": (Stage.INTAKE_REFUSED, 0, None), "cancelled": (Stage.CANCELLED, 0, None),
    "disqualified": (Stage.DISQUALIFIED, 5, 0.5),
}  # fmt: skip
COUNTS = {"scored", "own-late", "disqualified"}


def test_quotas_hold_whatever_becomes_of_submissions(service: Service) -> None:
    service.change("quota = 10  ", "quota = 3\nopen_at_once = 9  ")
    service.change("attempts = 30  ", "attempts = 6  ")
    service.made = 0

    @given(st.lists(st.sampled_from([*OUTCOMES, "stays"]), min_size=1, max_size=10))
    @settings(max_examples=12)
    def holds(wanted: list[str]) -> None:
        service.made += 1
        team = service.team(f"t{service.made}")
        counted = under_way = attempts = 0
        for word in wanted:
            room = counted + under_way < 3 and attempts < 6
            try:
                handed = service.hand_in(team)
            except (Refused, UploadRefused):  # the second where what was sent in vain waits for a place
                assert not room
                continue
            assert room
            attempts += word != "infra"
            counted += word in COUNTS
            under_way += word == "stays"
            if word != "stays":
                stage, answered, value = OUTCOMES[word]
                end(handed, stage, answered=answered, value=value)
        used = quotas.usage_of(team, current_challenge().phase(PRE))
        assert (used.scored, used.under_way, used.attempts) == (counted, under_way, attempts)

    holds()


def test_a_grant_gives_room_and_is_logged(service: Service) -> None:
    team = service.team("a")
    service.change("quota = 10  ", "quota = 1  ")
    end(service.hand_in(team), Stage.SCORED, value=0.5)
    assert code_of(lambda: service.hand_in(team)) == "quota-used"
    assert code_of(lambda: submissions.grant_quota("user-1", team, PRE, scored=1, reason=" ")) == "reason-missing"
    submissions.grant_quota("user-1", team, PRE, scored=1, reason="the machine was slow")
    assert service.hand_in(team).stage == "uploaded"


def test_the_closing_second_is_the_last_one(service: Service) -> None:
    team, phase = service.team("a"), current_challenge().phase(PRE)
    for off_s, code in ((-1.0, None), (0.999999, None), (1.0, "phase-closed"), (3600.0, "phase-closed")):
        service.clock.at = phase.closes + timedelta(seconds=off_s)
        if code is None:
            end(service.hand_in(team), Stage.SCORED, value=0.1)
        else:
            assert code_of(lambda: service.hand_in(team)) == code
    service.clock.at = phase.opens - timedelta(microseconds=1)
    assert code_of(lambda: service.hand_in(team)) == "phase-not-open"
    service.clock.at = phase.opens
    assert service.hand_in(team).pk


def test_an_upload_announced_in_time_may_arrive_within_the_grace_and_no_later(service: Service) -> None:
    team, phase = service.team("a"), current_challenge().phase(PRE)
    service.clock.at = phase.closes
    first, second = service.upload(team), service.upload(team)
    service.clock.at = phase.closes + timedelta(seconds=phase.upload_grace_s)
    assert submissions.hand_in("system", team, PRE, first).pk
    service.clock.forward(seconds=1)
    assert code_of(lambda: submissions.hand_in("system", team, PRE, second)) == "upload-late"


def test_a_closed_gate_is_no_matter_of_pages(service: Service) -> None:
    team = service.team("a")
    service.clock.at = current_challenge().phase(FINAL).opens
    assert code_of(lambda: service.upload(team, FINAL)) == "gate-closed"
    gates.decide_by_hand("user-1", team, FINAL, opened=True, reason="a mistake of ours")
    image = service.upload(team, FINAL)
    gates.decide_by_hand("user-1", team, FINAL, opened=False, reason="no mistake after all")
    assert code_of(lambda: submissions.hand_in("user-1", team, FINAL, image)) == "gate-closed"
    gates.decide_by_hand("user-1", team, FINAL, opened=True, reason="a mistake of ours")
    described = service.upload(team, FINAL, data=b"# Method", name="method.md")
    image = service.upload(team, FINAL)
    assert code_of(lambda: submissions.hand_in("user-1", team, FINAL, image)) == "description-missing"
    assert submissions.hand_in("user-1", team, FINAL, image, description=described).phase == FINAL


def test_nobody_hands_in_what_is_another_teams_or_another_phases(service: Service) -> None:
    ours, theirs = service.team("a"), service.team("b")
    upload = service.upload(theirs)
    assert code_of(lambda: submissions.hand_in("system", ours, PRE, upload)) == "not-yours"
    assert code_of(lambda: submissions.hand_in("system", ours, FINAL, service.upload(ours))) == "not-yours"
    assert Submission.objects.count() == 0


def test_handing_the_same_upload_in_again_gives_the_same_submission(service: Service) -> None:
    team = service.team("a")
    upload = service.upload(team)
    first = submissions.hand_in("system", team, PRE, upload)
    assert submissions.hand_in("system", team, PRE, upload).pk == first.pk
    assert Job.objects.count() == 1


def test_an_incomplete_upload_is_not_taken_and_goes_on_where_it_stopped(service: Service) -> None:
    import hashlib

    team, data = service.team("a"), b"x" * 100
    facts = {"size_bytes": 100, "digest": hashlib.sha256(data).hexdigest()}
    upload = uploads.announce_upload("system", team, PRE, "image.tar", **facts)
    uploads.add_piece(upload, offset=0, piece=data[:60])
    with pytest.raises(UploadRefused, match="40 bytes are missing"):
        submissions.hand_in("system", team, PRE, upload)
    again = uploads.announce_upload("system", team, PRE, "image.tar", **facts)
    assert (again.pk, uploads.received_bytes(again)) == (upload.pk, 60)
    uploads.add_piece(again, offset=60, piece=data[60:])
    assert submissions.hand_in("system", team, PRE, again).stage == "uploaded"
    with pytest.raises(Misuse, match="description"):
        uploads.announce_upload("system", team, PRE, "../x.html", **facts)


def test_rules_are_frozen_with_the_submission_and_changes_are_public(service: Service) -> None:
    before = service.hand_in(service.team("a"))
    service.change("memory_mb = 512", "memory_mb = 600", note="more memory for all")
    after = service.hand_in(service.team("b"))
    assert (before.rules["run"]["memory_mb"], after.rules["run"]["memory_mb"]) == (512, 600)
    version = ChallengeVersion.objects.latest("number")
    assert version.note == "more memory for all"
    assert [one["name"] for one in version.changes] == [
        "phases.final.submission.run.memory_mb", "phases.pre-evaluation.submission.run.memory_mb",
    ]  # fmt: skip
