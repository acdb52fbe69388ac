"""Paint `docs/figures/scenes.jpg`: rendered scenes, below each the number of the thing at every pixel and the depth.

Every panel is the second of one procedure at which most can be seen, recorded by one centre.

    python -m docs.figures.scenes
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from surgvalid.simulation import draw_scene
from surgvalid.simulation.render.passes import Frame, Painter
from surgvalid.simulation.render.sight import Seen, SeenAs, look
from surgvalid.simulation.render.world import INSTRUMENT, SceneMoment, World
from surgvalid.video.images import jpeg_of

FIGURE = Path(__file__).with_suffix(".jpg")


class Panel(NamedTuple):
    """One procedure, the centre that records it, and the classes that the panel is to show, the first above all."""

    kind: str
    number: int
    center: str
    classes: tuple[str, ...]


PANELS = (
    Panel("Cholecystectomy", 1, "Center A", ("Clip",)),
    Panel("Cholecystectomy", 2, "Center E", ("Sponge",)),
    Panel("Cholecystectomy", 3, "Center B", ("Specimen Bag", "Specimen")),
    Panel("Cholecystectomy", 4, "Center D", ("Gallstone",)),
    Panel("Cholecystectomy", 5, "Center F", ("Clip",)),
    Panel("Appendectomy", 1, "Center A", ("Specimen",)),
    Panel("Sigmoid Resection", 1, "Center B", ("Needle",)),
    Panel("Sigmoid Resection", 2, "Center C", ("Silicone Loop",)),
    Panel("Rectal Resection", 1, "Center E", ("External Drain",)),
    Panel("Inguinal Hernia Repair", 1, "Center A", ("Mesh",)),
    Panel("Rectal Resection", 2, "Center D", ("Absorbable Hemostatic Agent",)),
    Panel("Inguinal Hernia Repair", 2, "Center F", ("Mesh",)),
)


ENOUGH = 1600
"""A second of so high a rank is taken without looking at further procedures."""


class Shot(NamedTuple):
    """What a panel shows."""

    panel: Panel
    moment: SceneMoment
    frame: Frame
    seen: list[Seen]


def shot(panel: Panel, *, minutes: tuple[float, float] = (8, 9)) -> Shot:
    """The second at which most of the panel's classes can be seen, close and with an instrument."""
    best: tuple[float, World, float] | None = None
    for number in range(panel.number, panel.number + 80, 10):
        scene = draw_scene(71, number, procedure=panel.kind, center=panel.center, minutes=minutes)
        world, painter = World(scene), Painter(scene.center, scene.width_px, scene.height_px, scene.seed)
        for life in scene.lives:
            for after in (9, 14, 25, 45, 70) if life.class_name == panel.classes[0] else ():
                time_s = round(life.born_s + after, 1)
                if time_s < life.gone_s:
                    value = rank(world.at(time_s), painter, panel)
                    best = max(best or (value, world, time_s), (value, world, time_s), key=lambda row: row[0])
        if best and best[0] >= ENOUGH:
            break
    assert best, f"no procedure shows {panel.classes[0]}"
    _, world, time_s = best
    painter = Painter(world.scene.center, world.scene.width_px, world.scene.height_px, world.scene.seed)
    moment = world.at(time_s)
    seen = look(painter, moment)
    return Shot(panel, moment, painter.frame(moment, before=world.at(time_s - 0.04), open_s=0.02), seen)


def rank(moment: SceneMoment, painter: Painter, panel: Panel) -> float:
    """How much of what the panel is for can be seen."""
    seen = [one for one in look(painter, moment) if one.verdict is SeenAs.VISIBLE]
    if not any(one.class_name == panel.classes[0] for one in seen):
        return 0.0
    asked = sum(min(one.seen_px, 2500) * one.shown for one in seen if one.class_name in panel.classes)
    tools = sum(moment.things[number].kind == INSTRUMENT for number in moment.starts)
    return asked + 150 * len({one.class_name for one in seen}) + 200 * min(tools, 2)


def coloured(frame: Frame, things: int) -> NDArray[np.uint8]:
    """Numbers as colours."""
    palette = np.random.default_rng(4).integers(50, 256, (things + 1, 3)).astype(np.uint8)
    palette[-1] = 0
    ids = np.where(frame.foil >= 0, frame.foil, frame.labels)
    image: NDArray[np.uint8] = palette[ids]
    return image


def sheet(shots: list[Shot], columns: int = 4) -> NDArray[np.uint8]:
    """All panels, each with its numbers below it at half the size."""
    tiles = []
    for one in shots:
        ids = coloured(one.frame, len(one.moment.things))[::2, ::2]
        tile = np.zeros((270 + 136, 480, 3), np.uint8)
        tile[:270], tile[270:405, :240] = one.frame.colour, ids
        depth = np.clip(one.frame.depth[::2, ::2] / 20, 0, 1)
        tile[270:405, 240:] = (255 * (1 - depth))[..., None].astype(np.uint8)
        tiles.append(tile)
    rows = [np.concatenate(tiles[at : at + columns], axis=1) for at in range(0, len(tiles), columns)]
    return np.concatenate(rows, axis=0)


def main() -> None:
    """Make the figure and print what each panel shows."""
    shots = [shot(panel) for panel in PANELS]
    FIGURE.write_bytes(jpeg_of(sheet(shots), quality=5))
    for one in shots:
        names = sorted({seen.class_name for seen in one.seen if seen.verdict is SeenAs.VISIBLE})
        tools = sorted({one.moment.things[number].class_name for number in one.moment.tips})
        print(f"{one.panel.kind}, {one.panel.center}, {one.moment.time_s:g} s: {', '.join(names + tools)}")


if __name__ == "__main__":
    main()
