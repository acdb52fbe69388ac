"""Frames as files: PNG for colour, NPZ for instances, depth and flow, COCO run lengths and relations; and pairs.

A pair is one moment with and without the only object of its class that can be seen, so whether there is one is asked of
two images that differ in it alone.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl

from surgvalid.metrics.detection.masks import coco_of_mask, mask_of_pixels
from surgvalid.schema.procedures.tracks import Procedure, Track
from surgvalid.simulation.render.pairs import pair_without
from surgvalid.simulation.render.relations import facts
from surgvalid.simulation.render.sight import Seen, SeenAs, objects_in
from surgvalid.simulation.renderer import Renderer
from surgvalid.simulation.scene import Scene
from surgvalid.video.images import write_png

EVERY_S = 10
"""Passes are written so often."""
PAIR = {"video": str, "second": int, "instance": str, "image": str, "question": str, "answer": str}
"""Columns of `pairs.csv`: two rows for each pair."""


def write_passes(scene: Scene, folder: Path) -> None:
    """Write every tenth second as `<video>_<second>.png`, `..._passes.npz` and `..._things.json`.

    The arrays are `instance` and `foil` (places in the list of things, -1 for none), `depth_cm`, `flow_px`, `arrives`.
    Things have a name, a class, a kind and their pixels; one that lets light through has those of its foil. Objects
    have what makes them easy or hard to see, and relations hold between what is visible.
    """
    renderer = Renderer(scene)
    for second in range(0, scene.duration_s, EVERY_S):
        frame, moment = renderer.frame(float(second)), renderer.world.at(float(second))
        stem = folder / f"{scene.video}_{second:06d}"
        write_png(frame.colour, stem.with_suffix(".png"))
        np.savez_compressed(
            f"{stem}_passes.npz",
            instance=frame.labels.astype(np.int16),
            foil=frame.foil.astype(np.int16),
            depth_cm=frame.depth.astype(np.float32),
            flow_px=frame.flow.astype(np.float32),
            arrives=frame.arrives.astype(np.float32),
        )
        buffers = renderer.painter.buffers(moment)
        seen = [] if moment.masked else objects_in(renderer.painter, moment, buffers)
        relations = [] if moment.masked else facts(renderer.painter, moment, buffers, seen)
        dials = {one.instance: one.dials for one in seen}
        rows = []
        for number, thing in enumerate(moment.things):
            pixels = (frame.labels == number) | (frame.foil == number)
            if pixels.any():
                mask = mask_of_pixels(pixels, corner=(0, 0), size=pixels.shape)
                about = {"instance": thing.name, "class": thing.class_name, "kind": thing.kind, "number": number}
                coco = {"area": mask.area, "segmentation": coco_of_mask(mask)}
                rows.append(dials.get(thing.name, {}) | about | coco)
        document = {"second": second, "things": rows, "relations": [list(fact) for fact in relations]}
        Path(f"{stem}_things.json").write_text(json.dumps(document, separators=(",", ":")) + "\n", encoding="utf-8")


def write_pairs(scene: Scene, procedure: Procedure, folder: Path) -> None:
    """Write for every object the first second at which it is the only one of its class, with it and without it.

    `<video>_pairs.csv` asks both images whether there is one of the class; `..._change.png` is where they may differ.
    """
    renderer, rows = Renderer(scene), []
    for track in procedure.tracks:
        for second in track.seconds[track.in_view].tolist():
            if _count(renderer.look(float(second), tools=False).objects, track) != 1:
                continue
            pair = pair_without(renderer.world, renderer.painter, float(second), track.instance)
            if _count(pair.left, track):
                continue
            stem = f"{scene.video}_{second:06d}_{track.instance}"
            write_png(
                np.repeat(pair.may_differ[..., None].astype(np.uint8) * 255, 3, -1), folder / f"{stem}_change.png"
            )
            question = f"Is there any {track.class_name} in this image? Answer yes or no."
            for name, frame, answer in (("with", pair.with_it, "yes"), ("without", pair.without, "no")):
                write_png(frame.colour, folder / f"{stem}_{name}.png")
                rows.append((scene.video, second, track.instance, f"{stem}_{name}.png", question, answer))
            break
    pl.DataFrame(rows, PAIR, orient="row").write_csv(folder / f"{scene.video}_pairs.csv")


def _count(listed: list[Seen], track: Track) -> int:
    """How many of the track's class can be seen, or might be."""
    return sum(one.class_name == track.class_name and one.verdict is not SeenAs.UNSEEN for one in listed)
