"""What lies on, under, in or before what, who holds it, and what is near an instrument: read from buffers and contacts.

An organ is only named where it is visible itself: enough of its pixels are seen.
"""

from __future__ import annotations

from collections import defaultdict
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from surgvalid.simulation.render.passes import Buffers, Painter
from surgvalid.simulation.render.raster import SIDE
from surgvalid.simulation.render.sight import RULE, Seen, SeenAs
from surgvalid.simulation.render.world import INSTRUMENT, OBJECT, ORGAN, SceneMoment

CLEARLY_NEARER = 1.5
"""The second nearest structure must be so many times as far away as the nearest."""
_LEAST_BORDER = 6
_LEAST_GAP_CM = 0.4


class SceneRelation(StrEnum):
    """How two things stand to each other."""

    ON = "lies on"
    CLOSES = "closes"
    IN = "is in"
    HELD = "is held by"
    BEFORE = "is in front of"
    NEAREST = "is nearest to"


class SceneFact(NamedTuple):
    """One relation at one moment."""

    subject: str
    relation: SceneRelation
    object: str


def in_view(painter: Painter, moment: SceneMoment, buffers: Buffers, kind: str) -> dict[str, int]:
    """Organs or instruments that are visible, by how many of their pixels are seen; one name may stand for several."""
    clear = painter.arrives >= RULE.least_share
    counts = np.bincount(buffers.labels[clear & (buffers.labels >= 0)], minlength=len(moment.things))
    names: dict[str, int] = {}
    for thing, count in zip(moment.things, counts.tolist(), strict=True):
        if thing.kind == kind and count * 480 * 270 / buffers.labels.size >= RULE.visible_px:
            names[thing.name] = names.get(thing.name, 0) + count
    return names


def facts(painter: Painter, moment: SceneMoment, buffers: Buffers, seen: list[Seen]) -> list[SceneFact]:
    """Every relation between things that are visible at the moment.

    Args:
        painter: What drew it.
        moment: What there is.
        buffers: Where it is in the image.
        seen: What can be seen of foreign objects.
    """
    names = [thing.name for thing in moment.things]
    shown = {one.instance for one in seen if one.verdict is SeenAs.VISIBLE}
    shown |= set(in_view(painter, moment, buffers, ORGAN)) | set(in_view(painter, moment, buffers, INSTRUMENT))
    listed = [
        SceneFact(names[subject], SceneRelation.CLOSES if subject in moment.closing else relation, names[other])
        for relation, pairs in (
            (SceneRelation.ON, moment.below),
            (SceneRelation.IN, moment.inside),
            (SceneRelation.HELD, moment.held),
        )
        for subject, other in pairs.items()
        if other >= 0
    ]
    listed += _before(painter, moment, buffers)
    listed += _nearest(moment)
    return [fact for fact in dict.fromkeys(listed) if {fact.subject, fact.object} <= shown]


def _before(painter: Painter, moment: SceneMoment, buffers: Buffers) -> list[SceneFact]:
    """Where two outlines meet, the one that is clearly nearer is in front: of foreign objects and instruments only."""
    labels, depth = buffers.labels, 1 / np.maximum(painter.samples.near[::SIDE, ::SIDE], 1e-9)
    gaps: dict[tuple[int, int], list[float]] = defaultdict(list)
    for here, there in ((np.s_[:, :-1], np.s_[:, 1:]), (np.s_[:-1], np.s_[1:])):
        met = (labels[here] != labels[there]) & (labels[here] >= 0) & (labels[there] >= 0)
        steps = (depth[there] - depth[here])[met]
        for one, other, step in zip(labels[here][met].tolist(), labels[there][met].tolist(), steps, strict=True):
            gaps[one, other].append(step)
            gaps[other, one].append(-step)
    return [
        SceneFact(moment.things[front].name, SceneRelation.BEFORE, moment.things[back].name)
        for (front, back), steps in sorted(gaps.items())
        if len(steps) >= _LEAST_BORDER
        and np.median(steps) >= _LEAST_GAP_CM
        and {moment.things[front].kind, moment.things[back].kind} & {OBJECT, INSTRUMENT}
    ]


def _nearest(moment: SceneMoment) -> list[SceneFact]:
    """The organ nearest to the tip of each instrument, where no other is nearly as near."""
    listed = []
    for number, tip in moment.tips.items():
        gaps: dict[str, float] = {}
        for other, points in moment.starts.items():
            if moment.things[other].kind == ORGAN:
                away = float(np.sqrt(((moment.points[points] - tip) ** 2).sum(axis=1).min()))
                gaps[moment.things[other].name] = min(away, gaps.get(moment.things[other].name, np.inf))
        nearest, *others = sorted(gaps, key=lambda name: gaps[name])
        if others and gaps[others[0]] >= CLEARLY_NEARER * gaps[nearest]:
            listed.append(SceneFact(nearest, SceneRelation.NEAREST, moment.things[number].name))
    return listed
