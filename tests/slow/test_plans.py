"""Plans and alarms against brute force with other seeds; docs/validation-plans.md has the same with more studies."""

from __future__ import annotations

import numpy as np
import pytest
from docs.validate_plans import ALARMS, SCENARIOS, alarm_line, order_line, power_line, range_line

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", [name for name in SCENARIOS if "skewed" not in name])
def test_planned_differences_are_found_as_often_as_planned(name: str) -> None:
    _, videos, closed, drawn = power_line(name, 400)
    assert int(str(videos)) >= 6
    assert float(str(closed)) >= 0.8
    assert -0.06 < float(str(drawn)) - float(str(closed)) < 0.12


def test_the_range_of_a_pilot_holds_the_number_that_is_needed() -> None:
    _, *shares = range_line(10, 200)
    assert [float(str(share)) for share in shares] == pytest.approx([0.8, 0.8], abs=0.09)


def test_orders_are_as_firm_as_planned() -> None:
    _, first, drawn_first, order, drawn_order = (float(str(cell)) for cell in order_line(30, 80))
    assert drawn_first == pytest.approx(first, abs=0.17)
    assert drawn_order == pytest.approx(order, abs=0.17)


@pytest.mark.parametrize("name", ALARMS)
def test_alarms_are_as_rare_as_promised(name: str) -> None:
    _, alarms, _ = alarm_line(name, 150)
    assert float(str(alarms)) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 150)
