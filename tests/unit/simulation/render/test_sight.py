"""What is seen is what the buffers show: hand-made scenes with known answers, the rule's limits, the reverse test."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

pytest.importorskip("numba")

from surgvalid.schema.procedures.tracks import Detail, Event, EventKind
from surgvalid.simulation import draw_scene
from surgvalid.simulation.instruments import NO_TOOL
from surgvalid.simulation.lives import Life
from surgvalid.simulation.procedure_types import SIZES
from surgvalid.simulation.render.passes import Painter
from surgvalid.simulation.render.relations import look_at
from surgvalid.simulation.render.sight import RULE, Rule, SeenAs, look
from surgvalid.simulation.render.world import World
from surgvalid.simulation.timelines import Episode, Path, Stretch


@cache
def bare(width=240, height=136, center="Center A"):
    """A scene with a still camera, no instrument in a hand, no object and no artefact."""
    scene = draw_scene(8, 0, center=center, minutes=(6, 7), width_px=width, height_px=height)
    tools = np.full_like(scene.instruments.tools, NO_TOOL)
    camera = replace(
        scene.camera, path=Path.through([(0.0, (0.0, 0.2, 1.2))]), masked=(), roll=Path.through([(0.0, (0.0,))])
    )
    return replace(scene, lives=(), episodes=(), camera=camera, instruments=replace(scene.instruments, tools=tools))


def life(
    class_name, at=(0.0, 0.3), *, name="", look="", hidden=(), covered=(), gone_s=300.0, events=(), holds=(), size=None
):
    return Life(
        name or f"{class_name.lower()}_1", class_name, look, size or SIZES[class_name], 5, 0.0, gone_s,
        Path.through([(0.0, (*at, 0.3))]), holds, hidden, covered, events, {}, (),
    )  # fmt: skip


def seen(*lives, at_s=50.0, scene=None, **changes):
    scene = replace(scene or bare(), lives=lives, **changes)
    world = World(scene)
    painter = Painter(scene.center, scene.width_px, scene.height_px, scene.seed)
    return {one.instance: one for one in look(painter, world.at(at_s))}


@pytest.mark.parametrize("name", sorted(SIZES))
def test_every_class_is_visible_where_it_lies_in_good_light(name):
    [one] = seen(life(name, look="gallbladder" if name == "Specimen" else "silver")).values()
    assert one.verdict is SeenAs.VISIBLE
    assert one.shown > 0.75
    assert not one.occluded
    assert one.transmitted > 0.5


def test_nothing_is_seen_of_what_lies_elsewhere_or_under_a_fold():
    assert seen(life("Sponge", (2.4, 0.3))) == {}
    under = seen(life("Gallstone", hidden=(Stretch(10.0, 200.0),)))
    assert all(one.verdict is SeenAs.UNSEEN for one in under.values())
    assert seen(life("Gallstone", hidden=(Stretch(100.0, 200.0),)))["gallstone_1"].verdict is SeenAs.VISIBLE


def test_a_fold_that_covers_a_part_makes_it_occluded():
    one = seen(life("Sponge", covered=(Stretch(10.0, 200.0),)))["sponge_1"]
    assert one.verdict is SeenAs.VISIBLE
    assert 0.05 < one.shown < 0.85
    assert one.occluded


def test_of_two_that_overlap_the_smaller_lies_on_the_larger_and_hides_it():
    large, small = life("Mesh", look="blue"), life("Sponge")
    both, alone = seen(large, small), seen(large)
    assert both["mesh_1"].seen_px < alone["mesh_1"].seen_px
    world = World(replace(bare(), lives=(large, small)))
    moment = world.at(50.0)
    names = {moment.things[a].name: moment.things[b].name for a, b in moment.below.items()}
    assert names == {"mesh_1": "omentum", "sponge_1": "mesh_1"}


def test_what_is_in_a_bag_is_seen_through_its_foil():
    bag = life("Specimen Bag", name="bag_1")
    event = Event(EventKind.BAGGED, 20, "specimen_1", {Detail.BAG.value: "bag_1"})
    inside = life("Specimen", look="gallbladder", gone_s=20.0, events=(event,))
    both = seen(bag, inside)
    assert both["specimen_1"].verdict is SeenAs.VISIBLE
    assert both["bag_1"].verdict is SeenAs.VISIBLE
    assert both["specimen_1"].transmitted < 0.7 * both["bag_1"].transmitted
    thick = Rule(least_share=0.7)
    scene = replace(bare(), lives=(bag, inside))
    painter = Painter(scene.center, scene.width_px, scene.height_px, scene.seed)
    verdicts = {one.instance: one.verdict for one in look(painter, World(scene).at(50.0), thick)}
    assert verdicts.get("specimen_1", SeenAs.UNSEEN) is SeenAs.UNSEEN


def test_clips_close_the_structure_that_their_event_names():
    for structure in ("cystic duct", "cystic artery"):
        details = {Detail.PLACE.value: "Calot's triangle", Detail.STRUCTURE.value: structure}
        clip = life("Clip", (-0.1, 0.05), look="silver", events=(Event(EventKind.PLACED, 0, "clip_1", details),))
        moment = World(replace(bare(), lives=(clip,))).at(50.0)
        [(number, closed)] = moment.below.items()
        assert moment.things[closed].name == structure
        assert number in moment.closing
        cord = moment.points[moment.starts[closed]]
        gap = np.sqrt(((cord[:, None] - moment.points[moment.starts[number]].mean(axis=0)) ** 2).sum(axis=-1)).min()
        assert gap < 0.6


@pytest.mark.parametrize(
    ("kind", "strength"), [("image_too_dark", 1.0), ("background_smoke", 1.0), ("image_lens_fog", 1.0)]
)
def test_darkness_smoke_and_fog_lower_what_arrives_or_its_contrast(kind, strength):
    clear = seen(life("Gallstone"))["gallstone_1"]
    dimmed = seen(life("Gallstone"), episodes=(Episode(kind, 0.0, 100.0, strength),)).get("gallstone_1")
    if dimmed is not None and dimmed.seen_px:
        assert dimmed.contrast < 0.8 * clear.contrast


def test_a_round_image_shows_nothing_outside_its_mask():
    scene = bare(center="Center C")
    painter = Painter(scene.center, scene.width_px, scene.height_px, scene.seed)
    for x in (-0.9, -0.6, 0.6, 0.9):
        for one in seen(life("Sponge", (x, 0.3)), scene=scene).values():
            assert not (one.pixels & (painter.mask == 0)).any()


def test_the_limits_of_the_rule():
    cases = {
        (40, 6): "visible",
        (39.9, 6): "doubtful",
        (40, 5.9): "doubtful",
        (4, 2): "doubtful",
        (3.9, 99): "not visible",
        (500, 1.9): "not visible",
    }
    assert {case: RULE.verdict(*case).value for case in cases} == cases


@pytest.mark.parametrize("number", range(3))
def test_every_pixel_of_a_foreign_object_belongs_to_one_that_is_listed(number):
    """The reverse test, on the whole frame: what is listed was found in a window around objects only."""
    scene = draw_scene(31, number, minutes=(6, 7), width_px=240, height_px=136)
    world, painter, looked = World(scene), Painter(scene.center, 240, 136, scene.seed), 0
    for time_s in np.arange(20.0, scene.duration_s, 9.0):
        moment = world.at(time_s)
        listed = look(painter, moment)
        frame = painter.frame(moment)
        foreign = (frame.labels >= moment.movable) | (frame.foil >= 0)
        clear = (
            frame.arrives * np.where((frame.foil >= 0) & (frame.labels >= moment.movable), 0.66, 1) >= RULE.least_share
        )
        level = frame.colour.astype(int)
        washed = (level > 225).all(axis=-1) | (level < 30).all(axis=-1)  # grain and glare move levels
        counted = np.any([one.pixels for one in listed], axis=0) if listed else np.zeros_like(foreign)
        assert not (foreign & clear & ~washed & ~counted).any()
        assert not (counted & ~foreign).any()
        looked += bool(foreign.any())
    assert looked > 8


@pytest.mark.parametrize("tools", [True, False])
def test_the_truth_is_the_same_with_and_without_a_picture(tools):
    scene = draw_scene(31, 1, minutes=(6, 7), width_px=240, height_px=136)
    times = [100.0, 160.0, 220.0, 280.0]
    bare, fresh = World(scene), Painter(scene.center, 240, 136, scene.seed)
    alone = [
        (
            time_s,
            [one._replace(pixels=one.pixels.tobytes()) for one in look_at(bare, fresh, time_s, tools=tools).objects],
        )
        for time_s in times
    ]
    world, painter, beside = World(scene), Painter(scene.center, 240, 136, scene.seed), []
    for time_s in times:
        moment = world.at(time_s)
        painter.frame(moment, before=world.at(time_s - 0.2), open_s=0.03)
        listed = [] if moment.masked else look(painter, moment)
        beside.append((time_s, [one._replace(pixels=one.pixels.tobytes()) for one in listed]))
    assert alone == beside
    assert any(listed for _, listed in alone)


def test_contrast_is_the_difference_from_the_picture_without_the_object():
    scene = replace(bare(), center=replace(bare().center, grain=0.0))
    for one_life in (life("Gallstone"), life("Needle"), life("Silicone Loop", look="blue")):
        whole, without = (
            World(replace(scene, lives=(one_life,)), without=out)
            for out in (frozenset(), frozenset({one_life.instance}))
        )
        painter = Painter(scene.center, scene.width_px, scene.height_px, scene.seed)
        moment = whole.at(50.0)
        [one] = look(painter, moment)
        first, second = (
            painter.frame(each.at(50.0)).colour.astype(float) @ (0.299, 0.587, 0.114) for each in (whole, without)
        )
        assert one.contrast == pytest.approx(np.abs(first - second)[one.pixels].mean(), rel=0.25, abs=2.5)
