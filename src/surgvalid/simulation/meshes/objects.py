"""Foreign objects in their own axes: lying in x and z about the origin, y up, in centimetres.

What is soft is a sheet or a tube that is draped on what lies below it; what is hard rests on it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from surgvalid.simulation.centers import Center
from surgvalid.simulation.meshes.materials import NAMED, OBJECTS, ORGANS, Row, changed, coloured
from surgvalid.simulation.meshes.shapes import SHAPES, WAYS, Mesh, ball, curve, joined, sheet, tube, turned, waves
from surgvalid.simulation.timelines import Draws, Floats

Made = tuple[Mesh, list[Row]]
CM = 8.0
"""Centimetres of a view height at magnification 1."""
DRAPED = frozenset(SHAPES["kinds"]["draped"])
"""Classes whose every point follows what lies below."""


def object_mesh(class_name: str, look: str, size: tuple[float, float], seed: int, center: Center) -> Made:
    """An object and the materials of its parts.

    Args:
        class_name: What it is.
        look: Its colour, or the organ of a specimen.
        size: Width and depth, in view heights.
        seed: Which one of its kind.
        center: Where it was bought.
    """
    width, depth = size[0] * CM, size[1] * CM
    return _MAKERS[class_name](look, width, depth, np.random.default_rng(seed), center)


def _hills(points: Floats, rng: Draws, length: float, octaves: int = 2) -> Floats:
    return waves(points[:, 0], points[:, 2], rng, length=length, octaves=octaves)


def _cloth(width: float, depth: float, rng: Draws, *numbers: float) -> Mesh:
    """A sheet with hills; the numbers are its cells, how high it lies, and how high and long its hills are."""
    cell, low, high, length = numbers
    mesh = sheet(width, depth, cell=cell)
    mesh.points[:, 1] = low + high * _hills(mesh.points, rng, length)
    return mesh


def _sponge(_: str, width: float, depth: float, rng: Draws, center: Center) -> Made:
    mesh = _cloth(width, depth, rng, 0.16, 0.10, 0.13, 1.7)
    points = mesh.points
    side = rng.choice([-1.0, 1.0])
    fold = (side * points[:, 0] + 0.8 * points[:, 2]) - 0.32 * (width + 0.8 * depth)  # the corner that is folded over
    over = np.maximum(fold, 0)
    normal = np.array([side, 0.8]) / np.hypot(1, 0.8)
    back = 1.9 * over / np.hypot(1, 0.8)
    points[:, 0] -= normal[0] * back
    points[:, 2] -= normal[1] * back
    points[:, 1] += 0.16 * np.minimum(over * 3, 1) + 0.05 * over
    row = changed(OBJECTS["gauze"], line=float(depth * rng.uniform(0.12, 0.3)), seed=rng.uniform(0, 30))
    row[18:21] = (np.array(center.accent) * 0.85) ** 2
    return mesh.moved(points), [row]


def _clip(look: str, width: float, _: float, rng: Draws, __: Center) -> Made:
    keys = np.array(WAYS["clip"])
    keys[:, 2] += 0.62 * width * keys[:, 3]
    polymer = look == "purple"
    mesh = tube(curve(keys[:, :3], 26), 0.115 if polymer else 0.085, sides=7, flat=0.8)
    lean = rng.normal(0, 0.16)
    mesh = mesh.moved(turned(turned(mesh.points, 0, 0.5 + lean), 1, lean))
    return mesh, [coloured(OBJECTS["plastic"], NAMED["purple"]) if polymer else OBJECTS["metal"]]


def _bag(_: str, width: float, depth: float, rng: Draws, center: Center) -> Made:
    sac = ball((width * 0.5, 0.75, depth * 0.5), rows=16, columns=26)
    points = sac.points.copy()
    neck = np.clip((points[:, 0] / (width * 0.5) - 0.35) / 0.65, 0, 1)
    points[:, 2] *= 1 - 0.35 * neck
    points[:, 1] = points[:, 1] * (1 - 0.45 * neck) + 0.7
    points[:, 1] += 0.09 * _hills(points, rng, 1.1) * (points[:, 1] > 0.3)
    angles = np.linspace(0, 2 * np.pi, 26, endpoint=False)
    ring = np.stack([np.full(26, width * 0.46), 0.52 + 0.42 * np.sin(angles), 0.30 * depth * np.cos(angles)], axis=-1)
    rim = tube(ring, 0.09, sides=7, closed=True).as_part(1)
    string = tube(curve(np.array(WAYS["string"]) * (width, 1, 1), 16), 0.05, sides=6).as_part(1)
    plastic = coloured(OBJECTS["plastic"], [255 * level for level in center.accent])
    return joined([sac.moved(points), rim, string]), [OBJECTS["foil"], plastic]


def _loop(look: str, width: float, depth: float, rng: Draws, _: Center) -> Made:
    jitter = rng.normal(0, 0.05, (8, 3)) * (1, 0.2, 1)
    mesh = tube(curve((WAYS["loop"] + jitter) * (width * 0.62, 1.0, depth * 0.75), 46), 0.085, sides=8)
    return mesh, [coloured(OBJECTS["plastic"], NAMED.get(look, NAMED["blue"]))]


def _drain(_: str, width: float, depth: float, rng: Draws, center: Center) -> Made:
    radius = max(depth * 0.45, 0.22)
    bend = rng.uniform(-0.4, 0.4)
    keys = np.array(WAYS["drain"]) * (width, 1, bend)
    keys[1:, 1] = radius
    way = curve(keys, 34)
    body = tube(way, radius, sides=12)
    holes = []
    for at in range(15, 33, 3):
        hole = ball((0.1, 0.07, 0.085), rows=5, columns=8)
        holes.append(hole.moved(hole.points + way[at] + (0, radius * 0.97, 0.06 * (-1) ** at)).as_part(1))
    row = changed(OBJECTS["plastic"], line=radius * 0.55)
    row[18:21] = np.array(center.accent) ** 2
    return joined([body, *holes]), [row, OBJECTS["hole"]]


def _needle(_: str, width: float, __: float, rng: Draws, ___: Center) -> Made:
    radius = width * 0.55
    angles = np.linspace(0.1, np.pi - 0.2, 22)
    arc = np.stack([np.cos(angles) * radius, 0.07 + 0.0 * angles, np.sin(angles) * radius - radius * 0.5], axis=-1)
    steel = tube(arc, np.linspace(0.055, 0.02, 22), sides=6)
    start = arc[0]
    steps = np.cumsum(
        np.concatenate([[[0.35, 0.0, -0.25]], rng.normal((0.28, 0, 0.0), (0.25, 0.02, 0.42), (5, 3))]), axis=0
    )
    thread = tube(curve([start, *(start + steps * (1, 0, 1))], 30), 0.032, sides=5).as_part(1)
    return joined([steel, thread]), [OBJECTS["metal"], OBJECTS["thread"]]


def _stone(_: str, width: float, __: float, rng: Draws, ___: Center) -> Made:
    mesh = ball((width * 0.5, width * 0.42, width * 0.46), rows=10, columns=14, power=0.8)
    rough = 1 + 0.06 * _hills(4 * mesh.points, rng, 2.5, 1)
    return mesh.moved(mesh.points * rough[:, None]), [OBJECTS["stone"]]


def _specimen(look: str, width: float, depth: float, rng: Draws, _: Center) -> Made:
    if look == "gallbladder":
        return pear(width, depth), [ORGANS["gallbladder"]]
    if look in ("appendix", "bowel"):
        thick = depth * (0.32 if look == "appendix" else 0.42)
        keys = np.array(WAYS["specimen"])
        keys[1, 2] = rng.uniform(0.1, 0.4)
        swell = thick * (
            1 + (0.14 * np.sin(np.linspace(0, 19, 26)) if look == "bowel" else 0.12 * np.linspace(-1, 1, 26))
        )
        mesh = tube(curve(keys * (width, 0, depth), 26), swell, sides=14)
        return mesh, [changed(ORGANS["bowel"], seed=rng.uniform(0, 9), soak=0.25)]
    mesh = ball((width * 0.5, min(width, depth) * 0.3, depth * 0.5), rows=14, columns=18, power=0.85)
    points = mesh.points * (1 + 0.16 * _hills(mesh.points, rng, 1.2))[:, None]
    row = coloured(OBJECTS["flesh"], NAMED["yellow"]) if look == "yellow" else OBJECTS["flesh"]
    return mesh.moved(points), [changed(row, soak=0.3, seed=rng.uniform(0, 9))]


def pear(length: float, width: float) -> Mesh:
    """A gallbladder: its fundus at plus half its length in x, its neck at minus half."""
    steps = np.linspace(0, 1, 22)
    belly = 0.16 + 0.84 * np.sin(np.clip(steps * 1.18, 0, 1) ** 1.35 * np.pi * 0.5)
    radii = width * 0.5 * belly * np.sqrt(np.clip((1.06 - steps) * 5, 0.02, 1))
    path: Floats = np.stack([(steps - 0.5) * length, np.zeros(22), 0.06 * length * np.sin(steps * 3)], axis=-1)
    return tube(path, radii, sides=18)


def _mesh(look: str, width: float, depth: float, rng: Draws, _: Center) -> Made:
    mesh = _cloth(width, depth, rng, 0.2, 0.07, 0.07, 2.6)
    points = mesh.points
    corner = np.abs(points[:, 0]) / width + np.abs(points[:, 2]) / depth > 0.86
    points[:, [0, 2]] *= np.where(corner, 0.9, 1.0)[:, None]
    row = coloured(changed(OBJECTS["gauze"], line=99.0), NAMED.get(look, NAMED["white"]))
    return mesh.moved(points), [row]


def _haemostat(_: str, width: float, depth: float, rng: Draws, __: Center) -> Made:
    mesh = _cloth(width, depth, rng, 0.16, 0.16, 0.10, 0.8)
    mesh.points[:, [0, 2]] *= 1 + 0.10 * _hills(mesh.points, rng, 1.0)[:, None]
    return mesh.moved(mesh.points), [changed(OBJECTS["fleece"], soak=0.22, seed=rng.uniform(0, 30))]


_MAKERS: dict[str, Callable[[str, float, float, Draws, Center], Made]] = {
    "Sponge": _sponge,
    "Clip": _clip,
    "Specimen Bag": _bag,
    "Silicone Loop": _loop,
    "External Drain": _drain,
    "Needle": _needle,
    "Gallstone": _stone,
    "Specimen": _specimen,
    "Mesh": _mesh,
    "Absorbable Hemostatic Agent": _haemostat,
}


def hung(points: Floats, grip: float) -> Floats:
    """A soft thing in a grip at its middle, as far as the jaws are closed: gathered, and hanging from them."""
    out = np.hypot(points[:, 0], points[:, 2])
    pleat = 0.30 + 0.10 * np.cos(7 * np.arctan2(points[:, 2], points[:, 0]))
    down = np.stack([points[:, 0] * pleat, -0.92 * out - 0.05, points[:, 2] * pleat], axis=-1)
    gathered: Floats = points + grip * (down - points)
    return np.round(gathered, 9)
