"""Teams, terms, roles and a person's own data: what the acts allow, and what they refuse with which code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from allauth.account.models import EmailAddress
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from host_people import RULES, ready_person, submitted
from surgvalid.host.acts.refused import Refused
from surgvalid.host.people import acts, privacy, teams
from surgvalid.host.people import rules as people_rules
from surgvalid.host.people.models import Invitation, MemberRole, Membership, Team, User

pytestmark = pytest.mark.usefixtures("home")


def code_of(act: Callable[[], object]) -> str:
    """The code with which an act is refused, or nothing."""
    try:
        act()
    except Refused as refusal:
        return refusal.code
    return ""


def joined(team: Team, user: User) -> Team:
    _, secret = teams.invite(team, user.email, by=team.leader, rules=RULES)
    return teams.join(user, secret, RULES)


def test_a_team_of_verified_people_who_accepted_the_terms_is_ready() -> None:
    team = teams.found_team(ready_person("ada"), "Lovelace lab", RULES)
    joined(team, ready_person("bob"))
    assert [user.name for user in teams.members_of(team)] == ["ada", "bob"]
    assert teams.unready(team, RULES) == []


@pytest.mark.parametrize(
    ("lack", "code"),
    [
        ("mail", "mail-unverified"),
        ("terms", "terms-open"),
        ("profile", "profile-open"),
        ("country", "country-excluded"),
    ],
)
def test_who_is_not_ready_founds_no_team_and_joins_none(lack: str, code: str) -> None:
    team = teams.found_team(ready_person("ada"), "Lovelace lab", RULES)
    late = ready_person("bob", lack=lack)
    assert code_of(lambda: teams.found_team(late, "Late lab", RULES)) == code
    assert code_of(lambda: joined(team, late)) == code
    assert teams.members_of(team) == [team.leader]


def test_new_terms_ask_everybody_again_also_under_the_same_number() -> None:
    team = teams.found_team(ready_person("ada"), "Lovelace lab", RULES)
    assert [code for code, _ in teams.unready(team, replace(RULES, terms_version="2"))] == ["terms-open"]
    assert [code for code, _ in teams.unready(team, replace(RULES, terms_text="other words"))] == ["terms-open"]


def test_an_address_that_was_changed_and_not_verified_stops_the_team() -> None:
    team = teams.found_team(ready_person("ada"), "Lovelace lab", RULES)
    EmailAddress.objects.filter(user=team.leader).update(verified=False)
    assert [code for code, _ in teams.unready(team, RULES)] == ["mail-unverified"]


def test_nobody_is_in_two_teams_whatever_the_acts_forget() -> None:
    team = teams.found_team(ready_person("ada"), "Lovelace lab", RULES)
    assert code_of(lambda: teams.found_team(team.leader, "Second lab", RULES)) == "one-team"
    other = teams.found_team(ready_person("bob"), "Babbage lab", RULES)
    assert code_of(lambda: joined(other, team.leader)) == "one-team"
    with pytest.raises(IntegrityError), transaction.atomic():
        Membership.objects.create(user=team.leader, team=other)


def test_a_name_is_taken_in_every_spelling() -> None:
    teams.found_team(ready_person("ada"), "Lovelace lab", RULES)
    assert code_of(lambda: teams.found_team(ready_person("bob"), " lovelace   LAB", RULES)) == "team-name-taken"


@pytest.mark.parametrize(
    "look",
    [
        "Lovelace\u200b lab",
        "Love\u00adlace lab",
        "\u202eLovelace lab",
        "ＬＯＶＥＬＡＣＥ lab",
        "Lovelace\u00a0lab",
        "Lovelace lab\u034f",
        "Lovelace\u3164lab",
    ],
    ids=ascii,
)
def test_no_team_looks_like_another_by_letters_that_nobody_sees(look: str) -> None:
    teams.found_team(ready_person("ada"), "Lovelace lab", RULES)
    bob = ready_person("bob")
    if code_of(lambda: teams.found_team(bob, look, RULES)) == "":
        pytest.fail(f"{look!a} stands on the leaderboards beside 'Lovelace lab'")


def test_letters_of_any_alphabet_name_a_team_once_in_either_case() -> None:
    teams.found_team(ready_person("ada"), "École Ж 手術", RULES)
    assert code_of(lambda: teams.found_team(ready_person("bob"), "éCOLE ж 手術", RULES)) == "team-name-taken"
    assert code_of(lambda: teams.found_team(ready_person("eve"), "E\u0301cole Ж 手術", RULES)) == "team-name-taken"


def test_a_leader_cannot_send_mail_without_end() -> None:
    team = teams.found_team(ready_person("ada"), "Lovelace lab", RULES)

    def again(number: int) -> str:
        return code_of(lambda: teams.revoke_invitation(
            teams.invite(team, f"x{number}@example.org", by=team.leader, rules=RULES)[0], by=team.leader
        ))  # fmt: skip

    codes = [again(number) for number in range(40)]
    assert codes[:20] == [""] * 20
    assert codes[-1] == "too-many-invitations"
    Invitation.objects.update(created_at=timezone.now() - timedelta(days=1, seconds=1))
    assert again(99) == ""


def test_an_invitation_is_for_one_address_once_and_not_for_ever() -> None:
    team = teams.found_team(ready_person("ada"), "Lovelace lab", RULES)
    invitation, secret = teams.invite(team, "bob@example.org", by=team.leader, rules=RULES)
    assert secret not in str(vars(invitation))
    assert code_of(lambda: teams.join(ready_person("eve"), secret, RULES)) == "invitation-of-another"
    teams.join(bob := ready_person("bob"), secret, RULES)
    teams.leave(bob)
    assert code_of(lambda: teams.join(bob, secret, RULES)) == "invitation-unknown"
    _, second = teams.invite(team, "carol@example.org", by=team.leader, rules=RULES)
    Invitation.objects.update(created_at=timezone.now() - timedelta(days=15))
    assert code_of(lambda: teams.join(ready_person("carol"), second, RULES)) == "invitation-unknown"


def test_a_revoked_invitation_opens_nothing() -> None:
    team = teams.found_team(ready_person("ada"), "Lovelace lab", RULES)
    invitation, secret = teams.invite(team, "bob@example.org", by=team.leader, rules=RULES)
    teams.revoke_invitation(invitation, by=team.leader)
    assert code_of(lambda: teams.join(ready_person("bob"), secret, RULES)) == "invitation-unknown"


def test_a_team_has_no_more_members_than_the_rules_say() -> None:
    small = replace(RULES, largest_team=2)
    team = teams.found_team(ready_person("ada"), "Lovelace lab", RULES)
    _, first = teams.invite(team, "bob@example.org", by=team.leader, rules=RULES)
    _, second = teams.invite(team, "eve@example.org", by=team.leader, rules=RULES)
    assert code_of(lambda: teams.invite(team, "x@example.org", by=team.leader, rules=small)) == "team-full"
    teams.join(ready_person("bob"), first, small)
    assert code_of(lambda: teams.join(ready_person("eve"), second, small)) == "team-full"


def test_only_the_leader_invites_and_hands_the_lead_on() -> None:
    team = teams.found_team(ready_person("ada"), "Lovelace lab", RULES)
    bob = ready_person("bob")
    assert code_of(lambda: teams.invite(team, "x@example.org", by=bob, rules=RULES)) == "not-the-leader"
    assert code_of(lambda: teams.hand_lead(team, bob, by=team.leader)) == "not-a-member"
    joined(team, bob)
    assert code_of(lambda: teams.leave(team.leader)) == "leader-leaves"
    teams.hand_lead(team, bob, by=team.leader)
    assert Team.objects.get(pk=team.pk).leader == bob


def test_who_leaves_a_team_that_has_submitted_joins_no_other() -> None:
    team = teams.found_team(ready_person("ada"), "Lovelace lab", RULES)
    joined(team, bob := ready_person("bob"))
    teams.leave(bob)
    other = teams.found_team(ready_person("carol"), "Other lab", RULES)
    joined(other, bob)
    teams.leave(bob)
    submitted(team)
    assert code_of(lambda: joined(other, bob)) == "left-a-team"
    assert code_of(lambda: teams.found_team(bob, "Third lab", RULES)) == "left-a-team"
    joined(team, bob)


def test_the_last_member_of_a_team_that_has_submitted_stays_since_nobody_could_invite_him_back() -> None:
    team = teams.found_team(ready_person("ada"), "Lovelace lab", RULES)
    submitted(team)
    assert code_of(lambda: teams.leave(team.leader)) == "last-member"
    assert teams.team_of(team.leader) == team
    fresh = teams.found_team(ready_person("bob"), "Babbage lab", RULES)
    teams.leave(fresh.leader)
    teams.found_team(fresh.leader, "Third lab", RULES)


@pytest.mark.parametrize(("seconds", "code"), [(1, ""), (0, ""), (-1, "registration-closed")])
def test_registration_closes_at_the_second(seconds: int, code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    now = timezone.now()
    monkeypatch.setattr(people_rules, "now", lambda: now)
    rules = replace(RULES, registration_closes=now + timedelta(seconds=seconds))
    ada = ready_person("ada")
    assert code_of(lambda: teams.found_team(ada, "Lovelace lab", rules)) == code


def test_two_teams_become_one_by_leaving_and_invitation_before_a_submission() -> None:
    small = teams.found_team(ready_person("ada"), "Lovelace lab", RULES)
    large = teams.found_team(ready_person("bob"), "Babbage lab", RULES)
    ada = small.leader
    teams.leave(ada)
    joined(large, ada)
    assert [user.name for user in teams.members_of(large)] == ["bob", "ada"]
    assert teams.unready(small, RULES)[0][0] == "team-empty"
    Team.objects.filter(pk=small.pk).update(merged_into=large)  # as an older version merged them
    assert teams.unready(Team.objects.get(pk=small.pk), RULES)[0][0] == "team-merged"


def test_a_colleague_of_the_organisers_is_listed_without_awards() -> None:
    team = teams.found_team(ready_person("ada"), "Lovelace lab", RULES)
    assert teams.why_not_paid(team) == ""
    bob = ready_person("bob")
    acts.save_profile(bob, name="bob", institution="", country="DE", organiser_lab=True, wants_mail=True)
    joined(team, User.objects.get(pk=bob.pk))
    assert "organiser" in teams.why_not_paid(team)
    assert teams.unready(team, RULES) == []


def test_excluded_teams_submit_nothing_and_read_why() -> None:
    owner = ready_person("owner")
    acts.give_role(owner, MemberRole.OWNER, by=None)
    team = teams.found_team(ready_person("ada"), "Lovelace lab", RULES)
    decide = {"may_take_part": False, "may_win": False}
    assert code_of(lambda: acts.decide_eligibility(team, **decide, reason="x", by=team.leader)) == "role-needed"
    assert code_of(lambda: acts.decide_eligibility(team, **decide, reason=" ", by=owner)) == "reason-needed"
    acts.decide_eligibility(team, **decide, reason="two accounts of one person", by=owner)
    assert teams.unready(team, RULES) == [("team-excluded", "the team may not take part: two accounts of one person")]


def test_roles_are_given_by_owners_and_one_owner_stays() -> None:
    owner, helper = ready_person("owner"), ready_person("helper")
    acts.give_role(owner, MemberRole.OWNER, by=None)
    assert code_of(lambda: acts.give_role(helper, MemberRole.OWNER, by=helper)) == "role-needed"
    acts.give_role(helper, MemberRole.JUDGE, by=owner)
    assert [acts.has_role(helper, role) for role in (MemberRole.VIEWER, MemberRole.JUDGE, MemberRole.EDITOR)] == [
        True,
        True,
        False,
    ]
    assert code_of(lambda: acts.take_role(owner, by=owner)) == "last-owner"
    assert code_of(lambda: acts.give_role(owner, MemberRole.VIEWER, by=owner)) == "last-owner"


def test_two_accounts_of_one_browser_are_flagged_and_one_is_not() -> None:
    ada, bob = ready_person("ada"), ready_person("bob")
    acts.see_browser(ada, "mark")
    acts.see_browser(ada, "mark")
    assert acts.browser_flags() == []
    acts.see_browser(bob, "mark")
    assert [flag.names for flag in acts.browser_flags()] == [("ada", "bob")]


def test_the_same_image_of_two_teams_is_flagged() -> None:
    first = teams.found_team(ready_person("ada"), "Lovelace lab", RULES)
    second = teams.found_team(ready_person("bob"), "Babbage lab", RULES)
    submitted(first, image_digest="sha256:a")
    submitted(first, image_digest="sha256:a")
    submitted(second, image_digest="sha256:b")
    assert acts.image_flags() == []
    submitted(second, image_digest="sha256:a")
    assert [(flag.key, flag.teams) for flag in acts.image_flags()] == [("sha256:a", ("Babbage lab", "Lovelace lab"))]


def test_a_person_gets_a_copy_of_everything_but_secrets() -> None:
    team = teams.found_team(ready_person("ada"), "Lovelace lab", RULES)
    submitted(team)
    copy = privacy.data_of(team.leader)
    assert copy["profile"]["email"] == "ada@example.org"
    assert copy["teams"][0]["team"] == "Lovelace lab"
    assert len(copy["submissions_handed_in"]) == 1
    assert "argon2" not in str(copy)


def test_a_forgotten_person_leaves_results_and_no_name() -> None:
    team = teams.found_team(ready_person("ada"), "Lovelace lab", RULES)
    submitted(team)
    ada = team.leader
    privacy.forget(ada)
    rows = " ".join(str(row) for row in every_row())
    assert "ada@example.org" not in rows
    assert "'ada'" not in rows
    stored = User.objects.get(pk=ada.pk)
    assert (stored.is_active, stored.has_usable_password()) == (False, False)
    assert team.submissions.count() == 1


def every_row() -> list[object]:
    """Every row of every table."""
    with connection.cursor() as cursor:
        tables = connection.introspection.table_names(cursor)
        rows: list[object] = []
        for table in tables:
            cursor.execute(f'SELECT * FROM "{table}"')
            rows += cursor.fetchall()
    return rows
