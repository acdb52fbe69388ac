"""What a video looks like: its centre, whose artefacts come more or less often, and the appearances it is painted with.

Each appearance beyond the plain one can be had alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from surgvalid.errors import UnknownName

ROLL, FOG, SOFT, DEPTH, BLUR = "roll", "fog", "soft", "depth", "blur"
LOOKS: Mapping[str, str] = {
    ROLL: "the camera is turned about its axis",
    FOG: "the lens is fogged after it came into the warm body, and clears",
    SOFT: "tissue and soft objects give way to instruments",
    DEPTH: "the situs is seen aslant: what lies farther away is smaller",
    BLUR: "objects and instruments are blurred while they move, as tissue is",
}
"""Every look and what it adds. None of them changes what is done to an object, or when."""
EVERY_LOOK = "all"


def looks_named(names: Iterable[str]) -> tuple[str, ...]:
    """The looks of those names, each once and in the order of `LOOKS`; `all` stands for every one.

    Raises:
        UnknownName: No such look; the message carries the nearest.
    """
    wanted = set(names)
    for name in sorted(wanted):
        if name not in (*LOOKS, EVERY_LOOK):
            raise UnknownName("look", name, (*LOOKS, EVERY_LOOK))
    return tuple(look for look in LOOKS if look in wanted or EVERY_LOOK in wanted)


CIRCLE_RADIUS = 0.62
"""Where a round image ends, in view heights from its middle."""


@dataclass(frozen=True, slots=True)
class Center:
    """How one centre's recordings look."""

    name: str
    tint: tuple[float, float, float] = (1.0, 1.0, 1.0)
    """Factors on red, green and blue: the colour of the light."""
    gain: float = 1.0
    """Brightness."""
    saturation: float = 1.0
    circle: bool = False
    """Whether the image is round with black around it, as with narrow optics."""
    vignette: float = 0.45
    """How much darker the corners are."""
    grain: float = 4.0
    """Noise of the sensor, as standard deviation of brightness."""
    sharpness: float = 1.0
    """How sharp tissue is: 1 is sharp, 0.5 is soft."""
    hue_deg: float = 0.0
    """By how much its camera turns all colours: from 0 towards yellow above, towards purple below."""
    lens_blur: float = 0.0
    """How far the lens spreads every point of the image, in view heights; 0 is a perfect one."""
    accent: tuple[float, float, float] = (0.15, 0.35, 1.0)
    """Colour of marker threads, bag rims and drain lines: what a hospital buys."""
    shafts: float = 1.0
    """How bright the shafts of its instruments are."""
    rates: Mapping[str, float] = field(default_factory=dict)
    """Factors on how often each kind of artefact occurs."""


CENTERS: dict[str, Center] = {
    center.name: center
    for center in (
        Center("Center A"),
        Center(
            "Center B",
            (1.06, 1.0, 0.9),
            1.08,
            1.15,
            vignette=0.25,
            grain=2.0,
            rates={"smoke": 0.6},
            accent=(0.1, 0.6, 0.85),
        ),
        Center("Center C", (0.94, 1.0, 1.1), 0.9, 0.8, circle=True, vignette=0.6, grain=7.0, sharpness=0.8, shafts=1.6),
        Center(
            "Center D",
            (1.0, 1.05, 0.98),
            0.82,
            1.0,
            vignette=0.7,
            grain=9.0,
            rates={"image_too_dark": 3.0},
            accent=(0.1, 0.75, 0.35),
            shafts=2.4,
        ),
        Center(
            "Center E",
            (1.1, 0.97, 0.95),
            1.2,
            1.3,
            vignette=0.2,
            rates={"image_too_bright": 3.0, "blood": 1.6},
            accent=(0.95, 0.8, 0.2),
        ),
        Center(
            "Center F",
            (0.88, 1.0, 1.14),
            1.0,
            0.65,
            circle=True,
            vignette=0.35,
            sharpness=0.65,
            hue_deg=-12.0,
            lens_blur=0.0075,
            accent=(0.75, 0.3, 0.8),
            shafts=3.0,
            rates={"image_lens_dirty": 2.5, "smoke": 1.8},
        ),
    )
}
"""Every centre by its name. D, E and F are far from A, B and C, for out-of-distribution sets; F is farthest: an old
tower with cold light, other colours and a soft lens."""


def center_named(name: str) -> Center:
    """The centre of that name.

    Raises:
        UnknownName: No such centre.
    """
    if name not in CENTERS:
        raise UnknownName("center", name, CENTERS)
    return CENTERS[name]
