"""Accounts of another provider, over a real one on loopback: who comes in, and every mix-up that must not let in."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from allauth.account.models import EmailAddress
from allauth.socialaccount.models import SocialAccount
from django.core import mail
from django.test import Client, override_settings
from django.urls import reverse

from host_world import World, small_world
from oidc_provider import Provider, provider
from surgvalid.host.middleware import content_policy
from surgvalid.host.people.models import User
from surgvalid.host.settings import oidc_apps


@pytest.fixture
def providers(home: Path) -> Iterator[dict[str, Provider]]:
    """Two providers that the service knows, as a file of an organiser names them."""
    with ExitStack() as stack:
        both = {name: stack.enter_context(provider(name)) for name in ("hospital", "other")}
        file = home / "oidc.json"
        file.write_text(json.dumps([one.app for one in both.values()]))
        known = {"openid_connect": {"APPS": oidc_apps(str(file))}}
        mails = "django.core.mail.backends.locmem.EmailBackend"
        stack.enter_context(override_settings(SOCIALACCOUNT_PROVIDERS=known, EMAIL_BACKEND=mails))
        yield both


@pytest.fixture
def world(home: Path, providers: dict[str, Provider]) -> World:
    return small_world(home)


def sent_to(client: Client, name: str) -> str:
    """Where the service sends a browser that wants to sign in there."""
    answer = client.post(reverse("openid_connect_login", kwargs={"provider_id": name}))
    assert answer.status_code == 302
    return str(answer["Location"])


def come_back(client: Client, name: str, **returned: str) -> None:
    client.get(reverse("openid_connect_callback", kwargs={"provider_id": name}), returned)


def sign_in(client: Client, one: Provider) -> None:
    come_back(client, one.name, **one.authorize(sent_to(client, one.name)))


def is_inside(client: Client) -> bool:
    return client.get(reverse("account")).status_code == 200


def test_a_person_comes_in_with_the_address_that_the_provider_verified(
    world: World, providers: dict[str, Provider]
) -> None:
    assert "Hospital" in Client().get(reverse("account_login")).content.decode()
    client = Client()
    sign_in(client, providers["hospital"])
    assert is_inside(client)
    ada = User.objects.get(email="ada@hospital.example")
    assert EmailAddress.objects.get(user=ada).verified
    sign_in(again := Client(), providers["hospital"])
    assert is_inside(again)
    assert SocialAccount.objects.filter(user=ada).count() == 1


def test_an_address_that_the_provider_did_not_verify_waits_for_our_mail(
    world: World, providers: dict[str, Provider]
) -> None:
    providers["hospital"].person["email_verified"] = False
    client = Client()
    sign_in(client, providers["hospital"])
    assert not is_inside(client)
    assert re.search(r"/accounts/confirm-email/\S+/", mail.outbox[-1].body)


def test_a_provider_that_names_the_address_of_an_account_does_not_open_it(
    world: World, providers: dict[str, Provider]
) -> None:
    providers["hospital"].person |= {"sub": "eve", "email": "owner@example.org"}
    client = Client()
    sign_in(client, providers["hospital"])
    assert not is_inside(client)
    assert not SocialAccount.objects.filter(user=world.people["owner"]).exists()


def test_a_state_that_this_browser_did_not_get_lets_nobody_in(world: World, providers: dict[str, Provider]) -> None:
    one = providers["hospital"]
    eve = one.authorize(sent_to(Client(), "hospital"))
    for returned in (eve, {"code": eve["code"]}, eve | {"state": "guess"}):
        victim = Client()
        sent_to(victim, "hospital")
        come_back(victim, "hospital", **returned)
        assert not is_inside(victim)
    assert not SocialAccount.objects.exists()


def test_a_code_of_somebody_else_fits_no_other_browser(world: World, providers: dict[str, Provider]) -> None:
    """PKCE: the code that eve got for herself is put into the address with the victim's own state."""
    one, victim = providers["hospital"], Client()
    code = one.authorize(sent_to(Client(), "hospital"))["code"]
    state = one.authorize(sent_to(victim, "hospital"))["state"]
    come_back(victim, "hospital", code=code, state=state)
    assert not is_inside(victim)
    assert not SocialAccount.objects.exists()


def test_what_began_at_one_provider_does_not_end_at_another(world: World, providers: dict[str, Provider]) -> None:
    """A provider that is not honest sends its code to the address of the other one."""
    client = Client()
    returned = providers["other"].authorize(sent_to(client, "other"))
    providers["hospital"].codes.update(providers["other"].codes)
    come_back(client, "hospital", **returned)
    assert not is_inside(client)
    assert not SocialAccount.objects.exists()


@pytest.mark.parametrize(
    ("claims", "userinfo"),
    [
        ({"iss": "https://other.example"}, {}),
        ({"aud": "another-service"}, {}),
        ({"exp": 1_000_000_000}, {}),
        ({}, {"sub": "somebody-else"}),
    ],
    ids=["issuer", "audience", "expired", "another-person"],
)
def test_a_token_that_is_not_for_us_or_of_another_person_lets_nobody_in(
    world: World, providers: dict[str, Provider], claims: dict[str, Any], userinfo: dict[str, Any]
) -> None:
    one = providers["hospital"]
    one.token_changes, one.userinfo_changes = claims, userinfo
    client = Client()
    sign_in(client, one)
    assert not is_inside(client)
    assert not SocialAccount.objects.exists()


def test_a_form_may_lead_to_the_providers_and_nowhere_else() -> None:
    assert "form-action 'self' https://id.example.org;" in content_policy(("https://id.example.org",))
    assert "form-action 'self';" in content_policy()


@pytest.mark.filterwarnings("ignore")  # those of the provider
def test_a_provider_of_a_package_lets_a_person_in_and_a_denial_does_not(home: Path) -> None:
    """Authlib's provider, which nobody here wrote: discovery, keys, PKCE, token and profile are its own."""
    packaged = pytest.importorskip("oidc_provider_mock", reason="oidc-provider-mock is not installed")
    import requests

    claims = packaged.User(sub="grace", claims={"email": "grace@clinic.example", "email_verified": True})
    world = small_world(home)
    with packaged.run_server_in_thread(user_claims=[claims]) as server:
        url = f"http://localhost:{server.server_port}"
        app = {"provider_id": "clinic", "name": "Clinic", "client_id": "us", "secret": "s",
               "settings": {"server_url": url}}  # fmt: skip
        file = world.home / "oidc.json"
        file.write_text(json.dumps([app]))
        known = {"openid_connect": {"APPS": oidc_apps(str(file))}}
        mails = "django.core.mail.backends.locmem.EmailBackend"
        with override_settings(SOCIALACCOUNT_PROVIDERS=known, EMAIL_BACKEND=mails):
            for answer, inside in (({"sub": "grace"}, True), ({"action": "deny"}, False)):
                client = Client()
                sent = requests.post(sent_to(client, "clinic"), answer, allow_redirects=False, timeout=10)
                back = {name: one[0] for name, one in parse_qs(urlsplit(sent.headers["Location"]).query).items()}
                come_back(client, "clinic", **back)
                assert is_inside(client) == inside
    assert EmailAddress.objects.get(email="grace@clinic.example").verified
