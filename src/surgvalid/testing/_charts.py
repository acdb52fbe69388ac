"""What every chart keeps: it stands few and many rows, hostile names and no data, and says in words what it shows."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from xml.etree import ElementTree

from surgvalid.report.chart import NARROW_PX, WIDE_PX, Chart
from surgvalid.testing._broken import Broken, refuse

Draw = Callable[[Sequence[str]], Chart]
"""The chart of a table whose models, or whatever its rows are, have these names."""

HOSTILE = (
    "</script><script>window.hacked=1</script>",
    '=HYPERLINK("http://x")',
    "\\input{/etc/passwd} $x^2$ #eval",
    "a\u202egnp.exe",
    "datum.value; alert(1)",
    "名前 模型 🩺",
    "x" * 300,
    "line\nbreak",
    "",
    "{{ 7 * 7 }}",
)
"""Names that a page, a spreadsheet, a print or a template must not obey."""
NOTHING = "Nothing to show"
_SIZES = {"width": (100, 1400), "height": (30, 3200)}
_COLOUR = re.compile(r"(?:fill|stroke|style)=\"(?!none)")


def plain_names(count: int) -> list[str]:
    """That many harmless names."""
    return [f"model {number:03d}" for number in range(count)]


def check_chart(name: str, draw: Draw) -> None:
    """Nothing, when a chart keeps the rules of charts.

    Args:
        name: Of the chart, for the message.
        draw: Makes a table with the given names and draws the chart of it.

    Raises:
        ContractBroken: With every rule that it does not keep.
    """
    refuse("chart", name, (rule(draw) for rule in CHART_RULES))


def it_renders_and_speaks_at_any_size(draw: Draw) -> Broken:
    """An image of sensible size with title, caption, data and a text alternative, for 1, 3 and 100 rows."""
    for count in (1, 3, 100):
        chart = draw(plain_names(count))
        drawn = ElementTree.fromstring(chart.svg()).attrib
        for side, (low, high) in _SIZES.items():
            if not low < float(drawn[side]) <= high:
                yield f"{count} rows: a {side} of {drawn[side]} px; expected {low} to {high}"
        if not 20 < len(chart.alt) < 1500:
            yield f"{count} rows: a text alternative of {len(chart.alt)} letters"
        empty = chart.alt.startswith(NOTHING)
        if not chart.title or not (empty or (chart.caption and chart.data.height)):
            yield f"{count} rows: no title, no caption or no data"


def hostile_names_stay_text(draw: Draw) -> Broken:
    """No name becomes an element of the image."""
    chart = draw(list(HOSTILE))
    for text in (chart.svg(), chart.inline(NARROW_PX)):
        for element in ElementTree.fromstring(text).iter():
            if element.tag.rpartition("}")[2] in ("script", "image", "foreignObject", "a", "use"):
                yield f"the image has an element {element.tag}"


def a_chart_of_nothing_says_so(draw: Draw) -> Broken:
    """An empty table gives an image and words that say so."""
    chart = draw([])
    ElementTree.fromstring(chart.svg())
    if not chart.alt.startswith(f"{NOTHING}: "):
        yield f"without rows its text alternative begins with {chart.alt[:40]!r}, not with '{NOTHING}: '"


def it_never_asks_the_network(draw: Draw) -> Broken:
    """It names no address to load from."""
    if re.search(r"(?:href|src)=|url\(", draw(plain_names(3)).svg()):
        yield "the image names an address to load from"


def it_follows_its_page(draw: Draw) -> Broken:
    """It takes the colours of the page and the width that it is given."""
    chart = draw(plain_names(3))
    for width in (WIDE_PX, NARROW_PX):
        text = chart.inline(width)
        if _COLOUR.search(text):
            yield "an image on a page brings a colour of its own"
        if float(ElementTree.fromstring(text).attrib["width"]) != width:
            yield f"asked for {width} px it is {ElementTree.fromstring(text).attrib['width']} px wide"


CHART_RULES = (
    it_renders_and_speaks_at_any_size,
    hostile_names_stay_text,
    a_chart_of_nothing_says_so,
    it_never_asks_the_network,
    it_follows_its_page,
)
