"""Instruments, in their own axes: the tip at the origin, the shaft along z towards the port."""

from __future__ import annotations

import numpy as np

from surgvalid.simulation.meshes.shapes import Mesh, Points, ball, curve, joined, tube, turned

SHAFT, STEEL, MARK = 0, 1, 2
"""Parts: the tube, what is bare metal, a coloured ring or a dark hole."""
SHAFT_CM = 34.0
RADII = {"stapler": 0.6, "clip applier": 0.5, "suction": 0.25}
"""Shafts that are not 5 mm wide."""


def tool_mesh(tool: str, opening: float) -> Mesh:
    """An instrument whose jaws are opened so far, 0 to 1."""
    radius = RADII.get(tool, 0.26)
    end, ends = _ENDS[tool](opening)
    lengths = end + (SHAFT_CM - end) * np.linspace(0, 1, 18) ** 1.5
    shaft = tube(_along(lengths), radius, sides=12).as_part(STEEL if tool == "suction" else SHAFT)
    collar = tube(_along(np.array([end - 0.05, end + 0.1, end + 0.5])), radius * 1.06, sides=12).as_part(STEEL)
    ring = tube(_along(np.array([end + 1.0, end + 1.25])), radius * 1.04, sides=12).as_part(MARK)
    return joined([shaft, collar, ring, *ends])


def _along(lengths: Points) -> Points:
    return np.stack([np.zeros_like(lengths), np.zeros_like(lengths), lengths], axis=-1)


def _jaw(length: float, radius: float, *, bent: float = 0.0, flat: float = 0.55) -> Mesh:
    """One jaw from its joint, at z = 0, to its end at minus its length."""
    steps = np.linspace(0, 1, 9)
    path = np.stack([bent * steps**2, 0.10 * steps * (1 - steps), -length * steps], axis=-1)
    return tube(path, radius * (1 - 0.55 * steps), sides=8, flat=flat).as_part(STEEL)


def _pair(
    length: float, radius: float, opening: float, widest: float, bent: float = 0.0, flat: float = 0.55
) -> list[Mesh]:
    """Two jaws about a joint one length behind the tip."""
    jaws = []
    for side in (1.0, -1.0):
        jaw = _jaw(length, radius, bent=bent, flat=flat)
        points = jaw.points * np.array([1.0, side, 1.0]) + (0.0, side * radius * 0.42, 0.0)
        points = turned(points, 0, side * widest * (0.06 + opening))
        jaws.append(
            jaw._replace(
                points=points + np.array((0.0, 0.0, length)), corners=jaw.corners if side > 0 else jaw.corners[:, ::-1]
            )
        )
    return jaws


def _grasper(opening: float) -> tuple[float, list[Mesh]]:
    return 1.9, _pair(1.9, 0.15, opening, 0.42)


def _scissors(opening: float) -> tuple[float, list[Mesh]]:
    return 1.5, _pair(1.5, 0.12, opening, 0.5, bent=0.28, flat=0.4)


def _driver(opening: float) -> tuple[float, list[Mesh]]:
    return 1.2, _pair(1.2, 0.17, opening, 0.3, flat=0.8)


def _applier(opening: float) -> tuple[float, list[Mesh]]:
    jaws = _pair(1.5, 0.13, opening, 0.34, bent=0.1)
    throat = tube(_along(np.array([1.3, 1.7, 2.2])), np.array([0.28, 0.4, 0.5]), sides=12).as_part(STEEL)
    return 2.2, [*jaws, throat]


def _hook(_: float) -> tuple[float, list[Mesh]]:
    way = curve([(0.0, 0.45, 0.12), (0.0, 0.3, 0.0), (0.0, 0.02, 0.05), (0.0, 0.0, 0.5), (0.0, 0.0, 1.4)], 18)
    white = tube(_along(np.array([1.1, 1.7])), 0.17, sides=10).as_part(MARK)
    return 1.7, [tube(way, 0.065, sides=7).as_part(STEEL), white]


def _suction(_: float) -> tuple[float, list[Mesh]]:
    holes = []
    for place in (0.5, 0.9, 1.3):
        for angle in (0.6, 2.7, 4.6):
            hole = ball((0.075, 0.075, 0.11), rows=5, columns=7)
            at = np.array([np.cos(angle) * 0.2, np.sin(angle) * 0.2, place])
            holes.append(hole.moved(hole.points + at).as_part(MARK))
    return 0.25, [tube(_along(np.array([0.05, 0.3, 1.9])), 0.25, sides=12).as_part(STEEL), *holes]


def _stapler(opening: float) -> tuple[float, list[Mesh]]:
    parts = []
    for side in (1.0, -1.0):
        bar = ball((0.42, 0.2, 2.6), rows=9, columns=14, power=0.35).as_part(STEEL)
        points = bar.points + np.array((0.0, side * 0.26, -2.6))
        parts.append(bar.moved(turned(points, 0, side * 0.2 * opening) + np.array((0.0, 0.0, 5.2))))
    return 5.2, parts


_ENDS = {
    "grasper": _grasper,
    "hook": _hook,
    "scissors": _scissors,
    "clip applier": _applier,
    "needle driver": _driver,
    "suction": _suction,
    "stapler": _stapler,
}


def pointed(mesh: Mesh, tip: Points, port: Points, roll: float) -> Mesh:
    """The instrument with its tip at a place and its shaft through a port."""
    ahead = port - tip
    ahead = ahead / np.sqrt((ahead**2).sum())
    across = np.cross((0.0, 1.0, 0.0), ahead)
    across = across / np.sqrt((across**2).sum())
    upward = np.cross(ahead, across)
    axes = np.array(
        [across * np.cos(roll) + upward * np.sin(roll), upward * np.cos(roll) - across * np.sin(roll), ahead]
    )
    return mesh.moved(tip + mesh.points @ axes)
