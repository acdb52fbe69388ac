"""Paint images once more with one thing changed: what does the new centre's look cost, what does smoke?

    python -m examples.sees.other_look DATA [--look "Center A" | --smoke 0.5]

Every image of a FRAME question of the new centre is painted with the other centre's light, colours, noise, lens and
purchases, while the round image, all objects, instruments, smoke and dirt stay. With --smoke the images of the known
centres are painted in smoke of that strength instead. Images in which something else can be seen than before are left
out, so that every reference stays right. `train.py` then answers these questions once more, after training or with
`--weights`, and `evaluate.py` compares the two answers, paired. DATA gets `other_look.bin` and `other_look.json.gz`.
"""

from __future__ import annotations

import argparse
import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from surgvalid.simulation import Scene, true_procedure
from surgvalid.simulation.centers import Center, center_named
from surgvalid.simulation.timelines import Episode

from .make_data import objects_at, painted, scenes_of


def with_look(scene: Scene, look: Center) -> Scene:
    """The scene as another camera would show it; the round image stays."""
    home = replace(
        scene.center, tint=look.tint, gain=look.gain, saturation=look.saturation, hue_deg=look.hue_deg,
        accent=look.accent, shafts=look.shafts, grain=look.grain, lens_blur=look.lens_blur,
    )  # fmt: skip
    return replace(scene, center=home)


def in_smoke(scene: Scene, strength: float) -> Scene:
    """The scene in smoke of one strength from beginning to end."""
    long_s = 10.0 * scene.duration_s
    return replace(scene, episodes=(*scene.episodes, Episode("background_smoke", -long_s, long_s, strength)))


def unchanged(scene: Scene, other: Scene, seconds: list[int]) -> list[int]:
    """The seconds at which the same can be seen in both."""
    one, two = (true_procedure(each, instruments=False) for each in (scene, other))
    return [second for second in seconds if objects_at(one, second) == objects_at(two, second)]


def main(arguments: list[str] | None = None) -> None:
    """Read the command line and paint."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--look", default="Center A", help="whose camera the new centre gets")
    parser.add_argument("--smoke", type=float, help="instead: smoke of this strength at the known centres")
    options = parser.parse_args(arguments)
    new = options.smoke is None
    labels = json.loads(gzip.decompress((options.data / "labels.json.gz").read_bytes()))
    asked = [q for q in labels["questions"] if (q["split"], q["track"], q["ood"]) == ("test", "frame", new)]
    command, pictures = labels["command"], list[list[Any]]()
    with open(options.data / "other_look.bin", "wb") as store:
        for scene in scenes_of(command):
            seconds = sorted({q["end"] for q in asked if q["video"] == scene.video})
            if not seconds:
                continue
            other = with_look(scene, center_named(options.look)) if new else in_smoke(scene, options.smoke)
            seconds = unchanged(scene, other, seconds)
            frames = painted(other, seconds)
            for second, data in zip(seconds, frames, strict=True):
                pictures.append([scene.video, second, store.tell(), len(data)])
                store.write(data)
            print(f"painted {scene.video}: {len(pictures)} images", flush=True)
    changed = options.look if new else f"smoke {options.smoke}"
    text = json.dumps({"changed": changed, "pictures": pictures}, separators=(",", ":"))
    (options.data / "other_look.json.gz").write_bytes(gzip.compress(text.encode(), mtime=0))


if __name__ == "__main__":
    main()
