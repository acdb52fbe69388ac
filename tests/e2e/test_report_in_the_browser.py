"""The report in a real browser: it opens without errors, asks nobody, sorts, folds, draws, saves and prints.

Chromium comes from the system (`scripts/install-system-packages.sh`); without it these tests are skipped.
"""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from report_folder import shared_challenge
from surgeval.report.report import make_report

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this system")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run", "--hide-scrollbars"]
GOLDEN = Path(__file__).parent.parent / "golden" / "report"
LARGEST_DIFFERENCE = 12.0
"""Mean difference of grey levels (of 255) between a golden picture and the page, both made small."""


@dataclass
class Visit:
    """An open page and what happened on it."""

    page: Any
    messages: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def report_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_report(shared_challenge()).to_html(tmp_path_factory.mktemp("report") / "report.html")


def opened(browser: Any, path: Path, *, width: int = 1280, script: bool = True) -> Visit:
    context = browser.new_context(
        viewport={"width": width, "height": 900}, java_script_enabled=script, accept_downloads=True
    )
    visit = Visit(context.new_page())
    visit.page.on("console", lambda message: visit.messages.append(f"{message.type}: {message.text}"))
    visit.page.on("pageerror", lambda error: visit.messages.append(f"error: {error}"))
    visit.page.on("request", lambda request: visit.requests.append(request.url))
    visit.page.goto(path.as_uri())
    return visit


@pytest.fixture
def visit(browser: Any, report_file: Path) -> Iterator[Visit]:
    found = opened(browser, report_file)
    yield found
    assert found.messages == []
    assert [url for url in found.requests if not url.startswith(("file:", "data:", "blob:"))] == []
    assert found.page.evaluate("typeof window.hacked") == "undefined"
    found.page.context.close()


def test_the_page_opens_without_a_word_and_without_a_request(visit: Visit, report_file: Path) -> None:
    assert visit.requests == [report_file.as_uri()]
    assert visit.page.title() == "endo challenge"
    assert visit.page.locator("figure.chart svg").count() == visit.page.locator("figure.chart").count() > 1


def test_every_figure_wakes_up_and_stays_a_picture(visit: Visit) -> None:
    figures = visit.page.locator("figure.chart")
    for number in range(figures.count()):
        figure = figures.nth(number)
        figure.scroll_into_view_if_needed()
        before = figure.locator(".picture svg").bounding_box()
        figure.dispatch_event("pointerenter")
        playwright.expect(figure).to_have_attribute("data-state", "live")
        after = figure.locator(".picture svg").bounding_box()
        assert figure.locator(".picture .vega-embed svg").count() == 1
        assert before is not None
        assert after is not None
        assert abs(before["height"] - after["height"]) < 0.15 * before["height"] + 12, number


def test_heads_sort_tables_by_mouse_and_by_keyboard(visit: Visit) -> None:
    table = visit.page.locator('[data-name="places-technical"] table')
    head = table.locator("th", has_text="macro accuracy")

    def column() -> list[float]:
        index = head.evaluate("head => head.cellIndex")
        cells = table.locator(f"tbody tr td:nth-child({index + 1})")
        return [float(text) for text in cells.all_inner_texts()]

    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    assert column() == sorted(column(), reverse=True)
    head.locator("button").focus()
    visit.page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "ascending"
    assert column() == sorted(column())
    table.locator("th", has_text="model").first.locator("button").click()
    assert head.get_attribute("aria-sort") == "none"


def test_cells_without_a_value_stay_last(visit: Visit) -> None:
    table = visit.page.locator('[data-name="places-technical"] table')
    head = table.locator("th", has_text="win rate in tie")
    for _ in range(2):
        head.locator("button").click()
        index = head.evaluate("head => head.cellIndex")
        assert table.locator(f"tbody tr td:nth-child({index + 1})").all_inner_texts()[-1] == "–"


def test_sections_fold_and_links_open_them(visit: Visit) -> None:
    fold = visit.page.locator("#board > details")
    assert fold.evaluate("fold => fold.open")
    fold.locator("summary").first.click()
    assert not fold.evaluate("fold => fold.open")
    visit.page.locator("#fold-all").click()
    assert visit.page.locator("main section > details[open]").count() == 0
    visit.page.locator('nav a[href="#failures"]').click()
    playwright.expect(visit.page.locator("#failures > details")).to_have_attribute("open", "")
    visit.page.locator("#open-all").click()
    assert visit.page.locator("main section > details:not([open])").count() == 0


@pytest.mark.parametrize("kind", ["svg", "png", "csv"])
def test_figures_can_be_saved(visit: Visit, kind: str) -> None:
    figure = visit.page.locator("figure.chart").first
    with visit.page.expect_download() as waiting:
        figure.locator(f"button[data-save={kind}]").click()
    saved = waiting.value
    data = Path(saved.path()).read_bytes()
    assert saved.suggested_filename == f"{figure.get_attribute('data-name')}.{kind}"
    if kind == "svg":
        assert data.startswith(b"<svg")
    elif kind == "png":
        picture = Image.open(io.BytesIO(data)).convert("L")
        assert np.asarray(picture).std() > 5, "it is not blank"
    else:
        assert data.startswith(b"model,")


def test_tables_can_be_saved(visit: Visit) -> None:
    with visit.page.expect_download() as waiting:
        visit.page.locator('[data-name="places-technical"] button[data-save=csv]').click()
    text = Path(waiting.value.path()).read_text()
    assert text.startswith("place,model,")
    assert text.count("\n") == 7


def test_in_print_everything_is_open_and_tools_are_gone(visit: Visit) -> None:
    visit.page.locator("#fold-all").click()
    visit.page.emulate_media(media="print")
    assert visit.page.locator("nav.contents").is_hidden()
    assert visit.page.locator(".tools").first.is_hidden()
    printed = visit.page.pdf()
    assert printed.startswith(b"%PDF")
    folded = len(printed)
    visit.page.locator("#open-all").evaluate("button => button.click()")
    assert abs(len(visit.page.pdf()) - folded) < 0.05 * folded, "a folded page prints like an open one"
    assert visit.page.evaluate("document.documentElement.scrollWidth <= innerWidth + 1")


def test_even_a_hole_in_the_escaping_would_run_nothing(browser: Any, report_file: Path, tmp_path: Path) -> None:
    hole = '<script>window.hacked = 1</script><img src="x" onerror="window.hacked = 2"><a href="javascript:1">x</a>'
    torn = tmp_path / "torn.html"
    torn.write_text(report_file.read_text().replace("</main>", f"{hole}</main>"))
    visit = opened(browser, torn)
    visit.page.locator("main img").dispatch_event("error")
    assert visit.page.evaluate("typeof window.hacked") == "undefined"
    assert any("Content Security Policy" in message for message in visit.messages)
    visit.page.context.close()


@pytest.mark.parametrize("width", [400, 1280])
def test_the_page_never_scrolls_sideways(browser: Any, report_file: Path, width: int) -> None:
    visit = opened(browser, report_file, width=width)
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= width
    visit.page.context.close()


def test_it_can_be_read_without_script(browser: Any, report_file: Path) -> None:
    visit = opened(browser, report_file, script=False)
    assert visit.page.locator("figure.chart svg").first.is_visible()
    assert "atlas leads" in visit.page.locator("#summary").inner_text()
    visit.page.context.close()


@pytest.mark.parametrize("width", [400, 1280])
def test_the_page_looks_as_it_was_reviewed(browser: Any, report_file: Path, width: int) -> None:
    visit = opened(browser, report_file, width=width)
    seen = Image.open(io.BytesIO(visit.page.screenshot())).convert("L")
    visit.page.context.close()
    golden = GOLDEN / f"first-screen-{width}.png"
    if os.environ.get("SURGEVAL_NEW_GOLDEN"):
        golden.parent.mkdir(parents=True, exist_ok=True)
        seen.save(golden, optimize=True)
    reviewed = Image.open(golden).convert("L")
    assert seen.size == reviewed.size
    assert _difference(seen, reviewed) < LARGEST_DIFFERENCE


def _difference(seen: Any, reviewed: Any) -> float:
    """The mean difference of grey levels, so coarse that another font makes little of it."""
    small = [np.asarray(picture.resize((32, 24)), dtype=float) for picture in (seen, reviewed)]
    return float(np.abs(small[0] - small[1]).mean())
