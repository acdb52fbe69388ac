"""A contact sheet: every foreign-object class, centre and artefact at a glance, on one picture."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from surgeval.schema.foreign_objects import CLASS_NAMES
from surgeval.schema.tracks import Visibility
from surgeval.simulation.artefacts import CHARACTERISTICS
from surgeval.simulation.catalogue import PROCEDURE_TYPES
from surgeval.simulation.centers import CENTERS
from surgeval.simulation.lives import Life
from surgeval.simulation.renderer import Renderer
from surgeval.simulation.scene import Scene, Sight, View
from surgeval.simulation.stage import draw_scene
from surgeval.video.lettering import letter_mask

Picture = NDArray[np.uint8]


class _Size(TypedDict):
    width_px: int
    height_px: int


_BAR_PX = 20
_MORE = 40
"""Procedures among which a strong episode of every artefact is looked for; few have all of them."""
_SHOWN_ARTEFACTS = (
    "background_blood",
    "background_smoke",
    "background_reflections",
    "background_other_object",
    "instrument_blood",
    "image_too_bright",
    "image_too_dark",
    "image_lens_dirty",
)


def contact_sheet(seed: int = 0, *, columns: int = 6, width_px: int = 320, height_px: int = 180) -> Picture:
    """Labelled pictures in rows: the ten classes, the six centres, eight artefacts.

    Args:
        seed: Another seed shows other procedures.
        columns: Pictures per row.
        width_px: Width of each picture.
        height_px: Height of each picture.
    """
    size: _Size = {"width_px": width_px, "height_px": height_px}
    scenes = _cast(seed, size)
    renderers: dict[str, Renderer] = {}
    tiles = [_labelled(picture, label) for label, picture in _pictures(seed, scenes, renderers, size)]
    blank = np.zeros_like(tiles[0])
    tiles += [blank] * (-len(tiles) % columns)
    rows = [np.concatenate(tiles[start : start + columns], axis=1) for start in range(0, len(tiles), columns)]
    return np.concatenate(rows, axis=0)


def _cast(seed: int, size: _Size) -> list[Scene]:
    """Short procedures of all types, enough of them that every class occurs."""
    scenes: list[Scene] = []
    kinds = list(PROCEDURE_TYPES)
    for number in range(200):
        kind = kinds[number % len(kinds)]
        scenes.append(draw_scene(seed, number, procedure=kind, minutes=(12, 20), **size))
        if {life.class_name for scene in scenes for life in scene.lives} == set(CLASS_NAMES) and number >= 9:
            break
    return scenes


def _pictures(
    seed: int, scenes: Sequence[Scene], renderers: dict[str, Renderer], size: _Size
) -> Iterator[tuple[str, Picture]]:
    for class_name in CLASS_NAMES:
        scene, time_s, box = _clearest(scenes, class_name)
        picture = _renderer(scene, renderers).frame(time_s)
        yield class_name.removeprefix("Absorbable "), _framed(picture, box)
    for center in CENTERS:
        scene = draw_scene(seed, 0, center=center, minutes=(12, 20), **size)
        yield center, Renderer(scene).frame(_clearest([scene], "Clip")[1])
    more = [draw_scene(seed, _MORE + number, minutes=(12, 20), **size) for number in range(_MORE)]
    for kind in _SHOWN_ARTEFACTS:
        scene, time_s = _strongest(more, kind)
        yield kind.replace("_", " "), _renderer(scene, renderers).frame(time_s)


def _renderer(scene: Scene, renderers: dict[str, Renderer]) -> Renderer:
    if scene.video not in renderers:
        renderers.clear()  # one situs at a time is enough in memory
        renderers[scene.video] = Renderer(scene)
    return renderers[scene.video]


def _clearest(scenes: Sequence[Scene], class_name: str) -> tuple[Scene, float, NDArray[np.float64]]:
    """Where an object of the class is seen best: visible, large, near the middle, alone, without artefacts."""
    best: tuple[float, Scene, float, NDArray[np.float64]] | None = None
    for scene in scenes:
        lives = [life for life in scene.lives if life.class_name == class_name]
        if not lives:
            continue
        view = scene.look(np.arange(scene.duration_s, dtype=float))
        levels = scene.conditions(view.times_s)
        sights = view.sights()
        spoiled = np.sum([levels[kind] for kind in CHARACTERISTICS], axis=0)
        for life in lives:
            sight, span = sights[life.instance], view.span_of(life)
            if span.stop <= span.start:
                continue
            middle = np.hypot(sight.place[:, 0] - scene.aspect / 2, sight.place[:, 1] - 0.5)
            merit = sight.place[:, 3] - 2.0 * middle - 1.5 * spoiled[span] + 4 * life.size[0]
            merit -= 1.5 * _crowding(life, view, sights)
            merit[sight.visibility != Visibility.VISIBLE] = -np.inf
            at = int(merit.argmax())
            if best is None or merit[at] > best[0]:
                best = (float(merit[at]), scene, float(view.times_s[span][at]), sight.boxes[at])
    if best is None:
        raise LookupError(class_name)
    return best[1:]


def _crowding(life: Life, view: View, sights: Mapping[str, Sight]) -> NDArray[np.float64]:
    """For each time in which the object exists, the share of its box that boxes of other objects overlap."""
    sight, span = sights[life.instance], view.span_of(life)
    area = np.maximum(sight.boxes[:, 2] * sight.boxes[:, 3], 1e-9)
    shared = np.zeros(len(sight.boxes))
    for other in view.scene.lives:
        seen, also = sights[other.instance], view.span_of(other)
        start, stop = max(span.start, also.start), min(span.stop, also.stop)
        if other is life or stop <= start:
            continue
        here, there = slice(start - span.start, stop - span.start), slice(start - also.start, stop - also.start)
        low = np.maximum(sight.boxes[here, :2], seen.boxes[there, :2])
        high = np.minimum(*(boxes[:, :2] + boxes[:, 2:] for boxes in (sight.boxes[here], seen.boxes[there])))
        shown = seen.visibility[there] != Visibility.OUTSIDE
        shared[here] += np.clip(high - low, 0, None).prod(axis=1) * shown
    return np.asarray(shared / area)


def _strongest(scenes: Sequence[Scene], kind: str) -> tuple[Scene, float]:
    """Where an artefact is strong and no other one beside it."""
    moments = [(scene, (e.start_s + e.end_s) / 2) for scene in scenes for e in scene.episodes if e.kind == kind]
    seen = [(scene, time_s) for scene, time_s in moments if not scene.camera.is_masked(np.array([time_s]))[0]]
    if kind.startswith("instrument_"):
        seen = [(scene, time_s) for scene, time_s in seen if scene.look(np.array([time_s])).any_tool[0]]

    def merit(item: tuple[Scene, float]) -> float:
        levels = item[0].conditions(np.array([item[1]]))
        others = sum(float(levels[name][0]) for name in CHARACTERISTICS if name != kind)
        return float(levels[kind][0]) - 0.5 * others

    return max(seen, key=merit)


def _framed(picture: Picture, box: NDArray[np.float64]) -> Picture:
    """The picture with a thin white frame a little outside the box."""
    framed = picture.copy()
    low = np.maximum(box[:2] - 3, 0).astype(int)
    high = np.minimum(box[:2] + box[2:] + 3, (picture.shape[1] - 1, picture.shape[0] - 1)).astype(int)
    framed[[low[1], high[1]], low[0] : high[0] + 1] = 255
    framed[low[1] : high[1] + 1, [low[0], high[0]]] = 255
    return framed


def _labelled(picture: Picture, label: str) -> Picture:
    bar = np.zeros((_BAR_PX, picture.shape[1], 3), dtype=np.uint8)
    mask = letter_mask(label, 2 if 12 * len(label) + 2 <= picture.shape[1] else 1)[:_BAR_PX, : picture.shape[1]]
    bar[: mask.shape[0], : mask.shape[1]][mask] = 255
    return np.concatenate([bar, picture], axis=0)
