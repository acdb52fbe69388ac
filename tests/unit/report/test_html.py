"""One file that asks nobody for anything, in which whatever models wrote stays text."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from html.parser import HTMLParser
from typing import Any

import polars as pl
import pytest

from chart_examples import EXAMPLES, HOSTILE, plain_names
from repository import REPOSITORY
from surgvalid.report.drawing.svg import DARK, FONT, LIGHT, variables
from surgvalid.report.html import SAVED_ROWS, page
from surgvalid.report.section import Note, Prose, ReportTable, Section

ATTACKS = (*HOSTILE, "<!--", "]]>", "\u2028alert(1)\u2029", "&lt;b&gt;", "<svg/onload=window.hacked=3>", "\ud800")


class Tags(HTMLParser):
    """Collects elements, attributes and text of a page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text: list[str] = []
        self.ids: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        self.ids += [value or "" for name, value in attrs if name == "id"]

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def read(text: str) -> Tags:
    tags = Tags()
    tags.feed(text)
    return tags


def payload(text: str) -> dict[str, Any]:
    packed = re.search(r'id="payload">([^<]*)<', text)
    assert packed
    document: dict[str, Any] = json.loads(zlib.decompress(base64.b64decode(packed[1])))
    return document


def hostile_page() -> str:
    frame = pl.DataFrame(
        {"model": ATTACKS[:-1], "value": range(len(ATTACKS) - 1), 'x"><script>': ["a"] * (len(ATTACKS) - 1)}
    )
    blocks = [Prose(text) for text in ATTACKS] + [Note(text, items=(text,)) for text in ATTACKS]
    table = ReportTable("t", ATTACKS[0], frame, ATTACKS[0], labels={"model": ATTACKS[0]})
    chart = EXAMPLES["value_intervals"](list(HOSTILE))
    sections = [Section("one", ATTACKS[0], (*blocks, table, chart))]
    return page(ATTACKS[0], ATTACKS[0], ATTACKS[0], sections, lead=ATTACKS[0])


def test_hostile_text_adds_no_element_and_no_attribute() -> None:
    tags = read(hostile_page())
    assert tags.tags.count("script") == 2
    assert "img" not in tags.tags
    assert not [name for name, _ in tags.attributes if name.startswith("on")]
    assert "</script><script>window.hacked=1</script>" in "".join(tags.text)


def test_only_scripts_of_our_own_may_run() -> None:
    text = hostile_page()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy
    assert "default-src 'none'" in policy[1]
    assert "unsafe-eval" not in policy[1]
    assert "'unsafe-inline'" not in policy[1].split("style-src")[0]
    script = text.rpartition("<script>")[2].partition("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"'sha256-{digest}'" in policy[1]


def test_nothing_in_the_page_points_outside() -> None:
    text = page("t", "k", "f", [Section("a", "A", (EXAMPLES["value_intervals"](plain_names(3)),))])
    for name, value in read(text).attributes:
        if name in ("src", "href", "action", "data", "poster") and value:
            assert value.startswith(("#", "data:")), value
    assert "@import" not in text
    assert "url(http" not in text


def test_ids_are_unique_even_with_the_same_chart_twice() -> None:
    chart = EXAMPLES["value_intervals"](plain_names(3))
    tags = read(page("t", "k", "f", [Section("a", "A", (chart, chart)), Section("b", "B", (chart,))]))
    assert len(tags.ids) == len(set(tags.ids))


def test_what_is_seen_at_once_is_drawn_for_a_phone_too_and_has_its_text_alternative() -> None:
    chart = EXAMPLES["value_intervals"](plain_names(3))
    text = page("t", "k", "f", [Section("a", "A", (chart,))])
    assert text.count(f'role="img" aria-label="{chart.alt}"') == 2
    assert text.count('<svg class="plot ') == 2
    folded = page("t", "k", "f", [Section("a", "A", (chart,), folded=True)])
    assert folded.count("<svg ") == 1


def test_a_page_has_colours_for_light_and_dark_and_its_images_bring_none() -> None:
    text = page("t", "k", "f", [Section("a", "A", (EXAMPLES["value_intervals"](plain_names(3)),))])
    assert "--blue:#0072b2;" in text
    assert "prefers-color-scheme:dark){:root{" in text
    assert ".f-blue{fill:var(--blue)}" in text
    image = re.search("<svg .*?</svg>", text, re.DOTALL)
    assert image
    assert "#" not in image[0]
    assert len(text) < 60_000


def test_the_page_carries_what_its_buttons_save() -> None:
    chart = EXAMPLES["value_intervals"](plain_names(3))
    table = ReportTable("t", "T", pl.DataFrame({"model": ["=1+1"], "value": [0.5]}))
    carried = payload(page("t", "k", "f", [Section("a", "A", (chart, table))]))
    assert carried["csv"]["figure-1"] == chart.csv()
    assert carried["csv"]["table-1"] == "model,value\n'=1+1,0.5\n"


def test_long_tables_show_some_rows_and_say_so() -> None:
    frame = pl.DataFrame({"n": range(SAVED_ROWS + 1)})
    text = page("t", "k", "f", [Section("a", "A", (ReportTable("t", "T", frame, shown_rows=10),))])
    assert text.count("<td data-v>") == 10
    assert f"10 of {SAVED_ROWS + 1:,} rows are shown" in text
    assert f"first {SAVED_ROWS:,} of" in text
    assert payload(text)["csv"]["table-1"].count("\n") == SAVED_ROWS + 1


def test_sections_tables_and_heads_can_be_reached_by_keyboard_and_name() -> None:
    frame = pl.DataFrame({"model": ["a"], "value": [0.5]})
    text = page("t", "k", "f", [Section("a", "A", (ReportTable("t", "T", frame, folded=True),), folded=True)])
    assert '<html lang="en">' in text
    assert '<section id="a"><details><summary><h2>' in text
    assert '<th scope="col" aria-sort="none" class="number"><button type="button">value</button></th>' in text
    assert '<td data-v="0.5">0.500</td>' in text


@pytest.mark.parametrize("blocks", [(), (Prose(""),), (ReportTable("t", "T", pl.DataFrame()),)])
def test_a_section_may_be_empty(blocks: tuple[Any, ...]) -> None:
    assert "<h2>" in page("t", "k", "f", [Section("a", "A", blocks)])


def test_equal_reports_give_equal_pages() -> None:
    assert hostile_page() == hostile_page()


def test_pages_of_the_web_service_have_the_colours_of_the_figures() -> None:
    sheet = REPOSITORY.joinpath("src/surgvalid/host/pages/static/host/host.css").read_text(encoding="utf-8")
    assert f":root{{{variables(LIGHT)}}}" in sheet
    assert f"(prefers-color-scheme:dark){{:root{{{variables(DARK)}}}}}" in sheet
    assert f"--font: {FONT};" in sheet
