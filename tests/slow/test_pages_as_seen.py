"""Pages as people see them: studies, a challenge, the demo at three widths, light, dark, in print, beside golden ones.

Each page asks nobody, says nothing to the console, is no wider than its screen, and cuts off no word of a figure.
Golden images are small and grey, one strip for each page; `SURGVALID_NEW_GOLDEN=1` writes them anew, to be looked at
before they are committed.
"""

from __future__ import annotations

import io
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from chromium import CHROMIUM
from quick_demo import quick_demo
from report_folder import shared_challenge
from repository import REPOSITORY
from surgvalid.report.report import make_report
from surgvalid.studies.study import study
from ten_studies import ten_studies

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this system")]
GOLDEN = REPOSITORY / "tests" / "golden" / "report" / "seen"
SHOWN = 96
"""Width of a golden image."""
TALL = 240
LARGEST_DIFFERENCE = 6.0
"""Mean difference of grey levels (of 255) between a strip and its golden image. Two pages differ by 8 or more,
and so does a page from itself, moved down by one pixel of the small image."""
VIEWS = [(width, scheme, "screen") for width in (1440, 1024, 390) for scheme in ("light", "dark")]
VIEWS += [(794, "light", "print")]
STUDIES = ten_studies()
CHALLENGES = ("challenge", "demo")
CUT = """() => [...document.querySelectorAll('figure.chart svg')].filter(svg => svg.clientWidth).flatMap(svg => {
  const frame = svg.viewBox.baseVal;
  return [...svg.querySelectorAll('text')].map(text => [text.textContent, text.getBBox()])
    .filter(([, box]) => box.x < -1 || box.x + box.width > frame.width + 1 || box.y + box.height > frame.height + 1)
    .map(([words]) => words); })"""
"""Words of figures that lie outside of their image."""


def page_of(name: str, folder: Path) -> Path:
    path = folder / f"{name}.html"
    if name == "challenge":
        return make_report(shared_challenge()).to_html(path)
    planted = STUDIES[name]
    made = study(planted.table, margin=planted.margin, metric="dice" if name == "by-metric" else None)
    path.write_text(made.html(), encoding="utf-8")
    return path


def seen(browser: Any, path: Path, width: int, scheme: str, media: str) -> tuple[Any, list[str]]:
    """The page as a small grey image, and what is wrong with it."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    wrong: list[str] = []
    page.on("console", lambda message: wrong.append(message.text))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda asked: None if asked.url == path.as_uri() else wrong.append(asked.url))
    page.emulate_media(media=media, color_scheme=scheme)
    page.goto(path.as_uri())
    if page.evaluate("document.documentElement.scrollWidth") > width:
        wrong.append(f"wider than {width} px")
    wrong += [f"{words!r} is cut off at {width} px" for words in page.evaluate(CUT)]
    whole = Image.open(io.BytesIO(page.screenshot(full_page=True))).convert("L")
    if media == "print" and len(re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4"))) > 3:
        wrong.append("more than two printed pages, and one for the methods")
    context.close()
    return whole.resize((SHOWN, min(TALL, whole.height * SHOWN // whole.width)), Image.Resampling.BOX), wrong


@pytest.mark.parametrize("name", [*STUDIES, *CHALLENGES])
def test_a_page_looks_as_it_was_looked_at(
    name: str, browser: Any, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    if name == "demo":
        path = quick_demo(tmp_path_factory, tmp_path / name, name=name).folder / "report.html"
    else:
        path = page_of(name, tmp_path)
    strip, wrong = Image.new("L", (SHOWN * len(VIEWS), TALL), 128), []
    for place, view in enumerate(VIEWS):
        image, found = seen(browser, path, *view)
        strip.paste(image, (SHOWN * place, 0))
        wrong += [one for one in found if name not in CHALLENGES or "printed" not in one]
    golden = GOLDEN / f"{name}.png"
    if os.environ.get("SURGVALID_NEW_GOLDEN"):
        golden.parent.mkdir(exist_ok=True)
        strip.save(golden, optimize=True)
    assert wrong == []
    kept = np.asarray(Image.open(golden), dtype=float)
    assert np.abs(np.asarray(strip, dtype=float) - kept).mean() < LARGEST_DIFFERENCE


@pytest.mark.parametrize("name", STUDIES)
def test_a_page_says_what_was_planted(name: str, tmp_path: Path) -> None:
    page = page_of(name, tmp_path).read_text(encoding="utf-8")
    assert STUDIES[name].title in page.partition("</h1>")[0]
    assert len(page.encode()) < 120_000
