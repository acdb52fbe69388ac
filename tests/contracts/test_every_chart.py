"""Every chart stands few and many rows, hostile names and no data, and says in words what it shows."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from chart_examples import EXAMPLES
from surgvalid.report.charts import CHARTS
from surgvalid.testing._charts import CHART_RULES

NAMES = sorted(CHARTS)


def test_every_chart_has_an_example_and_no_example_is_left_over() -> None:
    assert set(EXAMPLES) == set(CHARTS)


@pytest.mark.parametrize("rule", CHART_RULES, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize("name", NAMES)
def test_a_chart_keeps_every_rule(name: str, rule: Callable[..., Iterator[str]]) -> None:
    assert list(rule(EXAMPLES[name])) == []
