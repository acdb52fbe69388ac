"""Paint the data of the example: frames with neighbours, label maps and properties of simulated procedures.

    python -m examples.weakness_to_algorithm.paint --out painted

Writes `frames.npz` (see `pack`), `instances.csv` and `cases.csv` (properties). Procedures are shared out by number:
three parts of five for development, one held out, and one from a centre that development never sees. Half of the
moments are drawn evenly, half among those at which a characteristic is ticked, so that rare ones are there at all.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from examples.weakness_to_algorithm.instances import InstanceMap, instance_map
from examples.weakness_to_algorithm.pack import write_pack
from examples.weakness_to_algorithm.properties import instance_properties, picture_properties

from surgvalid.simulation import PROCEDURE_TYPES, Renderer, Scene, draw_scene
from surgvalid.simulation.artefacts import TICKED_FROM
from surgvalid.video import pyav
from surgvalid.video.images import jpeg_bytes

SEED = 2311
CENTERS, NEW_CENTER = ("Center A", "Center B", "Center C", "Center E", "Center F"), "Center D"
DEVELOPMENT, HELD_OUT, NEW = "development", "held-out", "new-centre"
APART_S = 0.4
"""From a frame to its neighbours."""
QUALITY = 4
"""Of the JPEG files: 1 is best."""


class Case(NamedTuple):
    """One frame with its neighbours."""

    name: str
    jpegs: list[bytes]
    picture: InstanceMap
    levels: dict[str, float]


def scene_of(number: int, part: str, *, minutes: tuple[float, float]) -> Scene:
    """The procedure of that number, in its part."""
    return draw_scene(
        SEED,
        number,
        procedure=list(PROCEDURE_TYPES)[number % len(PROCEDURE_TYPES)],
        center=NEW_CENTER if part == NEW else CENTERS[number % len(CENTERS)],
        minutes=minutes,
        width_px=192,
        height_px=108,
    )


def moments(scene: Scene, count: int) -> np.ndarray:
    """Times to look at, at least three seconds apart, half of them drawn evenly."""
    rng = np.random.default_rng([scene.seed, int(scene.video[-4:])])
    grid = np.arange(4.0, scene.duration_s - 4.0, 3.0)
    times = grid + rng.uniform(0, 1, len(grid))
    around = [scene.camera.is_masked(times + shift) for shift in (-APART_S, 0.0, APART_S)]
    times = times[~np.any(around, axis=0)]
    renderer = Renderer(scene)
    times = times[[len(instance_map(renderer, time_s).instances) > 0 for time_s in times.tolist()]]
    ticked = [np.flatnonzero(level >= TICKED_FROM) for level in scene.conditions(times).values()]
    chosen = set(rng.permutation(len(times))[: count // 2].tolist())
    kinds = [rng.permutation(places).tolist() for places in ticked if len(places)]
    while len(chosen) < count and any(kinds):
        for places in kinds:
            if places and len(chosen) < count:
                chosen.add(places.pop())
    return times[sorted(chosen)]


def cases(scene: Scene, count: int) -> Iterator[Case]:
    """The chosen moments of a procedure, painted."""
    renderer, times = Renderer(scene), moments(scene, count)
    levels = scene.conditions(times)
    for at, time_s in enumerate(times.tolist()):
        picture = instance_map(renderer, time_s)
        jpegs = [_jpeg(renderer.frame(time_s + shift).colour) for shift in (-APART_S, 0.0, APART_S)]
        now = {kind: float(level[at]) for kind, level in levels.items()}
        yield Case(f"{scene.video}/{round(time_s * 25):06d}", jpegs, picture, now)


def _jpeg(rgb: np.ndarray) -> bytes:
    frame = pyav().VideoFrame.from_ndarray(np.ascontiguousarray(rgb), format="rgb24")
    return jpeg_bytes(frame, width_px=rgb.shape[1], height_px=rgb.shape[0], quality=QUALITY)


def paint(
    out: Path,
    *,
    development: int,
    held_out: int,
    new: int,
    count: int,
    minutes: tuple[float, float],
    first: int = 0,
) -> None:
    """Paint all parts, from the procedure of that number on, and write them to a folder."""
    out.mkdir(parents=True, exist_ok=True)
    parts = [DEVELOPMENT] * development + [HELD_OUT] * held_out + [NEW] * new
    jpegs: list[bytes] = []
    maps: list[np.ndarray] = []
    rows: list[dict[str, Any]] = []
    of_instances: list[dict[str, Any]] = []
    for number, part in enumerate(parts, start=first):
        scene = scene_of(number, part, minutes=minutes)
        for case in cases(scene, count):
            about = {"case": case.name, "video": scene.video}
            jpegs += case.jpegs
            maps.append(case.picture.labels)
            whole = picture_properties(case.levels, len(case.picture.instances))
            rows.append({**about, "center": scene.center.name, "part": part, **whole})
            named = instance_properties(case.picture, case.levels)
            of_instances += [{**about, **one} for one in named]
    table = pl.DataFrame(rows)
    columns = {name: table[name].to_list() for name in ("case", "video", "center", "part")}
    write_pack(out / "frames.npz", jpegs, np.stack(maps), columns)
    table.write_csv(out / "cases.csv")
    pl.DataFrame(of_instances).write_csv(out / "instances.csv")


def main() -> None:
    """Read the command line and paint."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--development", type=int, default=30, help="Procedures to train on and to analyse.")
    parser.add_argument("--held-out", type=int, default=14, help="Procedures of the same centres for the proof.")
    parser.add_argument("--new", type=int, default=12, help="Procedures of another centre for the proof.")
    parser.add_argument("--first", type=int, default=0, help="Number of the first procedure.")
    parser.add_argument("--count", type=int, default=40, help="Frames per procedure.")
    parser.add_argument("--minutes", type=float, nargs=2, default=(10.0, 14.0))
    given = vars(parser.parse_args())
    paint(given.pop("out"), **{**given, "minutes": tuple(given["minutes"])})


if __name__ == "__main__":
    main()
