"""What the challenge file says about people, and who agreed to its terms: each version, by each person."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.core.exceptions import ObjectDoesNotExist

from surgvalid.host import places
from surgvalid.host.acting import acting, actor, now
from surgvalid.host.challenge.entries import is_within
from surgvalid.host.people.models import TermsAcceptance, User


@dataclass(frozen=True)
class PeopleRules:
    """The rules that the acts on teams hold to."""

    terms_version: str = "1"
    terms_text: str = ""
    largest_team: int = 10
    registration_opens: datetime | None = None
    registration_closes: datetime | None = None
    excluded_countries: frozenset[str] = frozenset()
    largest_coauthors: int = 3

    @property
    def terms_sha256(self) -> str:
        """Digest of the text, so that an edit under the same version number asks again."""
        return hashlib.sha256(self.terms_text.encode()).hexdigest()

    def registration_is_open(self) -> bool:
        """Whether teams can be founded and joined at this moment; the closing second still belongs to it."""
        return is_within(now(), self.registration_opens, self.registration_closes)


def rules_now() -> PeopleRules:
    """The rules of the challenge that holds; with no limits before one was adopted."""
    from surgvalid.host.acts.challenge import current_challenge  # its tables refer to those of this app

    try:
        challenge = current_challenge()
    except ObjectDoesNotExist:
        return PeopleRules()
    teams, terms = challenge.teams, places.home() / challenge.terms
    return PeopleRules(
        terms_version=challenge.terms_version,
        terms_text=terms.read_text(encoding="utf-8") if terms.is_file() else "",
        largest_team=teams.most_members,
        registration_opens=teams.registration_opens,
        registration_closes=teams.registration_closes,
        excluded_countries=frozenset(teams.countries_refused),
        largest_coauthors=teams.coauthors,
    )


def accepted_terms(user: User, rules: PeopleRules) -> bool:
    """Whether the person agreed to the terms as they read today."""
    return TermsAcceptance.objects.filter(user=user, **_reading(rules)).exists()


def accept_terms(user: User, rules: PeopleRules) -> TermsAcceptance:
    """The stored agreement of one person to the terms as they read today."""
    if accepted_terms(user, rules):
        return TermsAcceptance.objects.get(user=user, **_reading(rules))
    with acting(actor(user), "accept terms", f"user-{user.pk}", **_reading(rules)):
        return TermsAcceptance.objects.get_or_create(user=user, **_reading(rules))[0]


def _reading(rules: PeopleRules) -> dict[str, Any]:
    return {"version": rules.terms_version, "text_sha256": rules.terms_sha256}
