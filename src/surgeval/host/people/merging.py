"""Two teams that become one: the leader of one asks, the leader of the other agrees."""

from __future__ import annotations

from django.utils import timezone

from surgeval.host.acts.refused import Refused
from surgeval.host.log.acting import acting
from surgeval.host.people.acts import narrow_eligibility
from surgeval.host.people.journal import actor
from surgeval.host.people.models import Membership, MergeRequest, Team, User
from surgeval.host.people.rules import PeopleRules
from surgeval.host.people.teams import check_leads, has_submitted, members_of


def ask_to_merge(source: Team, target: Team, *, by: User, rules: PeopleRules) -> MergeRequest:
    """The open request of one team to be taken in by another."""
    with acting(actor(by), "ask to merge", f"team-{source.pk}", into=f"team-{target.pk}"):
        check_leads(source, by)
        _check_may_merge(source, target, rules)
        if source.merges_asked.filter(decided_at__isnull=True).exists():
            raise Refused("merge-asked", "your team has asked another one already. Withdraw that request first.")
        return MergeRequest.objects.create(source=source, target=target, asked_by=by)


def close_merge(request: MergeRequest, *, by: User) -> None:
    """Nothing; the request is withdrawn or declined by one of the two leaders."""
    with acting(actor(by), "close merge", f"team-{request.source_id}", into=f"team-{request.target_id}"):
        if by.pk not in {request.source.leader_id, request.target.leader_id}:
            raise Refused("not-the-leader", "only the two leaders can close a request to merge.")
        MergeRequest.objects.filter(pk=request.pk, decided_at__isnull=True).update(decided_at=timezone.now())


def merge(request: MergeRequest, *, by: User, rules: PeopleRules) -> Team:
    """The team that took the other's members in; the other one is closed."""
    source: Team = request.source
    target: Team = request.target
    with acting(actor(by), "merge teams", f"team-{target.pk}", source=f"team-{source.pk}"):
        check_leads(target, by)
        now = timezone.now()
        if not MergeRequest.objects.filter(pk=request.pk, decided_at__isnull=True).update(decided_at=now):
            raise Refused("merge-decided", "this request was decided already.")
        _check_may_merge(source, target, rules)
        joining = members_of(source)
        Membership.objects.filter(team=source, left_at__isnull=True).update(left_at=now)
        Membership.objects.bulk_create(Membership(user=user, team=target) for user in joining)
        Team.objects.filter(pk=source.pk).update(merged_into=target)
        if any(user.organiser_lab for user in joining):
            narrow_eligibility(target)
    return target


def _check_may_merge(source: Team, target: Team, rules: PeopleRules) -> None:
    if not rules.merging_is_open():
        raise Refused("merging-closed", f"teams could merge until {rules.merge_until:%-d %B %Y, %H:%M} UTC.")
    if source.pk == target.pk or source.merged_into_id or target.merged_into_id:
        raise Refused("merge-target", "choose another team.")
    if has_submitted(source):
        raise Refused(
            "merge-after-submission",
            "a team that has submitted cannot be taken in, or its attempts would come on top. Let the other team ask.",
        )
    if len(members_of(source)) + len(members_of(target)) > rules.largest_team:
        raise Refused("team-full", f"together you are more than the {rules.largest_team} members that a team may have.")
