"""Pages on the workers of a challenge: who works, with which duty, and tokens for more of them."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404

from surgeval.host.acts import tokens
from surgeval.host.pages.answers import attempted, page, with_form
from surgeval.host.pages.forms import WorkerForm
from surgeval.host.pages.permissions import person
from surgeval.host.pages.site import challenge_now
from surgeval.host.people.journal import actor
from surgeval.host.runs.models import Kind, WorkerToken

DUTIES = {
    "inference": sorted(tokens.UNTRUSTED),
    "trusted": sorted(set(Kind.values) - tokens.UNTRUSTED),
}


def workers(request: HttpRequest) -> HttpResponse:
    """Every worker that has a token, those whose token was taken back too."""
    return page(
        request,
        "organise/workers",
        "Workers",
        workers=WorkerToken.objects.order_by("-revoked_at", "name"),
        form=WorkerForm(phases=_phases()),
        new_token=request.session.pop("new_worker_token", None),
    )


def make_worker(request: HttpRequest) -> HttpResponse:
    """Makes the token of a worker, and shows it once."""
    form = WorkerForm(request.POST, phases=_phases())

    def act() -> None:
        given = form.cleaned_data
        made, text = tokens.make_worker_token(
            actor(person(request)), given["name"], DUTIES[given["kind"]], phases=given["phases"]
        )
        request.session["new_worker_token"] = {"name": made.name, "text": text, "kind": given["kind"]}

    return with_form(
        request, form, act, done="The token is made. Copy it now: it is shown once.", to="organise_workers"
    )


def revoke_worker(request: HttpRequest, token: int) -> HttpResponse:
    """Takes the token of a worker back."""
    stored = get_object_or_404(WorkerToken, pk=token)
    act = lambda: tokens.revoke_worker_token(actor(person(request)), stored)  # noqa: E731
    done = f"{stored.name} gets no more jobs. What it does now goes to another worker when its lease ends."
    return attempted(request, act, done=done, to="organise_workers")


def _phases() -> list[tuple[str, str]]:
    challenge = challenge_now()
    return [(phase.slug, phase.title) for phase in challenge.phases] if challenge else []
