"""The service in a real browser: the whole way of a team and of its organisers, and every page read by everybody.

Chromium comes from the system; axe-core from npm (`make test-host` puts it into .venv-host). Where one is missing its
tests are skipped with the reason.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core import mail
from django.test import override_settings

from chromium import CHROMIUM
from host_people import PASSWORD
from host_server import Crew, entrant, pusher, serving, tiny_image
from host_service import FINAL, PRE, Service, let_stand
from host_visitors import Visitor
from host_world import small_world
from python_image import python_archive, reason_not_to_build
from repository import REPOSITORY
from sandbox_engines import reason_not_to_run
from submission_places import containers
from surgvalid.host.acts.challenge import current_challenge
from surgvalid.host.client import push_submission
from surgvalid.host.people.acts import give_role
from surgvalid.host.people.models import MemberRole
from surgvalid.host.runs.models import Submission
from surgvalid.submissions.starter import new_pack

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
AXE = Path(os.environ.get("AXE", REPOSITORY / ".venv-host/node_modules/axe-core/axe.min.js"))
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this system")
LOCAL = {"ORGANISERS_NEED_SECOND_FACTOR": False, "EMAIL_BACKEND": "django.core.mail.backends.locmem.EmailBackend"}
WIDTHS = (1440, 820, 390)


@pytest.fixture(autouse=True)
def _same_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(
        "DJANGO_ALLOW_ASYNC_UNSAFE", "true"
    )  # the driver has a loop in this thread, which waits meanwhile


def register(visitor: Visitor, email: str) -> None:
    """From the overview to an account whose address is verified."""
    visitor.open("/").get_by_role("link", name="Register").last.click()
    visitor.page.get_by_label("Email", exact=True).fill(email)
    visitor.page.get_by_label("Password", exact=True).fill(PASSWORD)
    visitor.page.get_by_label("Password (again)").fill(PASSWORD)
    visitor.press("Sign Up")
    address = re.search(r"http://\S+(/accounts/confirm-email/\S+/)", mail.outbox[-1].body)
    assert address is not None
    visitor.open(address[1])
    visitor.press("Confirm")
    visitor.sign_in(email)


def hand_in(visitor: Visitor, image: Path, phase: str, description: Path | None = None) -> None:
    visitor.open("/submit/").get_by_label("Phase").select_option(phase)
    visitor.page.get_by_label("Image archive").set_input_files(str(image))
    if description:
        visitor.page.get_by_label("Method description").set_input_files(str(description))
    visitor.page.get_by_role("button", name="Hand in").click()
    visitor.page.wait_for_url("**/submissions/*/")


def test_the_whole_way_in_a_browser(browser: Any, service: Service, tmp_path: Path) -> None:
    service.change("replicates = 1000", "replicates = 20")
    owner = service.person("owner")
    give_role(owner, MemberRole.OWNER, by=None)
    programs = {name: entrant(tmp_path / name, name, skill) for name, skill in (("team", 1.0), ("base", 0.5))}
    with override_settings(**LOCAL), serving() as url:
        crew = Crew(service, url, tmp_path / "scratch")

        def work(program: str) -> None:
            crew.trusted()
            crew.inference(program=programs[program], engine="process")
            crew.trusted()

        def baselines(phase: str) -> None:
            for name in ("closed", "open"):
                image = tiny_image(tmp_path / f"{name}-{phase}.tar", f"{name} {phase}")
                push_submission(pusher(url, type("", (), {"leader": owner})()), image, phase=phase, baseline=name)
                work("base")

        baselines(PRE)
        ada = Visitor(browser, url)
        register(ada, "ada@example.org")
        ada.reads("Say your name and country.")
        ada.open("/account/")
        ada.fill(Name="Ada", Institution="Analytical Engines")
        ada.page.get_by_label("Country").select_option("GB")
        ada.press("Save")
        ada.open("/terms/").get_by_label("I have read these terms and accept them.").check()
        ada.press("Accept")
        ada.open("/team/").get_by_label("Name of the team").fill("Analytical Engines")
        ada.press("Found the team")
        ada.reads("Your team is ready to submit.")

        hand_in(ada, tiny_image(tmp_path / "mine.tar", "mine"), PRE)
        ada.reads("received")
        work("team")
        ada.reads("1.000 mean accuracy over buckets")
        ada.open(f"/boards/{PRE}/technical/")
        ada.reads("your team")
        assert ada.page.locator("tbody tr").first.inner_text().startswith("1\tAnalytical Engines")
        assert ada.page.locator(".figure img").evaluate("image => image.naturalWidth") > 100

        service.clock.at = current_challenge().phase(FINAL).opens
        baselines(FINAL)
        method = tmp_path / "method.md"
        method.write_text("# Method\n\nIt looks at the colour.\n")
        hand_in(ada, tiny_image(tmp_path / "final.tar", "final"), FINAL, method)
        number = re.findall(r"\d+", ada.page.url)[-1]
        work("team")
        ada.reads("Values of this phase are shown when its leaderboard is published; nothing is left to do until then.")

        boss = Visitor(browser, url)
        boss.sign_in("owner@example.org")
        boss.open("/organise/descriptions/").get_by_role("button", name="Sufficient", exact=True).first.click()
        boss.open("/organise/boards/").get_by_label("Phase").select_option(FINAL)
        boss.fill(Reason="descriptions were read")
        boss.press("Make anew")
        crew.trusted()
        boss.open("/organise/boards/").get_by_role("link", name=re.compile(f"{FINAL}, technical")).first.click()
        boss.press("Let the rule propose prizes")
        boss.reads("Wait until the phase is over")
        phase = current_challenge().phase(FINAL)
        service.clock.at = phase.closes + timedelta(seconds=2 + phase.upload_grace_s)
        let_stand()
        boss.press("Let the rule propose prizes")
        boss.reads("Analytical Engines")
        boss.page.get_by_label("Why these amounts").fill("as the rule proposes")
        boss.press("Sign")
        boss.reads("signed")
        boss.page.locator("form[action$='/publish/'] input[name=reason]").fill("the conference")
        boss.press("Publish")
        boss.reads("Everybody sees the leaderboard.")

        stranger = Visitor(browser, url)
        stranger.open(f"/boards/{FINAL}/technical/")
        stranger.reads("Analytical Engines")
        stranger.reads("5,000.00 USD")
        ada.open(f"/submissions/{number}/")
        ada.reads("1.000 mean accuracy over buckets")
        assert ada.messages + boss.messages + stranger.messages == []


@pytest.mark.podman
def test_a_container_of_the_starter_pack_is_run_by_podman_from_the_page(
    browser: Any, service: Service, tmp_path: Path
) -> None:
    """The archive goes up in the browser, podman runs it twice, and the team reads its value; no container stays."""
    if reason := reason_not_to_run("podman") or reason_not_to_build():
        pytest.skip(reason)
    service.change('engines = ["podman", "process"]', 'engines = ["podman"]')
    new_pack(tmp_path / "pack")
    entrant(tmp_path / "pack", "ours", 1.0)  # the pack's own program says yes to everything
    image = python_archive(tmp_path / "image.tar", tmp_path / "pack")
    team, before = service.team("pack"), containers("podman")
    with override_settings(**LOCAL), serving() as url:
        crew = Crew(service, url, tmp_path / "scratch")
        ada = Visitor(browser, url)
        ada.sign_in(team.leader.email)
        hand_in(ada, image, PRE)
        crew.trusted()
        assert crew.inference(engine="podman") == 2
        crew.trusted()
        ada.reads("1.000 mean accuracy over buckets")
        submission = Submission.objects.get(team=team)
        assert (submission.stage, submission.answered) == ("scored", 32)
        assert submission.image_digest.startswith("sha256:")
        assert ada.messages == []
    assert containers("podman") == before


READ = {
    "stranger": ("/", "/rules/", "/data/", "/news/", "/boards/", f"/boards/{PRE}/technical/", "/terms/",
                 "/accounts/signup/", "/accounts/login/", "/accounts/password/reset/", "/nothing/"),
    "loner": ("/", "/team/", "/account/", "/account/second-factor/", "/accounts/2fa/", "/accounts/email/"),
    "member": ("/team/", "/submit/", "/submissions/1/", "/team/compare/?submission=1&submission=1", "/data/"),
    "owner": ("/organise/", "/organise/submissions/", "/organise/submissions/1/", "/organise/descriptions/",
              "/organise/teams/", "/organise/teams/1/", "/organise/boards/", "/organise/boards/1/", "/organise/gate/",
              "/organise/flags/", "/organise/news/", "/organise/roles/", "/organise/workers/", "/organise/costs/",
              "/organise/coauthors/", "/organise/exports/", "/organise/log/", "/organise/challenge/",
              "/organise/baselines/"),
}  # fmt: skip


def complaints(page: Any, scheme: str) -> Iterator[str]:
    """What axe-core finds serious, and at which widths the page must be pushed sideways; colours alone in the dark."""
    for width in WIDTHS if scheme == "light" else ():
        page.set_viewport_size({"width": width, "height": 900})
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            yield f"is wider than {width} px"
    page.evaluate(AXE.read_text(encoding="utf-8"))
    rules = "{}" if scheme == "light" else "{runOnly: ['color-contrast']}"
    for one in page.evaluate(f"async () => (await axe.run(document, {rules})).violations"):
        if one["impact"] in ("serious", "critical"):
            yield f"{one['id']}: {one['nodes'][0]['html'][:120]}"


@pytest.mark.skipif(not AXE.is_file(), reason="axe-core is not installed (npm install --prefix .venv-host axe-core)")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everybody_can_read_every_page(browser: Any, home: Path, scheme: str) -> None:
    """No serious finding of axe-core, nothing wider than a telephone, and no word of complaint from the browser."""
    world = small_world(home)
    problems = []
    with override_settings(**LOCAL), serving() as url:
        for persona, paths in READ.items():
            visitor = Visitor(browser, url, color_scheme=scheme)
            if persona != "stranger":
                visitor.sign_in(world.people[persona].email)
            for path in paths:
                visitor.open(path)
                problems += [f"{path} {problem}" for problem in complaints(visitor.page, scheme)]
            problems += [f"{persona}: {words}" for words in visitor.messages if "404" not in words]
    assert problems == [], "\n".join(problems)


def test_a_passkey_is_a_second_factor(browser: Any, home: Path) -> None:
    """Chromium's virtual authenticator holds the key; the page's policy lets allauth's own scripts run and no other."""
    world = small_world(home)
    with override_settings(**LOCAL | {"ORGANISERS_NEED_SECOND_FACTOR": True}), serving() as url:
        boss = Visitor(browser, url.replace("127.0.0.1", "localhost"))  # keys are of names, not of numbers
        devtools = boss.page.context.new_cdp_session(boss.page)
        devtools.send("WebAuthn.enable")
        kind = {"protocol": "ctap2", "transport": "internal", "hasResidentKey": True, "hasUserVerification": True}
        given = devtools.send(
            "WebAuthn.addVirtualAuthenticator",
            {"options": kind | {"isUserVerified": True, "automaticPresenceSimulation": True}},
        )
        boss.sign_in(world.people["owner"].email)
        boss.open("/organise/")
        boss.reads("second factor")
        boss.page.get_by_role("link", name="A passkey or security key").click()
        boss.fill(Password=PASSWORD)
        boss.press("Confirm")
        boss.press("Add")
        boss.page.wait_for_url(lambda address: "/add/" not in address)
        boss.open("/organise/")
        boss.reads("free on the disk")
        for key_there in (True, False):
            boss.page.context.clear_cookies()
            if not key_there:
                devtools.send("WebAuthn.clearCredentials", given)
            boss.sign_in(world.people["owner"].email)
            boss.open("/organise/")
            assert "/2fa/authenticate/" in boss.page.url  # the password alone opens nothing
            boss.page.get_by_role("button", name="Use a security key").click()
            boss.page.wait_for_timeout(2000)
            boss.open("/organise/")
            assert ("/organise/" in boss.page.url) == key_there
