"""Who agreed to what: each version of the terms is accepted by each person."""

from __future__ import annotations

from typing import Any

from surgeval.host.log.acting import acting
from surgeval.host.people.journal import actor
from surgeval.host.people.models import TermsAcceptance, User
from surgeval.host.people.rules import PeopleRules


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
