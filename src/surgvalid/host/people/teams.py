"""Acts on teams: found, invite, join, leave, hand the lead on, name co-authors; and whether a team may submit.

Acts happen one after another (`surgvalid.host.acting`), so what one of them checks still holds when it writes.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from allauth.account.models import EmailAddress
from django.db import IntegrityError
from django.db.models.functions import Lower
from django.utils import timezone

from surgvalid.host.acting import acting, actor
from surgvalid.host.acts.refused import Refused
from surgvalid.host.acts.tokens import digest, new_secret
from surgvalid.host.people.acts import accounts_of, look, narrow_eligibility, readable
from surgvalid.host.people.models import Eligibility, Invitation, Membership, Team, User
from surgvalid.host.people.rules import PeopleRules, accepted_terms, rules_now

MOST_INVITATIONS = 20
"""That a team sends in a day: they are mail to people who did not ask for it."""
_IN_A_TEAM = Refused("one-team", "you are in a team already. Leave it before you found or join another one.")


def team_of(user: User) -> Team | None:
    """The team that a person is in, or None."""
    membership = Membership.objects.filter(user=user, left_at__isnull=True).select_related("team").first()
    return membership.team if membership else None


def members_of(team: Team) -> list[User]:
    """Who is in the team now, the leader first."""
    members = User.objects.filter(memberships__team=team, memberships__left_at__isnull=True)
    return sorted(members.order_by("memberships__joined_at"), key=lambda user: user.pk != team.leader_id)


def open_teams() -> list[Team]:
    """Every team that was not merged into another one, in the order of their names."""
    return list(Team.objects.filter(merged_into__isnull=True).order_by(Lower("name")))


def has_verified_mail(user: User) -> bool:
    """Whether the person has shown that mail to the account's address arrives."""
    return bool(EmailAddress.objects.filter(user=user, email__iexact=user.email, verified=True).exists())


def found_team(user: User, name: str, rules: PeopleRules) -> Team:
    """The new team, led by the person who founds it; or the old one of somebody who deleted his account and comes back,
    with all that it used, where it has submitted and nobody is left in it.
    """
    name = readable(name, what="a team name")
    if not 2 <= len(name) <= 60:
        raise Refused("team-name", f"a team name has 2 to 60 characters, not {len(name)}. Choose another one.")
    try:
        with acting(actor(user), "found team", name=name) as doing:
            if (mine := _deserted(user)) is not None:
                check_may_join(user, rules, team=mine)
                _add_member(mine, user)
                mine.leader = user
                mine.save(update_fields=("leader",))
                doing.about(f"team-{mine.pk}", again=True)
                return mine
            check_may_join(user, rules)
            if look(name) in map(look, Team.objects.values_list("name", flat=True)):
                raise _taken(name)
            team = Team.objects.create(name=name, leader=user, institution=user.institution)
            Eligibility.objects.create(team=team)
            _add_member(team, user)
            doing.about(f"team-{team.pk}")
    except IntegrityError:
        raise _taken(name)
    return team


def _deserted(user: User) -> Team | None:
    """The team that a deleted account of this person was in, which has submitted and has no members now."""
    before = Membership.objects.filter(user__in=accounts_of(user)[1:]).select_related("team").order_by("-pk")
    return next((one.team for one in before if has_submitted(one.team) and not members_of(one.team)), None)


def _taken(name: str) -> Refused:
    return Refused("team-name-taken", f"a team is called '{name}' already. Choose another name.")


def invite(team: Team, email: str, *, by: User, rules: PeopleRules) -> tuple[Invitation, str]:
    """The invitation and its secret, which is in the mailed address and nowhere else."""
    email, secret = email.strip().lower(), new_secret()
    with acting(actor(by), "invite", f"team-{team.pk}") as doing:
        check_leads(team, by)
        open_ones = [one for one in team.invitations.all() if one.is_open]
        if any(one.email == email for one in open_ones):
            raise Refused("invited-already", f"{email} has an open invitation already. Revoke it to send a new one.")
        if team.invitations.filter(created_at__gt=timezone.now() - timedelta(days=1)).count() >= MOST_INVITATIONS:
            raise Refused(
                "too-many-invitations",
                f"a team sends at most {MOST_INVITATIONS} invitations in 24 hours. Try again tomorrow.",
            )
        if len(members_of(team)) + len(open_ones) >= rules.largest_team:
            raise Refused(
                "team-full",
                f"a team has at most {rules.largest_team} members, and {len(open_ones)} invitations are open. "
                "Revoke one, or ask the organisers.",
            )
        invitation = Invitation.objects.create(team=team, email=email, secret_sha256=digest(secret), invited_by=by)
        doing.about(f"team-{team.pk}", invitation=invitation.pk)
    return invitation, secret


def revoke_invitation(invitation: Invitation, *, by: User) -> None:
    """Nothing; the address in that mail stops working."""
    with acting(actor(by), "revoke invitation", f"team-{invitation.team_id}", invitation=invitation.pk):
        check_leads(invitation.team, by)
        Invitation.objects.filter(pk=invitation.pk).update(revoked_at=timezone.now())


def open_invitation(secret: str) -> Invitation | None:
    """The invitation behind a mailed address, where it can still be accepted."""
    invitation = Invitation.objects.select_related("team").filter(secret_sha256=digest(secret)).first()
    return invitation if invitation and invitation.is_open else None


def join(user: User, secret: str, rules: PeopleRules) -> Team:
    """The team that the invitation let the person into."""
    with acting(actor(user), "join team") as doing:
        invitation = open_invitation(secret)
        if invitation is None or invitation.team.merged_into_id:
            raise Refused("invitation-unknown", "this invitation is not open any more. Ask the team for a new one.")
        if invitation.email.lower() != user.email.lower():
            raise Refused(
                "invitation-of-another",
                "this invitation was sent to another e-mail address. Sign in with that one, or ask for a new one.",
            )
        check_may_join(user, rules, team=invitation.team)
        if len(members_of(invitation.team)) >= rules.largest_team:
            raise Refused("team-full", f"the team has {rules.largest_team} members, which is the most it may have.")
        _add_member(invitation.team, user)
        Invitation.objects.filter(pk=invitation.pk).update(accepted_at=timezone.now())
        doing.about(f"team-{invitation.team_id}", invitation=invitation.pk)
    team: Team = invitation.team
    return team


def end_memberships(**of: object) -> None:
    """Nothing; inside an act, the person or the team has left."""
    for one in Membership.objects.filter(left_at__isnull=True, **of):
        one.left_at = timezone.now()
        one.save(update_fields=("left_at",))


def leave(user: User) -> None:
    """Nothing; the person is in no team. A leader hands over first, unless alone."""
    with acting(actor(user), "leave team") as doing:
        team = team_of(user)
        if team is None:
            raise Refused("no-team", "you are in no team.")
        if team.leader_id == user.pk and len(members_of(team)) > 1:
            raise Refused("leader-leaves", "you lead the team. Hand the lead to another member first.")
        if len(members_of(team)) == 1 and has_submitted(team):
            raise Refused(
                "last-member",
                "you are the only member, and the team has submitted: nobody could invite you back, and what it "
                "used keeps you from another team. Invite somebody first, or ask the organisers.",
            )
        end_memberships(user=user)
        doing.about(f"team-{team.pk}")


def hand_lead(team: Team, heir: User, *, by: User) -> None:
    """Nothing; another member leads the team."""
    with acting(actor(by), "hand lead", f"team-{team.pk}", to=f"user-{heir.pk}"):
        check_leads(team, by)
        if heir not in members_of(team):
            raise Refused("not-a-member", "only a member of the team can lead it. Invite the person first.")
        team.leader = heir
        team.save(update_fields=("leader",))


def name_coauthors(team: Team, names: Iterable[str], *, by: User, rules: PeopleRules) -> None:
    """Nothing; the team's authors of the challenge paper are stored."""
    chosen = [readable(name, what="a name") for name in names if name.strip()]
    with acting(actor(by), "name co-authors", f"team-{team.pk}", count=len(chosen)):
        check_leads(team, by)
        if len(chosen) > rules.largest_coauthors:
            raise Refused(
                "too-many-coauthors",
                f"a team names at most {rules.largest_coauthors} co-authors, not {len(chosen)}. Ask for an exception.",
            )
        team.coauthors = "\n".join(chosen)
        team.save(update_fields=("coauthors",))


def unready(team: Team, rules: PeopleRules) -> list[tuple[str, str]]:
    """Why the team may not submit yet, as (code, what to do), empty when it may; asked by every submission."""
    reasons: list[tuple[str, str]] = []
    eligibility = Eligibility.objects.filter(team=team).first()
    if team.merged_into_id:
        reasons.append(("team-merged", "this team was merged into another one, which submits."))
    if eligibility and not eligibility.may_take_part:
        reasons.append(("team-excluded", f"the team may not take part: {eligibility.reason}"))
    members = members_of(team)
    if not members and not team.merged_into_id:
        reasons.append(("team-empty", "the team has no members."))
    for user in members:
        if not has_verified_mail(user):
            reasons.append(("mail-unverified", f"{user} has not verified the e-mail address yet."))
        if not accepted_terms(user, rules):
            reasons.append(("terms-open", f"{user} has not accepted version {rules.terms_version} of the terms."))
        if user.country in rules.excluded_countries:
            reasons.append(("country-excluded", f"people from {user.country} may not take part."))
    return reasons


def has_submitted(team: Team) -> bool:
    """Whether anything was ever handed in by the team."""
    return bool(team.submissions.exists())


def check_leads(team: Team, user: User) -> None:
    """Nothing where the person leads the team; refused otherwise."""
    if Team.objects.get(pk=team.pk).leader_id != user.pk:
        raise Refused("not-the-leader", "only the leader of the team can do this. Ask for the lead.")


def check_may_join(user: User, rules: PeopleRules, team: Team | None = None) -> None:
    """Nothing where the person may found a team, or join this one; refused otherwise."""
    if not rules.registration_is_open():
        raise Refused("registration-closed", "teams are founded and joined during registration, which is not open.")
    if not has_verified_mail(user):
        raise Refused("mail-unverified", "verify your e-mail address first; the mail has the address to open.")
    if not user.name or not user.country:
        raise Refused("profile-open", "say your name and country first, on the page of your account.")
    if user.country in rules.excluded_countries:
        raise Refused(
            "country-excluded", f"people from {user.country} may not take part, by the rules of the challenge."
        )
    if not accepted_terms(user, rules):
        raise Refused("terms-open", f"accept version {rules.terms_version} of the terms first.")
    if team_of(user) is not None:
        raise _IN_A_TEAM
    _check_did_not_leave(user, team)


def _check_did_not_leave(user: User, team: Team | None) -> None:
    """Quotas belong to teams: who has used those of one does not get those of another."""
    left = Membership.objects.filter(user__in=accounts_of(user), left_at__isnull=False).select_related("team")
    for before in {one.team.merged_into or one.team for one in left}:
        if before != team and has_submitted(before):
            raise Refused(
                "left-a-team",
                f"you were in '{before}', which has submitted; you can go back to it, not to another team. "
                "Ask the organisers for an exception.",
            )


def _add_member(team: Team, user: User) -> None:
    Membership.objects.create(user=user, team=team)
    if user.organiser_lab:
        narrow_eligibility(team)


def why_not_submit(team: Team) -> list[str]:
    """Why a team may not hand in now, one sentence each; empty when it may."""
    return [sentence for _, sentence in unready(team, rules_now())]


def why_not_paid(team: Team) -> str:
    """Why a team gets no prize whatever its place, or nothing."""
    eligibility = Eligibility.objects.filter(team=team).first()
    return "" if eligibility is None or (eligibility.may_win and eligibility.may_take_part) else eligibility.reason
