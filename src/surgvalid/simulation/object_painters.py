"""How the situs and each class of foreign object are painted: schematic, but told apart at a glance.

Every painter gets coordinates along and across the object in pixels, its half width and half height, its look
(colour or kind) and a seed, and returns colours and opacity. The situs is one large image per procedure, painted once
and looked at through the camera.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter, zoom

from surgvalid.simulation.camera import WORLD_HALF
from surgvalid.simulation.paint import Colour, Field, Paint, cover, ellipse, flat, graded, lay, noise, rounded, segment
from surgvalid.simulation.scene import Scene

_ORGANS: Mapping[str, Colour] = {
    "liver": (0.46, 0.17, 0.13),
    "fat": (0.86, 0.68, 0.34),
    "bowel": (0.86, 0.54, 0.48),
    "wall": (0.78, 0.42, 0.38),
    "gallbladder": (0.46, 0.26, 0.16),
    "vessel": (0.84, 0.62, 0.36),
}


def paint_tissue(scene: Scene, pixels_per_unit: float) -> NDArray[np.uint32]:
    """The situs as packed pixels (red in the lowest byte), `pixels_per_unit` per view height.

    Painted at half the size and enlarged: tissue is soft.
    """
    scale = pixels_per_unit / 2
    height, width = round(2 * WORLD_HALF[1] * scale), round(2 * WORLD_HALF[0] * scale)
    seed = scene.seed * 1000 + sum(map(ord, scene.video))
    rows = (np.arange(height, dtype=np.float32)[:, None] / scale) - WORLD_HALF[1]
    columns = (np.arange(width, dtype=np.float32)[None, :] / scale) - WORLD_HALF[0]
    x, y = np.broadcast_to(columns, (height, width)), np.broadcast_to(rows, (height, width))
    rgb = _organs(scene, x, y, seed, scale)
    _vessels(rgb, seed, scale)
    for site, organ in zip(scene.kind.sites.values(), scene.kind.organs, strict=True):
        if organ == "vessel":
            _tube(rgb, x, y, site)
    rgb *= (
        1
        + 0.22 * noise((height, width), seed + 9, 0.10 * scale)
        + 0.07 * noise((height, width), seed + 8, 0.015 * scale)
    )[..., None]
    _relief(rgb, seed, scale)
    if scene.center.sharpness < 1:
        soft = (1 - scene.center.sharpness) * 0.03 * scale
        rgb = np.asarray(gaussian_filter(rgb, (soft, soft, 0)), dtype=np.float32)
    enlarged = zoom(graded(np.clip(rgb, 0, 1), scene.center), (2, 2, 1), order=1)
    channels = np.zeros((*enlarged.shape[:2], 4), dtype=np.uint8)
    channels[..., :3] = np.clip(enlarged * 255, 0, 255)
    return np.ascontiguousarray(channels).view(np.uint32)[..., 0]


def _relief(rgb: Field, seed: int, scale: float) -> None:
    """Folds lit from the upper left, with wet glints on the slopes that face the lamp."""
    shape = rgb.shape[:2]
    height = noise(shape, seed + 40, 0.09 * scale) + 0.35 * noise(shape, seed + 41, 0.03 * scale)
    down, right = np.gradient(height)
    facing = (down + 0.7 * right) * 0.05 * scale
    rgb *= np.clip(1 + 0.9 * facing, 0.55, 1.5)[..., None]
    glint = np.clip(facing * 2.4 - 1.0, 0, 1) * np.clip(noise(shape, seed + 42, 0.02 * scale) + 0.3, 0, 1)
    lay(rgb, (1.0, 0.97, 0.93), np.asarray(0.85 * glint, dtype=np.float32))


def _organs(scene: Scene, x: Field, y: Field, seed: int, scale: float) -> Field:
    """Colours that run into each other, each organ around its site."""
    shape = x.shape
    warp_x, warp_y = (0.22 * noise(shape, seed + k, 0.25 * scale) for k in (1, 2))
    total = np.full(shape, 0.25, dtype=np.float32)
    rgb = flat(shape, (0.74, 0.36, 0.32)) * 0.25
    for site, organ in zip(scene.kind.sites.values(), scene.kind.organs, strict=True):
        weight = np.exp(-(((x - site[0] + warp_x) / 0.5) ** 2 + ((y - site[1] + warp_y) / 0.38) ** 2) * 1.6)
        rgb += weight[..., None] * np.asarray(_ORGANS[organ], dtype=np.float32)
        total += weight
    rgb /= total[..., None]
    lumps = noise(shape, seed + 4, 0.06 * scale)
    yellow = np.clip(rgb[..., 1] * 1.9 - 0.85, 0, 1)
    rgb *= (1 + 0.35 * lumps * yellow)[..., None]
    return np.asarray(rgb, dtype=np.float32)


def _vessels(rgb: Field, seed: int, scale: float) -> None:
    """Fine red lines along the level lines of smooth noise."""
    for k, (coarse, width) in enumerate(((0.22, 0.035), (0.12, 0.03))):
        level = noise(rgb.shape[:2], seed + 20 + k, coarse * scale)
        fade = 0.28 + 0.2 * noise(rgb.shape[:2], seed + 30 + k, 0.3 * scale)
        lay(rgb, (0.50, 0.08, 0.10), np.asarray(fade, np.float32) * cover((np.abs(level) - width) * 30))


def _tube(rgb: Field, x: Field, y: Field, site: tuple[float, float]) -> None:
    """A pale duct through the site, on which clips are put."""
    across = y - site[1] - 0.012 * np.sin((x - site[0]) * 7)
    near = np.exp(-(((x - site[0]) / 0.55) ** 4))
    inside = (np.abs(across) < 0.052) * near
    shade = np.clip(1.05 - (across / 0.055) ** 2 * 0.45, 0, 1.1)
    tone = np.asarray((0.90, 0.74, 0.56), dtype=np.float32) * shade[..., None]
    lay(rgb, np.asarray(tone, dtype=np.float32), np.asarray(0.9 * inside, dtype=np.float32))


Painter = Callable[[Field, Field, float, float, str, int], Paint]

_TONES: Mapping[str, Colour] = {
    "blue": (0.12, 0.42, 0.95),
    "red": (0.92, 0.10, 0.16),
    "yellow": (0.98, 0.85, 0.10),
    "white": (0.95, 0.95, 0.93),
    "silver": (0.86, 0.88, 0.92),
    "purple": (0.55, 0.28, 0.85),
}


def paint_sponge(x: Field, y: Field, a: float, b: float, look: str, seed: int) -> Paint:
    """A woven white cloth with a blue marker thread; red-brown where it is soaked."""
    wave = 0.04 * a * np.sin(x * 6.0 / a + seed % 7) + 0.03 * a * np.sin(y * 9.0 / a)
    shape = rounded(x, y + wave, 0.96 * a, 0.92 * b, 0.25 * b)
    rgb = flat(x.shape, (0.96, 0.96, 0.94))
    pitch = max(a / 9, 2.2)
    weave = 0.5 + 0.5 * np.sin(2 * np.pi * x / pitch) * np.sin(2 * np.pi * y / pitch)
    rgb *= (0.86 + 0.14 * weave)[..., None]
    rgb *= (1 - 0.22 * cover(np.abs(y - 0.45 * x + 0.2 * b) - 0.05 * a))[..., None]
    lay(rgb, (0.10, 0.30, 0.85), cover(np.abs(y + wave - 0.38 * b) - max(0.07 * b, 1.0)))
    if look == "red-brown":
        wet = np.clip(0.75 + 0.6 * noise(x.shape, seed, 0.3 * a), 0.25, 0.95)
        lay(rgb, (0.55, 0.13, 0.09), (wet * 0.85).astype(np.float32))
    return Paint(_edged(rgb, shape), cover(shape))


def paint_clip(x: Field, y: Field, a: float, b: float, look: str, _seed: int) -> Paint:
    """Two legs joined at one end, bright, with a dark gap and a dark rim."""
    leg = 0.62 * b
    legs = np.minimum(
        segment(x, y, (-0.72 * a, -0.58 * b), (0.8 * a, -0.42 * b), leg),
        segment(x, y, (-0.72 * a, 0.58 * b), (0.8 * a, 0.42 * b), leg),
    )
    shape = np.minimum(legs, segment(x, y, (-0.74 * a, -0.58 * b), (-0.74 * a, 0.58 * b), leg))
    rgb = flat(x.shape, (0.08, 0.07, 0.08))
    lay(rgb, _TONES.get(look, _TONES["silver"]), cover(shape + 0.4))
    lay(rgb, (1.0, 1.0, 1.0), 0.8 * cover(shape + 0.45 * leg))
    return Paint(rgb, cover(shape - 0.9))


def paint_bag(x: Field, y: Field, a: float, b: float, _look: str, seed: int) -> Paint:
    """A clear pouch with creases, and a dark blue rim around its mouth."""
    body = ellipse(x, y - 0.08 * b, 0.98 * a, 0.9 * b)
    mouth = ellipse(x, y + 0.5 * b, 0.78 * a, 0.4 * b)
    rgb = flat(x.shape, (0.72, 0.86, 0.95))
    creases = noise(x.shape, seed, 0.1 * a)
    rgb += (0.28 * np.sin(6 * creases))[..., None]
    lay(rgb, (0.10, 0.12, 0.20), 0.75 * cover(mouth))
    rim = np.abs(mouth) - 0.085 * b
    lay(rgb, (0.05, 0.16, 0.62), cover(rim))
    lay(rgb, (0.95, 0.98, 1.0), cover(np.abs(body) - 0.03 * b) * 0.8)
    alpha = np.maximum(0.66 * cover(body), cover(rim))
    return Paint(np.clip(rgb, 0, 1), np.maximum(alpha, 0.85 * cover(np.abs(body) - 0.03 * b)))


def paint_loop(x: Field, y: Field, a: float, b: float, look: str, _seed: int) -> Paint:
    """A closed band of one strong colour with two loose ends."""
    band = max(0.2 * b, 2.2)
    ring = np.abs(ellipse(x + 0.12 * a, y, 0.78 * a, 0.82 * b)) - band / 2
    ends = np.minimum(
        segment(x, y, (0.5 * a, 0.2 * b), (0.95 * a, 0.75 * b), band),
        segment(x, y, (0.5 * a, -0.2 * b), (0.95 * a, -0.75 * b), band),
    )
    shape = np.minimum(ring, ends)
    rgb = flat(x.shape, _TONES.get(look, _TONES["blue"]))
    lay(rgb, (1.0, 1.0, 1.0), 0.55 * cover(shape + 0.38 * band))
    return Paint(_edged(rgb, shape, 0.55), cover(shape))


def paint_drain(x: Field, y: Field, a: float, b: float, _look: str, _seed: int) -> Paint:
    """A long pale tube with a row of holes and a blue line."""
    bend = 0.25 * b * np.sin(x * 2.2 / a)
    shape = rounded(x, y + bend, 0.98 * a, 0.68 * b, 0.6 * b)
    rgb = flat(x.shape, (0.93, 0.92, 0.86))
    rgb *= (1.02 - 0.45 * ((y + bend) / (0.75 * b)) ** 2)[..., None]
    lay(rgb, (0.15, 0.35, 0.85), cover(np.abs(y + bend + 0.36 * b) - max(0.07 * b, 0.8)))
    pitch = 0.22 * a
    hole = np.hypot((x + a) % pitch - pitch / 2, y + bend - 0.12 * b) - 0.24 * b
    lay(rgb, (0.20, 0.05, 0.06), cover(hole) * (x < 0.55 * a))
    return Paint(_edged(np.clip(rgb, 0, 1), shape), 0.96 * cover(shape))


def paint_needle(x: Field, y: Field, a: float, b: float, _look: str, _seed: int) -> Paint:
    """A bright curved wire, thicker at one end, with the beginning of a violet thread."""
    middle = 0.78 * b
    radius = min(a, 1.72 * b) * 0.93
    thick = np.clip(1.5 + 0.05 * a * (1.2 + x / a), 1.6, None)
    arc = np.abs(np.hypot(x * (radius / (0.93 * a)), y - middle) - radius) - thick / 2
    wire = np.where(y < middle, arc, np.hypot(np.abs(x) - 0.93 * a, y - middle) - thick / 2).astype(np.float32)
    thread = segment(x, y, (0.9 * a, middle), (1.25 * a, middle + 0.7 * b), max(0.035 * a, 1.0))
    rgb = flat(x.shape, (0.05, 0.05, 0.07))
    lay(rgb, (0.92, 0.94, 0.98), cover(wire + 0.3))
    lay(rgb, (0.42, 0.10, 0.60), cover(thread))
    return Paint(rgb, np.maximum(cover(wire - 0.8), cover(thread)))


def paint_gallstone(x: Field, y: Field, a: float, b: float, _look: str, seed: int) -> Paint:
    """A round yellow-brown stone with a highlight."""
    lumps = noise(x.shape, seed, max(0.35 * a, 1.0))
    shape = ellipse(x, y, 0.95 * a, 0.95 * b) + 0.06 * a * lumps
    rgb = flat(x.shape, (0.86, 0.66, 0.20))
    rgb *= (0.78 + 0.3 * np.clip(-(x + y) / (1.6 * a), -1, 1) + 0.16 * lumps)[..., None]
    lay(rgb, (1.0, 0.98, 0.85), cover(np.hypot(x + 0.35 * a, y + 0.35 * b) - 0.2 * a))
    return Paint(_edged(np.clip(rgb, 0, 1), shape, 0.45), cover(shape))


def paint_specimen(x: Field, y: Field, a: float, b: float, look: str, seed: int) -> Paint:
    """What was cut out: a green gallbladder, a worm-like appendix, a piece of bowel, or fatty tissue."""
    painter = {"gallbladder": _gallbladder, "appendix": _appendix, "bowel": _bowel}.get(look, _tissue)
    rgb, shape = painter(x, y, a, b, seed)
    char = cover(noise(x.shape, seed + 1, 0.14 * a) * 4 + 3.2)
    lay(rgb, (0.14, 0.08, 0.06), 0.75 * char)
    return Paint(_edged(np.clip(rgb, 0, 1), shape, 0.5), cover(shape))


def _gallbladder(x: Field, y: Field, a: float, b: float, seed: int) -> tuple[Field, Field]:
    narrow = np.clip(0.34 + 0.62 * (x / a + 1) / 2, 0.2, 1.0)
    shape = ellipse(x, y / narrow, 0.97 * a, 0.97 * b) * narrow
    rgb = flat(x.shape, (0.36, 0.52, 0.20))
    rgb *= (0.95 - 0.5 * (y / b) ** 2 + 0.2 * noise(x.shape, seed, 0.2 * a))[..., None]
    lay(rgb, (0.85, 0.95, 0.65), 0.6 * cover(ellipse(x - 0.35 * a, y + 0.35 * b, 0.28 * a, 0.12 * b)))
    return rgb, shape


def _appendix(x: Field, y: Field, a: float, b: float, seed: int) -> tuple[Field, Field]:
    bend = 0.45 * b * np.sin(x * 2.6 / a)
    shape = segment(x, y + bend, (-0.88 * a, 0.0), (0.85 * a, 0.0), 1.0 * b)
    rgb = flat(x.shape, (0.93, 0.55, 0.52))
    rgb *= (1.0 - 0.35 * ((y + bend) / (0.6 * b)) ** 2 + 0.12 * noise(x.shape, seed, 0.08 * a))[..., None]
    lay(rgb, (0.75, 0.12, 0.14), 0.6 * cover(np.abs(y + bend - 0.15 * b + 0.1 * b * np.sin(9 * x / a)) - 0.05 * b))
    return rgb, shape


def _bowel(x: Field, y: Field, a: float, b: float, seed: int) -> tuple[Field, Field]:
    bulge = 0.86 * b * (0.88 + 0.12 * np.abs(np.cos(4.5 * x / a)))
    shape = np.maximum(np.abs(y) - bulge, np.abs(x) - 0.97 * a).astype(np.float32)
    rgb = flat(x.shape, (0.90, 0.62, 0.55))
    rgb *= (1.04 - 0.42 * (y / b) ** 2 - 0.18 * cover(np.abs(np.sin(4.5 * x / a)) * 20 - 2.5))[..., None]
    fat = cover(noise(x.shape, seed, 0.1 * a) * 6 + 1.5) * (y > 0.1 * b)
    lay(rgb, (0.95, 0.80, 0.38), 0.9 * fat)
    lay(rgb, (0.62, 0.10, 0.12), cover(np.abs(np.abs(x) - 0.93 * a) - 0.03 * a))
    return rgb, shape


def _tissue(x: Field, y: Field, a: float, b: float, seed: int) -> tuple[Field, Field]:
    lumps = noise(x.shape, seed, 0.22 * a)
    shape = ellipse(x, y, 0.9 * a, 0.9 * b) + 0.12 * a * lumps
    rgb = flat(x.shape, (0.95, 0.80, 0.42))
    rgb *= (0.9 + 0.25 * lumps - 0.15 * (y / b))[..., None]
    lay(rgb, (0.75, 0.15, 0.13), 0.7 * cover(noise(x.shape, seed + 5, 0.1 * a) * 5 + 2.5))
    return rgb, shape


def paint_mesh(x: Field, y: Field, a: float, b: float, look: str, _seed: int) -> Paint:
    """A see-through lattice with a border."""
    shape = rounded(x, y, 0.98 * a, 0.98 * b, 0.3 * b)
    pitch = max(0.105 * a, 5.0)
    lines = np.minimum(np.abs((x + y) % pitch - pitch / 2), np.abs((x - y) % pitch - pitch / 2))
    threads = cover(lines - 0.11 * pitch)
    border = cover(np.abs(shape + 0.02 * a) - 0.025 * a)
    tone = (0.60, 0.78, 0.98) if look == "blue" else (0.97, 0.97, 0.95)
    rgb = flat(x.shape, tone)
    alpha = cover(shape) * np.maximum(np.maximum(0.94 * threads, 0.16), border)
    return Paint(rgb, np.asarray(alpha, dtype=np.float32))


def paint_agent(x: Field, y: Field, a: float, b: float, _look: str, seed: int) -> Paint:
    """A ragged, fluffy beige pad with bloody fringes."""
    ragged = noise(x.shape, seed, max(0.1 * a, 1.0))
    shape = rounded(x, y, 0.92 * a, 0.9 * b, 0.45 * b) + 0.08 * a * ragged
    rgb = flat(x.shape, (0.96, 0.90, 0.72))
    fluff = noise(x.shape, seed + 3, max(0.05 * a, 0.7))
    rgb *= (0.88 + 0.12 * fluff + 0.10 * np.sin(3 * ragged + 2.5 * x / a))[..., None]
    lay(rgb, (0.80, 0.36, 0.30), np.clip(1 + shape / (0.35 * b), 0, 1) * 0.7)
    return Paint(np.clip(rgb, 0, 1), 0.97 * cover(shape))


def _edged(rgb: Field, shape: Field, depth: float = 0.35) -> Field:
    """Darker along the edge, so that the object stands out from what lies behind."""
    return np.asarray(rgb * (1 - depth * cover(np.abs(shape + 0.6) - 1.0))[..., None], dtype=np.float32)


PAINTERS: Mapping[str, Painter] = {
    "Sponge": paint_sponge,
    "Clip": paint_clip,
    "Specimen Bag": paint_bag,
    "Silicone Loop": paint_loop,
    "External Drain": paint_drain,
    "Needle": paint_needle,
    "Gallstone": paint_gallstone,
    "Specimen": paint_specimen,
    "Mesh": paint_mesh,
    "Absorbable Hemostatic Agent": paint_agent,
}
"""One painter per class."""
