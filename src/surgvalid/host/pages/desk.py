"""The organisers' desk: begin a challenge, change its file and texts by forms, see what that means, and adopt it."""

from __future__ import annotations

import hmac
from datetime import datetime
from itertools import groupby
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.text import slugify

from surgvalid.errors import SurgvalidError
from surgvalid.host import places
from surgvalid.host.acts.drafts import ChallengeDraft, new_draft
from surgvalid.host.acts.refused import Refused
from surgvalid.host.challenge.challenge import COUNTED, VISIBILITIES
from surgvalid.host.challenge.drafts import Setting, changed, settings_of, with_item
from surgvalid.host.challenge.example import new_challenge
from surgvalid.host.pages.answers import attempted, page, sentence, with_form
from surgvalid.host.pages.forms import BeginForm
from surgvalid.host.pages.permissions import me, person, posted
from surgvalid.host.pages.site import as_html, challenge_here
from surgvalid.host.people.acts import first_secret, give_role, has_role
from surgvalid.host.people.models import MemberRole

_KINDS = ("phases", "baselines")
_CHOICES = {"visibility": VISIBILITIES, "counted": COUNTED, "yes_no": {"true": "", "false": ""}}


def begin(request: HttpRequest, secret: str) -> HttpResponse:
    """The address that `serve` prints while there is no owner: makes who opens it the owner, and a first challenge."""
    fits = hmac.compare_digest(secret, first_secret() or "-")
    if not fits or request.method != "POST":
        return page(request, "begin", "Begin a challenge", form=BeginForm() if fits else None, made=_is_made())
    form = BeginForm(request.POST)

    def act() -> None:
        if not _is_made():
            _make(form.cleaned_data)
        give_role(person(request), MemberRole.OWNER, by=None)

    if not _is_made() and not form.is_valid():
        return with_form(request, form, act, done="", to="begin", parts={"secret": secret})
    return attempted(request, act, done="You are its owner. Change what has to be another, then adopt it.", to="desk")


def _is_made() -> bool:
    return (places.home() / places.CHALLENGE).exists()


def _make(given: dict[str, Any]) -> None:
    new_challenge(places.home(), start=datetime.combine(given["start"], datetime.min.time()))
    path = places.home() / places.CHALLENGE
    words = {"slug": slugify(given["name"])[:60] or "challenge"} | {
        name: given[name] for name in ("name", "contact", "time_zone")
    }
    path.write_text(changed(path.read_text(encoding="utf-8"), words), encoding="utf-8")


def desk(request: HttpRequest) -> HttpResponse:
    """Every setting and text as a form, and the draft that waits: what is wrong in it, or what it would change."""
    draft, problem = _draft(request), ""
    listed: list[Any] = []
    changes, effects, owners = [], [], []
    try:
        groups = groupby(settings_of(draft.text), key=_group)
        listed = [(name, [_field(one, name) for one in settings]) for name, settings in groups]
        changes, effects, owners = draft.changes(), list(draft.effects()), draft.for_owners()
    except SurgvalidError as error:
        problem = sentence(error)
    texts = [(name, text, as_html(text)) for name, text in draft.files.items() if name != places.CHALLENGE]
    return page(
        request,
        "organise/desk",
        "The challenge",
        groups=listed,
        texts=texts,
        text=draft.text,
        problem=problem,
        changes=changes,
        effects=effects,
        owners=owners,
        drafted="draft" in request.session,
        kinds={kind: [name.partition(".")[2] for name, _ in listed if name.startswith(f"{kind}.")] for kind in _KINDS},
    )


def _group(setting: Setting) -> str:
    parts = setting.name.split(".")
    return ".".join(parts[: 2 if parts[0] in _KINDS else 1]) if len(parts) > 1 else ""


def _field(setting: Setting, group: str) -> dict[str, Any]:
    label = setting.name.removeprefix(f"{group}.")
    choices = _CHOICES.get(label, _CHOICES.get(setting.kind, {}))
    return {"one": setting, "label": label.replace(".", ": ").replace("_", " "), "choices": list(choices)}


def baselines(request: HttpRequest) -> HttpResponse:
    """The baselines that the file names, and the form that hands one in."""
    return page(request, "organise/baselines", "Baselines", here=challenge_here())


def change_draft(request: HttpRequest) -> HttpResponse:
    """Keeps what a form of the desk says as a draft; nobody else sees it, and nothing holds yet."""

    def act() -> None:
        draft, given = _draft(request), request.POST
        kind, slug = (given.get(name, "") for name in ("kind", "slug"))
        text, texts = draft.text, {}
        match given.get("do"):
            case "copy":
                text = with_item(text, kind, slug, given.get("new", "").strip())
            case "drop":
                text = with_item(text, kind, slug, None)
            case "whole":
                text = given.get("text", "").replace("\r\n", "\n")
            case _:
                text = changed(text, given.dict())
                texts = {name: given[name].replace("\r\n", "\n") for name in draft.files if name in given}
        made = draft.having(**texts, **{places.CHALLENGE: text})
        request.session["draft"] = {"files": dict(made.files), "base": made.base}

    if request.POST.get("do") == "discard":
        request.session.pop("draft", None)
        return HttpResponseRedirect(reverse("desk"))
    return attempted(request, act, done="This is a draft. Nothing holds before it is adopted.", to="desk")


def adopt_draft(request: HttpRequest) -> HttpResponse:
    """Makes the draft the challenge that holds."""

    def act() -> None:
        draft = _draft(request)
        draft.read()
        if (names := draft.for_owners()) and not has_role(request.user, MemberRole.OWNER):
            raise Refused("owner-needed", f"only an owner changes {', '.join(names)}.")
        draft.adopt(me(request), posted(request, "note"))
        request.session.pop("draft", None)

    return attempted(request, act, done="It holds from now on; everybody reads the change and your note.", to="desk")


def _draft(request: HttpRequest) -> ChallengeDraft:
    kept = request.session.get("draft")
    return ChallengeDraft(**kept) if kept else new_draft()
