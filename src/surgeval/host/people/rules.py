"""What the challenge file says about people: how large teams are, until when they merge, who may take part."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils import timezone


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
        now, opens = timezone.now(), self.registration_opens
        return (opens is None or opens <= now) and _not_over(now, self.registration_closes)

    def merging_is_open(self) -> bool:
        """Whether two teams may still become one."""
        return _not_over(timezone.now(), self.merge_until)


def rules_now() -> PeopleRules:
    """The rules of the challenge as its file has them today."""
    return PeopleRules()


def _not_over(now: datetime, end: datetime | None) -> bool:
    return end is None or now < end + timedelta(seconds=1)
