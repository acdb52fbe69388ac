"""What every page shows of the challenge: its name and whom to ask."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest

from surgeval.host.people.acts import role_of


def challenge_name() -> str:
    """What the challenge is called."""
    return "Challenge"


def site(request: HttpRequest) -> dict[str, Any]:
    """For the frame of every page."""
    return {"site": {"name": challenge_name(), "role": role_of(getattr(request, "user", None))}}
