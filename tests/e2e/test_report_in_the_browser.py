"""The report in a real browser: it opens without errors, asks nobody, sorts, folds, draws, saves and prints.

Chromium comes from the system (`scripts/install-system-packages.sh`); without it these tests are skipped.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from chromium import CHROMIUM
from report_folder import shared_challenge
from repository import REPOSITORY
from surgvalid.report.html import page
from surgvalid.report.report import make_report
from surgvalid.report.section import Browser, Section, WorstCases
from verdict_texts import answers_table

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this system")
GOLDEN = REPOSITORY / "tests" / "golden" / "report"
LARGEST_DIFFERENCE = 12.0
"""Mean difference of grey levels (of 255) between a golden image and the page, both made small."""


@dataclass
class Visit:
    """An open page and what happened on it."""

    page: Any
    messages: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


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
    assert visit.page.title() == visit.page.locator("h1").inner_text()
    assert "leaderboards" in visit.page.title()
    assert visit.page.locator("nav").count() == 0
    assert visit.page.locator("#verdict .standings td svg:visible").count() > 0


def everything_shown(visit: Visit) -> None:
    """All views of the instrument at once, as a page without script has them."""
    visit.page.evaluate(
        "document.querySelectorAll('#explore > section, .of-board').forEach(part => { part.hidden = false; });"
        "document.querySelectorAll('main section > details').forEach(fold => { fold.open = true; })"
    )


def test_every_figure_has_one_image_in_the_colours_of_the_page(visit: Visit) -> None:
    everything_shown(visit)
    figures = visit.page.locator("figure.chart")
    for number in range(figures.count()):
        assert figures.nth(number).locator(".picture svg:visible").count() == 1, number
    ink = visit.page.evaluate("getComputedStyle(document.querySelector('.plot text.f-ink')).fill")
    assert ink == visit.page.evaluate("getComputedStyle(document.body).color")


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


def test_the_appendix_folds_and_links_open_it(visit: Visit) -> None:
    appendix = visit.page.locator("#appendix section > details")
    assert appendix.count() == 5
    assert visit.page.locator("#appendix section > details[open]").count() == 0
    visit.page.evaluate("location.hash = 'methods'")
    playwright.expect(visit.page.locator("#methods > details")).to_have_attribute("open", "")
    visit.page.locator("#methods > details > summary").click()
    assert visit.page.locator("#appendix section > details[open]").count() == 0


def test_one_view_of_one_board_is_shown_at_a_time(visit: Visit) -> None:
    views = visit.page.locator("#explore > section")
    assert [views.nth(n).is_visible() for n in range(views.count())].count(True) == 1
    assert visit.page.locator('[data-board="technical"]').first.is_visible()
    assert visit.page.locator('[data-board="clinical"]').first.is_hidden()
    visit.page.get_by_role("button", name="clinical", exact=True).click()
    assert visit.page.locator('#board [data-board="clinical"]').first.is_visible()
    assert visit.page.locator('#board [data-board="technical"]').first.is_hidden()
    visit.page.get_by_role("button", name="Differences", exact=True).click()
    assert visit.page.locator("#significance").is_visible()
    assert visit.page.locator("#board").is_hidden()
    assert visit.page.locator('#significance [data-board="clinical"]').first.is_visible()
    visit.page.evaluate("location.hash = 'failures'")
    playwright.expect(visit.page.locator("#failures")).to_be_visible()


def test_a_hidden_model_leaves_every_table_and_picture(visit: Visit) -> None:
    row = visit.page.locator("#verdict .standings tbody tr", has_text="borea")
    assert row.is_visible()
    visit.page.locator(".models > summary").click()
    visit.page.get_by_label("borea", exact=True).uncheck()
    playwright.expect(row).to_be_hidden()
    assert visit.page.locator("#verdict .standings tbody tr", has_text="atlas").is_visible()
    rows = visit.page.locator('[data-name="places-technical"] tbody tr:visible')
    assert not any("borea" in text for text in rows.all_inner_texts())
    assert visit.page.locator("#why li:visible", has_text="borea:").count() == 0
    visit.page.locator("#all-models").click()
    playwright.expect(row).to_be_visible()


def test_why_a_model_fails_is_two_clicks_away(visit: Visit) -> None:
    link = visit.page.locator("#why a").first
    model = link.inner_text()
    link.click()
    browser = visit.page.locator(".browser")
    sentence = link.evaluate("link => link.closest('li').innerText").split(": ", 1)[1]
    playwright.expect(browser.locator(".because")).to_contain_text(sentence[:40])
    first = browser.locator(".case").first
    assert first.locator(".question").is_visible()
    assert "Reference:" in first.inner_text()
    assert first.locator("tr.chosen").inner_text().startswith(f"\u2717\t{model}"[:6])


def test_cases_can_be_filtered(visit: Visit) -> None:
    visit.page.evaluate("location.hash = 'cases'")
    browser = visit.page.locator(".browser")
    playwright.expect(browser.locator(".case")).to_have_count(20)
    everything = int(browser.locator(".found").inner_text().split()[0].replace(",", ""))
    browser.locator("select[data-filter=kind]").select_option(index=1)
    kind = browser.locator("select[data-filter=kind]").input_value()
    playwright.expect(browser.locator(".case .about").first).to_contain_text(kind)
    assert int(browser.locator(".found").inner_text().split()[0]) < everything
    browser.locator("select[data-filter=video]").select_option(index=1)
    video = browser.locator("select[data-filter=video]").input_value()
    assert all(video in text for text in browser.locator(".case").all_inner_texts())


def test_the_verdict_fits_two_screens_and_two_pages(browser: Any, report_file: Path) -> None:
    visit = opened(browser, report_file, width=1440)
    assert visit.page.evaluate("document.querySelector('#explore').getBoundingClientRect().top + scrollY") <= 1800
    visit.page.evaluate("document.querySelectorAll('#explore, #appendix').forEach(part => part.remove())")
    printed = visit.page.pdf(format="A4")
    assert printed.count(b"/Type /Page\n") + printed.count(b"/Type /Page ") <= 2
    visit.page.context.close()


@pytest.mark.parametrize("width", [1280, 1440])
def test_letters_in_pictures_can_be_read(browser: Any, report_file: Path, width: int) -> None:
    visit = opened(browser, report_file, width=width)
    everything_shown(visit)
    smallest = visit.page.evaluate(
        "Math.min(...[...document.querySelectorAll('figure.chart svg')].filter(s => s.clientWidth).flatMap(svg => {"
        "const scale = svg.getBoundingClientRect().width / (svg.viewBox.baseVal.width || svg.width.baseVal.value);"
        "return [...svg.querySelectorAll('text')].filter(t => t.textContent.trim())"
        ".map(t => scale * parseFloat(getComputedStyle(t).fontSize)); }))"
    )
    assert smallest >= 10.9
    visit.page.context.close()


def test_what_is_seen_at_once_fits_a_phone_with_letters_that_can_be_read(browser: Any, report_file: Path) -> None:
    visit = opened(browser, report_file, width=390)
    visit.page.evaluate("location.hash = 'failures'")
    images = visit.page.locator("#failures figure.chart svg.narrow:visible, #verdict .standings svg:visible")
    assert images.count() > 0
    for number in range(images.count()):
        width, drawn = images.nth(number).evaluate("s => [s.getBoundingClientRect().width, s.viewBox.baseVal.width]")
        assert min(0.95 * drawn, 80) <= width <= 390
    visit.page.context.close()


def test_a_phone_shows_the_standings_of_one_leaderboard_at_a_time(browser: Any, report_file: Path) -> None:
    wide, phone = opened(browser, report_file), opened(browser, report_file, width=390)
    heads = "#verdict .standings thead th.number:visible"
    assert [text.split()[0] for text in wide.page.locator(heads).all_inner_texts()] == ["technical", "clinical"]
    assert wide.page.locator("#verdict .standings select").is_hidden()
    assert [text.split()[0] for text in phone.page.locator(heads).all_inner_texts()] == ["technical"]
    first = phone.page.locator("#verdict .standings tbody tr").first.inner_text()
    phone.page.locator("#verdict .standings select").select_option("clinical")
    assert [text.split()[0] for text in phone.page.locator(heads).all_inner_texts()] == ["clinical"]
    assert phone.page.locator("#verdict .standings tbody tr").first.inner_text() != first
    for visit in (wide, phone):
        assert visit.messages == []
        visit.page.context.close()


def test_a_share_is_as_many_dots_of_a_hundred(browser: Any, tmp_path: Path) -> None:
    made = make_report(answers_table(tmp_path / "scores.parquet", models=8)).to_html(tmp_path / "weak.html")
    visit = opened(browser, made)
    figures = visit.page.locator("#verdict figure.dots")
    assert figures.count() > 0
    for number in range(figures.count()):
        said = int(figures.nth(number).locator("figcaption b").inner_text())
        lengths = (
            "lines => lines.map(one => Math.round((one.x2.baseVal.value - one.x1.baseVal.value) / 10 + 1))"
            ".reduce((all, dots) => all + dots, 0)"
        )
        assert figures.nth(number).locator("line").evaluate_all(lengths) == 100
        assert figures.nth(number).locator("line.s-warm").evaluate_all(lengths) == said
    visit.page.context.close()


def test_the_worst_cases_are_filled_in_from_those_that_the_page_holds(browser: Any, tmp_path: Path) -> None:
    cases = tuple(
        {"c": f"q{n}", "v": "v1", "k": "", "t": "", "q": f"Question {n}?", "r": "yes", "p": {}, "s": [n, n],
         "w": [[0, "smoke"]] if n > 1 else [], "a": [[0, "", "no", 0, "no", 1], [1, "", "yes", 0, "yes", 0]]}
        for n in range(6)
    )  # fmt: skip
    worst = WorstCases("worst", "Its three worst", "a", "smoke")
    sections = (
        Section("verdict", "", (worst,), layer="verdict"),
        Section("cases", "Cases", (Browser("cases", "Cases", "", cases),), layer="explore", view="Wrong answers"),
    )
    path = tmp_path / "worst.html"
    path.write_text(page("Title", "Kind", "", sections, models=["a", "b"]), encoding="utf-8")
    visit = opened(browser, path)
    playwright.expect(visit.page.locator("#worst")).to_be_visible()
    shown = visit.page.locator("#worst li").all_inner_texts()
    assert [text.split("Question ")[1][0] for text in shown] == ["2", "3", "4"]
    assert all("Right: yes" in text and "b: right" in text for text in shown)
    assert visit.messages == []
    visit.page.context.close()


def test_the_page_is_dark_where_the_reader_wants_it(browser: Any, report_file: Path) -> None:
    lightness = {}
    for scheme in ("light", "dark"):
        context = browser.new_context(color_scheme=scheme, viewport={"width": 1280, "height": 900})
        page = context.new_page()
        page.goto(report_file.as_uri())
        lightness[scheme] = np.asarray(Image.open(io.BytesIO(page.screenshot())).convert("L")).mean()
        context.close()
    assert lightness["dark"] < 110 < 200 < lightness["light"]


@pytest.mark.parametrize("kind", ["svg", "png", "csv"])
def test_figures_can_be_saved(visit: Visit, kind: str) -> None:
    visit.page.evaluate("location.hash = 'failures'")
    figure = visit.page.locator("#failures figure.chart").first
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
        assert data.startswith(b"term,estimate,")


def test_tables_can_be_saved(visit: Visit) -> None:
    with visit.page.expect_download() as waiting:
        visit.page.locator('[data-name="places-technical"] button[data-save=csv]').click()
    text = Path(waiting.value.path()).read_text()
    assert text.startswith("place,model,")
    assert text.count("\n") == 7


def test_in_print_nothing_is_folded_and_tools_are_gone(visit: Visit) -> None:
    visit.page.emulate_media(media="print")
    assert visit.page.locator(".tools").first.is_hidden()
    printed = visit.page.pdf()
    assert printed.startswith(b"%PDF")
    folded = len(printed)
    visit.page.evaluate("document.querySelectorAll('section > details').forEach(fold => { fold.open = true; })")
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
    assert visit.page.locator("#verdict .standings td svg").first.is_visible()
    assert "first" in visit.page.locator("#verdict").inner_text()
    assert visit.page.locator(".switches").first.is_hidden()
    assert visit.page.locator("#explore > section").last.is_visible()
    visit.page.context.close()


@pytest.mark.parametrize("width", [400, 1280])
def test_the_page_looks_as_it_was_reviewed(browser: Any, report_file: Path, width: int) -> None:
    visit = opened(browser, report_file, width=width)
    seen = Image.open(io.BytesIO(visit.page.screenshot())).convert("L")
    visit.page.context.close()
    golden = GOLDEN / f"first-screen-{width}.png"
    if os.environ.get("SURGVALID_NEW_GOLDEN"):
        golden.parent.mkdir(parents=True, exist_ok=True)
        seen.save(golden, optimize=True)
    reviewed = Image.open(golden).convert("L")
    assert seen.size == reviewed.size
    assert _difference(seen, reviewed) < LARGEST_DIFFERENCE


def _difference(seen: Any, reviewed: Any) -> float:
    """The mean difference of grey levels, so coarse that another font makes little of it."""
    small = [np.asarray(picture.resize((32, 24)), dtype=float) for picture in (seen, reviewed)]
    return float(np.abs(small[0] - small[1]).mean())
