"""What the acts on runs ask about people: why a team may not hand in, or may not be paid. Nothing is written here."""

from __future__ import annotations

from surgeval.host.people.models import Eligibility, Team
from surgeval.host.people.rules import rules_now
from surgeval.host.people.teams import team_of, unready

__all__ = ["team_of", "why_not_paid", "why_not_submit"]


def why_not_submit(team: Team) -> list[str]:
    """Why a team may not hand in now, one sentence each; empty when it may."""
    return [sentence for _, sentence in unready(team, rules_now())]


def why_not_paid(team: Team) -> str:
    """Why a team gets no prize whatever its place, or nothing."""
    eligibility = Eligibility.objects.filter(team=team).first()
    return "" if eligibility is None or (eligibility.may_win and eligibility.may_take_part) else eligibility.reason
