"""What a perfect annotator would write down: whole seconds, boxes, events, phases, and the pixels of every object."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from surgvalid.metrics.detection.masks import coco_of_mask, mask_of_pixels
from surgvalid.schema.procedures.tracks import EVERYTHING, Event, EventKind, Phase, Procedure, Span, Track, Visibility
from surgvalid.simulation.instruments import SLOTS, TOOLS
from surgvalid.simulation.lives import Life
from surgvalid.simulation.scene import Scene, View
from surgvalid.simulation.sighting import Keep, Sight, Silhouette, sights


class MaskFile:
    """Takes silhouettes one by one and writes them as one file."""

    def __init__(self, width_px: int, height_px: int) -> None:
        self.width_px, self.height_px = width_px, height_px
        self.rows: list[tuple[int, str, dict[str, Any]]] = []

    def add(self, silhouette: Silhouette) -> None:
        """Keep the pixels of one object at one second."""
        rect = silhouette.rect
        size = self.height_px, self.width_px
        mask = mask_of_pixels(silhouette.seen, corner=(rect.top, rect.left), size=size)
        row = {"bbox": list(silhouette.box), "area": mask.area, "iscrowd": 0, "segmentation": coco_of_mask(mask)}
        self.rows.append((silhouette.at, silhouette.instance, row))

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


LEAST_ABSENCE_S = 5
"""An object that is out of view for less is not said to have left it."""


def true_procedure(scene: Scene, *, instruments: bool = True, keep: Keep | None = None) -> Procedure:
    """The truth about a scene at 1 fps: what a careful annotator would mark in the painted images.

    Args:
        scene: The simulated procedure.
        instruments: Whether to write down the instruments too.
        keep: Called with the pixels of every object that is in view at a whole second.
    """
    seconds = np.arange(scene.duration_s, dtype=float)
    view, seen = scene.look(seconds), sights(scene, seconds, keep=keep)
    tracks, events = [], []
    for life in scene.lives:
        track = _track(life, view, seen[life.instance])
        tracks.append(track)
        events += [*life.events, *_view_events(life, track, scene.duration_s)]
    return Procedure(
        video=scene.video,
        procedure_type=scene.kind.name,
        center=scene.center.name,
        duration_s=scene.duration_s,
        width_px=scene.width_px,
        height_px=scene.height_px,
        tracks=tuple(tracks),
        events=tuple(sorted(events, key=_order)),
        phases=tuple(Phase(p.model.name, int(p.start_s), int(p.end_s)) for p in scene.phases if p.end_s > p.start_s),
        instruments=_instrument_tracks(view) if instruments else (),
        masked=tuple(Span(*span) for span in scene.camera.masked),
        facts={
            "simulated": "yes",
            "seed": str(scene.seed),
            **({"looks": ", ".join(scene.looks)} if scene.looks else {}),
        },
        declared=EVERYTHING,
    )


def _track(life: Life, view: View, sight: Sight) -> Track:
    seen = sight.visibility != Visibility.OUTSIDE
    seconds = view.times_s[view.span_of(life)][seen].astype(np.int64)
    return Track(
        life.instance,
        life.class_name,
        seconds,
        sight.boxes[seen],
        sight.visibility[seen],
        dict(life.attributes),
        life.changes,
    )


_STORY = list(EventKind)


def _order(event: Event) -> tuple[int, int, str]:
    return event.second, _STORY.index(event.kind), event.instance


def _view_events(life: Life, track: Track, duration_s: int) -> list[Event]:
    """First sight, and every time the object leaves the view for a while or comes back."""
    if not len(track):
        return []
    seconds = track.seconds
    events = [Event(EventKind.FIRST_SEEN, int(seconds[0]), life.instance)]
    for gap in np.flatnonzero(np.diff(seconds) > LEAST_ABSENCE_S):
        events.append(Event(EventKind.LEFT_VIEW, int(seconds[gap]) + 1, life.instance))
        events.append(Event(EventKind.REAPPEARED, int(seconds[gap + 1]), life.instance))
    end_s = min(duration_s, int(np.ceil(life.gone_s)))
    if int(seconds[-1]) + LEAST_ABSENCE_S < end_s - 1:
        events.append(Event(EventKind.LEFT_VIEW, int(seconds[-1]) + 1, life.instance))
    return events


def _instrument_tracks(view: View) -> tuple[Track, ...]:
    """One track per hand and tool."""
    tracks = []
    for slot in range(SLOTS):
        shown, boxes = view.tip_shown(slot), view.instrument_boxes(slot)
        for index, tool in enumerate(TOOLS):
            at = np.flatnonzero(shown & (view.tools[slot] == index))
            if at.size:
                codes = np.zeros(at.size, dtype=np.uint8)
                name = f"{tool.replace(' ', '_')}_hand{slot}"
                tracks.append(Track(name, tool, at, np.round(boxes[at], 1), codes))
    return tuple(tracks)
