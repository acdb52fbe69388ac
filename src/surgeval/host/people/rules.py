"""What the challenge file says about people: how large teams are, until when they merge, who may take part."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime

from django.core.exceptions import ObjectDoesNotExist

from surgeval.host import places
from surgeval.host.challenge.entries import is_within
from surgeval.host.log.acting import now


@dataclass(frozen=True)
class PeopleRules:
    """The rules that the acts on teams hold to."""

    terms_version: str = "1"
    terms_text: str = ""
    largest_team: int = 10
    registration_opens: datetime | None = None
    registration_closes: datetime | None = None
    merge_until: datetime | None = None
    excluded_countries: frozenset[str] = frozenset()
    largest_coauthors: int = 3

    @property
    def terms_sha256(self) -> str:
        """Digest of the text, so that an edit under the same version number asks again."""
        return hashlib.sha256(self.terms_text.encode()).hexdigest()

    def registration_is_open(self) -> bool:
        """Whether teams can be founded and joined at this moment; the closing second still belongs to it."""
        return is_within(now(), self.registration_opens, self.registration_closes)

    def merging_is_open(self) -> bool:
        """Whether two teams may still become one."""
        return is_within(now(), None, self.merge_until)


def rules_now() -> PeopleRules:
    """The rules of the challenge that holds; with no limits before one was adopted."""
    from surgeval.host.acts.challenge import current_challenge  # its tables refer to those of this app

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
        merge_until=teams.merges_until,
        excluded_countries=frozenset(teams.countries_refused),
        largest_coauthors=teams.coauthors,
    )
