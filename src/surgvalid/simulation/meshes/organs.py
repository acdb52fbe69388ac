"""The body of one procedure: what lies where, as meshes in centimetres; x to the right, y up, z away from the eye."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from surgvalid.simulation.meshes.materials import ORGANS, Row, changed
from surgvalid.simulation.meshes.objects import CM
from surgvalid.simulation.meshes.shapes import SHAPES, WAYS, Mesh, ball, curve, grid_corners, mesh_of, tube, waves
from surgvalid.simulation.procedure_types import ProcedureType
from surgvalid.simulation.timelines import Draws, Floats

AWAY_CM = 10.0
"""Centimetres away from the camera that a view height upwards in the plane of sites means."""


class Organ(NamedTuple):
    """One organ."""

    name: str
    mesh: Mesh
    material: Row
    carries: bool = True
    """Whether things may lie on it."""
    cut_out: bool = False
    """Whether it is gone once a specimen is there."""


class Cord(NamedTuple):
    """A structure that clips close: a tube along x."""

    name: str
    way: Floats
    radius: float

    def at(self, x: float) -> Floats:
        """The middle of the tube there."""
        return np.array([x, *(float(np.interp(x, self.way[:, 0], self.way[:, k])) for k in (1, 2))])


Cords = dict[tuple[str, str], Cord]
"""By place and name of the structure."""


class Body(NamedTuple):
    """All organs."""

    organs: tuple[Organ, ...]
    cords: Cords


def spot(site: tuple[float, float]) -> tuple[float, float]:
    """x and z of a place in the plane of sites."""
    return site[0] * CM, -site[1] * AWAY_CM


def body_of(kind: ProcedureType, rng: Draws) -> Body:
    """The body of a type of procedure."""
    organs = [_floor(kind, rng), _far_wall(rng)]
    height = _Heights(organs[0].mesh)
    cords: Cords = {}
    for rule in kind.objects:
        for number, structure in enumerate(rule.structures):
            if (rule.place, structure) not in cords:
                cords[rule.place, structure] = _cord(structure, spot(kind.sites[rule.place]), number, height, rng)
    if kind.specimen == "gallbladder":
        organs += _gallbladder(kind, cords, rng)
    loops = SHAPES["loops"]
    here = loops.get(kind.specimen, [])
    organs += [_bowel(rng, *loop) for loop in (here if kind.specimen == "gallbladder" else loops["pelvis"] + here)]
    if kind.specimen == "appendix":
        worm = tube(curve(WAYS["appendix"], 30), np.linspace(0.46, 0.34, 30), sides=14)
        organs.append(Organ("appendix", worm, ORGANS["appendix"], cut_out=True))
    if kind.specimen in ("appendix", "bowel"):
        body = ball((3.4, 2.1, 2.4), rows=22, columns=30)
        organs.append(Organ("uterus", body.moved(np.array((4.5, 1.9, 14.5)) + body.points), ORGANS["uterus"]))
    for (_, name), cord in cords.items():
        kinds = (row for row, words in _CORDS.items() if any(word in name for word in words))
        organs.append(Organ(name, tube(cord.way, cord.radius, sides=12), ORGANS[next(kinds, "duct")]))
    return Body(tuple(organs), cords)


class _Heights:
    """The height of ground that was made as a grid."""

    def __init__(self, mesh: Mesh) -> None:
        self.x, self.z = np.unique(mesh.points[:, 0]), np.unique(mesh.points[:, 2])
        self.y = mesh.points[:, 1].reshape(len(self.z), len(self.x))

    def at(self, x: float, z: float) -> float:
        column = int(np.clip(np.searchsorted(self.x, x), 1, len(self.x) - 1))
        row = int(np.clip(np.searchsorted(self.z, z), 1, len(self.z) - 1))
        return float(self.y[row - 1 : row + 1, column - 1 : column + 1].max())


def _floor(kind: ProcedureType, rng: Draws) -> Organ:
    x, z = np.linspace(-27, 27, 136), np.linspace(-15, 24, 98)
    across, away = np.meshgrid(x, z)
    height = 0.85 * waves(across, away, rng, length=8.0) + 0.30 * waves(across, away, rng, length=2.6)
    for site in kind.sites.values():
        sx, sz = spot(site)
        near = np.exp(-((across - sx) ** 2 + (away - sz) ** 2) / 14)
        height = height * (1 - 0.45 * near) - 0.5 * near
    height += 0.004 * np.maximum(np.abs(across) - 12, 0) ** 2 + 0.010 * np.maximum(away - 12, 0) ** 2
    points = np.stack([across, height, away], axis=-1).reshape(-1, 3)
    material = ORGANS["fat"] if kind.ground == "omentum" else changed(ORGANS["wall"], relief=0.12)
    return Organ(kind.ground, mesh_of(points, grid_corners(98, 136)), material)


def _far_wall(rng: Draws) -> Organ:
    angle, height = np.meshgrid(np.linspace(-2.2, 2.2, 60), np.linspace(-3, 26.5, 24))
    bulge = 1.1 * waves(angle * 14, height, rng, length=9.0)
    radius = (25 + bulge) * np.sqrt(np.clip(1 - np.maximum(height - 4, 0) ** 2 / 23**2, 0.0004, 1))
    points = np.stack([radius * np.sin(angle), height, radius * np.cos(angle) - 3], axis=-1).reshape(-1, 3)
    return Organ("abdominal wall", mesh_of(points, grid_corners(24, 60)[:, ::-1]), ORGANS["wall"], carries=False)


def _gallbladder(kind: ProcedureType, cords: Cords, rng: Draws) -> list[Organ]:
    lobe = ball((21, 5.2, 7.4), rows=44, columns=80, power=0.92)
    ripple = 1 + 0.035 * waves(lobe.points[:, 0], lobe.points[:, 1] * 2, rng, length=9.0)
    liver = mesh_of(lobe.points * ripple[:, None] + (2.5, 6.3, 11.2), lobe.corners)
    x, z = spot(kind.sites["Calot's triangle"])
    neck = cords["Calot's triangle", "cystic duct"].way[-9]
    bends = np.add(WAYS["gallbladder"], (x, 0.0, z))
    way = curve([neck, neck + np.array((0.45, 0.3, 0.05)), *bends], 40)
    steps = np.linspace(0, 1, 40)
    swell = 0.25 + 1.0 * np.clip((steps - 0.2) / 0.5, 0, 1) ** 1.2 * np.sqrt(
        1 - np.clip((steps - 0.72) / 0.285, 0, 1) ** 2
    )
    organ = tube(way, swell, sides=22)
    sick, fatty = rng.random() < 0.3, rng.random() >= 0.75
    row, lobes = ORGANS["inflamed gallbladder" if sick else "gallbladder"], ORGANS["fatty liver" if fatty else "liver"]
    return [
        Organ("liver", liver, lobes, carries=False),
        Organ("gallbladder", organ, row, carries=False, cut_out=True),
    ]


def _bowel(rng: Draws, name: str, radius: float, keys: list[list[float]]) -> Organ:
    haustra = np.sin(np.arange(70) * rng.uniform(0.75, 0.95) + rng.uniform(0, 6))
    radii = radius * (1 + 0.085 * haustra - 0.05 * haustra**2)
    mesh = tube(curve(keys, 70), radii, sides=26, flat=0.85)
    return Organ(name, mesh, changed(ORGANS["bowel"], seed=rng.uniform(0, 9)))


def _cord(name: str, place: tuple[float, float], number: int, height: _Heights, rng: Draws) -> Cord:
    x, z = place
    radius = 0.27 if any(word in name for word in ("duct", "cord", "base", "rectum", "ureter", "sac")) else 0.19
    across = np.linspace(x - 3.6, x + 2.4, 30)
    away = z - 0.35 + 0.95 * number + 0.10 * np.sin(across * 1.1 + rng.uniform(0, 6))
    ground = np.array([height.at(a, b) for a, b in zip(across, away, strict=True)])
    smooth = np.convolve(np.pad(ground, 4, mode="edge"), np.ones(9) / 9, mode="valid")
    lift = smooth + 0.42 + 0.10 * np.sin(across * 0.9 + number)
    ends = np.minimum(np.arange(30), np.arange(30)[::-1])
    lift -= 1.8 * np.clip(1 - ends / 9, 0, 1) ** 2
    way: Floats = np.stack([across, lift, away], axis=-1)
    return Cord(name, way.round(9), radius)


_CORDS = {"artery": ("artery",), "vein": ("vein", "vessel")}
"""What a structure is made of, by words in its name; all else is a duct."""
