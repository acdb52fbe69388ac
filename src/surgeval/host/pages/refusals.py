"""Pages that say no: what is wrong, and what to do."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """The page for a form that did not come from here."""
    return _page(request, 403, "This form was refused", "It was open for too long, or came from another site. "
                 "Go back, load the page again and send it once more. Cookies must be allowed.")  # fmt: skip


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
