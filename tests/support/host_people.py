"""People for tests of the web service: ready to found a team, or short of one thing."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from allauth.account.models import EmailAddress

from surgvalid.host.acting import now
from surgvalid.host.people.models import Team, User
from surgvalid.host.people.rules import PeopleRules, accept_terms
from surgvalid.host.runs.models import ChallengeVersion, Submission, Upload

RULES = PeopleRules(terms_text="Use the data for the challenge only.", excluded_countries=frozenset({"KP"}))
PASSWORD = "a-long-pass-phrase-42"


def ready_person(name: str, *, lack: str = "", rules: PeopleRules = RULES) -> User:
    """A person who may found a team; `lack` leaves one of mail, terms, profile or country out."""
    user = User.objects.create_user(
        f"{name}@example.org",
        PASSWORD,
        name="" if lack == "profile" else name,
        country="KP" if lack == "country" else "DE",
    )
    EmailAddress.objects.create(user=user, email=user.email, verified=lack != "mail", primary=True)
    if lack != "terms":
        accept_terms(user, rules)
    return user


def submitted(team: Team, **facts: Any) -> Submission:
    """A bare submission of a team, for tests that only need that there is one."""
    version, _ = ChallengeVersion.objects.get_or_create(number=1, defaults={"text": "", "at": now()})
    about = {"team": team, "made_by": team.leader, "phase": facts.pop("phase", "first")}
    image = Upload.objects.create(
        **about, key=uuid4().hex, name="image.tar", size_bytes=1, digest="", announced_at=now()
    )
    row = about | {"version": version, "rules": {}, "image": image, "at": now(), "stage_at": now()} | facts
    return Submission.objects.create(**row)
