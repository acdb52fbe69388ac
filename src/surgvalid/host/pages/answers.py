"""How a page answers: in the frame of the site, back to a page with a sentence on an act, or saying no and why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.forms import Form
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse

from surgvalid.errors import SurgvalidError


def page(request: HttpRequest, template: str, title: str, **context: Any) -> HttpResponse:
    """A page in the frame of the site."""
    return render(request, f"pages/{template}.html", {"title": title, **context})


def attempted(
    request: HttpRequest, act: Callable[[], object], *, done: str, to: str, parts: dict[str, Any] | None = None
) -> HttpResponse:
    """Back to the page `to` after an act, which says what was done, or why it was refused."""
    try:
        act()
    except SurgvalidError as refusal:
        messages.error(request, sentence(refusal))
    else:
        messages.success(request, done)
    return HttpResponseRedirect(reverse(to, kwargs=parts))


def with_form(
    request: HttpRequest,
    form: Form,
    act: Callable[[], object],
    *,
    done: str,
    to: str,
    parts: dict[str, Any] | None = None,
) -> HttpResponse:
    """As `attempted`, after the form was checked; every problem of the form is said."""
    if not form.is_valid():
        for name, problems in form.errors.items():
            label = form.fields[name].label or name if name in form.fields else "form"
            messages.error(request, f"{label}: {' '.join(str(problem) for problem in problems)}")
        return HttpResponseRedirect(reverse(to, kwargs=parts))
    return attempted(request, act, done=done, to=to, parts=parts)


def sentence(refusal: Exception) -> str:
    """The reason as a sentence."""
    text = str(refusal).strip()
    return text[:1].upper() + text[1:]


def whole_number(text: str) -> int:
    """The number that a form or an address names; 0, which nothing has, where it names none."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else 0


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """The page for a form that did not come from here."""
    return _page(
        request,
        403,
        "This form was refused",
        "It was open for too long, or came from another site. "
        "Go back, load the page again and send it once more. Cookies must be allowed.",
    )


def forbidden(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """The page for somebody who may not."""
    words = (
        str(exception) if isinstance(exception, PermissionDenied) and str(exception) else "This is not yours to open."
    )
    return _page(request, 403, "Not allowed", words)


def not_here(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """The page for an address without a page."""
    return _page(request, 404, "There is no such page", "Check the address, or begin at the overview.")


def unreadable(request: HttpRequest) -> HttpResponse:
    """The page for a request with a character in it that is none."""
    return _page(request, 400, "This cannot be read", "It has the character NUL in it. Go back and type it anew.")


def broken(request: HttpRequest) -> HttpResponse:
    """The page for a fault of ours; it must not need the database."""
    return HttpResponse(
        "<!doctype html><html lang=en><title>Something broke</title><h1>Something broke on our side</h1>"
        "<p>The organisers can read what happened in the service's output. Nothing that was accepted is lost.",
        status=500,
    )


def _page(request: HttpRequest, status: int, title: str, words: str) -> HttpResponse:
    return render(request, "pages/refused.html", {"title": title, "words": words}, status=status)
