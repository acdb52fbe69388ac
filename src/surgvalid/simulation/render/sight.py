"""What can be seen of every foreign object at a moment: read from the buffers that the image was made of.

A pixel *belongs* to a thing that holds most of its samples, and to the bag whose foil lies before it. It is *seen*
when at least `least_share` of its light arrives and it is neither washed out nor black. An object is visible when
enough such pixels differ enough from the same scene without it, not visible when there are next to none, and doubtful
between; a frame with a doubtful object answers no question that counts, or says only, all or none. The numbers are
conventions, stand in `RULE` alone, and are for an image of 480 by 270.

Light here has neither glare nor grain: they would make the truth depend on what is painted elsewhere.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from surgvalid.schema.procedures.tracks import SceneFact
from surgvalid.simulation.render import raster
from surgvalid.simulation.render.passes import FOIL_OPACITY, Buffers, Painter
from surgvalid.simulation.render.world import INSTRUMENT, OBJECT, SceneMoment
from surgvalid.simulation.timelines import Flags, Floats, Ints


class SeenAs(StrEnum):
    """Whether an object can be seen."""

    VISIBLE = "visible"
    DOUBTFUL = "doubtful"
    UNSEEN = "not visible"


class Rule(NamedTuple):
    """From when on an object counts as seen."""

    visible_px: float = 40
    unseen_px: float = 4
    visible_contrast: float = 6
    """Mean difference in grey from the scene without the object, on its seen pixels."""
    unseen_contrast: float = 2
    least_share: float = 0.25
    """Less light than this cannot be made out."""
    occluded_share: float = 0.2
    """Partly hidden: something solid lies before this part of what would be seen of it alone."""

    def verdict(self, seen_px: float, contrast: float) -> SeenAs:
        """What so many pixels (scaled to 480 by 270) of so much contrast mean.

        Example:
            >>> [Rule().verdict(*case) for case in ((40, 6), (39, 50), (3, 50))]
            [<SeenAs.VISIBLE: 'visible'>, <SeenAs.DOUBTFUL: 'doubtful'>, <SeenAs.UNSEEN: 'not visible'>]
        """
        if seen_px < self.unseen_px or contrast < self.unseen_contrast:
            return SeenAs.UNSEEN
        enough = seen_px >= self.visible_px and contrast >= self.visible_contrast
        return SeenAs.VISIBLE if enough else SeenAs.DOUBTFUL


RULE = Rule()
GREY = np.array([0.299, 0.587, 0.114])
MANY_PX = 600
"""Of objects with more pixels, every fourth is compared with the scene without them."""
MARGIN_PX = 24
"""How far around objects the scene is looked at; shadows reach no farther."""


class Seen(NamedTuple):
    """One object at one moment, with what makes it easy or hard to see."""

    instance: str
    class_name: str
    verdict: SeenAs
    pixels: Flags
    """The whole image: which pixels are seen."""
    seen_px: float
    """How many there are, scaled to 480 by 270."""
    contrast: float
    shown: float
    """The part of what the image would show of it alone."""
    transmitted: float
    """The mean share of its light that arrives."""
    distance_cm: float
    occluded: bool
    clutter: int = 0
    """Other foreign objects that are visible."""

    @property
    def box(self) -> tuple[int, int, int, int]:
        """x, y, width and height around the seen pixels."""
        return _box_around(self.pixels)

    @property
    def dials(self) -> dict[str, Any]:
        """What makes it easy or hard to see, by name."""
        return {name: value for name, value in self._asdict().items() if name != "pixels"}


class SeenTool(NamedTuple):
    """One instrument at one moment."""

    name: str
    class_name: str
    box: tuple[int, int, int, int]


class SightOfThing(NamedTuple):
    """What can be seen at one time."""

    objects: list[Seen]
    """Every foreign object of which a pixel shows, in the order of the scene's things."""
    tools: list[SeenTool]
    """Every instrument of which enough pixels are seen."""
    facts: list[SceneFact]
    """How things stand to each other, where that was asked for."""


def _box_around(pixels: Flags) -> tuple[int, int, int, int]:
    rows, columns = np.flatnonzero(pixels.any(axis=1)), np.flatnonzero(pixels.any(axis=0))
    if not len(rows):
        return 0, 0, 0, 0
    return int(columns[0]), int(rows[0]), int(np.ptp(columns)) + 1, int(np.ptp(rows)) + 1


def tools_in(painter: Painter, moment: SceneMoment, buffers: Buffers) -> list[SeenTool]:
    """Every instrument of which enough pixels are seen."""
    clear, least = painter.arrives >= RULE.least_share, RULE.visible_px * buffers.labels.size / (480 * 270)
    listed = []
    for number, thing in enumerate(moment.things):
        if thing.kind == INSTRUMENT and number in moment.starts:
            pixels = (buffers.labels == number) & clear
            if np.count_nonzero(pixels) >= least:
                listed.append(SeenTool(thing.name, thing.class_name, _box_around(pixels)))
    return listed


def look(painter: Painter, moment: SceneMoment, rule: Rule = RULE) -> list[Seen]:
    """Every foreign object of which a pixel shows, in the order of the scene's things."""
    window = None if moment.masked else window_of(painter, moment)
    return [] if window is None else objects_in(painter, moment, painter.buffers(moment, window), rule)


def objects_in(painter: Painter, moment: SceneMoment, buffers: Buffers, rule: Rule = RULE) -> list[Seen]:
    """The same, from buffers."""
    places = np.flatnonzero((buffers.labels >= moment.movable) | (buffers.foil >= 0))
    if not len(places):
        return []
    labels, foil = buffers.labels.reshape(-1)[places], buffers.foil.reshape(-1)[places]
    compared = _sampled(labels, foil, places, painter.width)
    light, plain, bare_light = painter.light_with_and_without(moment, buffers, places, compared)
    exposure = painter.exposure(moment)
    level = painter.levels_of(light, exposure, places)
    bare = painter.levels_of(bare_light, exposure, places[compared])
    change, foil_change = np.zeros(len(places)), np.zeros(len(places))
    change[compared] = np.abs((level[compared] - bare) @ GREY)
    if buffers.over is not None:
        foil_change = np.abs((level - painter.levels_of(plain, exposure, places)) @ GREY)
    clear = ~washed_out(level)
    arrives = painter.arrives.reshape(-1)[places]
    near = painter.samples.near[raster.SIDE * (places // painter.width), raster.SIDE * (places % painter.width)]
    scale, passed = 480 * 270 / buffers.labels.size, painter.mask >= rule.least_share
    listed = []
    for number in np.unique(np.concatenate([labels[labels >= moment.movable], foil[foil >= 0]])).tolist():
        solid, veil = labels == number, foil == number
        behind_foil = solid & (foil >= 0) & ~veil
        share = np.where(behind_foil, arrives * (1 - FOIL_OPACITY), arrives)
        pixels = (solid | veil) & (share >= rule.least_share) & clear
        count, told_by = int(np.count_nonzero(pixels)), pixels & (compared | ~solid)
        contrast = float(np.where(solid, change, foil_change)[told_by].mean()) if told_by.any() else 0.0
        alone = painter.alone(moment, number) & passed
        whole = max(int(np.count_nonzero(alone)), 1)
        hidden = whole - int(np.count_nonzero(alone.reshape(-1)[places[solid | veil]]))
        thing, image = moment.things[number], np.zeros(buffers.labels.shape, dtype=bool)
        image.reshape(-1)[places[pixels]] = True
        listed.append(
            Seen(
                thing.name,
                thing.class_name,
                rule.verdict(count * scale, contrast),
                image,
                count * scale,
                round(contrast, 6),
                round(min(count / whole, 1.0), 6),
                round(float(share[pixels].mean()), 6) if count else 0.0,
                round(float((1 / np.maximum(near[pixels], 1e-9)).mean()), 6) if count else 0.0,
                hidden >= rule.occluded_share * whole,
            )
        )
    visible = sum(one.verdict is SeenAs.VISIBLE for one in listed)
    return [one._replace(clutter=visible - (one.verdict is SeenAs.VISIBLE)) for one in listed]


def washed_out(level: Floats) -> Flags:
    """Where nothing can be made out, since all of it is white or black."""
    return np.asarray((level > 250).all(axis=-1) | (level < 5).all(axis=-1))


def _sampled(labels: Ints, foil: Ints, places: NDArray[np.intp], width: int) -> Flags:
    """At which pixels contrast is measured: all of a small object, every fourth of a large one."""
    shown = np.where(labels >= 0, labels, foil)
    many = np.bincount(shown[shown >= 0])[np.maximum(shown, 0)] > MANY_PX
    return np.asarray(~many | ((places % width % 2 == 0) & (places // width % 2 == 0)))


def window_of(painter: Painter, moment: SceneMoment, *kinds: str) -> tuple[int, int, int, int] | None:
    """The pixels (left, top, right, bottom) in which things of some kinds can be, with a margin; None: nowhere.

    Without a kind: foreign objects.
    """
    inside = []
    for number, thing in enumerate(moment.things):
        if thing.kind in (kinds or (OBJECT,)) and number in moment.starts:
            places = moment.lens.to_image(moment.points[moment.starts[number]])
            ahead = places[places[:, 2] > raster.NEAREST_CM]
            if len(ahead):
                inside.append((*ahead[:, :2].min(axis=0), *ahead[:, :2].max(axis=0)))
    size = np.array([painter.width, painter.height])
    boxes = np.array(inside).reshape(-1, 4)
    boxes = boxes[(boxes[:, :2] < size).all(axis=1) & (boxes[:, 2:] > 0).all(axis=1)]
    if not len(boxes):
        return None
    low = np.maximum(np.floor(boxes[:, :2].min(axis=0)) - MARGIN_PX, 0) // 4 * 4
    high = np.minimum(np.ceil(boxes[:, 2:].max(axis=0)) + MARGIN_PX, size)
    return int(low[0]), int(low[1]), int(high[0]), int(high[1])
