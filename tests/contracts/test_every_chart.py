"""Every chart stands few and many rows, hostile names and no data, and says in words what it shows."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest

from chart_examples import EXAMPLES, HOSTILE, plain_names
from surgeval.report.charts import CHARTS

NAMES = sorted(CHARTS)


def test_every_chart_has_an_example_and_no_example_is_left_over() -> None:
    assert set(EXAMPLES) == set(CHARTS)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("count", [1, 3, 100])
def test_a_chart_renders_and_speaks_at_any_size(name: str, count: int) -> None:
    chart = EXAMPLES[name](plain_names(count))
    root = ElementTree.fromstring(chart.svg())
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    assert 100 < width <= 1400, width
    assert 30 < height <= 3200, height
    assert len(chart.alt) > 20
    assert len(chart.alt) < 1500
    assert chart.title
    assert chart.caption or chart.alt.startswith("Nothing to show")
    assert chart.data.height or chart.alt.startswith("Nothing to show")


@pytest.mark.parametrize("name", NAMES)
def test_hostile_names_stay_text(name: str) -> None:
    chart = EXAMPLES[name](list(HOSTILE))
    root = ElementTree.fromstring(chart.svg())
    assert not [element.tag for element in root.iter() if element.tag.endswith(("script", "image", "foreignObject"))]
    spec = json.dumps({key: value for key, value in chart.spec.items() if key not in ("data", "datasets")})
    for hostile in HOSTILE[:5]:
        assert hostile not in _expressions(json.loads(spec))


@pytest.mark.parametrize("name", NAMES)
def test_a_chart_of_nothing_says_so(name: str) -> None:
    chart = EXAMPLES[name]([])
    ElementTree.fromstring(chart.svg())
    assert chart.alt.startswith("Nothing to show: ")


@pytest.mark.parametrize("name", NAMES)
def test_a_chart_never_asks_the_network(name: str) -> None:
    assert '"url"' not in json.dumps(dict(EXAMPLES[name](plain_names(3)).spec))


def _expressions(spec: object) -> str:
    """All strings of a specification that Vega would evaluate."""
    found: list[str] = []
    stack = [spec]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            for key, value in item.items():
                if key in ("expr", "test", "filter", "calculate", "labelExpr", "signal", "update") and isinstance(
                    value, str
                ):
                    found.append(value)
                stack.append(value)
        elif isinstance(item, list):
            stack.extend(item)
    return "\n".join(found)
