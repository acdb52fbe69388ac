"""Pages of one's account: profile, terms, tokens, a copy of one's data, deletion."""

from __future__ import annotations

import json
from typing import Any

from allauth.account.decorators import reauthentication_required
from allauth.mfa.utils import is_mfa_enabled
from django.contrib import messages
from django.contrib.auth import logout
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme

from surgvalid.host.acting import actor
from surgvalid.host.acts import tokens
from surgvalid.host.acts.refused import Refused
from surgvalid.host.pages.answers import attempted, page, sentence, with_form
from surgvalid.host.pages.forms import DeleteForm, ProfileForm, TokenForm
from surgvalid.host.pages.permissions import lacks_second_factor, me, person
from surgvalid.host.pages.site import as_html
from surgvalid.host.people import acts, privacy
from surgvalid.host.people.acts import has_role
from surgvalid.host.people.models import MemberRole, User
from surgvalid.host.people.rules import accept_terms, accepted_terms, rules_now
from surgvalid.host.runs.models import AccessToken

PROFILE = ("name", "institution", "country", "organiser_lab", "wants_mail")


def account(request: HttpRequest) -> HttpResponse:
    """Everything about one's account, and where to change it."""
    form = ProfileForm(initial={field: getattr(person(request), field) for field in PROFILE})
    return page(
        request,
        "account",
        "Your account",
        form=form,
        token_form=TokenForm(),
        tokens=AccessToken.objects.filter(user=person(request), revoked_at__isnull=True).order_by("-pk"),
        new_token=request.session.pop("new_token", ""),
        has_second_factor=is_mfa_enabled(person(request)),
    )


def save_profile(request: HttpRequest) -> HttpResponse:
    """Stores the profile."""
    form = ProfileForm(request.POST)
    act = lambda: acts.save_profile(person(request), **form.cleaned_data)  # noqa: E731
    return with_form(request, form, act, done="Your profile is stored.", to="account")


def make_token(request: HttpRequest) -> HttpResponse:
    """Makes a token and shows it once; where the person's role needs a second factor, its tokens do too."""
    if has_role(request.user, MemberRole.VIEWER) and lacks_second_factor(person(request)):
        return HttpResponseRedirect(reverse("second_factor"))

    def act() -> None:
        user = person(request)
        _, request.session["new_token"] = tokens.make_access_token(actor(user), user, **form.cleaned_data)

    form = TokenForm(request.POST)
    done = "The token is made. Copy it now: it is shown once."
    return with_form(request, form, act, done=done, to="account")


def revoke_token(request: HttpRequest, token: int) -> HttpResponse:
    """Revokes a token of one's own."""
    stored = AccessToken.objects.filter(pk=token, user=person(request)).first()
    if stored is None:
        raise Http404
    act = lambda: tokens.revoke_access_token(me(request), stored)  # noqa: E731
    return attempted(request, act, done="The token opens nothing any more.", to="account")


def terms(request: HttpRequest) -> HttpResponse:
    """The terms, and whether one has accepted them."""
    rules = rules_now()
    accepted = isinstance(request.user, User) and accepted_terms(request.user, rules)
    return page(request, "terms", "Terms", rules=rules, text=as_html(rules.terms_text), accepted=accepted)


def agree(request: HttpRequest) -> HttpResponse:
    """Stores that one agrees to the terms that were shown, and not to others that came meanwhile."""
    rules = rules_now()

    def act() -> None:
        if request.POST.get("sha256") != rules.terms_sha256:
            raise Refused("terms-changed", "the terms have changed since you opened the page. Read them again.")
        if request.POST.get("agree") != "yes":
            raise Refused("not-agreed", "tick the box to accept the terms.")
        accept_terms(person(request), rules)

    return attempted(request, act, done=f"You accepted version {rules.terms_version} of the terms.", to="terms")


def second_factor(request: HttpRequest) -> HttpResponse:
    """Why organisers need a second factor, and where to set it up."""
    onward = request.GET.get("next", "")
    safe = url_has_allowed_host_and_scheme(onward, {request.get_host()}, require_https=request.is_secure())
    return page(request, "second_factor", "A second factor", onward=onward if safe else "")


@reauthentication_required  # type: ignore[untyped-decorator]  # allauth has no types
def export(request: HttpRequest) -> HttpResponse:
    """A copy of everything stored about the person, as a file."""
    text = json.dumps(privacy.data_of(person(request)), indent=2, ensure_ascii=False)
    response = HttpResponse(text, content_type="application/json")
    response["Content-Disposition"] = 'attachment; filename="my-data.json"'
    return response


@reauthentication_required  # type: ignore[untyped-decorator]
def delete(request: HttpRequest) -> HttpResponse:
    """Asks whether the person means it, and forgets him."""
    form = DeleteForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        return _forget(request, form.cleaned_data)
    return page(request, "delete", "Delete your account", form=form)


def _forget(request: HttpRequest, data: dict[str, Any]) -> HttpResponse:
    user = person(request)
    try:
        if data["email"].lower() != user.email.lower():
            raise Refused("not-confirmed", "this is not the address of your account. Type it to confirm.")
        privacy.forget(user)
    except Refused as refusal:
        messages.error(request, sentence(refusal))
        return HttpResponseRedirect(reverse("delete"))
    logout(request)
    messages.success(request, "Your account is deleted. What your team achieved stays, without your name.")
    return HttpResponseRedirect(reverse("home"))
