"""Who may open an address, as one word per address, and the check that wraps its view.

A stranger is sent to sign in; a person without the role is told so; a thing of another team does not exist for him,
so that nobody can learn which numbers are in use.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import wraps
from typing import Any
from urllib.parse import urlencode

from allauth.mfa.utils import is_mfa_enabled
from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    HttpResponseNotAllowed,
    HttpResponseRedirect,
)
from django.urls import reverse

from surgvalid.host.acting import actor
from surgvalid.host.people.acts import has_role
from surgvalid.host.people.models import MemberRole, User
from surgvalid.host.people.teams import team_of
from surgvalid.host.runs.models import Submission

View = Callable[..., HttpResponseBase]


class Allow(Enum):
    """Who may open an address."""

    EVERYONE = "everyone"
    SIGNED_IN = "a person with a verified address"
    MEMBER = "a member of a team"
    ITS_TEAM = "the team of the submission, and organisers"
    VIEWER = MemberRole.VIEWER.value
    JUDGE = MemberRole.JUDGE.value
    EDITOR = MemberRole.EDITOR.value
    OWNER = MemberRole.OWNER.value

    @property
    def role(self) -> MemberRole | None:
        """The role that is needed, where one is."""
        return MemberRole(self.value) if self.value in MemberRole.values else None


def person(request: HttpRequest) -> User:
    """Who is signed in, behind a check that somebody is."""
    if not isinstance(request.user, User):
        raise PermissionDenied
    return request.user


def me(request: HttpRequest) -> str:
    """Who is signed in, as entries of the log say it."""
    return actor(person(request))


def posted(request: HttpRequest, name: str) -> str:
    """What a form that was sent has under a name; nothing where it has nothing."""
    return request.POST.get(name, "")


def guarded(view: View, allow: Allow, methods: tuple[str, ...]) -> View:
    """The view behind its check; other methods than the declared ones are refused before anything is read."""

    @wraps(view)
    def checked(request: HttpRequest, **parts: Any) -> HttpResponseBase:
        if request.method not in methods and not (request.method == "HEAD" and "GET" in methods):
            return HttpResponseNotAllowed(methods)
        refusal = refused(request, allow, parts)
        return refusal if refusal is not None else view(request, **parts)

    checked.allow = allow  # type: ignore[attr-defined]  # what tests over all addresses read
    return checked


def refused(request: HttpRequest, allow: Allow, parts: dict[str, Any]) -> HttpResponse | None:
    """What a request gets that may not pass; None where it may."""
    if allow is Allow.EVERYONE:
        return None
    if not isinstance(request.user, User):
        return HttpResponseRedirect(f"{reverse('account_login')}?{urlencode({'next': request.get_full_path()})}")
    if allow is Allow.MEMBER and team_of(request.user) is None:
        return HttpResponseRedirect(reverse("team"))
    if allow is Allow.ITS_TEAM:
        return _of_its_team(request, parts["number"])
    return _by_role(request, allow.role) if allow.role else None


def _of_its_team(request: HttpRequest, number: int) -> HttpResponse | None:
    team = team_of(person(request))
    if team is not None and Submission.objects.filter(pk=number, team=team).exists():
        return None
    if has_role(request.user, MemberRole.VIEWER) and Submission.objects.filter(pk=number).exists():
        return _by_role(request, MemberRole.VIEWER)
    raise Http404


def lacks_second_factor(user: object) -> bool:
    """Whether an organiser has to set one up first."""
    return settings.ORGANISERS_NEED_SECOND_FACTOR and not is_mfa_enabled(user)


def _by_role(request: HttpRequest, role: MemberRole) -> HttpResponse | None:
    if not has_role(request.user, role):
        raise PermissionDenied(f"This page needs the role '{role.value}'. Ask an owner of the challenge for it.")
    if lacks_second_factor(request.user):
        return HttpResponseRedirect(f"{reverse('second_factor')}?{urlencode({'next': request.get_full_path()})}")
    return None
