"""The sheet of simulated scenes shows what its list promises, by the buffers that its panels are made of."""

import pytest

pytest.importorskip("numba")

from docs.figures import scenes

from surgvalid.simulation.centers import CENTERS
from surgvalid.simulation.instruments import TOOLS
from surgvalid.simulation.procedure_types import SIZES


@pytest.mark.parametrize("panel", scenes.PANELS, ids=lambda panel: f"{panel.kind}-{panel.time_s:g}")
def test_everything_that_a_panel_promises_can_be_seen_in_it(panel):
    assert set(panel.items) <= scenes.shot(panel).shown


def test_the_sheet_has_every_centre_class_and_tool_and_the_page_has_its_list():
    promised = {item for panel in scenes.PANELS for item in panel.items}
    assert set(SIZES) | set(TOOLS) <= promised
    assert set(CENTERS) == {panel.center for panel in scenes.PANELS}
    assert scenes.checklist() in scenes.PAGE.read_text(encoding="utf-8")
