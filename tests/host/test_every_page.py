"""Every address of the service, from its own table: who reaches it, by which method, with which token and headers."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import override_settings
from django.urls import URLPattern, URLResolver, get_resolver, include, path, reverse

from host_world import World, small_world
from surgvalid.host.acts.tokens import make_access_token
from surgvalid.host.pages.permissions import Allow, guarded
from surgvalid.host.pages.table import PAGES, Page
from surgvalid.host.people import teams
from surgvalid.host.people.models import Invitation
from surgvalid.host.people.rules import rules_now

PERSONAS = ("stranger", "loner", "member", "rival", "viewer", "judge", "editor", "owner")
REACHED = {
    Allow.EVERYONE: PERSONAS,
    Allow.SIGNED_IN: PERSONAS[1:],
    Allow.MEMBER: ("member", "rival"),
    Allow.ITS_TEAM: ("member", "viewer", "judge", "editor", "owner"),
    Allow.VIEWER: ("viewer", "judge", "editor", "owner"),
    Allow.JUDGE: ("judge", "editor", "owner"),
    Allow.EDITOR: ("editor", "owner"),
    Allow.OWNER: ("owner",),
}


@pytest.fixture
def world(home: Path) -> World:
    return small_world(home)


def address(page: Page, world: World) -> str:
    """The address of a page, with numbers of things that exist and belong to the member's team."""
    parts = {
        "number": world.submission.pk if "submissions" in page.route else world.snapshot.pk,
        "name": "a.zip", "secret": "x" * 43, "token": 1, "invitation": 1, "proposal": 1, "act": "cancel",
        "team": world.team.pk, "phase": "pre-evaluation", "board": "technical",
    }  # fmt: skip
    named = re.findall(r"<\w+:(\w+)>", page.route)
    return reverse(page.name, kwargs={name: parts[name] for name in named})


def every_pattern(patterns: Any = None, before: str = "") -> Iterator[tuple[str, URLPattern]]:
    for one in get_resolver().url_patterns if patterns is None else patterns:
        here = before + str(one.pattern)
        if isinstance(one, URLResolver):
            yield from every_pattern(one.url_patterns, here)
        else:
            yield here, one


def test_every_address_says_who_may_open_it() -> None:
    undeclared = [
        address
        for address, one in every_pattern()
        if not address.startswith(("accounts/", "api/")) and not isinstance(getattr(one.callback, "allow", None), Allow)
    ]  # fmt: skip
    assert undeclared == []
    assert len({page.name for page in PAGES}) == len({page.route for page in PAGES}) == len(PAGES)


def test_only_the_declared_people_reach_a_page(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    reached: list[str] = []

    def spy(name: str) -> Any:
        def view(request: HttpRequest, **parts: Any) -> HttpResponse:
            reached.append(name)
            return HttpResponse()

        return view

    spied = ModuleType("spied_urls")
    spied.urlpatterns = [  # type: ignore[attr-defined]
        *(path(one.route, guarded(spy(one.name), one.allow, one.methods), name=one.name) for one in PAGES),
        path("accounts/", include("allauth.urls")),
    ]
    spied.handler403 = "surgvalid.host.pages.answers.forbidden"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "spied_urls", spied)
    wrong = []
    with override_settings(ROOT_URLCONF="spied_urls", ORGANISERS_NEED_SECOND_FACTOR=False):
        for persona in PERSONAS:
            client = world.client(persona)
            for page in PAGES:
                for method in ("GET", "POST"):
                    reached.clear()
                    answer = getattr(client, method.lower())(address(page, world))
                    wanted = method in page.methods and persona in REACHED[page.allow]
                    if bool(reached) != wanted:
                        wrong.append((persona, method, page.name, answer.status_code))
                    if method not in page.methods and answer.status_code != 405:
                        wrong.append((persona, method, page.name, "not refused"))
    assert wrong == []


ELSEWHERE = ("export", "delete", "description", "compare", "export_file", "metrics", "own_text")
"""Pages that need more than a look: their own tests have it."""


@override_settings(ORGANISERS_NEED_SECOND_FACTOR=False)
def test_every_page_opens_without_a_fault_for_whom_it_is(world: World) -> None:
    (world.home / "downloads").mkdir()
    (world.home / "downloads" / "a.zip").write_bytes(b"x")
    broken = []
    for page in PAGES:
        if "GET" not in page.methods or page.name in ELSEWHERE:
            continue
        persona = {Allow.MEMBER: "member", Allow.ITS_TEAM: "member"}.get(page.allow, "owner")
        answer = world.client(persona).get(address(page, world))
        headed = b"<h1>" in answer.getvalue() or not page.route.endswith("/") or page.name == "submission_state"
        if answer.status_code != 200 or not headed:
            broken.append((page.name, answer.status_code))
    assert broken == []


def test_a_form_from_another_site_changes_nothing(world: World) -> None:
    taken = []
    for page in PAGES:
        if "POST" in page.methods:
            persona = {Allow.MEMBER: "member", Allow.ITS_TEAM: "member"}.get(page.allow, "owner")
            answer = world.client(persona, enforce_csrf_checks=True).post(address(page, world))
            if answer.status_code != 403 or b"This form was refused" not in answer.content:
                taken.append((page.name, answer.status_code))
    assert taken == []


def test_every_page_carries_its_headers(world: World) -> None:
    answer = world.client("member").get("/")
    policy = answer["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert answer["X-Frame-Options"] == "DENY"
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Referrer-Policy"] == "same-origin"
    assert answer["Cache-Control"] == "private, no-store"
    for page in PAGES:
        if "GET" in page.methods and page.allow is Allow.EVERYONE and page.route.endswith("/"):
            text = world.client("stranger").get(address(page, world)).content.decode()
            assert not re.search(r"<script(?![^>]*\bsrc=)|\son\w+=|\sstyle=|javascript:", text), page.name


def test_things_of_others_do_not_exist(world: World) -> None:
    rules = rules_now()
    invitation, _ = teams.invite(world.team, "new@example.org", by=world.people["member"], rules=rules)
    token, _ = make_access_token("system", world.people["member"], "laptop")
    others = {
        "revoke_token": {"token": token.pk},
        "revoke_invitation": {"invitation": invitation.pk},
    }
    own = {"data_file", "invitation", "begin"}  # a name that everybody may know, and secrets
    named = {page.name for page in PAGES if page.allow in (Allow.SIGNED_IN, Allow.MEMBER) and "<" in page.route}
    assert named == others.keys() | own
    for name, parts in others.items():
        answer = world.client("rival").post(reverse(name, kwargs=parts))
        assert answer.status_code == 404, name
    assert Invitation.objects.get(pk=invitation.pk).is_open
    number = world.submission.pk
    assert (
        world.client("rival").get(reverse("compare") + f"?submission={number}&submission={number}").status_code == 404
    )


def test_organisers_need_a_second_factor(world: World) -> None:
    answer = world.client("owner").get(reverse("organise_submissions"))
    assert answer.status_code == 302
    assert answer["Location"].startswith(reverse("second_factor"))
    with override_settings(ORGANISERS_NEED_SECOND_FACTOR=False):
        assert world.client("owner").get(reverse("organise_submissions")).status_code == 200


def test_no_program_speaks_to_the_service_without_a_token(world: World) -> None:
    """Every address of programs: nobody, a person at those of workers, and a wrong token get nothing."""
    opened = []
    routes = [route for route, _ in every_pattern() if route.startswith("api/")]
    assert routes
    clients = {persona: world.client(persona) for persona in ("stranger", "member", "owner")}
    for route in routes:
        place = "/" + route.replace("<int:number>", "1").replace("<str:key>", "0" * 32) + "?fencing=1&offset=0"
        people = clients if "/worker/" in place else ("stranger",)
        for persona, method in product(people, ("GET", "POST", "PUT", "DELETE")):
            for headers in ({}, {"Authorization": "Bearer sgw_wrong"}):
                answer = clients[persona].generic(method, place, "{}", "application/json", headers=headers)
                if answer.status_code not in (401, 405):
                    opened.append((persona, method, place, answer.status_code))
    assert opened == []
