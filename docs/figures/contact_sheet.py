"""Paint `docs/figures/contact-sheet.jpg`: `python -m docs.figures.contact_sheet`.

Every foreign-object class, centre and artefact at a glance, on one image.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from surgvalid.schema.procedures.foreign_objects import CLASS_NAMES
from surgvalid.schema.procedures.tracks import Visibility
from surgvalid.simulation.artefacts import CHARACTERISTICS, LENS_FOG
from surgvalid.simulation.centers import CENTERS, FOG, looks_named
from surgvalid.simulation.lives import Life
from surgvalid.simulation.procedure_types import PROCEDURE_TYPES
from surgvalid.simulation.renderer import Renderer
from surgvalid.simulation.scene import Scene, View, draw_scene
from surgvalid.simulation.sighting import sights
from surgvalid.simulation.timelines import within_any
from surgvalid.video.clips import letter_mask
from surgvalid.video.images import jpeg_bytes

Picture = NDArray[np.uint8]


class _Size(TypedDict):
    width_px: int
    height_px: int
    looks: Sequence[str]


_BAR_PX = 20
_MORE = 40
"""Procedures among which a strong episode of every artefact is looked for; few have all of them."""
_TRIES = 40
"""Moments of each object that are looked at until one shows it whole."""
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


def contact_sheet(
    seed: int = 0, *, columns: int = 6, width_px: int = 320, height_px: int = 180, looks: Sequence[str] = ()
) -> Picture:
    """Labelled images in rows: the ten classes, the six centres, eight artefacts, and fog where it is asked for.

    Args:
        seed: Another seed shows other procedures.
        columns: Images per row.
        width_px: Width of each image.
        height_px: Height of each image.
        looks: What they are painted with, as for `simulate`.
    """
    size: _Size = {"width_px": width_px, "height_px": height_px, "looks": looks_named(looks)}
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
    for kind in (*_SHOWN_ARTEFACTS, *([LENS_FOG] if FOG in size["looks"] else [])):
        scene, time_s = _strongest(more, kind)
        yield kind.replace("_", " "), _renderer(scene, renderers).frame(time_s)


def _renderer(scene: Scene, renderers: dict[str, Renderer]) -> Renderer:
    if scene.video not in renderers:
        renderers.clear()  # one situs at a time is enough in memory
        renderers[scene.video] = Renderer(scene)
    return renderers[scene.video]


def _clearest(scenes: Sequence[Scene], class_name: str) -> tuple[Scene, float, NDArray[np.float64]]:
    """Where an object of the class is seen best: visible, large, near the middle, alone, without artefacts."""
    moments = [moment for scene in scenes for moment in _moments(scene, class_name)]
    for _, scene, life, time_s in sorted(moments, key=lambda moment: -moment[0]):
        sight = sights(scene, np.array([time_s]))[life.instance]
        if sight.visibility.tolist() == [Visibility.VISIBLE]:
            return scene, time_s, sight.boxes[0]
    raise LookupError(class_name)


def _moments(scene: Scene, class_name: str) -> Iterator[tuple[float, Scene, Life, float]]:
    """The best moments of every object of a class, with their merit; whether it is seen then is left open."""
    lives = [life for life in scene.lives if life.class_name == class_name]
    if not lives:
        return
    view = scene.look(np.arange(scene.duration_s, dtype=float))
    levels = scene.conditions(view.times_s)
    spoiled = np.sum([levels[kind] for kind in CHARACTERISTICS], axis=0)
    for life in lives:
        span, place = view.span_of(life), view.place(life)
        middle = np.hypot(place[:, 0] - scene.aspect / 2, place[:, 1] - 0.5)
        merit = place[:, 3] - 2.0 * middle - 1.5 * spoiled[span] + 4 * life.size[0]
        merit -= 1.5 * _crowding(life, view) + 5.0 * within_any(life.covered, view.times_s[span])
        for at in np.argsort(-merit)[:_TRIES].tolist():
            yield float(merit[at]), scene, life, float(view.times_s[span][at])


def _crowding(life: Life, view: View) -> NDArray[np.float64]:
    """For each time in which the object exists, the share of its square that squares of other objects overlap."""
    span, mine = view.span_of(life), _squares(life, view)
    area = np.maximum((mine[:, 2:] - mine[:, :2]).prod(axis=1), 1e-9)
    shared = np.zeros(len(mine))
    for other in view.scene.lives:
        also = view.span_of(other)
        start, stop = max(span.start, also.start), min(span.stop, also.stop)
        if other is life or stop <= start:
            continue
        here = slice(start - span.start, stop - span.start)
        theirs = _squares(other, view)[start - also.start : stop - also.start]
        low, high = np.maximum(mine[here, :2], theirs[:, :2]), np.minimum(mine[here, 2:], theirs[:, 2:])
        shared[here] += np.clip(high - low, 0, None).prod(axis=1)
    return np.asarray(shared / area)


def _squares(life: Life, view: View) -> NDArray[np.float64]:
    """Rows left, top, right, bottom of the square that an object fits into however it is turned."""
    place = view.place(life)
    half = (max(life.size) / 2 * place[:, 3])[:, None]
    return np.column_stack([place[:, :2] - half, place[:, :2] + half])


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
    """The image with a thin white frame a little outside the box."""
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


if __name__ == "__main__":
    import av

    picture = contact_sheet(seed=7, columns=8, width_px=240, height_px=134)
    frame = av.VideoFrame.from_ndarray(picture[: picture.shape[0] // 2 * 2], format="rgb24")
    data = jpeg_bytes(frame, width_px=frame.width, height_px=frame.height, quality=4)
    Path(__file__).with_name("contact-sheet.jpg").write_bytes(data)
