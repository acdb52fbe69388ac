"""What a video looks like: its centre, whose artefacts come more or less often."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from surgvalid.errors import UnknownName
from surgvalid.schema.documents import read_toml

CIRCLE_RADIUS = 0.62
"""Where a round image ends, in view heights from its middle."""


@dataclass(frozen=True, slots=True)
class Center:
    """How one centre's recordings look."""

    name: str
    tint: Sequence[float] = (1.0, 1.0, 1.0)
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
    hue_deg: float = 0.0
    """By how much its camera turns all colours: from 0 towards yellow above, towards purple below."""
    lens_blur: float = 0.0
    """How far the lens spreads every point of the image, in view heights; 0 is a perfect one."""
    accent: Sequence[float] = (0.15, 0.35, 1.0)
    """Colour of marker threads, bag rims and drain lines: what a hospital buys."""
    shafts: float = 1.0
    """How bright the shafts of its instruments are."""
    rates: Mapping[str, float] = field(default_factory=dict)
    """Factors on how often each kind of artefact occurs."""


_DATA = read_toml(Path(__file__).with_suffix(".toml"))
CENTERS: dict[str, Center] = {name: Center(name, **about) for name, about in _DATA.items()}
"""Every centre by its name, from the TOML file beside this one."""


def center_named(name: str) -> Center:
    """The centre of that name.

    Raises:
        UnknownName: No such centre.
    """
    if name not in CENTERS:
        raise UnknownName("center", name, CENTERS)
    return CENTERS[name]
