"""A challenge begun, changed, run and closed in Chromium after `surgvalid host serve` on an empty folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from chromium import CHROMIUM
from host_people import PASSWORD
from host_server import entrant
from host_visitors import Visitor
from python_image import python_archive, reason_not_to_build
from sandbox_engines import reason_not_to_run
from submission_places import containers
from surgvalid.submissions.starter import new_pack

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this system")


class Console:
    """What the service says: its address, and the mail that it would send."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.text = ""
        threading.Thread(target=self._listen, args=(process,), daemon=True).start()

    def _listen(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        with process.stdout:
            for line in process.stdout:
                self.text += line

    def says(self, pattern: str) -> str:
        """The last of what fits, once there is any."""
        for _ in range(600):
            if found := re.findall(pattern, self.text):
                return str(found[-1])
            time.sleep(0.1)
        raise AssertionError(f"{pattern} in {self.text}")


@contextmanager
def served(home: Path) -> Iterator[Console]:
    env = os.environ | {"SURGVALID_HOST_SECOND_FACTOR": "no", "PYTHONUNBUFFERED": "1"}
    for name in ("SURGVALID_HOST", "SURGVALID_HOST_DATABASE", "DJANGO_SETTINGS_MODULE"):
        env.pop(name, None)
    words = [sys.executable, "-m", "surgvalid", "host", "serve", "--challenge", str(home), "--port", "0"]
    process = subprocess.Popen(words, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        yield Console(process)
    finally:
        process.terminate()
        process.wait()


def register(visitor: Visitor, console: Console, email: str) -> None:
    visitor.open("/accounts/signup/")
    visitor.fill(Email=email, Password=PASSWORD)
    visitor.page.get_by_label("Password (again)").fill(PASSWORD)
    before = console.text.count("confirm-email")
    visitor.press("Sign Up")
    for _ in range(300):
        if console.text.count("confirm-email") > before:
            break
        time.sleep(0.1)
    visitor.open(console.says(r"http://\S+(/accounts/confirm-email/\S+/)"))
    visitor.press("Confirm")
    visitor.sign_in(email)


def setting(visitor: Visitor, name: str, value: str) -> None:
    field = visitor.page.locator(f'[id="{name}"]')
    field.evaluate("one => { one.closest('details').open = true }")
    field.select_option(value) if field.evaluate("one => one.tagName") == "SELECT" else field.fill(value)


def adopt(visitor: Visitor, note: str) -> None:
    visitor.page.get_by_label("Why, for everybody to read").fill(note)
    visitor.press("Adopt")
    visitor.reads("It holds from now on")


def image(folder: Path, name: str, skill: float) -> str:
    new_pack(folder / name)
    entrant(folder / name, name, skill)
    return str(python_archive(folder / f"{name}.tar", folder / name))


@pytest.mark.podman
def test_a_challenge_is_begun_changed_run_and_closed_without_a_shell(browser: Any, tmp_path: Path) -> None:
    if reason := reason_not_to_run("podman") or reason_not_to_build():
        pytest.skip(reason)
    home, before = tmp_path / "empty", containers("podman")
    with served(home) as console:
        url = console.says(r"(?m)^(http://127\.0\.0\.1:\d+)$")
        boss, ada = Visitor(browser, url), Visitor(browser, url)
        register(boss, console, "boss@example.org")
        boss.reads("This service has no challenge yet")
        boss.open(console.says(rf"{url}(/begin/\S+)"))
        boss.fill(Name_of_the_challenge="Lost sponges", Whom_participants_ask="boss@example.org")
        boss.page.get_by_label("Time zone of its dates").select_option("Europe/Berlin")
        boss.page.get_by_label("First day").fill(f"{datetime.now(UTC) - timedelta(days=1):%Y-%m-%d}")
        boss.press("Begin")
        boss.reads("No version holds yet")

        phases = boss.page.locator("form", has=boss.page.locator("#phases-slug"))
        phases.locator("select").select_option("final")
        phases.get_by_role("button", name="Remove it").click()
        setting(boss, "phases.pre-evaluation.submission.engines", "podman")
        setting(boss, "ranking.replicates", "20")
        boss.press("Keep as a draft")
        setting(boss, "texts/overview.md", "# Lost sponges\n\nFind **every** sponge.\n")
        boss.press("Keep the texts as a draft")
        adopt(boss, "the first version")
        for name in ("Score here", "Run programs here"):
            boss.open("/organise/workers/")
            boss.press(name)
            boss.reads("It starts in a few seconds.")
        boss.open("/organise/baselines/").get_by_label("Image archive").set_input_files(image(tmp_path, "base", 0.5))
        boss.press("Hand in")
        boss.page.wait_for_url("**/organise/submissions/*/")

        register(ada, console, "ada@example.org")
        ada.reads("Find every sponge.")
        ada.open("/account/")
        ada.fill(Name="Ada")
        ada.page.get_by_label("Country").select_option("GB")
        ada.press("Save")
        ada.open("/terms/").get_by_label("I have read these terms and accept them.").check()
        ada.press("Accept")
        ada.open("/team/").get_by_label("Name of the team").fill("Analytical Engines")
        ada.press("Found the team")
        ada.open("/submit/").get_by_label("Image archive").set_input_files(image(tmp_path, "ours", 0.9))
        ada.press("Hand in")
        ada.page.wait_for_url("**/submissions/*/")
        ada.reads("mean accuracy over buckets", patience_s=300)
        board = ada.open("/boards/pre-evaluation/technical/").locator("main")
        for _ in range(600):  # until it is made
            if "Analytical Engines" in board.inner_text():
                break
            ada.page.wait_for_timeout(500)
            ada.page.reload()
        assert "Analytical Engines" in board.inner_text(), console.text

        boss.open("/organise/challenge/")
        setting(boss, "phases.pre-evaluation.quota", "3")
        setting(boss, "phases.pre-evaluation.closes", f"{datetime.now(UTC) + timedelta(days=9):%Y-%m-%dT%H:%M:%S}")
        boss.press("Keep as a draft")
        boss.reads("every team has 7 scored submissions fewer; 0 used as many already.")
        adopt(boss, "a shorter phase")
        ada.open("/submit/")
        ada.reads("Scored: 1 of 3 used")
        boss.open("/organise/challenge/")
        setting(
            boss, "phases.pre-evaluation.closes", f"{datetime.now(UTC) - timedelta(hours=4):%Y-%m-%dT%H:%M:%S}+00:00"
        )
        boss.press("Keep as a draft")
        boss.reads("closes at once; 1 were handed in.")
        adopt(boss, "enough")
        ada.open("/submit/")
        ada.reads("It closed on")
        assert ada.page.get_by_role("button", name="Hand in").count() == 0
        boss.open("/organise/exports/")
        boss.press("Write the archive")
        boss.reads(".tar")
        stranger = Visitor(browser, url)
        stranger.open("/boards/pre-evaluation/technical/")
        stranger.reads("Analytical Engines")
        stranger.open("/rules/")
        stranger.reads("a shorter phase")
        assert boss.messages + ada.messages + stranger.messages == []
    assert containers("podman") == before
    assert "Find **every** sponge." in (home / "texts" / "overview.md").read_text()
