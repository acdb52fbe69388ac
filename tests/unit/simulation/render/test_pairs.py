"""Counterfactual pairs differ where they may and nowhere else; facts about what lies where have their proof."""

from functools import cache

import numpy as np
import pytest

pytest.importorskip("numba")

from surgvalid.errors import UnknownName
from surgvalid.schema.procedures.tracks import SceneRelation
from surgvalid.simulation import draw_scene
from surgvalid.simulation.render.pairs import pair_without
from surgvalid.simulation.render.passes import Painter
from surgvalid.simulation.render.relations import look_at
from surgvalid.simulation.render.sight import SeenAs, look
from surgvalid.simulation.render.world import World


@cache
def staged(number):
    scene = draw_scene(47, number, minutes=(6, 7), width_px=240, height_px=136)
    return World(scene), Painter(scene.center, 240, 136, scene.seed)


def moments(number, step=21.0):
    world, painter = staged(number)
    for time_s in np.arange(30.0, world.scene.duration_s - 5, step):
        moment = world.at(time_s)
        listed = look(painter, moment)
        if listed:
            yield world, painter, moment, listed


@pytest.mark.parametrize("number", range(3))
def test_a_pair_differs_only_where_it_may(number):
    compared = 0
    for world, painter, moment, listed in moments(number, 60.0):
        for one in listed:
            pair = pair_without(world, painter, moment.time_s, one.instance)
            away = np.abs(pair.with_it.colour.astype(int) - pair.without.colour).max(axis=-1)
            assert not (away > 4)[~pair.may_differ].any()  # glare may change any pixel by that
            if one.verdict is SeenAs.VISIBLE:
                assert away[one.pixels].max() > 6
            compared += 1
    assert compared > 3


def test_what_is_not_seen_at_all_changes_nothing():
    world, painter = staged(0)
    name = world.lives[0].instance
    pair = pair_without(world, painter, world.lives[0].born_s - 1, name)
    np.testing.assert_array_equal(pair.with_it.colour, pair.without.colour)


def test_an_unknown_object_is_refused_by_name():
    world, painter = staged(0)
    with pytest.raises(UnknownName, match="unknown object 'spong_1'"):
        pair_without(world, painter, 50.0, "spong_1")


def test_every_fact_has_its_proof_in_the_buffers():
    kinds = set()
    for number in range(3):
        for world, painter, moment, listed in moments(number):
            told = look_at(world, painter, moment.time_s, related=True).facts
            buffers = painter.buffers(moment)
            names = [thing.name for thing in moment.things]
            shown = {one.instance: one for one in listed}
            for fact in told:
                kinds.add(fact.relation)
                subjects = [at for at, name in enumerate(names) if name == fact.subject]
                assert np.isin(buffers.labels, subjects).any() or fact.subject in shown
                if fact.relation is SceneRelation.ON:
                    assert rests(moment, names.index(fact.subject), fact.object)
                if fact.relation is SceneRelation.HELD:
                    tip = moment.tips[names.index(fact.object)]
                    points = moment.points[moment.starts[names.index(fact.subject)]]
                    assert np.sqrt(((points - tip) ** 2).sum(axis=1)).min() < 1.2
    assert {SceneRelation.ON, SceneRelation.BEFORE, SceneRelation.TOUCHES, SceneRelation.VISIBLE} <= kinds


def rests(moment, number, under):
    """Whether most of the lower points of a thing are close above what it is told to lie on."""
    points = moment.points[moment.starts[number]]
    grounds = [moment.points[span] for at, span in moment.starts.items() if moment.things[at].name == under]
    ground = np.concatenate(grounds)
    near = [np.sqrt(((ground - point) ** 2).sum(axis=1)).min() for point in points[:: max(len(points) // 40, 1)]]
    return np.quantile(near, 0.3) < 1.2
