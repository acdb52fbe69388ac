"""Headers that every answer carries, letters that no request may have, browsers by mark, programs by token."""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponse

from surgvalid.host.acts.tokens import new_secret
from surgvalid.host.pages.answers import unreadable
from surgvalid.host.people.acts import see_browser
from surgvalid.host.people.models import User


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


COOKIE, SALT, YEAR_S = "browser", "surgvalid.host.browser", 365 * 24 * 3600
Next = Callable[[HttpRequest], HttpResponse]


def content_policy(form_targets: tuple[str, ...] = ()) -> str:
    """What a page may load: its own files and nothing else; scripts and styles stand in files, never in the page."""
    rules = {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",
        "img-src": "'self' data:",  # the image of a second factor's secret is in the page itself
        "connect-src": "'self'",
        "form-action": " ".join(("'self'", *form_targets)),
        "frame-ancestors": "'none'",
        "base-uri": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in rules.items())


class HeadersMiddleware:
    """Adds the content policy, and keeps what a signed-in person sees out of every cache."""

    def __init__(self, get_response: Next) -> None:
        self.get_response = get_response
        self.policy = content_policy(settings.FORM_TARGETS)

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """The response with its headers."""
        response = self.get_response(request)
        response.headers.setdefault("Content-Security-Policy", self.policy)
        response.headers.setdefault("Permissions-Policy", "camera=(), microphone=(), geolocation=(), payment=()")
        user = getattr(request, "user", None)
        if user is not None and user.is_authenticated:
            response.headers.setdefault("Cache-Control", "private, no-store")
        return response


class LettersMiddleware:
    """Refuses a form or an address with NUL in it, which no database keeps alike and nobody types."""

    def __init__(self, get_response: Next) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """The response, or the refusal."""
        given = [request.path, *(value for _, values in request.GET.lists() for value in values)]
        given += [value for _, values in request.POST.lists() for value in values]
        return unreadable(request) if any("\0" in value for value in given) else self.get_response(request)


class BrowserMiddleware:
    """Notes once per session which browser an account is used from."""

    def __init__(self, get_response: Next) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """The response, with the mark where the browser had none."""
        response = self.get_response(request)
        if not isinstance(request.user, User) or request.session.get("browser_seen"):
            return response
        mark = self._mark(request)
        see_browser(request.user, mark)
        request.session["browser_seen"] = True
        response.set_cookie(
            COOKIE,
            signing.dumps(mark, salt=SALT),
            max_age=YEAR_S,
            httponly=True,
            secure=settings.SESSION_COOKIE_SECURE,
            samesite="Lax",
        )
        return response

    def _mark(self, request: HttpRequest) -> str:
        try:
            return str(signing.loads(request.COOKIES.get(COOKIE, ""), salt=SALT))
        except signing.BadSignature:
            return new_secret()
