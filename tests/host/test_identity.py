"""Who comes back has what he used; who guesses shuts nobody out; tokens end; mail leaves when its server is back."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.core import mail
from django.test import Client, override_settings
from django.urls import reverse

from host_people import PASSWORD, ready_person
from host_server import serving
from host_service import PRE, Service
from surgvalid.host import outbox
from surgvalid.host.acts import tokens
from surgvalid.host.acts.challenge import current_challenge
from surgvalid.host.acts.quotas import usage_of
from surgvalid.host.acts.refused import Refused
from surgvalid.host.client import Host, HostRefused
from surgvalid.host.people import acts, privacy, teams
from surgvalid.host.people.acts import address_mark
from surgvalid.host.people.models import MemberRole, User
from surgvalid.host.people.rules import rules_now
from surgvalid.host.runs.models import Mail, Submission

pytestmark = pytest.mark.database
LOCMEM = "django.core.mail.backends.locmem.EmailBackend"


def again(email: str) -> User:
    """Somebody registers anew."""
    user = ready_person("x", rules=rules_now())
    User.objects.filter(pk=user.pk).update(email=email)
    EmailAddress.objects.filter(user=user).update(email=email)
    return User.objects.get(pk=user.pk)


def test_who_deletes_an_account_and_comes_back_has_what_was_used(service: Service) -> None:
    user = service.person("ada")
    acts.see_browser(user, "one browser")
    team = teams.found_team(user, "Lovelace lab", rules_now())
    for _ in range(2):
        Submission.objects.filter(pk=service.hand_in(team).pk).update(stage="scored", values={"technical": 0.5})
    used = usage_of(team, current_challenge().phase(PRE))
    privacy.forget(user)
    assert "ada" not in str(User.objects.filter(pk=user.pk).values())
    back = again("Ada+second@example.org")
    acts.see_browser(back, "one browser")
    mine = teams.found_team(back, "Quite another lab", rules_now())
    assert mine == team
    assert usage_of(mine, current_challenge().phase(PRE)) == used
    assert used.scored == 2
    assert teams.members_of(mine) == [back]
    assert mine.leader == back
    assert sorted(flag.kind for flag in acts.flags()) == ["address", "browser"]


def test_who_left_others_behind_goes_back_to_them_or_nowhere(service: Service) -> None:
    user, other = service.person("ada"), service.person("bob")
    team = teams.found_team(other, "Lovelace lab", rules_now())
    _, secret = teams.invite(team, user.email, by=other, rules=rules_now())
    teams.join(user, secret, rules_now())
    service.hand_in(team)
    privacy.forget(user)
    back = again("ada@example.org")
    with pytest.raises(Refused) as refused:
        teams.found_team(back, "Quite another lab", rules_now())
    assert refused.value.code == "left-a-team"
    _, secret = teams.invite(team, back.email, by=other, rules=rules_now())
    assert teams.join(back, secret, rules_now()) == team


def test_spellings_of_one_mailbox_have_one_mark() -> None:
    assert address_mark("A.da+x@GoogleMail.com") == address_mark("ada@gmail.com")
    assert address_mark("a.da@example.org") != address_mark("ada@example.org")
    assert len(address_mark("ada@example.org")) == 64


def entered(client: Client, password: str, network: str) -> Any:
    address = {"login": "ada@example.org", "password": password}
    return client.post(reverse("account_login"), address, REMOTE_ADDR=network)


@override_settings(EMAIL_BACKEND=LOCMEM)
def test_wrong_passwords_from_elsewhere_do_not_shut_the_owner_out(service: Service) -> None:
    service.person("ada")
    for number in range(12):
        answer = entered(Client(), f"guessed {number}", "203.0.113.9")
    assert "Too many" in answer.content.decode()
    assert "Too many" in entered(Client(), PASSWORD, "203.0.113.9").content.decode()
    assert entered(Client(), PASSWORD, "198.51.100.7").status_code == 302
    mail.outbox = []
    owner = Client(REMOTE_ADDR="203.0.113.9")  # and from the same network by the mailed link
    owner.post(reverse("account_reset_password"), {"email": "ada@example.org"})
    link = re.search(r"http://[^/]+(/accounts/password/reset/key/\S+)", mail.outbox[-1].body)
    assert link is not None
    form = owner.get(link[1], follow=True)
    new = {"password1": "another-pass-phrase-77", "password2": "another-pass-phrase-77"}
    owner.post(form.redirect_chain[-1][0], new)
    assert owner.get(reverse("account")).status_code == 200


def test_tokens_end_and_those_that_read_hand_nothing_in(service: Service) -> None:
    team = service.team("a")
    reading = tokens.make_access_token("system", team.leader, "cron", scope="read")[1]
    token, text = tokens.make_access_token("system", team.leader, "laptop")
    last = max(phase.closes for phase in current_challenge().phases)
    assert token.ends_at is not None
    assert last < token.ends_at < last + timedelta(days=1)
    with serving() as url:
        assert Host(url, reading).call("GET", "submissions") == {"submissions": []}
        with pytest.raises(HostRefused) as refused:
            Host(url, reading).call("POST", "uploads", {})
        assert (refused.value.code, refused.value.status) == ("scope-missing", 403)
        assert Host(url, text).call("GET", "submissions") == {"submissions": []}
        service.clock.at = token.ends_at
        with pytest.raises(HostRefused) as refused:
            Host(url, text).call("GET", "submissions")
        assert refused.value.code == "unknown-token"


def test_an_organiser_without_a_second_factor_makes_no_token(service: Service) -> None:
    owner = service.person("owner")
    acts.give_role(owner, MemberRole.OWNER, by=None)
    client = Client()
    client.force_login(owner, backend="allauth.account.auth_backends.AuthenticationBackend")
    answer = client.post(reverse("make_token"), {"name": "laptop", "scope": "push"})
    assert answer.headers["Location"] == reverse("second_factor")
    assert not owner.access_tokens.exists()


def test_mail_waits_for_its_server_and_comes_once(service: Service) -> None:
    team = service.team("a")
    handed = service.hand_in(team)
    worker = service.worker("intake")
    from surgvalid.host.acts import jobs, reports  # what intake says

    job = jobs.claim(worker)
    assert job is not None
    problems = {"image_digest": "", "problems": ["the image runs as root"]}
    reports.report(worker, job.pk, job.fencing, reports.WorkerReport(facts=problems))
    (waiting,) = Mail.objects.filter(subject__contains=f"Submission {handed.pk}")
    assert "the image runs as root" in waiting.text, "what is to be mended stands in the mail"
    assert "\n/" not in waiting.text, "no link without a host"
    with override_settings(MAIL_BACKEND="no.such.backend"):
        assert outbox.send_waiting() == 0
        assert outbox.send_waiting() == 0, "the next try comes after a pause"
    assert Mail.objects.get(pk=waiting.pk).problem.startswith("ModuleNotFoundError")
    mail.outbox = []
    with override_settings(MAIL_BACKEND=LOCMEM):
        service.clock.forward(minutes=2)
        sent = [outbox.send_waiting() for _ in range(2)]
    assert sent == [1, 0]
    assert [one.to for one in mail.outbox] == [[team.leader.email]]
    assert not Mail.objects.exists()


def test_mail_that_nobody_took_for_two_days_is_told_of(service: Service) -> None:
    Mail.objects.create(to="a@example.org", subject="s", text="t", made_at=service.clock(), next_at=service.clock())
    service.clock.forward(days=2, seconds=1)
    assert outbox.send_waiting() == 0
    assert outbox.unsent().count() == 1
    owner = service.person("owner")
    acts.give_role(owner, MemberRole.OWNER, by=None)
    client = Client()
    client.force_login(owner, backend="allauth.account.auth_backends.AuthenticationBackend")
    with override_settings(ORGANISERS_NEED_SECOND_FACTOR=False):
        assert "1 mail not sent" in client.get(reverse("organise")).content.decode()


def test_times_of_a_hidden_phase_have_no_seconds_for_teams(service: Service) -> None:
    service.change('"podman", "process"', '"podman"')
    team = service.team("a")
    service.hand_in(team)
    text = tokens.make_access_token("system", team.leader, "laptop")[1]
    service.clock.forward(seconds=7, microseconds=5)
    with serving() as url:
        service.hand_in(team)
        assert "00:00:07" in str(Host(url, text).call("GET", "submissions"))
        service.change('visibility = "public"', 'visibility = "hidden"')
        assert "00:00:07" not in str(Host(url, text).call("GET", "submissions"))
