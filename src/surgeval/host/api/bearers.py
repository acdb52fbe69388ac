"""Requests that carry a token instead of a session."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse


class BearerMiddleware:
    """Notes the token of a request, as `request.bearer`.

    A page of another site cannot make a browser send this header, so such a request needs no CSRF token; views that
    take one never look at the session beside it.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """The response."""
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        bearer = token.strip() if scheme == "Bearer" else ""
        request.bearer = bearer  # type: ignore[attr-defined]
        if bearer:
            request._dont_enforce_csrf_checks = True  # type: ignore[attr-defined]
        return self.get_response(request)
