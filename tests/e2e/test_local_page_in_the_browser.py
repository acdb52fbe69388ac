"""The page of `surgvalid study` without a file in a real browser: drop, correct, verdict, copy; keyboard and phone.

Chromium comes from the system (`scripts/install-system-packages.sh`); without it these tests are skipped.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from chromium import CHROMIUM
from surgvalid.studies.local_page import LocalPage
from surgvalid.studies.study import study

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this system")
playwright.expect.set_options(timeout=20_000)
PICTURES = os.environ.get("SURGVALID_LOCAL_PICTURES")
"""A folder for images of the page, for whoever wants to look at it."""


@pytest.fixture
def server() -> Iterator[LocalPage]:
    served = LocalPage()
    threading.Thread(target=served.serve_forever, args=(0.02,), daemon=True).start()
    yield served
    served.shutdown()
    served.server_close()


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Twelve patients with ten frames each, whose names come again in every patient; B is a bit better."""
    draw = np.random.default_rng(3).normal
    rows = [
        (f"P{patient:02}", f"frame_{frame}", model, round(0.7 + (0.013 if model == "B" else 0) + 0.02 * draw(), 4))
        for patient in range(12) for frame in range(10) for model in "AB"
    ]  # fmt: skip
    path = tmp_path / "dice.csv"
    pl.DataFrame(rows, schema=["patient", "frame", "model", "dice"], orient="row").write_csv(path)
    return path


def opened(browser: Any, server: LocalPage, *, width: int = 1440, dark: bool = False) -> tuple[Any, list[str]]:
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light",
        permissions=["clipboard-read", "clipboard-write"],
    )  # fmt: skip
    page = context.new_page()
    page.set_default_timeout(60_000)
    heard: list[str] = []
    page.on("pageerror", lambda error: heard.append(str(error)))
    page.on("console", lambda message: heard.append(message.text) if message.type == "error" else None)
    own = (server.address_of(), "data:", "blob:")
    page.on("request", lambda asked: None if asked.url.startswith(own) else heard.append(asked.url))
    page.goto(server.address_of())
    return page, heard


def picture(page: Any, name: str) -> None:
    if PICTURES:
        page.screenshot(path=Path(PICTURES, f"{name}.png"), full_page=True)


def drop(page: Any, name: str, text: str) -> None:
    """A file let go over the page, as a mouse does it."""
    page.evaluate(
        """([name, text]) => {
          const held = new DataTransfer();
          held.items.add(new File([text], name));
          const how = { dataTransfer: held, cancelable: true, bubbles: true };
          for (const kind of ["dragover", "drop"]) document.dispatchEvent(new DragEvent(kind, how));
        }""",
        [name, text],
    )


def test_a_table_is_dropped_corrected_judged_and_the_rest_copied(browser: Any, server: LocalPage, table: Path) -> None:
    page, heard = opened(browser, server)
    picture(page, "empty-1440")
    drop(page, "dice.csv", table.read_text())
    playwright.expect(page.locator("#first")).to_have_text(study(table).verdict[0])
    playwright.expect(page.locator("button.role")).to_have_count(4)
    waiting = page.locator("button.role.waits")
    playwright.expect(waiting).to_contain_text("Frame, within the patient10 names, each in all 12 patients")
    picture(page, "read-1440")

    waiting.click()
    way = page.locator("#ways button").filter(has_text="Patient or video")
    playwright.expect(way).to_contain_text("10 groups instead of 12 patients")
    picture(page, "offers-1440")
    way.click()
    playwright.expect(page.locator("#first")).to_have_text(study(table, columns={"video": "frame"}).verdict[0])
    playwright.expect(page.locator("#command")).to_have_text("surgvalid study dice.csv --unit frame")
    page.locator("button.role[data-column=frame]").click()
    page.locator("#ways button").filter(has_text="As surgvalid reads it").click()
    playwright.expect(page.locator("#command")).to_have_text("surgvalid study dice.csv")

    page.locator("#margin").fill("0.02")
    page.locator("#margin").press("Enter")
    playwright.expect(page.locator("#first")).to_have_text(study(table, margin=0.02).verdict[0])
    playwright.expect(page.locator("#figure svg")).to_be_visible()
    page.locator("#better").select_option("larger")
    playwright.expect(page.locator("#command")).to_have_text("surgvalid study dice.csv --better larger --margin 0.02")
    picture(page, "margin-1440")
    for name in ("methods", "latex", "command"):
        if name != "command":
            page.locator("summary", has_text={"methods": "Methods", "latex": "LaTeX"}[name]).click()
        page.locator(f"[data-copy={name}]").click()
        playwright.expect(page.locator("#live")).to_have_text("Copied")
        assert page.evaluate("navigator.clipboard.readText()") == page.locator(f"#{name}").text_content()
        page.evaluate("document.getElementById('live').textContent = ''")
    page.locator("summary", has_text="Figure").click()
    with page.expect_download() as saved:
        page.locator("#save").click()
    assert Path(saved.value.path()).read_text().startswith("<svg xmlns=")
    with page.context.expect_page() as verdict:
        page.locator("a", has_text="Open the verdict page").click()
    playwright.expect(verdict.value.locator("h1")).to_have_text(page.locator("#title").text_content())
    assert heard == []


def test_who_never_saw_a_shell_meets_no_option_but_in_the_command(browser: Any, server: LocalPage, table: Path) -> None:
    page, heard = opened(browser, server)
    unknown = "image,A,B\n1,.7,.8\n2,.6,.7\n3,.8,.7\n"
    for text, place, words in (
        (table.read_text(), "#title", "better"),
        ("image,model,dice\n1,A,.7\n2,A,.6\n1,B,.8\n2,B,.7\n", "#title", "how many patients"),
        (unknown, "#problem", "say it under Better are."),
    ):
        drop(page, "scores.csv", text)
        playwright.expect(page.locator(place)).to_contain_text(words)
        told = page.locator("main").inner_text()
        command = page.locator("#again").inner_text() if page.locator("#again").is_visible() else ""
        assert "--" not in told.replace(command, "")
        assert "1 video" not in told
    assert heard == []


def test_it_works_without_a_mouse_on_a_phone(browser: Any, server: LocalPage, table: Path) -> None:
    page, heard = opened(browser, server, width=390)
    page.locator("#file").focus()
    page.locator("#file").set_input_files(table)
    playwright.expect(page.locator("#title")).to_contain_text("B is better than A")
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    heights = page.locator("button:visible, a.button:visible, select:visible, input:visible").evaluate_all(
        "all => all.filter(one => !one.classList.contains('unseen')).map(one => one.getBoundingClientRect().height)"
    )
    assert min(heights) >= 44
    picture(page, "phone-390")
    page.locator("#table").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.dataset.column") == "frame"
    page.keyboard.press("Enter")
    playwright.expect(page.locator("#offers")).to_be_visible()
    assert page.evaluate("document.activeElement.textContent").startswith("Case")
    picture(page, "phone-offers-390")
    page.keyboard.press("Escape")
    playwright.expect(page.locator("#offers")).to_be_hidden()
    assert page.evaluate("document.activeElement.dataset.column") == "frame"
    page.keyboard.press("Enter")
    playwright.expect(page.locator("#ways [aria-current]")).to_be_focused()
    for _ in range(4):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    playwright.expect(page.locator("#command")).to_have_text("surgvalid study dice.csv --unit frame")
    assert page.evaluate("document.activeElement.dataset.column") == "frame"
    assert heard == []


def test_names_are_text_and_an_error_of_the_reader_stands_on_the_page(browser: Any, server: LocalPage) -> None:
    page, heard = opened(browser, server, dark=True)
    evil = "<img src=x onerror=document.title='run'>"
    lines = [f"p{n},{evil},{0.5 + n / 50}\np{n},<script>document.title='run'</script>,{0.4 + n / 40}" for n in range(8)]
    drop(page, f"{evil}.csv", "\n".join([f"patient,model,{evil} dice", *lines, ""]))
    playwright.expect(page.locator("#result, #problem:not([hidden])").first).to_be_visible()
    picture(page, "dark-1440")
    page.locator("button.role").nth(2).click()
    playwright.expect(page.locator("#asked")).to_contain_text(evil)
    page.keyboard.press("Escape")
    drop(page, "two.csv", "patient,dice,other,more\na,.8,.6,.3\nb,.7,.5,.2\nc,.9,.7,.4\n")
    playwright.expect(page.locator("#problem")).to_contain_text("two.csv: two readings fit")
    playwright.expect(page.locator("#result")).to_be_hidden()
    drop(page, "scores.xlsx", "PK")
    playwright.expect(page.locator("#problem")).to_contain_text("not an xlsx workbook")
    page.evaluate("give(Object.defineProperty(new File([''], 'big.csv'), 'size', { value: 200 << 20 }))")
    playwright.expect(page.locator("#problem")).to_have_text(
        "big.csv is larger than 64 MiB: read it with surgvalid study FILE."
    )
    assert page.title() == "Study"
    assert page.locator("main img, main script").count() == 0
    assert heard == []
