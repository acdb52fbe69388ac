"""Frames as files: PNG for colour, NPZ for instances, depth and flow, COCO run lengths and relations; and pairs.

A pair is one moment with and without the only object of its class that can be seen, so whether there is one is asked of
two images that differ in it alone; or with and without an artefact or another centre, which must not change the answer.
"""

from __future__ import annotations

import json
from pathlib import Path
from zlib import crc32

import numpy as np
import polars as pl

from surgvalid.metrics.detection.masks import coco_of_mask, mask_of_pixels
from surgvalid.schema.procedures.tracks import Procedure, Track
from surgvalid.schema.questions.questions import Reference, Request
from surgvalid.schema.questions.taxonomy import Capability
from surgvalid.schema.rows import write_json_rows
from surgvalid.simulation.centers import center_named
from surgvalid.simulation.render.pairs import pair_without
from surgvalid.simulation.render.passes import Painter
from surgvalid.simulation.render.sight import Seen, SeenAs, look
from surgvalid.simulation.render.world import World
from surgvalid.simulation.renderer import Renderer
from surgvalid.simulation.scene import Scene
from surgvalid.simulation.truth import EVERY_S
from surgvalid.video.images import write_png

PAIR = dict.fromkeys(("case", "pair", "video", "second", "procedure", "changed", "question", "answer"), str)
"""Columns of `<video>_pairs.csv`: two rows for each pair; what was changed is an object, an artefact or the centre."""
STRONG = 0.3
"""An artefact of such a strength is taken out."""


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
        look = renderer.look(float(second), related=True)
        dials = {one.instance: one.dials for one in look.objects}
        rows = []
        for number, thing in enumerate(moment.things):
            pixels = (frame.labels == number) | (frame.foil == number)
            if pixels.any():
                mask = mask_of_pixels(pixels, corner=(0, 0), size=pixels.shape)
                about = {"instance": thing.name, "class": thing.class_name, "kind": thing.kind, "number": number}
                coco = {"area": mask.area, "segmentation": coco_of_mask(mask)}
                rows.append(dials.get(thing.name, {}) | about | coco)
        document = {"second": second, "things": rows, "relations": [fact[1:] for fact in look.facts]}
        Path(f"{stem}_things.json").write_text(json.dumps(document, separators=(",", ":")) + "\n", encoding="utf-8")


def write_pairs(scene: Scene, procedure: Procedure, folder: Path) -> None:
    """Write for every object the first second at which it is the only one of its class: with it and without it.

    The same moment follows without each strong artefact, and as another centre would record it, if the answer stays.
    An image is called by its case, which does not tell which of the two it is;
    `..._change.png` is where they may differ without the object.
    """
    renderer, rows = Renderer(scene), []
    other = center_named("Center A" if scene.center.name == "Center F" else "Center F")
    foreign = Painter(other, scene.width_px, scene.height_px, scene.seed)
    for track in procedure.tracks:
        for second in track.seconds[track.in_view].tolist():
            if _count(renderer.look(float(second), tools=False).objects, track) != 1:
                continue
            pair = pair_without(renderer.world, renderer.painter, float(second), track.instance)
            if _count(pair.left, track):
                continue
            strong = [kind for kind, level in renderer.world.levels(second).items() if level >= STRONG]
            bare = [(kind, World(scene, without=frozenset({kind})), renderer.painter) for kind in strong]
            shown = [(track.instance, pair.without, "no")]
            for changed, world, painter in [*bare, (other.name, renderer.world, foreign)]:
                moment = world.at(float(second))
                if [one.verdict for one in look(painter, moment) if one.class_name == track.class_name] == ["visible"]:
                    shown.append((changed, painter.frame(moment), "yes"))
            for changed, frame, answer in shown:
                name = f"{scene.video}_{second:06d}_{track.instance}_{changed}".replace(" ", "_")
                images = [(pair.with_it, "yes"), (frame, answer)]
                for side, (image, reply) in zip("ab", images[:: (-1) ** crc32(name.encode())], strict=True):
                    write_png(image.colour, folder / f"{name}_{side}.png")
                    question = f"Is there any {track.class_name.lower()} in this image? Answer with yes or no."
                    about = (name, scene.video, second, scene.kind.name, changed, question, reply)
                    rows.append(dict(zip(PAIR, map(str, (f"{name}_{side}", *about)), strict=True)))
            change = np.repeat(pair.may_differ[..., None].astype(np.uint8) * 255, 3, -1)
            write_png(change, folder / f"{scene.video}_{second:06d}_{track.instance}_change.png")
            break
    pl.DataFrame(rows, PAIR).write_csv(folder / f"{scene.video}_pairs.csv")


def write_paired_questions(folder: Path) -> None:
    """Write `requests.json` and `references.json` of all pairs in a folder, as `score` takes them."""
    rows = [
        row for path in sorted(folder.glob("*_pairs.csv")) for row in pl.read_csv(path, infer_schema=False).to_dicts()
    ]
    requests = [
        Request(row["case"], row["video"], int(row["second"]), int(row["second"]), row["procedure"], row["question"])
        for row in rows
    ]
    leaf = Capability.OBJECT_IDENTIFICATION
    references = [
        Reference(row["case"], leaf, "binary", row["answer"], strata={"track": "frame", "pair": row["pair"]})
        for row in rows
    ]
    write_json_rows((one.as_row() for one in requests), folder / "requests.json")
    write_json_rows((one.as_row() for one in references), folder / "references.json")


def _count(listed: list[Seen], track: Track) -> int:
    """How many of the track's class can be seen, or might be."""
    return sum(one.class_name == track.class_name and one.verdict is not SeenAs.UNSEEN for one in listed)
