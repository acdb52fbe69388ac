"""Instruments: the right tool in the right hand, at the object that it holds."""

from functools import cache

import numpy as np
import pytest

from surgvalid.simulation import Renderer, draw_scene, true_procedure
from surgvalid.simulation.instruments import NO_TOOL, SLOTS, TOOLS


@cache
def scene(number: int = 0):
    return draw_scene(17, number, minutes=(20, 25))


def test_the_working_hand_uses_the_tools_of_the_phase_unless_it_holds_something():
    one = scene()
    held = np.zeros((SLOTS, one.duration_s), dtype=bool)
    for life in one.lives:
        for hold in life.holds:
            held[hold.slot, max(int(hold.stretch.start_s) - 1, 0) : int(np.ceil(hold.stretch.end_s)) + 2] = True
    for phase in one.phases:
        part = slice(int(phase.start_s), int(phase.end_s))
        tools = one.instruments.tools[1, part][~held[1, part]]
        assert {TOOLS[tool] for tool in np.unique(tools) if tool != NO_TOOL} <= set(phase.model.tools)
        assert set(np.unique(one.instruments.tools[0, part][~held[0, part]])) <= {NO_TOOL, TOOLS.index("grasper")}


def test_what_holds_an_object_is_where_the_object_is():
    checked = 0
    for number in range(3):
        one = scene(number)
        for life in one.lives:
            for hold in life.holds:
                times = np.arange(np.ceil(hold.stretch.start_s), int(hold.stretch.end_s))
                times = times[(times >= life.born_s) & (times < min(life.gone_s, one.duration_s - 1))]
                others = [h for other in one.lives if other is not life for h in other.holds if h.slot == hold.slot]
                free = [t for t in times if not any(o.stretch.start_s - 1 <= t <= o.stretch.end_s + 1 for o in others)]
                if not free:
                    continue
                tips = one.instruments.tip_at(hold.slot, np.array(free))
                np.testing.assert_allclose(tips, life.path.at(np.array(free))[:, :2], atol=1e-4)
                assert {TOOLS[one.instruments.tool_at(hold.slot, time_s)] for time_s in free} == {hold.tool}
                checked += len(free)
    assert checked > 50


def test_instrument_tracks_have_the_tool_as_class_and_are_no_foreign_objects():
    pytest.importorskip("numba")
    short = draw_scene(17, 0, minutes=(1, 1), width_px=160, height_px=90)
    procedure = true_procedure(short)
    assert {track.class_name for track in procedure.instruments} <= set(TOOLS)
    assert len(procedure.instruments) > 2
    assert not {track.instance for track in procedure.instruments} & {track.instance for track in procedure.tracks}
    assert true_procedure(short, instruments=False).instruments == ()


def test_a_tip_is_in_the_image_where_the_frame_shows_it_and_crossed_where_another_lies_before_it():
    """Of tips that lie well within the image, nearly all have pixels of their instrument around them."""
    pytest.importorskip("numba")
    short = draw_scene(17, 1, minutes=(3, 3), width_px=160, height_px=90)
    renderer, shown, seen = Renderer(short), 0, 0
    for time_s in np.arange(5.0, 175.0, 3.0):
        hands = renderer.world.hands_in_view(time_s)
        moment = renderer.world.at(time_s)
        named = {tool.name for tool in renderer.look(time_s).tools}
        for number in moment.tips:
            name = moment.things[number].name
            if hands.shown[int(name[-1])]:
                shown, seen = shown + 1, seen + (name in named)
        assert not hands.shown.any() or not moment.masked
    assert shown > 40
    assert seen > 0.9 * shown
