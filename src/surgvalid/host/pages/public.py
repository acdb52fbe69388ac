"""Pages for everybody: overview with what a visitor should do next, rules, data, news."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django_countries import countries

from surgvalid.host import places
from surgvalid.host.acting import now
from surgvalid.host.acts.gates import is_gate_open
from surgvalid.host.acts.quotas import usage_of, why_no_more
from surgvalid.host.challenge.challenge import COUNTED, VISIBILITIES, Challenge, ChallengePhase
from surgvalid.host.pages.answers import page
from surgvalid.host.pages.site import as_html, challenge_here, challenge_now, text_of
from surgvalid.host.people.models import Team, User
from surgvalid.host.people.rules import accepted_terms, rules_now
from surgvalid.host.people.teams import has_verified_mail, team_of, unready
from surgvalid.host.runs.models import Announcement, ChallengeVersion
from surgvalid.schema.questions.questions import TRACK_LIMITS_S


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


DOWNLOADS = "downloads"
"""The folder of files for those who accepted the terms, in that of the service."""


ROW_PX = 16
"""Height of a phase in the image of dates."""


@dataclass(frozen=True)
class Bar:
    """A phase in the image of dates, in thousandths of its width."""

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
        "counted": COUNTED[phase.counted],
        "probing": phase.probing,
    }


def gate_words(phase: ChallengePhase) -> str:
    """Who may enter a phase, in words; empty where everybody may."""
    gate = phase.gate
    if gate is None:
        return ""
    boards = " and ".join(gate.boards)
    least = (
        f"at least {gate.least_boards} of the {boards} leaderboards"
        if len(gate.boards) > 1
        else f"the {boards} leaderboard"
    )
    return f"Open to teams that beat every baseline on {least} of {gate.phase}."


def rules(request: HttpRequest) -> HttpResponse:
    """The rules, every limit, and every change of them."""
    challenge = challenge_here()
    return page(
        request,
        "rules",
        "Rules",
        text=as_html(text_of(challenge.texts.get("rules", ""))),
        phases=[phase_facts(phase) for phase in challenge.phases],
        people=rules_now(),
        excluded=sorted(countries.name(code) or code for code in rules_now().excluded_countries),
        changes=ChallengeVersion.objects.order_by("-number"),
    )


def data(request: HttpRequest) -> HttpResponse:
    """What data there is; the text and files only for those who accepted the terms."""
    challenge = challenge_here()
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
