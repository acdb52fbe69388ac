"""Pages for everybody: overview, rules, data, news."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from surgeval.host import places
from surgeval.host.challenge.challenge import VISIBILITIES, Challenge, ChallengePhase
from surgeval.host.log.acting import now
from surgeval.host.pages.answers import page
from surgeval.host.pages.markdown import as_html
from surgeval.host.pages.next_step import next_step
from surgeval.host.pages.site import challenge_now, text_of
from surgeval.host.people.countries import COUNTRIES
from surgeval.host.people.models import User
from surgeval.host.people.rules import rules_now
from surgeval.host.people.terms import accepted_terms
from surgeval.host.runs.models import Announcement, ChallengeVersion
from surgeval.schema.questions import TRACK_LIMITS_S

DOWNLOADS = "downloads"
"""The folder of files for those who accepted the terms, in that of the service."""


ROW_PX = 16
"""Height of a phase in the picture of dates."""


@dataclass(frozen=True)
class Bar:
    """A phase in the picture of dates, in thousandths of its width."""

    phase: ChallengePhase
    left: float
    width: float
    top: int


def home(request: HttpRequest) -> HttpResponse:
    """What the challenge is, when, and what to do next."""
    challenge = challenge_now()
    if challenge is None:
        return page(request, "empty", "A challenge in the making")
    return page(
        request,
        "home",
        challenge.name,
        text=as_html(text_of(challenge.texts.get("overview", ""))),
        step=next_step(request.user, challenge),
        phases=[phase_facts(phase) for phase in challenge.phases],
        bars=bars_of(challenge),
        today=_share(challenge, now()),
        first=min(phase.opens for phase in challenge.phases),
        last=max(phase.closes for phase in challenge.phases),
        bottom=ROW_PX * len(challenge.phases),
        news=Announcement.objects.all()[:3],
    )


def phase_facts(phase: ChallengePhase) -> dict[str, object]:
    """What pages say about a phase."""
    at, rules = now(), phase.rules
    state = "open" if phase.is_open(at) else "soon" if at < phase.opens else "closed"
    seconds = rules.budget.budget_s or TRACK_LIMITS_S.get(rules.track)
    return {
        "phase": phase,
        "state": state,
        "track": rules.track,
        "budget": f"{seconds:g} s" if seconds else "none",
        "kept": {
            "per_question": "a new container for every question",
            "per_video": "a new container for every video",
            "free": "one container for all",
        }.get(str(rules.budget.state), str(rules.budget.state)),
        "gpu": f"{rules.gpu.memory_mb // 1024} GiB" if rules.gpu.memory_mb else "one" if rules.gpu.count else "none",
        "visibility": VISIBILITIES[phase.visibility],
        "gate": gate_words(phase),
        "counted": {"best": "the best submission counts", "last": "the last submission counts"}[phase.counted],
    }


def gate_words(phase: ChallengePhase) -> str:
    """Who may enter a phase, in words; empty where everybody may."""
    gate = phase.gate
    if gate is None:
        return ""
    boards = " and ".join(gate.boards)
    least = f"at least {gate.least_boards} of the {boards} boards" if len(gate.boards) > 1 else f"the {boards} board"
    return f"Open to teams that beat every baseline on {least} of {gate.phase}."


def rules(request: HttpRequest) -> HttpResponse:
    """The rules, every limit, and every change of them."""
    challenge = _challenge()
    return page(
        request,
        "rules",
        "Rules",
        text=as_html(text_of(challenge.texts.get("rules", ""))),
        phases=[phase_facts(phase) for phase in challenge.phases],
        people=rules_now(),
        excluded=sorted(COUNTRIES.get(code, code) for code in rules_now().excluded_countries),
        changes=ChallengeVersion.objects.order_by("-number"),
    )


def data(request: HttpRequest) -> HttpResponse:
    """What data there is; the text and files only for those who accepted the terms."""
    challenge = _challenge()
    user = request.user
    accepted = isinstance(user, User) and accepted_terms(user, rules_now())
    text = text_of(challenge.texts.get("data", "")) if accepted else ""
    files = [{"name": one.name, "size": one.stat().st_size} for one in _files()] if accepted else []
    return page(request, "data", "Data", accepted=accepted, text=as_html(text), files=files)


def data_file(request: HttpRequest, name: str) -> HttpResponse | FileResponse:
    """One file, for those who accepted the terms as they read today."""
    if not isinstance(request.user, User) or not accepted_terms(request.user, rules_now()):
        return HttpResponseRedirect(reverse("terms"))
    chosen = next((one for one in _files() if one.name == name), None)
    if chosen is None:
        raise Http404
    return FileResponse(chosen.open("rb"), as_attachment=True, filename=name, content_type="application/octet-stream")


def announcements(request: HttpRequest) -> HttpResponse:
    """Everything the organisers said, and every change of the rules."""
    news = [{"one": one, "text": as_html(one.text)} for one in Announcement.objects.all()[:100]]
    return page(request, "announcements", "News", news=news)


def bars_of(challenge: Challenge) -> list[Bar]:
    """The phases as bars over the time from the first opening to the last end."""
    bars = []
    for number, phase in enumerate(challenge.phases):
        left, right = _share(challenge, phase.opens), _share(challenge, phase.closes)
        bars.append(Bar(phase, left, max(right - left, 4.0), ROW_PX * number + 4))
    return bars


def _share(challenge: Challenge, at: datetime) -> float:
    first = min(phase.opens for phase in challenge.phases)
    last = max(phase.closes for phase in challenge.phases)
    return max(0.0, min(1.0, (at - first) / (last - first))) * 1000


def _files() -> list[Path]:
    """Plain files in the folder of downloads; nothing that leads elsewhere."""
    folder = places.home() / DOWNLOADS
    if not folder.is_dir():
        return []
    return sorted(one for one in folder.iterdir() if one.is_file() and not one.is_symlink())


def _challenge() -> Challenge:
    challenge = challenge_now()
    if challenge is None:
        raise Http404
    return challenge
