"""Bodies in space: events have a visible cause, objects rest on what lies below, and order of asking is no matter."""

import hashlib
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context

import numpy as np
import pytest

pytest.importorskip("numba")

from surgvalid.schema.procedures.tracks import EventKind
from surgvalid.simulation import PROCEDURE_TYPES, draw_scene
from surgvalid.simulation.meshes.objects import CM
from surgvalid.simulation.meshes.organs import AWAY_CM
from surgvalid.simulation.procedure_types import SIZES
from surgvalid.simulation.render.passes import Painter
from surgvalid.simulation.render.world import OBJECT, ORGAN, World

THICKNESS_CM = {
    "Sponge": 0.35,
    "Mesh": 0.12,
    "Absorbable Hemostatic Agent": 0.35,
    "External Drain": 0.5,
    "Silicone Loop": 0.2,
    "Clip": 0.7,
    "Specimen Bag": 2.6,
    "Needle": 0.5,
    "Gallstone": 0.7,
    "Specimen": 2.4,
}
"""How far above what it lies on the middle of an object may be."""


@cache
def world(kind="Cholecystectomy", number=0):
    return World(draw_scene(53, number, procedure=kind, minutes=(6, 7), width_px=96, height_px=54))


def number_of(moment, name):
    return next(at for at, thing in enumerate(moment.things) if thing.name == name)


def gap_to_tip(moment, name, tool):
    """How far the nearest point of an object is from the tip of the instrument that is to hold it, in cm."""
    points = moment.points[moment.starts[number_of(moment, name)]]
    tips = [tip for number, tip in moment.tips.items() if moment.things[number].class_name == tool]
    return min(float(np.sqrt(((points - tip) ** 2).sum(axis=1)).min()) for tip in tips)


@pytest.mark.parametrize("kind", PROCEDURE_TYPES)
def test_every_event_has_its_visible_cause(kind):
    one, checked = world(kind), {}
    bags = {life.instance: life for life in one.lives if life.class_name == "Specimen Bag"}
    for life in one.lives:
        for event in life.events:
            told = event.kind
            if told is EventKind.INSERTED:  # it comes from the side of a port, in jaws
                early = one.at(life.born_s + 0.2)
                late = one.at(min(life.born_s + 4.0, life.holds[0].stretch.end_s - 0.1))
                high = early.points[early.starts[number_of(early, life.instance)]][:, 1].max()
                assert high > late.points[late.starts[number_of(late, life.instance)]][:, 1].max()
                assert gap_to_tip(early, life.instance, life.holds[0].tool) < 1.2
            elif told in (EventKind.GRASPED, EventKind.RETRIEVED, EventKind.BAGGED):
                hold = max(
                    (h for h in life.holds if h.stretch.start_s <= event.second + 1), key=lambda h: h.stretch.end_s
                )
                moment = one.at((hold.stretch.start_s + hold.stretch.end_s) / 2)
                assert gap_to_tip(moment, life.instance, hold.tool) < 1.2
                assert number_of(moment, life.instance) in moment.held
                if told is EventKind.BAGGED and life.gone_s < bags[str(event.details["bag"])].gone_s - 1:
                    inside = one.at(life.gone_s + 0.5)
                    assert inside.inside[number_of(inside, life.instance)] == number_of(
                        inside, str(event.details["bag"])
                    )
            elif told is EventKind.PLACED and life.class_name == "Clip" and life.holds:
                moment = one.at(life.born_s + 0.01)
                tips = [t for n, t in moment.tips.items() if moment.things[n].class_name == "clip applier"]
                points = moment.points[moment.starts[number_of(moment, life.instance)]]
                assert tips
                assert min(np.hypot(*(points.mean(axis=0) - tip)[[0, 2]]) for tip in tips) < 1.6
            elif told is EventKind.LEFT_IN_SITU:
                before, after = (one.at(event.second + d) for d in (-0.5, 0.5))
                places = [m.points[m.starts[number_of(m, life.instance)]].mean(axis=0) for m in (before, after)]
                assert np.abs(places[0] - places[1]).max() < 0.8  # breathing and tugs only
            checked[told] = checked.get(told, 0) + 1
    assert checked.get(EventKind.PLACED, 0) > 1


@pytest.mark.parametrize("kind", PROCEDURE_TYPES)
def test_objects_lie_within_their_thickness_of_what_carries_them(kind):
    one, checked = world(kind), set()
    for time_s in np.arange(30.0, one.scene.duration_s - 1, 17.0):
        moment = one.at(time_s)
        relief = one._grounds[bool(time_s >= one.cut_s)].relief
        for number, under in moment.below.items():
            thing = moment.things[number]
            points = moment.points[moment.starts[number]]
            if under < 0 or moment.things[under].kind == OBJECT or thing.class_name == "Clip":
                continue
            middle = points.mean(axis=0)
            ground = float(np.mean(relief.at(points)))
            assert -0.8 < middle[1] - ground < THICKNESS_CM[thing.class_name] + 0.8, (thing.name, time_s)
            checked.add(thing.class_name)
    assert checked


def test_every_class_has_a_thickness():
    assert set(THICKNESS_CM) == set(SIZES)


@pytest.mark.parametrize("kind", PROCEDURE_TYPES)
def test_the_body_has_what_clips_close_and_no_organ_floats(kind):
    one = world(kind)
    names = {organ.name for organ in one.body.organs}
    for rule in one.scene.kind.objects:
        assert set(rule.structures) <= names
    for organ in one.body.organs:
        assert np.isfinite(organ.mesh.points).all()
        assert organ.mesh.corners.max() < len(organ.mesh.points)
    for site in one.scene.kind.sites.values():
        assert -4 < one._grounds[0].relief.at(np.array([site[0] * CM, 0, -site[1] * AWAY_CM])) < 5


def test_a_specimen_and_the_organ_that_it_was_are_never_there_together():
    one = world()
    before, after = one.at(one.cut_s - 0.5), one.at(one.cut_s + 0.5)
    names = [{m.things[n].name for n in m.starts} for m in (before, after)]
    assert "gallbladder" in names[0]
    assert "specimen_1" not in names[0]
    assert "gallbladder" not in names[1]
    assert "specimen_1" in names[1]
    assert {thing.kind for thing in before.things} >= {ORGAN, OBJECT}


def shots(number):
    """The hash of three frames of one procedure; run in processes of their own."""
    one = World(draw_scene(53, number, minutes=(6, 7), width_px=96, height_px=54))
    painter = Painter(one.scene.center, 96, 54, one.scene.seed)
    hashed = hashlib.blake2b(digest_size=8)
    for time_s in (50.0, 160.0, 270.0):
        for buffer in painter.frame(one.at(time_s), before=one.at(time_s - 0.04)):
            hashed.update(np.ascontiguousarray(buffer).tobytes())
    return hashed.hexdigest()


@pytest.mark.long
def test_frames_are_the_same_with_any_number_of_workers():
    here = [shots(number) for number in range(3)]
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        assert list(pool.map(shots, (2, 1, 0)))[::-1] == here
    assert len(set(here)) == 3
