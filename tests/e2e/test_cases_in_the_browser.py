"""The page of cases in a real browser: it opens without errors, asks nobody, filters, and goes by keyboard.

Chromium comes from the system (`scripts/install-system-packages.sh`); without it these tests are skipped.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from chromium import CHROMIUM
from scripted_model import ScriptedModel
from surgvalid.tasks import open_task, run_task
from surgvalid.tasks.viewer import case_page
from task_folders import downloaded, scored_clip

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this system")
HOSTILE = "</script><img src=x onerror=\"document.title='broken'\">"


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models on four cases: they disagree on two, one of which the second cannot be read on."""
    folder = tmp_path_factory.mktemp("cases")
    root = downloaded(open_task("phase-c80"), folder / "data")

    def second(prompt: Any) -> str:
        return HOSTILE if prompt.id == "video49/0" else '{"phase": 2}' if prompt.id == "video50/0" else '{"phase": 0}'

    for name, reply in {"first": lambda _: '{"phase": 0}', "second": second}.items():
        model = ScriptedModel(reply, name=name)
        run_task("phase-c80", model=model, root=root, frames=folder / "f").to_dir(folder / "runs" / name)
    path = folder / "cases.html"
    path.write_text(case_page([folder / "runs"]), encoding="utf-8")
    return path


@pytest.fixture
def page(page_file: Path) -> Iterator[Any]:
    with opened_page(page_file) as page:
        yield page


@contextmanager
def opened_page(page_file: Path) -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        opened = browser.new_page()
        opened.messages, opened.requests = [], []
        opened.on("console", lambda message: opened.messages.append(message.text))
        opened.on("pageerror", lambda error: opened.messages.append(str(error)))
        opened.on("request", lambda request: opened.requests.append(request.url))
        opened.goto(page_file.as_uri())
        yield opened
        browser.close()


def test_the_page_shows_filters_and_goes_by_keyboard(page: Any) -> None:
    count, case = page.locator("#count"), page.locator("#case h2")
    assert count.inner_text() == "1 of 4 (of 4)"
    assert case.inner_text() == "phase-c80: video49/0"
    assert page.evaluate("document.querySelector('#case img').naturalWidth") > 0
    assert HOSTILE in page.locator("#case pre").last.inner_text()
    assert page.title() == "Cases"
    page.keyboard.press("j")
    assert count.inner_text() == "2 of 4 (of 4)"
    page.keyboard.press("ArrowLeft")
    assert count.inner_text() == "1 of 4 (of 4)"
    page.keyboard.press("d")
    assert count.inner_text() == "1 of 2 (of 4)"
    page.keyboard.press("d")
    page.keyboard.press("w")
    page.select_option("#model", "first")
    wrong = count.inner_text()
    page.keyboard.press("Escape")
    page.select_option("#model", "")
    page.locator("#wrong").uncheck()
    page.select_option("#reading", "failed")
    assert count.inner_text() == "1 of 1 (of 4)"
    page.select_option("#reading", "")
    page.select_option("#reference", "Clipping Cutting")
    assert count.inner_text() == wrong, "the first model names Preparation always"
    page.fill("#words", "nothing has this")
    assert "No case fits" in page.locator("#case").inner_text()
    assert page.messages == []
    assert [url for url in page.requests if not url.startswith(("file:", "data:"))] == []


def test_the_page_of_scored_questions_shows_images_and_why(tmp_path: Path) -> None:
    file = tmp_path / "cases.html"
    file.write_text(case_page([scored_clip(tmp_path)], data=tmp_path / "videos"), encoding="utf-8")
    with opened_page(file) as page:
        assert page.locator("#case h2").inner_text() == "questions: q1"
        assert page.locator("#case img").count() == 6
        assert page.evaluate("[...document.querySelectorAll('#case img')].every((one) => one.naturalWidth > 0)")
        row = page.locator("#case table tr").nth(1).inner_text()
        assert "unreadable" in row
        assert "yes or no" in row
        assert "I think yes" in row
        page.select_option("#reading", "unreadable")
        page.keyboard.press("w")
        assert page.locator("#count").inner_text() == "1 of 1 (of 1)"
        assert page.messages == []
