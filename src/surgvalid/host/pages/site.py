"""What every page shows of the challenge: its name, its texts, whom to ask, and what the visitor may do in it."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest
from django.utils.safestring import SafeString
from markdown_it import MarkdownIt

from surgvalid.host import places
from surgvalid.host.acts.challenge import current_challenge
from surgvalid.host.challenge.challenge import Challenge
from surgvalid.host.people.acts import role_of
from surgvalid.host.runs.models import ChallengeVersion


def challenge_now() -> Challenge | None:
    """The challenge that holds; None before one was adopted."""
    try:
        return current_challenge()
    except ChallengeVersion.DoesNotExist:
        return None


def challenge_here() -> Challenge:
    """The challenge that holds, for pages that there are not before one was adopted."""
    if (challenge := challenge_now()) is None:
        raise Http404
    return challenge


def challenge_name() -> str:
    """What the challenge is called."""
    challenge = challenge_now()
    return challenge.name if challenge else "A challenge in the making"


def text_of(name: str) -> str:
    """A text of the challenge, as its file lies in the folder of the service; empty where there is none."""
    place = (places.home() / name).resolve()
    inside = bool(name) and place.is_relative_to(places.home())
    text = place.read_text(encoding="utf-8") if inside and place.is_file() else ""
    first, _, rest = text.lstrip().partition("\n")
    return rest if first.startswith("# ") else text  # the page has a title of its own


def site(request: HttpRequest) -> dict[str, Any]:
    """For the frame of every page."""
    challenge = challenge_now()
    return {
        "challenge": challenge,
        "frame": {
            "name": challenge.name if challenge else challenge_name(),
            "contact": challenge.contact if challenge else "",
            "role": role_of(getattr(request, "user", None)),
        },
    }


_READER = MarkdownIt("commonmark", {"html": False}).disable("image").enable("table")


def as_html(text: str) -> SafeString:
    """Markdown of organisers as HTML: no HTML of its own passes, no image is fetched, links lead to pages."""
    return SafeString(_READER.render(text))  # the reader escapes every tag of the text
