"""Pages around submissions of one's team: hand in, watch, cancel, read back."""

from __future__ import annotations

from typing import Any

from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render

from surgvalid.host.acting import now
from surgvalid.host.acts import submissions as acts
from surgvalid.host.acts.gates import is_gate_open
from surgvalid.host.acts.quotas import usage_of, why_no_more
from surgvalid.host.acts.uploads import received_path
from surgvalid.host.challenge.challenge import Challenge
from surgvalid.host.pages.answers import attempted, page
from surgvalid.host.pages.history import reads_own_text, rows_of_team, shown_to_team, text_of_containers
from surgvalid.host.pages.permissions import me, person
from surgvalid.host.pages.public import gate_words, next_step
from surgvalid.host.pages.site import challenge_now
from surgvalid.host.people.models import Team
from surgvalid.host.people.rules import rules_now
from surgvalid.host.people.teams import team_of, unready
from surgvalid.host.runs.models import Submission
from surgvalid.submissions.stages import Stage

CANCELLABLE = tuple(
    one.value
    for one in (Stage.UPLOADED, Stage.INTAKE_OK, Stage.QUEUED, Stage.RUNNING, Stage.INFERRED, Stage.FAILED_INFRA)
)


def submit(request: HttpRequest) -> HttpResponse:
    """What can be handed in now, with what is left of each quota, and the form that sends it."""
    challenge, team = challenge_now(), team_of(person(request))
    if challenge is None or team is None:
        raise Http404
    offers = [_offer(team, challenge, phase.slug) for phase in challenge.phases]
    opened = [one["phase"] for one in offers if not one["closed"]]
    return page(
        request,
        "submit",
        "Submit",
        team=team,
        phases=offers,
        opened=opened,
        most_bytes=max((one.rules.upload.most_bytes for one in opened), default=0),
        unready=[words for _, words in unready(team, rules_now())],
        step=next_step(request.user, challenge),
        submissions=rows_of_team(team, most=10),
    )


def _offer(team: Team, challenge: Challenge, slug: str) -> dict[str, Any]:
    phase = challenge.phase(slug)
    usage, at = usage_of(team, phase), now()
    full = why_no_more(usage)
    if at < phase.opens:
        closed = f"It opens on {phase.opens:%-d %B %Y, %H:%M} UTC."
    elif not phase.is_open(at):
        closed = f"It closed on {phase.closes:%-d %B %Y, %H:%M} UTC."
    elif not is_gate_open(team, slug, challenge):
        closed = gate_words(phase)
    else:
        closed = full[1] if full else ""
    return {"phase": phase, "usage": usage, "closed": closed}


def submission(request: HttpRequest, number: int) -> HttpResponse:
    """One submission: where it stands, how it got there, and what to do."""
    stored = Submission.objects.select_related("team", "image", "description").get(pk=number)
    title = f"Submission {number}"
    mine = stored.team is not None and stored.team == team_of(person(request))
    cancellable = mine and stored.stage in CANCELLABLE
    return page(request, "submission", title, mine=mine, cancellable=cancellable, **shown_to_team(stored))


def state(request: HttpRequest, number: int) -> HttpResponse:
    """The part of the page of a submission that changes while it runs."""
    shown = shown_to_team(Submission.objects.get(pk=number))
    response = render(request, "pages/_state.html", shown)
    response["X-Settled"] = "yes" if shown["settled"] else "no"
    return response


def container_text(request: HttpRequest, number: int) -> HttpResponse:
    """What the containers of a submission wrote, for its team, where the data of the phase are public."""
    stored = Submission.objects.get(pk=number)
    if not reads_own_text(stored) or stored.team != team_of(person(request)):
        raise Http404
    return text_of_containers(stored)


def cancel(request: HttpRequest, number: int) -> HttpResponse:
    """Cancels a submission of one's own team that is under way."""
    stored = Submission.objects.get(pk=number)
    if stored.team != team_of(person(request)):
        raise Http404
    act = lambda: acts.cancel(me(request), stored, reason="cancelled by its team")  # noqa: E731
    return attempted(request, act, done="The submission is cancelled.", to="submission", parts={"number": number})


def description(request: HttpRequest, number: int) -> HttpResponseBase:
    """The method description as it was handed in, always as a file to keep and never as a page."""
    stored = Submission.objects.select_related("description").get(pk=number)
    if stored.description is None or stored.description.received_at is None:
        raise Http404
    response = FileResponse(
        received_path(stored.description).open("rb"),
        as_attachment=True,
        filename=f"submission-{number}-{stored.description.name}",
        content_type="application/octet-stream",
    )
    response["Content-Security-Policy"] = "sandbox; default-src 'none'"
    return response
