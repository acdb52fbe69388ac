"""Instruments, in their own axes: the tip at the origin, the shaft along z towards the port."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from surgvalid.simulation.meshes.shapes import SHAPES, WAYS, Mesh, ball, curve, joined, tube, turned
from surgvalid.simulation.timelines import Floats

SHAFT, STEEL, MARK = 0, 1, 2
"""Parts: the tube, what is bare metal, a coloured ring or a dark hole."""
SHAFT_CM = 34.0


@lru_cache(64)
def tool_mesh(tool: str, opening: float) -> Mesh:
    """An instrument whose jaws are opened so far, 0 to 1."""
    radius, jaws = SHAPES["shafts"].get(tool, 0.26), SHAPES["jaws"]
    end, ends = _ENDS[tool](opening) if tool in _ENDS else (jaws[tool][0], _pair(opening, *jaws[tool]))
    if tool == "clip applier":
        ends.append(tube(_along(np.array([1.3, 1.7, 2.2])), np.array([0.28, 0.4, 0.5]), sides=12).as_part(STEEL))
        end = 2.2
    lengths = end + (SHAFT_CM - end) * np.linspace(0, 1, 18) ** 1.5
    shaft = tube(_along(lengths), radius, sides=12).as_part(STEEL if tool == "suction" else SHAFT)
    collar = tube(_along(np.array([end - 0.05, end + 0.1, end + 0.5])), radius * 1.06, sides=12).as_part(STEEL)
    ring = tube(_along(np.array([end + 1.0, end + 1.25])), radius * 1.04, sides=12).as_part(MARK)
    return joined([shaft, collar, ring, *ends])


def _along(lengths: Floats) -> Floats:
    return np.stack([np.zeros_like(lengths), np.zeros_like(lengths), lengths], axis=-1)


def _pair(opening: float, length: float, radius: float, widest: float, bent: float, flat: float) -> list[Mesh]:
    """Two jaws about a joint one length behind the tip."""
    steps, jaws = np.linspace(0, 1, 9), []
    path = np.stack([bent * steps**2, 0.4 * steps * (1 - steps), -length * steps], axis=-1)
    jaw = tube(path, radius * (1 - 0.55 * steps), sides=8, flat=flat).as_part(STEEL)
    for side in (1, -1):
        points = jaw.points * (1, side, 1) + (0.0, side * radius * 0.42, 0.0)
        points = np.array((0.0, 0.0, length)) + turned(points, 0, side * widest * (0.06 + opening))
        jaws.append(jaw._replace(points=points, corners=jaw.corners[:, ::side]))
    return jaws


def _hook(_: float) -> tuple[float, list[Mesh]]:
    way = curve(WAYS["hook"], 18)
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


_ENDS = {"hook": _hook, "suction": _suction, "stapler": _stapler}


def pointed(mesh: Mesh, tip: Floats, port: Floats, roll: float) -> Mesh:
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
