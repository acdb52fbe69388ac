"""What a perfect annotator would write down: whole seconds, boxes, events, phases, and the pixels of every object.

What is seen is read from the images (`render.sight`); nothing here works it out from where things are.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from surgvalid.metrics.detection.masks import coco_of_mask, mask_of_pixels
from surgvalid.schema.procedures.tracks import (
    EVERYTHING,
    Detail,
    Event,
    EventKind,
    Phase,
    Procedure,
    SceneFact,
    Span,
    Track,
    Visibility,
)
from surgvalid.schema.questions.questions import DIALS
from surgvalid.simulation.lives import Life
from surgvalid.simulation.renderer import Renderer
from surgvalid.simulation.scene import Scene

if TYPE_CHECKING:
    from surgvalid.simulation.render.sight import Seen

Keep = Callable[[int, "Seen"], None]
_Sight = tuple[int, Sequence[int], "Seen"]
"""An object at one second: its box, and what else is seen of it."""


class MaskFile:
    """Takes the pixels of objects one by one and writes them as one file."""

    def __init__(self, width_px: int, height_px: int) -> None:
        self.width_px, self.height_px = width_px, height_px
        self.rows: list[tuple[int, str, dict[str, Any]]] = []

    def add(self, second: int, seen: Seen) -> None:
        """Keep the pixels of one object at one second."""
        x, y, width, height = seen.box
        pixels = seen.pixels[y : y + height, x : x + width]
        mask = mask_of_pixels(pixels, corner=(y, x), size=(self.height_px, self.width_px))
        row = {"bbox": list(seen.box), "area": mask.area, "iscrowd": 0, "segmentation": coco_of_mask(mask)}
        self.rows.append((second, seen.instance, row))

    def write(self, procedure: Procedure, path: Path) -> None:
        """Write the file: an image per second, an annotation per object in view, `instance` as in the procedure."""
        classes = {track.instance: track.class_name for track in procedure.tracks}
        names = sorted(set(classes.values()))
        size = {"width": self.width_px, "height": self.height_px}
        annotations = [
            {
                "id": number,
                "image_id": second,
                "category_id": names.index(classes[instance]) + 1,
                "instance": instance,
                **row,
            }
            for number, (second, instance, row) in enumerate(self.rows, start=1)
        ]
        document = {
            "info": {"video": procedure.video, "fps": 1},
            "images": [
                {"id": second, "file_name": f"{procedure.video}_{second:06d}.png", **size}
                for second in range(procedure.duration_s)
            ],
            "categories": [{"id": at, "name": name} for at, name in enumerate(names, start=1)],
            "annotations": annotations,
        }
        path.write_text(json.dumps(document, separators=(",", ":")) + "\n", encoding="utf-8")


EVERY_S = 10
"""Relations are told, and passes written, so often."""
LEAST_ABSENCE_S = 5
"""An object that is out of view for less is not said to have left it."""


def true_procedure(scene: Scene, *, instruments: bool = True, keep: Keep | None = None) -> Procedure:
    """The truth about a scene at 1 fps: what the images at whole seconds show.

    Args:
        scene: The simulated procedure.
        instruments: Whether to write down the instruments too.
        keep: Called with the second and the pixels of every object that is in view then.

    Raises:
        ExtraNeeded: numba is not installed.
    """
    renderer = Renderer(scene)
    seen: dict[str, list[_Sight]] = defaultdict(list)
    unkept = np.zeros((0, 0), dtype=bool)
    tools: dict[tuple[str, str], list[tuple[int, Sequence[int]]]] = defaultdict(list)
    relations: list[SceneFact] = []
    for second in range(scene.duration_s):
        look = renderer.look(float(second), tools=instruments, related=second % EVERY_S == 0)
        relations += look.facts
        for one in look.objects:
            if one.verdict != "not visible":
                seen[one.instance].append((second, one.box, one._replace(pixels=unkept)))
                if keep and one.verdict == "visible":
                    keep(second, one)
        for tool in look.tools:
            tools[tool.name, tool.class_name].append((second, tool.box))
    tracks, events = [], []
    for life in scene.lives:
        track = _track(life, seen[life.instance])
        tracks.append(track)
        events += [*life.events, *_view_events(track, _gone_s(life, scene))]
    return Procedure(
        video=scene.video,
        procedure_type=scene.kind.name,
        center=scene.center.name,
        duration_s=scene.duration_s,
        width_px=scene.width_px,
        height_px=scene.height_px,
        tracks=tuple(tracks),
        events=tuple(sorted(events, key=lambda one: (one.second, _STORY.index(one.kind), one.instance))),
        phases=tuple(Phase(p.model.name, int(p.start_s), int(p.end_s)) for p in scene.phases if p.end_s > p.start_s),
        instruments=tuple(_tool_track(*about, tools[about]) for about in sorted(tools)),
        relations=tuple(relations),
        masked=tuple(Span(*span) for span in scene.camera.masked),
        facts={"simulated": "yes", "seed": str(scene.seed)},
        declared=EVERYTHING,
    )


_STORY = list(EventKind)


def _gone_s(life: Life, scene: Scene) -> float:
    """From when on an object cannot be seen: what is in a bag leaves with it."""
    bags = (event.details[Detail.BAG] for event in life.events if event.kind is EventKind.BAGGED)
    leaving = {other.instance: other.gone_s for other in scene.lives}
    return max([life.gone_s, *(leaving[bag] for bag in bags)])


def _view_events(track: Track, gone_s: float) -> list[Event]:
    """First sight, and every time the object leaves the view for a while or comes back."""
    seconds = track.seconds[track.in_view]
    if not len(seconds):
        return []
    events = [Event(EventKind.FIRST_SEEN, int(seconds[0]), track.instance)]
    for gap in np.flatnonzero(np.diff(seconds) > LEAST_ABSENCE_S):
        events.append(Event(EventKind.LEFT_VIEW, int(seconds[gap]) + 1, track.instance))
        events.append(Event(EventKind.REAPPEARED, int(seconds[gap + 1]), track.instance))
    if int(seconds[-1]) + LEAST_ABSENCE_S < int(np.ceil(gone_s)) - 1:
        events.append(Event(EventKind.LEFT_VIEW, int(seconds[-1]) + 1, track.instance))
    return events


_DIALS = DIALS[:6]
"""Those of one moment."""


def _track(life: Life, seen: Sequence[_Sight]) -> Track:
    """What is seen of an object; points that nobody can be sure of are outside, and doubtful."""
    shown = [Visibility.OCCLUDED if one.occluded else Visibility.VISIBLE for _, _, one in seen]
    doubtful = [one.verdict == "doubtful" for _, _, one in seen]
    codes = np.where(doubtful, Visibility.OUTSIDE, shown).astype(np.uint8)
    dials = np.array([[round(float(getattr(one, name)), 3) for name in _DIALS] for _, _, one in seen])
    return Track(
        life.instance,
        life.class_name,
        np.array([second for second, _, _ in seen], dtype=np.int64),
        np.array([box for _, box, _ in seen], dtype=np.float64),
        codes,
        dict(life.attributes),
        life.changes,
        np.array(doubtful, dtype=bool),
        dict(zip(_DIALS, dials.reshape(-1, len(_DIALS)).T, strict=True)),
    )


def _tool_track(name: str, class_name: str, seen: Sequence[tuple[int, Sequence[int]]]) -> Track:
    """One track per hand and tool."""
    seconds, boxes = np.array([second for second, _ in seen]), np.array([box for _, box in seen], dtype=np.float64)
    return Track(name, class_name, seconds, boxes, np.zeros(len(seen), dtype=np.uint8))
