"""Paint the new centre's pictures once more, with another centre's camera: what does its look alone cost?

    python -m examples.sees.other_look DATA [--look "Center A"]

Every picture of a FRAME question of the new centre is painted with the other centre's light, colours, noise, lens and
purchases, while the round picture, all objects, instruments, smoke and dirt stay, so that every reference stays right.
`train.py` then answers these questions once more, after training or with `--weights`, and `evaluate.py` compares the
two answers, paired. DATA gets `other_look.bin` and `other_look.json.gz`.
"""

from __future__ import annotations

import argparse
import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from surgeval.simulation.centers import Center, center_named
from surgeval.simulation.scene import Scene

from .make_data import NEW_CENTER, painted, scenes_of


def with_look(scene: Scene, look: Center) -> Scene:
    """The scene as another camera would show it; whatever decides what can be seen stays."""
    home = replace(
        scene.center, tint=look.tint, gain=look.gain, saturation=look.saturation, hue_deg=look.hue_deg,
        accent=look.accent, shafts=look.shafts, grain=look.grain, sharpness=look.sharpness, lens_blur=look.lens_blur,
    )  # fmt: skip
    return replace(scene, center=home)


def main(arguments: list[str] | None = None) -> None:
    """Read the command line and paint."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--look", default="Center A")
    options = parser.parse_args(arguments)
    labels = json.loads(gzip.decompress((options.data / "labels.json.gz").read_bytes()))
    asked = [q for q in labels["questions"] if (q["split"], q["track"], q["ood"]) == ("test", "frame", True)]
    command, pictures = labels["command"], list[list[Any]]()
    least, most = (float(part) for part in command["minutes"].split("-"))
    with open(options.data / "other_look.bin", "wb") as store:
        for scene in scenes_of(command["procedures"], command["new_center"], (least, most), command["seed"]):
            if scene.center.name != NEW_CENTER:
                continue
            seconds = sorted({q["end"] for q in asked if q["video"] == scene.video})
            frames = painted(with_look(scene, center_named(options.look)), seconds)
            for second, data in zip(seconds, frames, strict=True):
                pictures.append([scene.video, second, store.tell(), len(data)])
                store.write(data)
            print(f"painted {scene.video}: {len(pictures)} pictures", flush=True)
    text = json.dumps({"look": options.look, "pictures": pictures}, separators=(",", ":"))
    (options.data / "other_look.json.gz").write_bytes(gzip.compress(text.encode(), mtime=0))


if __name__ == "__main__":
    main()
