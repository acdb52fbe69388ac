"""How the log names people: by number, so that a forgotten name leaves no trace in it."""

from __future__ import annotations

from surgeval.host.log.acting import SYSTEM
from surgeval.host.people.models import User


def actor(user: User | None) -> str:
    """Who acts, as entries of the log say it; nobody is the machine's own command line."""
    return SYSTEM if user is None else f"user-{user.pk}"
