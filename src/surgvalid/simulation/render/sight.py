"""What can be seen of every foreign object at a moment: read from the buffers that the image was made of.

A pixel *belongs* to a thing that holds most of its samples, and to the bag whose foil lies before it. It is *seen*
when at least `least_share` of its light arrives and it is neither washed out nor black. An object is visible when
enough such pixels differ enough from the same scene without it, not visible when there are next to none, and doubtful
between; a frame with a doubtful object answers no question that counts, or says only, all or none. The numbers are
conventions, stand in `RULE` alone, and are for an image of 480 by 270.

Light here has neither glare nor grain: they would make the truth depend on what is painted elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from surgvalid.simulation.render import raster
from surgvalid.simulation.render.passes import FOIL_OPACITY, Painter
from surgvalid.simulation.render.world import SceneMoment, World

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


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
        rows, columns = np.flatnonzero(self.pixels.any(axis=1)), np.flatnonzero(self.pixels.any(axis=0))
        if not len(rows):
            return 0, 0, 0, 0
        return int(columns[0]), int(rows[0]), int(np.ptp(columns)) + 1, int(np.ptp(rows)) + 1


def look(painter: Painter, moment: SceneMoment, rule: Rule = RULE) -> list[Seen]:
    """Every foreign object of which a pixel shows, in the order of the scene's things."""
    if moment.masked:
        return []
    window = window_of(painter, moment)
    if window is None:
        return []
    buffers = painter.buffers(moment, window)
    places = np.flatnonzero((buffers.labels >= moment.movable) | (buffers.foil >= 0))
    if not len(places):
        return []
    labels, foil = buffers.labels.reshape(-1)[places], buffers.foil.reshape(-1)[places]
    compared = _sampled(labels, foil, places, painter.width)
    flags = np.zeros(buffers.labels.shape, dtype=bool)
    flags.reshape(-1)[places[compared]] = True
    with_it, without = painter.light_with_and_without(moment, buffers, flags)
    exposure = painter.exposure(moment)
    level = painter.levels_of(with_it.veiled_light, exposure, places)
    bare = painter.levels_of(without.veiled_light, exposure, places[compared])
    change, foil_change = np.zeros(len(places)), np.zeros(len(places))
    change[compared] = np.abs((level[compared] - bare) @ GREY)
    if buffers.over is not None:
        foil_change = np.abs((level - painter.levels_of(with_it.plain, exposure, places)) @ GREY)
    clear = ~((level > 250).all(axis=-1) | (level < 5).all(axis=-1))
    arrives = painter.arrives.reshape(-1)[places]
    near = painter.samples.near[:: raster.SIDE, :: raster.SIDE].reshape(-1)[places]
    scale = 480 * 270 / buffers.labels.size
    listed = []
    for number in np.unique(np.concatenate([labels[labels >= moment.movable], foil[foil >= 0]])).tolist():
        solid, veil = labels == number, foil == number
        behind_foil = solid & (foil >= 0) & ~veil
        share = np.where(behind_foil, arrives * (1 - FOIL_OPACITY), arrives)
        pixels = (solid | veil) & (share >= rule.least_share) & clear
        count, told_by = int(pixels.sum()), pixels & (compared | ~solid)
        contrast = float(np.where(solid, change, foil_change)[told_by].mean()) if told_by.any() else 0.0
        alone = painter.alone(moment, number) & (painter.mask >= rule.least_share)
        whole = max(int(alone.sum()), 1)
        hidden = whole - int(alone.reshape(-1)[places][solid | veil].sum())
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


def watch(world: World, times_s: Sequence[float]) -> Iterator[tuple[float, list[Seen]]]:
    """What is seen of foreign objects at each of the times; the same whether or not an image is painted."""
    scene = world.scene
    painter = Painter(scene.center, scene.width_px, scene.height_px, scene.seed)
    for time_s in times_s:
        outside = bool(scene.camera.is_masked(np.array([time_s]))[0])
        yield time_s, [] if outside else look(painter, world.at(time_s))


def _sampled(labels: NDArray[np.int32], foil: NDArray[np.int32], places: NDArray[np.intp], width: int) -> Flags:
    """At which pixels contrast is measured: all of a small object, every fourth of a large one."""
    shown = np.where(labels >= 0, labels, foil)
    many = np.bincount(shown[shown >= 0])[np.maximum(shown, 0)] > MANY_PX
    sampled: Flags = ~many | ((places % width % 2 == 0) & (places // width % 2 == 0))
    return sampled


def window_of(painter: Painter, moment: SceneMoment) -> tuple[int, int, int, int] | None:
    """The pixels (left, top, right, bottom) in which foreign objects can be, with a margin; None: nowhere."""
    inside = []
    for number in range(moment.movable, len(moment.things)):
        if number in moment.starts:
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


def usable(seen: list[Seen], class_name: str | None = None) -> bool:
    """Whether nothing at the moment is doubtful (of one class, where one is named): then it may be counted."""
    return not any(one.verdict is SeenAs.DOUBTFUL for one in seen if class_name in (None, one.class_name))
