"""What every chart keeps: it stands few and many rows, hostile names and no data, and says in words what it shows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from xml.etree import ElementTree

from surgeval.report.chart import Chart
from surgeval.testing._broken import Broken, refuse

Draw = Callable[[Sequence[str]], Chart]
"""The chart of a table whose models, or whatever its rows are, have these names."""

HOSTILE = (
    "</script><script>window.hacked=1</script>", "=HYPERLINK(\"http://x\")", "\\input{/etc/passwd} $x^2$ #eval",
    "a\u202egnp.exe", "datum.value; alert(1)", "名前 模型 🩺", "x" * 300, "line\nbreak", "", "{{ 7 * 7 }}",
)  # fmt: skip
"""Names that a page, a spreadsheet, a print or a template must not obey."""
NOTHING = "Nothing to show"
_SIZES = {"width": (100, 1400), "height": (30, 3200)}
_RUN_BY_VEGA = ("expr", "test", "filter", "calculate", "labelExpr", "signal", "update")


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
        ExtraNeeded: The packages that draw are not installed.
    """
    refuse("chart", name, (rule(draw) for rule in CHART_RULES))


def it_renders_and_speaks_at_any_size(draw: Draw) -> Broken:
    """A picture of sensible size with title, caption, data and a text alternative, for 1, 3 and 100 rows."""
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
    """No name becomes an element of the picture or an expression that is evaluated."""
    chart = draw(list(HOSTILE))
    root = ElementTree.fromstring(chart.svg())
    for element in root.iter():
        if element.tag.endswith(("script", "image", "foreignObject")):
            yield f"the picture has an element {element.tag}"
    spec = {key: value for key, value in chart.spec.items() if key not in ("data", "datasets")}
    expressions = "\n".join(_expressions(json.loads(json.dumps(spec))))
    yield from (f"{name!r} stands in an expression" for name in HOSTILE[:5] if name in expressions)


def a_chart_of_nothing_says_so(draw: Draw) -> Broken:
    """An empty table gives a picture and words that say so."""
    chart = draw([])
    ElementTree.fromstring(chart.svg())
    if not chart.alt.startswith(f"{NOTHING}: "):
        yield f"without rows its text alternative begins with {chart.alt[:40]!r}, not with '{NOTHING}: '"


def it_never_asks_the_network(draw: Draw) -> Broken:
    """Its data travel with it."""
    if '"url"' in json.dumps(dict(draw(plain_names(3)).spec)):
        yield "its specification names an address to load from"


def no_legend_is_there_twice(draw: Draw) -> Broken:
    """Marks that mean the same share one legend."""
    groups = [one for one in ElementTree.fromstring(draw(plain_names(3)).svg()).iter() if one.tag.endswith("}g")]
    legends = [one for one in groups if "role-legend" in one.get("class", "").split()]
    worded = [tuple(text.text for text in legend.iter() if text.tag.endswith("}text")) for legend in legends]
    yield from (f"a legend is drawn twice: {labels}" for labels in dict.fromkeys(worded) if worded.count(labels) > 1)


def _expressions(spec: object) -> Iterator[str]:
    """All strings of a specification that Vega would evaluate."""
    if isinstance(spec, dict):
        yield from (value for key, value in spec.items() if key in _RUN_BY_VEGA and isinstance(value, str))
    for item in spec.values() if isinstance(spec, dict) else spec if isinstance(spec, list) else ():
        yield from _expressions(item)


CHART_RULES = (
    it_renders_and_speaks_at_any_size,
    hostile_names_stay_text,
    a_chart_of_nothing_says_so,
    it_never_asks_the_network,
    no_legend_is_there_twice,
)
