"""What the acts ask about people: why a team may not hand in, or may not be paid. Nothing is written here."""

from __future__ import annotations

from surgeval.host.people.models import Team, User


def team_of(user: User) -> Team | None:
    """The team of a person, or None."""
    return Team.objects.filter(membership__user=user).first()


def why_not_submit(team: Team) -> list[str]:
    """Why a team may not hand in now, one sentence each; empty when it may."""
    return [] if team.pk else ["the team does not exist"]


def why_not_paid(team: Team) -> str:
    """Why a team gets no prize whatever its place, or nothing."""
    return "" if team.pk else "the team does not exist"
