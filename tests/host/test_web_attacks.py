"""Attacks on pages and accounts: forged hosts, open redirects, guessed passwords, told addresses, stolen sessions.

Each defence is a setting or a line; each test fails without it.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from allauth.account.models import EmailAddress
from django.core import mail
from django.test import Client, override_settings
from django.urls import reverse

from host_people import PASSWORD, ready_person
from host_world import World, board_with, scored, small_world
from surgvalid.host.acting import now
from surgvalid.host.acts.tokens import make_access_token
from surgvalid.host.acts.uploads import received_path
from surgvalid.host.middleware import COOKIE
from surgvalid.host.pages.site import as_html
from surgvalid.host.people import acts, privacy
from surgvalid.host.people.models import Team, User
from surgvalid.host.runs.models import Submission, Upload

LOGIN, SIGNUP, RESET = "account_login", "account_signup", "account_reset_password"


@pytest.fixture
def world(home: Path) -> Iterator[World]:
    with override_settings(EMAIL_BACKEND="django.core.mail.backends.locmem.EmailBackend"):
        yield small_world(home)


def signed_in(email: str, password: str = PASSWORD, client: Client | None = None) -> Client:
    client = client or Client()
    client.post(reverse(LOGIN), {"login": email, "password": password})
    return client


def is_inside(client: Client) -> bool:
    return client.get(reverse("account")).status_code == 200


def test_a_forged_host_gets_nothing(world: World) -> None:
    with override_settings(ALLOWED_HOSTS=["challenge.example.org"]):
        assert Client().get("/", headers={"host": "evil.example.org"}).status_code == 400
        assert Client().get("/", headers={"host": "challenge.example.org"}).status_code == 200


@pytest.mark.parametrize("onward", ["https://evil.example.org/", "//evil.example.org/", "javascript:alert(1)"])
def test_nobody_is_led_to_another_site(world: World, onward: str) -> None:
    answer = Client().post(reverse(LOGIN), {"login": "member@example.org", "password": PASSWORD, "next": onward})
    assert answer.status_code == 302
    assert answer["Location"] == "/"
    page = world.client("owner").get(reverse("second_factor"), {"next": onward})
    assert "evil.example.org" not in page.content.decode()
    assert "javascript:" not in page.content.decode()


def test_guessing_passwords_is_stopped_and_the_right_one_waits_too(world: World) -> None:
    client = Client()
    for _ in range(6):
        client.post(reverse(LOGIN), {"login": "member@example.org", "password": "wrong-guess-123"})
    assert not is_inside(signed_in("member@example.org", client=client))
    assert is_inside(signed_in("rival@example.org"))


def test_nobody_floods_strangers_with_mail_of_ours(world: World) -> None:
    """Resets of one address, and accounts for many, from one place."""
    mail.outbox = []
    for _ in range(10):
        Client().post(reverse(RESET), {"email": "member@example.org"})
    assert 0 < len(mail.outbox) <= 5
    mail.outbox.clear()
    phrase = "a-rather-long-phrase-7"
    for number in range(30):
        fields = {"email": f"new{number}@example.org", "password1": phrase, "password2": phrase}
        last = Client().post(reverse(SIGNUP), fields)
    assert 0 < len(mail.outbox) <= 20
    assert last.status_code == 429
    assert "<h1>" in last.content.decode()


def test_pages_do_not_tell_who_has_an_account(world: World) -> None:
    unknown = Client().post(reverse(RESET), {"email": "nobody@example.org"})
    known = Client().post(reverse(RESET), {"email": "member@example.org"})
    assert (unknown.status_code, unknown["Location"]) == (known.status_code, known["Location"])
    fresh = {"password1": "some-other-phrase-9", "password2": "some-other-phrase-9"}
    new = Client().post(reverse(SIGNUP), {"email": "new@example.org", **fresh})
    taken = Client().post(reverse(SIGNUP), {"email": "member@example.org", **fresh})
    assert (new.status_code, new["Location"]) == (taken.status_code, taken["Location"])
    wrong = [
        Client().post(reverse(LOGIN), {"login": who, "password": "wrong-guess-123"}).content.decode()
        for who in ("member@example.org", "nobody@example.org")
    ]
    told = [re.findall(r'class="errorlist[^>]*>.*?</ul>', text) for text in wrong]
    assert told[0] == told[1] != []


def test_an_unverified_address_opens_nothing_and_the_mailed_one_does(world: World) -> None:
    client = Client()
    phrase = "a-rather-long-phrase-7"
    client.post(reverse(SIGNUP), {"email": "New@Example.org", "password1": phrase, "password2": phrase})
    assert not is_inside(signed_in("new@example.org", phrase))
    address = re.search(r"http://[^/]+(/accounts/confirm-email/\S+/)", mail.outbox[-1].body)
    assert address is not None
    client.get(address[1])
    assert not EmailAddress.objects.get(email="new@example.org").verified  # a scanner that opens links verifies nothing
    client.post(address[1])
    assert EmailAddress.objects.get(email="new@example.org").verified
    assert is_inside(signed_in("new@example.org", phrase))


def test_passwords_are_kept_with_argon2() -> None:
    from surgvalid.host import settings

    assert settings.PASSWORD_HASHERS == ["django.contrib.auth.hashers.Argon2PasswordHasher"]
    with override_settings(PASSWORD_HASHERS=settings.PASSWORD_HASHERS):
        from django.contrib.auth.hashers import make_password

        assert make_password("x").startswith("argon2$argon2id$")


def test_a_session_is_new_after_signing_in_and_dies_with_the_password(world: World) -> None:
    client = Client()
    client.get("/")
    client.cookies["sessionid"] = "planted-by-somebody"
    signed_in("member@example.org", client=client)
    assert is_inside(client)
    assert client.cookies["sessionid"].value != "planted-by-somebody"
    assert client.cookies["sessionid"]["httponly"]
    other = signed_in("member@example.org")
    change = {"oldpassword": PASSWORD, "password1": "another-phrase-88", "password2": "another-phrase-88"}
    client.post(reverse("account_change_password"), change)
    assert is_inside(client)
    assert not is_inside(other)


def test_a_deleted_person_is_out_everywhere(world: World) -> None:
    client = signed_in("loner@example.org")
    _, token = make_access_token("system", world.people["loner"], "laptop")
    privacy.forget(world.people["loner"])
    assert not is_inside(client)
    assert not is_inside(signed_in("loner@example.org"))
    assert Client().get("/api/standing", headers={"Authorization": f"Bearer {token}"}).status_code == 401


def test_accounts_of_one_browser_are_seen_and_a_forged_mark_is_not_taken(world: World) -> None:
    client = signed_in("member@example.org")
    client.get("/")
    mark = client.cookies[COOKIE].value
    client.post(reverse("account_logout"))
    signed_in("rival@example.org", client=client).get("/")
    assert [flag.names for flag in acts.browser_flags()] == [("member", "rival")]
    forged = Client()
    forged.cookies[COOKIE] = mark[:-1] + ("a" if mark[-1] != "a" else "b")
    signed_in("loner@example.org", client=forged).get("/")
    assert [flag.names for flag in acts.browser_flags()] == [("member", "rival")]


def test_names_of_teams_and_persons_stay_text(world: World) -> None:
    Team.objects.filter(pk=world.team.pk).update(name="=HYPERLINK(1)<script>alert(1)</script>")
    User.objects.filter(email="member@example.org").update(name='"><img src=x onerror=alert(1)>')
    address = {"phase": "pre-evaluation", "board": "technical"}
    board = Client().get(reverse("board", kwargs=address)).content.decode()
    assert "<script>alert" not in board
    picture = Client().get(reverse("board_picture", kwargs=address)).content.decode()
    assert "<script" not in picture
    table = Client().get(reverse("board_table", kwargs=address)).content.decode()
    assert ",'=HYPERLINK" in table
    assert "<img src=x" not in world.client("member").get(reverse("team")).content.decode()


@pytest.mark.parametrize(
    "text",
    ["<script>alert(1)</script>", "[x](javascript:alert(1))", "![x](http://evil/x.png)", "<img src=x onerror=y>"],
)
def test_texts_of_organisers_cannot_act(text: str) -> None:
    assert not re.search(r"<script|<img|href=\"javascript", as_html(text))


@override_settings(ORGANISERS_NEED_SECOND_FACTOR=False)
@pytest.mark.parametrize("name", ["method.md", "method.pdf", "method.zip"])
def test_a_description_is_a_file_to_keep_and_never_a_page(world: World, name: str) -> None:
    """Whatever its bytes are, a judge's browser is not asked to show them on the address of the service."""
    image = world.submission.image
    upload = Upload.objects.create(team=world.team, phase=image.phase, key="d" * 32, name=name, size_bytes=1,
                                   digest="", announced_at=now(), received_at=now())  # fmt: skip
    Submission.objects.filter(pk=world.submission.pk).update(description=upload)
    place = received_path(upload)
    place.parent.mkdir(parents=True)
    place.write_bytes(b"<svg onload=alert(1)><script>alert(1)</script>")
    answer = world.client("judge").get(reverse("description", kwargs={"number": world.submission.pk}))
    assert answer["Content-Disposition"].startswith("attachment")
    assert answer["Content-Type"] == "application/octet-stream"
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Content-Security-Policy"] == "sandbox; default-src 'none'"
    assert answer.getvalue().startswith(b"<svg")


@override_settings(ORGANISERS_NEED_SECOND_FACTOR=False)
def test_hidden_values_are_nowhere_before_publication(world: World) -> None:
    """Pages, table, image, state and programs: a team is told nothing of a hidden phase."""
    one = scored(world.team, "final")
    board_with(one, "final", "technical", published=False)
    board_with(one, "final", "clinical", published=False)
    client = world.client("member")
    _, token = make_access_token("system", world.people["member"], "laptop")
    one_board, number = {"phase": "final", "board": "technical"}, {"number": one.pk}
    pages = [reverse("submission", kwargs=number), reverse("submission_state", kwargs=number), reverse("boards"),
             reverse("board", kwargs=one_board), f"/api/submissions/{one.pk}"]  # fmt: skip
    for page in pages:
        text = client.get(page).content.decode()
        assert "0.61" not in text, page
        assert "0.58" not in text, page
    for name in ("board_table", "board_picture"):
        assert client.get(reverse(name, kwargs={"phase": "final", "board": "technical"})).status_code == 404
    bearer = client.get(f"/api/submissions/{one.pk}", headers={"Authorization": f"Bearer {token}"})
    assert bearer.json()["values"] == {}
    shown = world.client("owner").get(reverse("organise_submission", kwargs={"number": one.pk})).content.decode()
    assert "0.61234567" in shown
    assert "shown when its leaderboard is published" not in shown


def test_public_values_are_rounded_everywhere(world: World) -> None:
    address = {"phase": "pre-evaluation", "board": "technical"}
    for name in ("board", "board_table", "board_picture"):
        text = Client().get(reverse(name, kwargs=address)).content.decode()
        assert "0.6123" not in text, name
    assert "0.6123" not in world.client("member").get(reverse("team")).content.decode()


def test_data_wait_for_the_terms_as_they_read_today(world: World) -> None:
    (world.home / "downloads").mkdir()
    (world.home / "downloads" / "a.zip").write_bytes(b"patients")
    (world.home / "downloads" / "out").symlink_to(world.home / "challenge.toml")
    place = reverse("data_file", kwargs={"name": "a.zip"})
    assert world.client("member").get(place).getvalue() == b"patients"
    assert world.client("member").get("/data/out").status_code == 404
    for name in ("..%2fhost.sqlite3", "../host.sqlite3"):
        assert world.client("member").get(f"/data/{name}").status_code in (301, 302, 404)
    (world.home / "texts" / "terms.md").write_text("Other terms.")
    answer = world.client("member").get(place)
    assert (answer.status_code, answer["Location"]) == (302, reverse("terms"))


def test_terms_that_changed_while_they_were_read_are_not_accepted(world: World) -> None:
    late = ready_person("late", lack="terms")
    client = Client()
    client.force_login(late, backend="allauth.account.auth_backends.AuthenticationBackend")
    client.post(reverse("agree"), {"sha256": "0" * 64, "agree": "yes"})
    assert not late.acceptances.exists()


def test_the_deployment_check_is_clean(tmp_path: Path) -> None:
    env = os.environ | {
        "SURGVALID_HOST": str(tmp_path), "SURGVALID_HOST_URL": "https://challenge.example.org",
        "SURGVALID_HOST_PROXIES": "1", "DJANGO_SETTINGS_MODULE": "surgvalid.host.settings",
    }  # fmt: skip
    command = [sys.executable, "-m", "django", "check", "--deploy", "--fail-level", "WARNING"]
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    names = "SESSION_COOKIE_SECURE, s.CSRF_COOKIE_SECURE, s.DEBUG, s.ALLOWED_HOSTS"
    script = f"from surgvalid.host import settings as s; print(s.{names})"
    shown = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True)
    assert shown.stdout.strip() == "True True False ['challenge.example.org']"


BEHIND_A_PROXY = """
import http.client, threading
from pathlib import Path
from surgvalid.host import service
service.set_up(".", backup=Path("none"))
listening, said = threading.Event(), []
ready = lambda url: (said.append(url), listening.set())
threading.Thread(target=lambda: service.serve("127.0.0.1", 0, ready=ready), daemon=True).start()
listening.wait()
for scheme in ("https", "http"):
    asked = http.client.HTTPConnection(said[0].removeprefix("http://"))
    headers = {"Host": "challenge.example.org", "X-Forwarded-Proto": scheme}
    asked.request("GET", "/static/host/host.css", headers=headers)
    print(asked.getresponse().status)
"""


@pytest.mark.parametrize(("proxies", "statuses"), [("1", "200 301"), ("0", "301 301")])
def test_the_word_of_a_proxy_is_taken_only_where_one_stands(tmp_path: Path, proxies: str, statuses: str) -> None:
    env = os.environ | {
        "SURGVALID_HOST": str(tmp_path), "SURGVALID_HOST_URL": "https://challenge.example.org",
        "SURGVALID_HOST_PROXIES": proxies, "DJANGO_SETTINGS_MODULE": "surgvalid.host.settings",
    }  # fmt: skip
    done = subprocess.run([sys.executable, "-c", BEHIND_A_PROXY], env=env, cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.split() == statuses.split(), done.stderr
