"""The page for reviewers in a real browser: keyboard, boxes over frames, blind raters, adjudication, a tablet.

Chromium comes from the system (`scripts/install-system-packages.sh`); without it these tests are skipped.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from chromium import CHROMIUM
from review_folder import review_folder
from still_images import scene, yolo
from surgvalid import make_questions
from surgvalid.datasets import read_annotations
from surgvalid.report.review.items import material_in
from surgvalid.report.review.log import ReviewLog
from surgvalid.report.review.server import ReviewServer, history_file
from surgvalid.schema.procedures.procedure_files import write_procedure
from waiting import until

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytest.importorskip("av", reason="no video file can be made")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this system")
playwright.expect.set_options(timeout=60_000)
PICTURES = os.environ.get("SURGVALID_REVIEW_PICTURES")
"""A folder for images of the page, for whoever wants to look at it."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ReviewServer]:
    folder = review_folder(tmp_path)
    log = ReviewLog(history_file(folder))
    served = ReviewServer(material_in(folder), log, raters=["anna", "ben"], adjudicator="carla", blind=False)
    threading.Thread(target=served.serve_forever, daemon=True).start()
    yield served
    served.shutdown()
    served.server_close()


def opened(
    browser: Any, server: ReviewServer, who: str, *, width: int = 1440, height: int = 900
) -> tuple[Any, list[str]]:
    page = browser.new_context(viewport={"width": width, "height": height}).new_page()
    page.set_default_timeout(60_000)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.goto(server.address_of(who))
    page.locator("#main:visible, #empty:visible").first.wait_for()
    return page, errors


def picture(page: Any, name: str) -> None:
    if PICTURES:
        until(lambda: page.evaluate("[...document.images].every(one => one.complete)"), 20, "an image was not loaded")
        page.screenshot(path=Path(PICTURES, f"{name}.png"), full_page=True)


def test_three_people_review_by_keyboard_and_the_history_has_it_all(browser: Any, server: ReviewServer) -> None:
    anna, errors = opened(browser, server, "anna")
    playwright.expect(anna.locator("#question")).to_contain_text("Is a sponge visible")
    playwright.expect(anna.locator(".box.shown span")).to_have_text("sponge_1")
    playwright.expect(anna.locator(".box")).to_have_count(2)
    frame, box = anna.locator(".frame").bounding_box(), anna.locator(".box.shown").bounding_box()
    assert abs((box["x"] - frame["x"]) / frame["width"] - 26 / 160) < 0.02
    assert abs(box["height"] / frame["height"] - 30 / 120) < 0.03
    assert anna.locator(".frame img").evaluate("image => image.naturalWidth") == 160
    picture(anna, "rater-1440")
    anna.keyboard.press("a")
    playwright.expect(anna.locator("#question")).to_contain_text("How many clips")
    anna.keyboard.press("c")
    anna.keyboard.type("many")
    anna.keyboard.press("Enter")
    playwright.expect(anna.locator("#problem")).to_contain_text("is no answer of the format")
    anna.locator("#right").fill("2")
    anna.locator("#reason").fill("one lies behind the grasper")
    picture(anna, "rater-correcting-1440")
    anna.keyboard.press("Enter")
    playwright.expect(anna.locator("#question")).to_contain_text("When is the sponge seen last")
    playwright.expect(anna.locator("#counts")).to_contain_text("2 rated, 1 with an objection")
    anna.keyboard.press("o")
    anna.keyboard.press("Escape")
    playwright.expect(anna.locator("#form")).to_be_hidden()
    anna.keyboard.press("a")
    playwright.expect(anna.locator("#mine")).to_contain_text("You confirmed this")

    ben, more = opened(browser, server, "ben", width=820)
    playwright.expect(ben.locator("#mine")).to_have_text("")
    assert "grasper" not in ben.content()
    assert ben.evaluate("document.documentElement.scrollWidth") <= 820
    buttons = ben.locator("#actions button")
    heights = buttons.evaluate_all("all => all.map(one => one.getBoundingClientRect().height)")
    assert min(heights) >= 48
    bottoms = buttons.evaluate_all("all => all.map(one => one.getBoundingClientRect().bottom)")
    assert max(bottoms) <= 1000
    assert ben.locator("#question").bounding_box()["y"] < 300
    picture(ben, "rater-820")
    for rated in (1, 2, 3):
        ben.locator("#approve").click()
        playwright.expect(ben.locator("#counts")).to_contain_text(f"{rated} rated")

    carla, other = opened(browser, server, "carla")
    playwright.expect(carla.locator("#said")).to_contain_text("right answer: 2; one lies behind the grasper")
    playwright.expect(carla.locator("#overview")).to_contain_text("Rater 1")
    picture(carla, "adjudicator-1440")
    carla.keyboard.press("a")
    playwright.expect(carla.locator("#empty")).to_contain_text("Nothing is in dispute")
    until(lambda: "upheld" in server.log.path.read_text(), 20, "the last verdict was not written")
    assert [text for text in (*errors, *more, *other) if "409" not in text] == []

    entries = pl.read_csv(server.log.path).filter(pl.col("action") != "proposed").select("item", "action", "who").rows()
    assert set(entries) == {
        ("f1", "approved", "anna"), ("s1", "objected", "anna"), ("s2", "approved", "anna"),
        *((item, "approved", "ben") for item in ("f1", "s1", "s2")), ("s1", "upheld", "carla"),
    }  # fmt: skip
    assert set(server.log.history.states().values()) == {"confirmed"}


def test_the_film_plays_the_stretch_of_the_question(browser: Any, server: ReviewServer) -> None:
    page, _ = opened(browser, server, "anna")
    ready = "document.querySelector('video') === null || document.querySelector('video').readyState >= 1"
    until(lambda: page.evaluate(ready), 20, "the video was not loaded")
    if page.locator("video").count() == 0:
        pytest.skip("this Chromium plays no H.264")
    assert abs(page.locator("video").evaluate("film => film.currentTime") - 6) < 0.6
    page.keyboard.press("v")
    page.locator("#speed").select_option("2")
    assert page.locator("video").evaluate("film => film.playbackRate") == 2
    page.locator("figcaption button").first.click()
    assert abs(page.locator("video").evaluate("film => film.currentTime") - 6) < 0.6


def test_a_question_is_written_by_keyboard_at_a_marked_moment(browser: Any, server: ReviewServer) -> None:
    page, errors = opened(browser, server, "anna")
    form = server.log.path.with_name("written.csv")
    moments = ["00:00:06"]
    if page.locator("video").count():
        until(lambda: page.evaluate("document.querySelector('video').readyState >= 1"), 20, "no video was loaded")
        page.keyboard.press("v")
        page.locator("figcaption button").first.click()
        page.keyboard.press("m")
        page.evaluate("jump(9)")
        page.keyboard.press("m")
        moments = ["00:00:06", "00:00:09"]
    page.keyboard.press("n")
    playwright.expect(page.locator("#marked")).to_have_text(" to ".join(moments))
    page.keyboard.type("How many sponges are seen? Answer with a number.")
    page.keyboard.press("Tab")
    page.keyboard.type("some")
    page.locator("#answer_format").select_option("number")
    page.locator("#told").press("Enter")
    playwright.expect(page.locator("#problem")).to_contain_text("'some' is no legal number")
    page.locator("#told").fill("1")
    picture(page, "writing-1440")
    page.locator("#told").press("Enter")
    playwright.expect(page.locator("#now")).to_contain_text("written-1 is in the form")
    row = pl.read_csv(form, infer_schema=False).row(0, named=True)
    told = [row[name] for name in ("timestamp_start", "timestamp_end", "answer", "author", "primary_capability")]
    assert told == [moments[0], moments[-1], "1", "anna", "object_identification"]
    assert [text for text in errors if "409" not in text] == []


@pytest.fixture(scope="module")
def stills(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Real questions on single images of two shapes, with the images beside them."""
    home = tmp_path_factory.mktemp("stills")
    images = scene(60)
    read = read_annotations(yolo(images, home / "labelled")).procedures
    make_questions(read, tracks=["frame"], per_video=8, annotated=["classes"]).to_dir(home / "made")
    (home / "made" / "annotations").mkdir()
    for number, one in enumerate(read):
        write_procedure(one, home / "made" / "annotations" / f"{number:04}.json")
    return home


OTHERS = {"number": ("7", "8"), "fo_class": ("Mesh", "Clip, Mesh"), "open_ended": ("something else", "another thing")}
"""Legal answers of which one at least is wrong."""


@pytest.mark.parametrize(("who", "width", "height", "wrong"), [("anna", 1440, 900, 9), ("ben", 1024, 768, 4)])
def test_a_hundred_frames_are_answered_and_judged_without_scrolling(
    browser: Any, stills: Path, tmp_path: Path, who: str, width: int, height: int, wrong: int
) -> None:
    """Every ninth (fourth) answer is wrong on purpose: the history knows how good the rater was."""
    shutil.copytree(stills / "made", folder := tmp_path / "made")
    material = material_in(folder, video_files=[stills / "labelled" / "images"])
    listed = {item.name: item for item in material.items[:: len(material.items) // 100][:100]}
    material = replace(material, items=tuple(listed.values()))
    assert len({item.kinds["template"] for item in listed.values()}) >= 10
    served = ReviewServer(material, ReviewLog(history_file(folder)), raters=["anna", "ben"])
    threading.Thread(target=served.serve_forever, daemon=True).start()
    page, errors = opened(browser, served, who, width=width, height=height)

    def fits(what: str) -> None:
        size = page.evaluate("[document.documentElement.scrollHeight, document.documentElement.scrollWidth]")
        frame = page.locator(".frame").bounding_box()
        assert size[0] <= height, (what, size)
        assert size[1] <= width, (what, size)
        assert frame["y"] + frame["height"] <= height, (what, frame)
        assert frame["width"] >= 0.35 * width, (what, frame)

    try:
        for number, item in enumerate(listed.values()):
            playwright.expect(page.locator("#counts")).to_contain_text(f"{number + 1} of 100")
            playwright.expect(page.locator("#blind")).to_be_visible()
            drawn = "document.images.length === 1 && document.images[0].naturalWidth > 1"
            until(lambda: page.evaluate(drawn), 20, "the image was not loaded")  # noqa: B023
            assert page.locator("#answer").inner_text() == ""
            assert page.locator(".box").count() == 0
            fits(item.question)
            options = item.options or (("yes", "no") if item.format == "binary" else ())
            said = item.answer
            if number % wrong == 0:
                said = next(text for text in options or OTHERS[item.format] if text != item.answer)
            if options:
                page.keyboard.press(str(1 + options.index(said)))
            else:
                page.keyboard.press("Enter")
                page.keyboard.type(said)
                page.keyboard.press("Enter")
            playwright.expect(page.locator("#answer")).to_have_text(item.answer)
            fits(f"{item.question} {item.answer}")
            page.keyboard.press("c")
            fits(f"correcting {item.question}")
            page.keyboard.press("Escape")
            page.keyboard.press("a")
            if number == 50:
                picture(page, f"frames-{width}")
        playwright.expect(page.locator("#counts")).to_contain_text("100 rated")
        page.keyboard.press("u")
        playwright.expect(page.locator("#counts")).to_contain_text("99 rated")
    finally:
        served.shutdown()
        served.server_close()
    assert errors == []
    log = pl.read_csv(history_file(folder), infer_schema=False)
    answers = dict(log.filter(action="answered").select("item", "after").rows())
    assert sum(answers[name] != item.answer for name, item in listed.items()) == len(range(0, 100, wrong))
    assert log.filter(action="approved").height == 100
    assert log["action"].to_list()[-1] == "undone"
