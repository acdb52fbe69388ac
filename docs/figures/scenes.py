"""Paint `docs/figures/scenes.jpg`: rendered scenes, below each the number of the thing at every pixel and the depth.

Every panel is a moment of one procedure with what must be recognisable in it; what a panel names and its buffers do not
show is refused. The page on simulated procedures holds the same list.

    python -m docs.figures.scenes
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from surgvalid.schema.procedures.tracks import SceneRelation
from surgvalid.simulation import draw_scene
from surgvalid.simulation.render.passes import Frame, Painter
from surgvalid.simulation.render.relations import look_at
from surgvalid.simulation.render.sight import SeenAs
from surgvalid.simulation.render.world import World
from surgvalid.video.images import jpeg_of

FIGURE = Path(__file__).with_suffix(".jpg")
PAGE = Path(__file__).parents[1] / "how-to" / "simulate-procedures.md"
STRONG = 0.3
"""An artefact of such a strength is to be recognised."""


class Panel(NamedTuple):
    """One moment of a procedure, the centre that records it, and what must be recognisable."""

    kind: str
    seed: int
    number: int
    center: str
    time_s: float
    items: tuple[str, ...]


CHOLE, RECTAL = "Cholecystectomy", "Rectal Resection"
PANELS = (
    Panel(CHOLE, 71, 1, "Center B", 309.6, ("gallbladder", "liver", "cystic artery", "scissors", "Sponge")),
    Panel(CHOLE, 71, 0, "Center A", 385.2, ("Specimen Bag", "Specimen", "External Drain", "Clip", "hook", "colon")),
    Panel(CHOLE, 71, 2, "Center C", 333.1, ("Specimen", "Sponge", "liver", "grasper", "hook")),
    Panel(CHOLE, 73, 1, "Center D", 246.1, ("clip applier", "grasper", "Sponge", "gallbladder", "instrument_blood")),
    Panel("Appendectomy", 71, 4, "Center E", 315.4, ("stapler", "Specimen", "Sponge", "caecum", "background_blood")),
    Panel(CHOLE, 73, 3, "Center F", 254.8, ("gallbladder", "cystic duct", "cystic artery", "Clip", "hook", "grasper")),
    Panel("Sigmoid Resection", 71, 11, "Center B", 470.8, ("needle driver", "Needle", "grasper", "sigmoid colon")),
    Panel(RECTAL, 73, 6, "Center C", 389.8, ("Specimen Bag", "Silicone Loop", "Sponge", "grasper", "rectum")),
    Panel(RECTAL, 71, 42, "Center D", 534.0, ("External Drain", "Absorbable Hemostatic Agent", "suction", "rectum")),
    Panel("Inguinal Hernia Repair", 71, 1, "Center A", 468.7, ("Mesh", "spermatic cord", "Clip", "needle driver")),
    Panel(CHOLE, 71, 34, "Center D", 422.1, ("Gallstone", "grasper", "colon", "cystic artery")),
    Panel(CHOLE, 71, 21, "Center A", 339.7, ("background_smoke", "gallbladder", "grasper")),
)  # fmt: skip


class Shot(NamedTuple):
    """What a panel shows."""

    frame: Frame
    things: int
    shown: frozenset[str]
    """Classes, organs, instruments and strong artefacts that are visible by the rule."""


def shot(panel: Panel) -> Shot:
    """The panel's moment and everything in it that can be seen."""
    scene = draw_scene(panel.seed, panel.number, procedure=panel.kind, center=panel.center, minutes=(8, 9))
    world, painter = World(scene), Painter(scene.center, scene.width_px, scene.height_px, scene.seed)
    moment = world.at(panel.time_s)
    sight = look_at(world, painter, panel.time_s, related=True)
    seen = {one.class_name for one in sight.objects if one.verdict is SeenAs.VISIBLE}
    seen |= {tool.class_name for tool in sight.tools}
    seen |= {fact.subject for fact in sight.facts if fact.relation is SceneRelation.VISIBLE}
    strong = {kind for kind, level in moment.levels.items() if level >= STRONG}
    frame = painter.frame(moment, before=world.at(round(panel.time_s - 0.04, 9)), open_s=0.03)
    return Shot(frame, len(moment.things), frozenset(seen | strong))


def checklist() -> str:
    """The list of what must be recognisable, as rows of a table."""
    rows = [
        f"| {at} | {panel.kind}, {panel.center} | {', '.join(item.replace('_', ' ') for item in panel.items)} |"
        for at, panel in enumerate(PANELS, start=1)
    ]
    return "\n".join(["| panel | recorded | must be recognisable |", "|---:|---|---|", *rows])


def coloured(frame: Frame, things: int) -> NDArray[np.uint8]:
    """Numbers as colours."""
    palette = np.random.default_rng(4).integers(50, 256, (things + 1, 3)).astype(np.uint8)
    palette[-1] = 0
    image: NDArray[np.uint8] = palette[np.where(frame.foil >= 0, frame.foil, frame.labels)]
    return image


def sheet(shots: list[Shot], columns: int = 4) -> NDArray[np.uint8]:
    """All panels, each with its numbers below it at half the size."""
    tiles = []
    for one in shots:
        tile = np.zeros((270 + 136, 480, 3), np.uint8)
        tile[:270], tile[270:405, :240] = one.frame.colour, coloured(one.frame, one.things)[::2, ::2]
        depth = np.clip(one.frame.depth[::2, ::2] / 20, 0, 1)
        tile[270:405, 240:] = (255 * (1 - depth))[..., None].astype(np.uint8)
        tiles.append(tile)
    rows = [np.concatenate(tiles[at : at + columns], axis=1) for at in range(0, len(tiles), columns)]
    return np.concatenate(rows, axis=0)


def main() -> None:
    """Make the figure and print the list."""
    shots = [shot(panel) for panel in PANELS]
    for panel, one in zip(PANELS, shots, strict=True):
        assert set(panel.items) <= one.shown, (panel, sorted(one.shown))
    FIGURE.write_bytes(jpeg_of(sheet(shots), quality=5))
    print(checklist())


if __name__ == "__main__":
    main()
