"""What lies on, in or before what, who holds it, and what an instrument touches: read from buffers and contacts.

An organ is visible by its seen pixels, as objects are; it has no contrast, since no image is without it.
Things meet where pixels of both lie side by side. What is told of meetings can be derived from labels and depths alone.
"""

from __future__ import annotations

import numpy as np

from surgvalid.schema.procedures.tracks import SceneFact, SceneRelation
from surgvalid.simulation.render.passes import FOIL_OPACITY, Buffers, Painter
from surgvalid.simulation.render.sight import (
    MANY_PX,
    RULE,
    SeenAs,
    SightOfThing,
    objects_in,
    tools_in,
    washed_out,
    window_of,
)
from surgvalid.simulation.render.world import INSTRUMENT, OBJECT, ORGAN, SceneMoment, World
from surgvalid.simulation.timelines import Floats, Ints

BEFORE_CM, TOUCHING_CM, RESTING_CM = 0.4, 0.1, 0.5
"""How far apart in depth things are of which one is in front of the other, that touch, and that rest on each other."""
LEAST_BORDER = 6
"""Pixels along which things meet, in an image 480 wide; fewer tell nothing."""
_COARSE_PX = 4


def look_at(
    world: World, painter: Painter, time_s: float, *, tools: bool = True, related: bool = False
) -> SightOfThing:
    """What can be seen at one time; the same whether or not an image is painted.

    Args:
        world: The scene in space.
        painter: What draws it.
        time_s: The time.
        tools: Whether to look for instruments too, wherever there is no object.
        related: Whether to tell relations too, for which the whole image is looked at.
    """
    if world.scene.camera.is_masked(time_s):
        return SightOfThing([], [], [])
    moment = world.at(time_s)
    window = window_of(painter, moment, OBJECT, *([INSTRUMENT] if tools else []))
    if window is None and not related:
        return SightOfThing([], [], [])
    buffers = painter.buffers(moment, None if related else window)
    seen = objects_in(painter, moment, buffers)
    shown = {one.instance for one in seen if one.verdict is SeenAs.VISIBLE}
    return SightOfThing(
        seen,
        tools_in(painter, moment, buffers) if tools else [],
        facts(painter, moment, buffers, shown) if related else [],
    )


def organs_in(painter: Painter, moment: SceneMoment, buffers: Buffers) -> dict[str, SeenAs]:
    """Organs of which a pixel shows, by name, and whether they can be seen; one name may stand for several."""
    names, width = [thing.name if thing.kind == ORGAN else "" for thing in moment.things] + [""], painter.width
    share = painter.arrives * np.where(buffers.foil >= 0, 1 - FOIL_OPACITY, 1.0)
    places = np.flatnonzero((share >= RULE.least_share) & np.array([name != "" for name in names])[buffers.labels])
    labels, scale = buffers.labels.reshape(-1), 480 * 270 / buffers.labels.size
    is_large = np.bincount(labels[places], minlength=len(names)) * scale > MANY_PX
    coarse = (places % width % _COARSE_PX == 0) & (places // width % _COARSE_PX == 0)
    places = places[coarse | ~is_large[labels[places]]]
    levels = painter.levels_of(painter.light_of(moment, buffers, places), painter.exposure(moment), places)
    weights = np.where(is_large, _COARSE_PX**2, 1) * scale
    seen, verdicts = np.array(names)[labels[places]], {}
    for name in dict.fromkeys(seen.tolist()):
        clear, lit = (weights[labels[places[(seen == name) & on]]].sum() for on in (~washed_out(levels), True))
        # how dark is too dark is for contrast to say, which is not measured
        doubt = SeenAs.DOUBTFUL if lit >= RULE.unseen_px else SeenAs.UNSEEN
        verdicts[name] = SeenAs.VISIBLE if clear >= RULE.visible_px else doubt
    return verdicts


def facts(painter: Painter, moment: SceneMoment, buffers: Buffers, shown: set[str]) -> list[SceneFact]:
    """Which organs and instruments are visible, or doubtful, and every relation between visible things.

    Args:
        painter: What drew it.
        moment: What there is.
        buffers: Where it is in the image.
        shown: The foreign objects that are visible.
    """
    names, second = [thing.name for thing in moment.things], round(moment.time_s)
    organs = organs_in(painter, moment, buffers)
    shown = shown | {name for name, seen in organs.items() if seen is SeenAs.VISIBLE}
    tools = {tool.name: SeenAs.VISIBLE for tool in tools_in(painter, moment, buffers)}
    shown |= set(tools)
    meetings = _meetings(buffers.labels, painter.depth_of(buffers.labels, moment.owner))
    least = LEAST_BORDER * painter.width / 480

    def closely(subject: int, within_cm: float) -> dict[str, int]:
        """Along how many pixels a thing meets others, by their name, no farther away than that."""
        met: dict[str, int] = {}
        for (one, other), steps in meetings.items():
            if one == subject:
                met[names[other]] = met.get(names[other], 0) + int((np.abs(steps) < within_cm).sum())
        return met

    listed: list[tuple[str, SceneRelation, str]] = []
    for subject, other in moment.below.items():
        met = closely(subject, RESTING_CM)
        if subject in moment.closing:
            listed.append((names[subject], SceneRelation.CLOSES, names[other]))
        elif other >= 0 and 2 * met.get(names[other], 0) > max(2 * least, sum(met.values())):
            listed.append((names[subject], SceneRelation.ON, names[other]))
    listed += [(names[subject], SceneRelation.IN, names[other]) for subject, other in moment.inside.items()]
    listed += [(names[subject], SceneRelation.HELD, names[other]) for subject, other in moment.held.items()]
    for (front, back), steps in meetings.items():
        kinds = {moment.things[front].kind, moment.things[back].kind}
        if kinds & {OBJECT, INSTRUMENT} and len(steps) >= least and np.median(steps) >= BEFORE_CM:
            listed.append((names[front], SceneRelation.BEFORE, names[back]))
    for tool in moment.tips:
        near = closely(tool, 2 * TOUCHING_CM)
        for name, count in closely(tool, TOUCHING_CM).items():
            if near[name] and name in organs:
                touched = SceneRelation.TOUCHES if count >= least else SceneRelation.MAY_TOUCH
                listed.append((names[tool], touched, name))
    facts = [fact for fact in dict.fromkeys(listed) if {fact[0], fact[2]} <= shown]
    visible = ((name, seen) for name, seen in (organs | tools).items() if seen is not SeenAs.UNSEEN)
    facts = [(name, SceneRelation(seen.value), "") for name, seen in visible] + facts
    return [SceneFact(second, *fact) for fact in facts]


def _meetings(labels: Ints, depth: Floats) -> dict[tuple[int, int], Floats]:
    """How much deeper the second of two things is, at every two pixels side by side of which each shows one."""
    steps_of_pairs = []
    for here, there in ((np.s_[:, :-1], np.s_[:, 1:]), (np.s_[:-1], np.s_[1:])):
        met = (labels[here] != labels[there]) & (labels[here] >= 0) & (labels[there] >= 0)
        one, other, steps = labels[here][met], labels[there][met], (depth[there] - depth[here])[met]
        steps_of_pairs += [(one, other, steps), (other, one, -steps)]
    one, other, steps = (np.concatenate(column) for column in zip(*steps_of_pairs, strict=True))
    order = np.lexsort((other, one))
    one, other, steps = one[order], other[order], steps[order]
    starts = np.flatnonzero((np.diff(one, prepend=-1) != 0) | (np.diff(other, prepend=-1) != 0))
    pairs = zip(one[starts].tolist(), other[starts].tolist(), strict=True)
    return dict(zip(pairs, np.split(steps, starts[1:]), strict=True)) if len(steps) else {}
