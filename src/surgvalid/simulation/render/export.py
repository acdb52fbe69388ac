"""The passes of a frame as files: PNG for colour and instances, NPZ for depth and flow, COCO run lengths for masks."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from surgvalid.metrics.detection.masks import coco_of_mask, mask_of_pixels
from surgvalid.simulation.render.passes import Frame
from surgvalid.simulation.render.world import SceneMoment
from surgvalid.video.images import write_png


def write_passes(frame: Frame, moment: SceneMoment, folder: Path, stem: str) -> list[Path]:
    """Write a frame as `<stem>.png`, `<stem>_passes.npz` and `<stem>_masks.json`; returns the files.

    The arrays are `instance` and `foil` (places in the list of things, -1 for none), `depth_cm`, `flow_px`, `arrives`.
    Things have a name, a class and a kind; a thing that lets light through has the pixels of its foil too.
    """
    colour, arrays, masks = (folder / f"{stem}{end}" for end in (".png", "_passes.npz", "_masks.json"))
    write_png(frame.colour, colour)
    np.savez_compressed(
        arrays,
        instance=frame.labels.astype(np.int16),
        foil=frame.foil.astype(np.int16),
        depth_cm=frame.depth.astype(np.float32),
        flow_px=frame.flow.astype(np.float32),
        arrives=frame.arrives.astype(np.float32),
    )
    rows = []
    for number, thing in enumerate(moment.things):
        pixels = (frame.labels == number) | (frame.foil == number)
        if pixels.any():
            mask = mask_of_pixels(pixels, corner=(0, 0), size=pixels.shape)
            about = {"instance": thing.name, "class": thing.class_name, "kind": thing.kind, "number": number}
            rows.append({**about, "area": mask.area, "segmentation": coco_of_mask(mask)})
    masks.write_text(
        json.dumps({"time_s": moment.time_s, "things": rows}, separators=(",", ":")) + "\n", encoding="utf-8"
    )
    return [colour, arrays, masks]
