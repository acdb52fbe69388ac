"""What surfaces are made of: rows of one table, in the order in which the kernels of light read them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Row = NDArray[np.float64]
Colour = tuple[float, float, float]

TISSUE, FAT, GAUZE, METAL, FOIL, PLASTIC = 0, 1, 2, 3, 4, 6
WIDTH = 24
NO_LINE = 99.0
"""Where a marker line lies that is not there."""


def light_of(colour: Sequence[float]) -> Row:
    """The share of light that a surface of this colour, 0 to 255 as on a screen, gives back."""
    return np.round((np.asarray(colour, dtype=np.float64) / 255) ** 2, 9)


def surface(
    first: Colour,
    second: Colour | None = None,
    *,
    kind: int = TISSUE,
    patches: float = 0.35,
    bump: float = 1.0,
    relief: float = 0.0,
    fine: float = 0.0,
    sharpness: int = 5,
    gloss: float = 0.5,
    wrap: float = 0.15,
    vessels: float = 0.0,
    vessel_scale: float = 0.35,
    soak: float = 0.0,
    line: float = NO_LINE,
    accent: Colour = (40, 90, 200),
    seed: float = 0.0,
    bounce: float = 1.0,
    glow: float = 0.0,
) -> Row:
    """One row.

    Args:
        first: Its colour, and
        second: the one that it is mottled with.
        kind: What it is, for what only that kind has.
        patches: Cells of the mottling per centimetre.
        bump: Cells of its relief per centimetre.
        relief: How strong that is.
        fine: How strong the fine relief is, four times as dense.
        sharpness: How small highlights are: the exponent's base-2 logarithm.
        gloss: How strong they are.
        wrap: How far light goes round edges.
        vessels: How red small vessels are, and
        vessel_scale: how dense.
        soak: The share that is full of blood.
        line: Where a marker or a line lies.
        accent: The line's colour.
        seed: Which stains it has.
        bounce: How much of the cavity's own light reaches it.
        glow: How much light shines through it.
    """
    row = np.zeros(WIDTH)
    row[0:3], row[3:6] = light_of(first), light_of(second or first)
    row[6:15] = patches, bump, relief, fine, sharpness, gloss, wrap, vessels, vessel_scale
    row[15:18], row[18:21] = (kind, soak, line), light_of(accent)
    row[21:24] = seed, bounce, glow
    return row


ORGANS: dict[str, Row] = {
    "fat": surface(
        (232, 182, 78),
        (214, 140, 46),
        kind=FAT,
        patches=0.22,
        bump=1.25,
        relief=0.30,
        fine=0.09,
        sharpness=6,
        gloss=0.8,
        wrap=0.25,
        vessels=0.42,
        vessel_scale=0.3,
        glow=0.3,
    ),
    "liver": surface(
        (140, 52, 40),
        (108, 34, 28),
        patches=0.16,
        bump=1.6,
        relief=0.035,
        fine=0.035,
        sharpness=6,
        gloss=0.9,
        wrap=0.15,
        glow=0.2,
    ),
    "gallbladder": surface(
        (176, 176, 128),
        (132, 144, 104),
        patches=0.25,
        bump=1.1,
        relief=0.06,
        fine=0.03,
        sharpness=6,
        gloss=0.9,
        wrap=0.25,
        vessels=0.55,
        vessel_scale=0.34,
        glow=0.2,
    ),
    "bowel": surface(
        (226, 150, 134),
        (206, 116, 104),
        patches=0.3,
        bump=1.4,
        relief=0.07,
        fine=0.04,
        gloss=0.65,
        wrap=0.25,
        vessels=0.7,
        vessel_scale=0.34,
        glow=0.3,
    ),
    "wall": surface(
        (214, 132, 112),
        (190, 98, 84),
        patches=0.14,
        bump=0.7,
        relief=0.07,
        fine=0.02,
        gloss=0.5,
        wrap=0.25,
        vessels=0.75,
        vessel_scale=0.16,
        glow=0.3,
    ),
    "duct": surface(
        (222, 186, 120),
        (206, 150, 84),
        patches=0.8,
        bump=2.4,
        relief=0.1,
        fine=0.04,
        gloss=0.7,
        wrap=0.25,
        vessels=0.25,
        vessel_scale=0.7,
        glow=0.3,
    ),
    "artery": surface((206, 72, 56), (176, 42, 36), patches=0.8, bump=2.2, relief=0.06, gloss=0.8, wrap=0.25, glow=0.3),
    "vein": surface((104, 66, 108), (84, 44, 80), patches=0.8, bump=2.2, relief=0.05, gloss=0.8, wrap=0.25, glow=0.3),
    "uterus": surface(
        (224, 146, 132),
        (206, 112, 102),
        patches=0.3,
        bump=1.0,
        relief=0.05,
        fine=0.03,
        gloss=0.8,
        wrap=0.25,
        vessels=0.5,
        vessel_scale=0.3,
        glow=0.3,
    ),
    "blood": surface((120, 6, 8), (92, 3, 5), patches=0.5, bump=0.8, relief=0.06, sharpness=7, gloss=1.4, wrap=0.1),
}
"""Tissue by name, as it is in health."""

OBJECTS: dict[str, Row] = {
    "gauze": surface(
        (238, 234, 224), (226, 220, 206), kind=GAUZE, bump=0.8, relief=0.22, gloss=0.08, sharpness=3, wrap=0.35
    ),
    "metal": surface((176, 178, 186), kind=METAL, gloss=1.3, sharpness=6),
    "dark": surface((52, 54, 60), kind=PLASTIC, gloss=0.55, sharpness=4, bounce=0.7, wrap=0.1),
    "plastic": surface((228, 228, 222), kind=PLASTIC, gloss=0.9, sharpness=5, wrap=0.35, glow=0.3),
    "foil": surface((214, 226, 232), kind=FOIL, bump=0.9, relief=0.3, gloss=1.3, sharpness=6, wrap=0.5),
    "stone": surface((196, 158, 70), (120, 84, 34), patches=1.6, bump=2.2, relief=0.18, gloss=0.5, wrap=0.2),
    "flesh": surface(
        (226, 140, 130),
        (190, 92, 84),
        patches=0.7,
        bump=1.5,
        relief=0.16,
        fine=0.06,
        gloss=0.7,
        wrap=0.25,
        vessels=0.4,
        vessel_scale=0.5,
    ),
    "fleece": surface(
        (240, 232, 206),
        (226, 210, 172),
        patches=1.4,
        bump=2.6,
        relief=0.5,
        fine=0.25,
        gloss=0.05,
        sharpness=3,
        wrap=0.4,
    ),
    "thread": surface((110, 60, 170), kind=PLASTIC, gloss=0.4, sharpness=4, wrap=0.3),
}
"""What is brought in, before it has its own colour."""

NAMED: dict[str, Colour] = {
    "white": (238, 234, 224),
    "silver": (214, 216, 222),
    "purple": (138, 62, 178),
    "blue": (44, 96, 206),
    "red": (206, 40, 42),
    "yellow": (232, 196, 54),
    "green": (150, 160, 92),
    "pink": (222, 138, 130),
    "transparent": (214, 226, 232),
    "red-brown": (122, 40, 30),
}
"""Colours as attributes and questions name them."""


def coloured(row: Row, first: Colour, second: Colour | None = None) -> Row:
    """The same surface in another colour."""
    painted = row.copy()
    painted[0:3] = light_of(first)
    painted[3:6] = light_of(second or tuple(0.88 * level for level in first))
    return painted


def changed(row: Row, **columns: float) -> Row:
    """The same surface with other values of soak (16), line (17), seed (21) and the like, by their names."""
    places = {"relief": 8, "fine": 9, "gloss": 11, "vessels": 13, "soak": 16, "line": 17, "seed": 21}
    painted = row.copy()
    for name, value in columns.items():
        painted[places[name]] = value
    return painted
