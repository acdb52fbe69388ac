"""What a visitor should do next, as one sentence and one button."""

from __future__ import annotations

from dataclasses import dataclass

from django.urls import reverse

from surgeval.host.acts.gates import is_gate_open
from surgeval.host.acts.quotas import usage_of, why_no_more
from surgeval.host.challenge.challenge import Challenge, ChallengePhase
from surgeval.host.log.acting import now
from surgeval.host.people.models import Team, User
from surgeval.host.people.rules import rules_now
from surgeval.host.people.teams import has_verified_mail, team_of, unready
from surgeval.host.people.terms import accepted_terms


@dataclass(frozen=True)
class Step:
    """One sentence, and where its button leads; no button where one waits."""

    words: str
    label: str = ""
    address: str = ""


def next_step(user: object, challenge: Challenge) -> Step:
    """What the visitor should do next."""
    if not isinstance(user, User):
        return Step("Register with your e-mail address to take part.", "Register", reverse("account_signup"))
    if not has_verified_mail(user):
        return Step("Verify your e-mail address.", "E-mail address", reverse("account_email"))
    if not user.name or not user.country:
        return Step("Say your name and country.", "Your account", reverse("account"))
    rules = rules_now()
    if not accepted_terms(user, rules):
        return Step(f"Read and accept version {rules.terms_version} of the terms.", "Terms", reverse("terms"))
    team = team_of(user)
    if team is None:
        return _without_team(rules.registration_is_open())
    if reasons := unready(team, rules):
        return Step(f"Your team cannot submit yet: {reasons[0][1]}", "Your team", reverse("team"))
    return _with_team(team, challenge)


def _without_team(open_now: bool) -> Step:
    if not open_now:
        return Step("Registration is not open now, so no team can be founded or joined.", "Rules", reverse("rules"))
    return Step("Found a team, or join one by its invitation.", "Your team", reverse("team"))


def _with_team(team: Team, challenge: Challenge) -> Step:
    at = now()
    for phase in sorted(challenge.phases, key=lambda one: one.gate is None):
        if not phase.is_open(at) or not is_gate_open(team, phase.slug, challenge):
            continue
        usage = usage_of(team, phase)
        if why_no_more(usage) is None:
            left = f"{usage.scored_left} of {usage.quota} scored submissions are left"
            return Step(f"{phase.title} is open; {left}.", "Submit", reverse("submit"))
    if waiting := next_opening(challenge):
        return Step(f"{waiting.title} opens on {waiting.opens:%-d %B %Y, %H:%M} UTC. Rehearse until then.")
    return Step("Nothing can be handed in now. See how you did.", "Boards", reverse("boards"))


def next_opening(challenge: Challenge) -> ChallengePhase | None:
    """The phase that opens next, or None."""
    coming = [phase for phase in challenge.phases if phase.opens > now()]
    return min(coming, key=lambda phase: phase.opens, default=None)
