"""The situs behind everything: one large picture per procedure, painted once and looked at through the camera."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter, zoom

from surgeval.simulation.camera import WORLD_HALF
from surgeval.simulation.paint import Colour, Field, cover, flat, graded, lay, noise
from surgeval.simulation.scene import Scene

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
