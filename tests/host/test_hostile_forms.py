"""Every form of every page, found on the pages themselves, filled with what nobody should send: never our fault."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction
from django.test import override_settings
from django.urls import resolve, reverse

from host_world import World, board_with, scored, small_world
from surgvalid.host.acting import log_problems
from surgvalid.host.acts.tokens import UNTRUSTED, make_access_token, make_worker_token
from surgvalid.host.acts.uploads import received_path
from surgvalid.host.outbox import send_waiting
from surgvalid.host.pages.table import PAGES
from surgvalid.host.people import acts, teams
from surgvalid.host.people.rules import rules_now
from surgvalid.host.runs.models import BoardSnapshot, Mail, PrizeProposal, Publication, Upload

pytestmark = pytest.mark.database
HOSTILE = {
    "nothing": "", "nul": "a\0b", "long": "x" * 100_000, "html": "<script>alert(1)</script>", "turned": "\u202eabc",
    "letters": "\U0001f600\u0301\u200d", "digit that is none": "²", "digits": "9" * 400, "negative": "-1",
    "not a number": "nan", "infinite": "1e999", "zone": "2026-10-04T18:00+25:00", "early": "0001-01-01T00:00",
    "late": "9999-12-31T23:59", "half a letter": b"\xff\xfe", "formula": "=1+1", "lines": "a\r\nSubject: b",
}  # fmt: skip
ELSEWHERE = {"invitation", "begin", "delete"}  # behind secrets, and behind the password
READERS = ("loner", "member", "rival", "owner", "judge")


class Forms(HTMLParser):
    """The forms of a page that send something: address, and what each field holds."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []
        self.inside = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        about = dict(attrs)
        if tag == "form":
            self.inside = (about.get("method") or "").lower() == "post"
            if self.inside:
                self.found.append((about.get("action") or "", {}))
        elif self.inside and tag in ("input", "select", "textarea") and about.get("name"):
            self.found[-1][1][str(about["name"])] = about.get("value") or ""
        elif self.inside and tag == "option" and self.found[-1][1]:
            last = list(self.found[-1][1])[-1]
            self.found[-1][1][last] = self.found[-1][1][last] or about.get("value") or ""


@pytest.fixture
def world(home: Path) -> Iterator[World]:
    """A challenge in which every form has something to act on."""
    mails = "django.core.mail.backends.locmem.EmailBackend"
    with override_settings(ORGANISERS_NEED_SECOND_FACTOR=False, EMAIL_BACKEND=mails):
        world = small_world(home)
        file = home / "challenge.toml"
        file.write_text(file.read_text().replace("Example challenge", "Changed by hand"))  # the desk can adopt it
        rules = rules_now()
        _, secret = teams.invite(world.team, "loner@example.org", by=world.people["member"], rules=rules)
        teams.join(world.people["loner"], secret, rules)
        teams.invite(world.team, "new@example.org", by=world.people["member"], rules=rules)
        make_access_token("system", world.people["member"], "laptop")
        make_worker_token("system", "box", sorted(UNTRUSTED))
        for name in ("member", "rival"):
            acts.see_browser(world.people[name], "one browser")
        final = scored(world.team, "final", image_digest="sha256:a")
        about = {"team": world.team, "phase": "final", "announced_at": final.at, "received_at": final.at}
        final.description = Upload.objects.create(key="d" * 32, name="method.md", size_bytes=1, digest="", **about)
        final.save()
        place = received_path(final.description)
        place.parent.mkdir(parents=True)
        place.write_text("# Method")
        board = board_with(final, "final", "technical", published=False)
        for held in ({}, {"signed_at": final.at, "in_force": "final/technical"}):
            PrizeProposal.objects.create(snapshot=board, rows=board.tables["prizes"], at=final.at, **held)
        world.people["judge"].acceptances.all().delete()
        running = scored(world.team, "final")
        running.stage = "running"
        running.save()
        yield world


def forms_of(world: World) -> dict[str, tuple[str, str, dict[str, str]]]:
    """One form for each name of an address: who sends it, where, and what it holds."""
    found: dict[str, tuple[str, str, dict[str, str]]] = {}
    parts = {"phase": "pre-evaluation", "board": "technical", "team": world.team.pk, "number": 1}
    for page in PAGES:
        named = re.findall(r"<\w+:(\w+)>", page.route)
        if "GET" not in page.methods or page.route[-1:] not in ("", "/") or not parts.keys() >= set(named):
            continue
        for number in (1, 2, 3) if "number" in named else (1,):
            address = reverse(
                page.name,
                kwargs={name: parts[name] for name in named} | ({"number": number} if "number" in named else {}),
            )
            for who in READERS:
                answer = world.client(who).get(address)
                for action, fields in Forms(answer.getvalue().decode()).found if answer.status_code == 200 else ():
                    found.setdefault(resolve(action or address).url_name, (who, action or address, fields))
    return found


def test_no_field_of_any_form_breaks_a_page(world: World) -> None:
    forms = {name: form for name, form in forms_of(world).items() if not name.startswith("account_")}
    writing = {page.name for page in PAGES if "POST" in page.methods} - ELSEWHERE
    assert set(forms) == writing, "each form is on some page, and each leads to one"
    broken = []
    for name, (who, address, fields) in forms.items():
        client = world.client(who)
        client.raise_request_exception = False
        for field in fields.keys() - {"csrfmiddlewaretoken"}:
            for kind, value in HOSTILE.items():
                with transaction.atomic():
                    answer = client.post(address, fields | {field: value})
                    transaction.set_rollback(True)
                if answer.status_code not in (200, 302, 400, 404):
                    broken.append((name, field, kind, answer.status_code))
    assert broken == []
    assert log_problems() == []


@pytest.mark.parametrize("kind", HOSTILE)
def test_no_question_in_an_address_breaks_a_page(world: World, kind: str) -> None:
    broken = []
    for who, names in (("owner", ("organise_submissions", "organise_teams", "organise_descriptions", "organise_log")),
                       ("member", ("compare", "second_factor", "account_login", "home"))):  # fmt: skip
        client = world.client(who)
        client.raise_request_exception = False
        for name in names:
            for asked in ("phase", "stage", "page", "submission", "next", "teams"):
                value = HOSTILE[kind]
                answer = client.get(reverse(name), {asked: [value, value] if asked == "submission" else value})
                if answer.status_code not in (200, 302, 400, 404):
                    broken.append((name, asked, answer.status_code))
    assert broken == []


def posted(world: World, until: str) -> Any:
    """When the embargo of the final's leaderboard ends after a form said so, or None."""
    board = BoardSnapshot.objects.get(phase="final")
    world.client("owner").post(reverse("embargo", kwargs={"number": board.pk}), {"until": until, "reason": "x"})
    return Publication.objects.filter(snapshot=board).values_list("embargo_until", flat=True).first()


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("2026-10-04T18:00", datetime(2026, 10, 4, 18, tzinfo=UTC)),
        ("2026-10-04T18:00Z", datetime(2026, 10, 4, 18, tzinfo=UTC)),
        ("2026-10-04T18:00-07:00", datetime(2026, 10, 5, 1, tzinfo=UTC)),
        ("2026-10-04T18:00+02:00", datetime(2026, 10, 4, 16, tzinfo=UTC)),
        ("tomorrow", None),
    ],
)
def test_an_embargo_ends_when_its_organiser_meant(world: World, text: str, at: datetime | None) -> None:
    assert posted(world, text) == at


def test_an_invitation_waits_for_its_mail_server_and_is_sent_once_it_is_back(world: World) -> None:
    client = world.client("member")
    with override_settings(EMAIL_BACKEND="surgvalid.host.outbox.OutboxBackend"):
        answer = client.post(reverse("invite"), {"email": "late@example.org"}, follow=True)
    assert "The invitation is on its way." in answer.content.decode()
    with override_settings(MAIL_BACKEND="django.core.mail.backends.smtp.EmailBackend", EMAIL_PORT=1):
        assert send_waiting() == 0
    waiting = Mail.objects.get(to="late@example.org")
    assert "/invitation/" in waiting.text
    assert waiting.problem
    Mail.objects.update(next_at=waiting.made_at)
    with override_settings(MAIL_BACKEND="django.core.mail.backends.locmem.EmailBackend"):
        assert send_waiting() == 1
    assert not Mail.objects.exists()
