"""Counterfactual pairs: the same moment with and without one thing, and the pixels that may differ.

Everything else is frozen: other objects keep their place even where they lay on it, instruments stay closed about it,
and light, exposure and grain are the same. So a question whose answer differs within a pair can only be answered by
looking.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from surgvalid.errors import Misuse, UnknownName
from surgvalid.simulation.render.passes import Frame, Painter
from surgvalid.simulation.render.raster import SIDE
from surgvalid.simulation.render.sight import Seen, look
from surgvalid.simulation.render.world import World
from surgvalid.simulation.timelines import Flags


class FramePair(NamedTuple):
    """Two frames that differ in one thing."""

    with_it: Frame
    without: Frame
    may_differ: Flags
    """Its pixels and those next to them, and all whose shadow it changed; elsewhere only glare differs."""
    left: list[Seen]
    """What can be seen without it."""


def pair_without(world: World, painter: Painter, time_s: float, instance: str) -> FramePair:
    """A moment with an object, and without it.

    Args:
        world: The scene in space.
        painter: What draws both.
        time_s: The moment.
        instance: The object that is taken out.

    Raises:
        UnknownName: The scene has no such object.
        Misuse: Something was taken out already.
    """
    names = [life.instance for life in world.lives]
    if instance not in names:
        raise UnknownName("object", instance, names)
    if world.without:
        raise Misuse("the world lacks something already; pairs start from the whole scene")
    moment, bare = world.at(time_s), World(world.scene, without=frozenset({instance})).at(time_s)
    left = look(painter, bare)
    first = painter.frame(moment)
    shadow, spread, depths = painter.shadow.copy(), painter.glare.copy(), painter.samples.near.copy()
    second = painter.frame(bare)
    number = next(at for at, thing in enumerate(moment.things) if thing.name == instance)
    moved = (depths != painter.samples.near).reshape(painter.height, SIDE, painter.width, SIDE).any(axis=(1, 3))
    near = _grown((first.labels == number) | (first.foil == number) | moved)
    near |= np.abs(shadow - painter.shadow) > 1e-9
    blocks = np.abs(spread - painter.glare).max(axis=-1) > GLARE
    near |= _grown(np.kron(blocks, np.ones((4, 4), dtype=bool))[: near.shape[0], : near.shape[1]], 4)
    return FramePair(first, second, near, left)


GLARE = 0.0003
"""Glare that differs by less changes no level by more than 4."""


def _grown(flags: Flags, reach: int = 1) -> Flags:
    """With a rim around."""
    grown = flags.copy()
    for _ in range(reach):
        grown[1:] |= grown[:-1].copy()
        grown[:-1] |= grown[1:].copy()
        grown[:, 1:] |= grown[:, :-1].copy()
        grown[:, :-1] |= grown[:, 1:].copy()
    return grown
