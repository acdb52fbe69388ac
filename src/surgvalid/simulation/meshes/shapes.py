"""Triangles, and the few ways in which everything in a scene is made of them: tubes, sheets, balls, grids."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from surgvalid.schema.documents import read_toml
from surgvalid.simulation.timelines import Draws, Floats, Ints

Corners = Ints
SHAPES = read_toml(Path(__file__).with_suffix(".toml"))
"""What has a shape of its own, from the TOML file beside this one."""
WAYS = SHAPES["ways"]


class Mesh(NamedTuple):
    """Triangles with a part for each; `rest` is where texture hangs, so it moves with what it is painted on."""

    points: Floats
    corners: Corners
    parts: Ints
    """By triangle, a row of the materials of its instance."""
    rest: Floats

    def moved(self, points: Floats) -> Mesh:
        """The same triangles elsewhere, rounded; texture stays where it hangs."""
        return self._replace(points=np.round(points, 9))

    def as_part(self, number: int) -> Mesh:
        """All of it as another part."""
        return self._replace(parts=np.full(len(self.corners), number, np.int32))


def mesh_of(points: Floats, corners: NDArray[np.integer], rest: Floats | None = None) -> Mesh:
    """A mesh of one part; what sines and cosines made is rounded, so that no processor's last digit counts."""
    points = np.asarray(points, dtype=np.float64).round(9)
    hung = points.copy() if rest is None else np.asarray(rest, dtype=np.float64).round(9)
    return Mesh(points, np.asarray(corners, dtype=np.int32).reshape(-1, 3), np.zeros(len(corners), np.int32), hung)


def joined(meshes: Sequence[Mesh]) -> Mesh:
    """Several meshes as one."""
    starts = np.cumsum([0, *(len(mesh.points) for mesh in meshes[:-1])])
    corners = [mesh.corners + np.int32(start) for mesh, start in zip(meshes, starts, strict=True)]
    return Mesh(
        np.concatenate([mesh.points for mesh in meshes]),
        np.concatenate(corners),
        np.concatenate([mesh.parts for mesh in meshes]),
        np.concatenate([mesh.rest for mesh in meshes]),
    )


def grid_corners(rows: int, columns: int, *, around: bool = False) -> Corners:
    """Triangles of a grid of points in reading order; `around` joins the last column to the first."""
    row, column = np.meshgrid(np.arange(rows - 1), np.arange(columns if around else columns - 1), indexing="ij")
    after = (column + 1) % columns
    a, b = row * columns + column, row * columns + after
    c, d = a + columns, b + columns
    return np.stack([np.stack([a, c, b], -1), np.stack([b, c, d], -1)], 2).reshape(-1, 3).astype(np.int32)


def tube(path: Floats, radius: float | Floats, *, sides: int = 10, closed: bool = False, flat: float = 1.0) -> Mesh:
    """A tube along a path, with round caps where it ends; texture lies along and around it.

    Args:
        path: Rows of points.
        radius: One for all, or one for each point.
        sides: Corners of its section.
        closed: Whether the path comes back to where it starts.
        flat: The section's height over its width.
    """
    path = np.asarray(path, dtype=np.float64)
    radii = np.broadcast_to(np.asarray(radius, dtype=np.float64), (len(path),))
    if not closed:
        along = np.gradient(path, axis=0)
        first, last = (_unit(along[at]) for at in (0, -1))
        head = [path[0] - first * radii[0] * out for out in (0.9, 0.6)]
        tail = [path[-1] + last * radii[-1] * out for out in (0.6, 0.9)]
        path = np.concatenate([head, path, tail])
        radii = np.concatenate([radii[:1] * (0.02, 0.7), radii, radii[-1:] * (0.7, 0.02)])
    before = np.roll(path, 1, axis=0) if closed else np.concatenate([path[:1], path[:-1]])
    after = np.roll(path, -1, axis=0) if closed else np.concatenate([path[1:], path[-1:]])
    along = _unit(after - before)
    across = np.empty_like(path)
    across[0] = _unit(np.cross(along[0], (0.0, 1.0, 0.0) if abs(along[0][1]) < 0.9 else (1.0, 0.0, 0.0)))
    for at in range(1, len(path)):
        turned = across[at - 1] - along[at] * (across[at - 1] @ along[at])
        across[at] = _unit(turned)
    upward = np.cross(across, along)
    angles = np.linspace(0, 2 * np.pi, sides, endpoint=False)
    ring = (
        np.cos(angles)[None, :, None] * across[:, None, :] + flat * np.sin(angles)[None, :, None] * upward[:, None, :]
    )
    points = path[:, None, :] + ring * radii[:, None, None]
    corners = grid_corners(len(path) + closed, sides, around=True) % (len(path) * sides)
    length = np.concatenate([[0.0], np.cumsum(np.sqrt(((path[1:] - path[:-1]) ** 2).sum(axis=1)))])
    unrolled = np.stack(
        [
            np.broadcast_to(length[:, None], points.shape[:2]),
            np.cos(angles)[None, :] * radii[:, None],
            np.sin(angles)[None, :] * radii[:, None],
        ],
        axis=-1,
    )
    return mesh_of(points.reshape(-1, 3), corners, unrolled.reshape(-1, 3))


def ball(radii: Sequence[float], *, rows: int = 14, columns: int = 20, power: float = 1.0) -> Mesh:
    """An ellipsoid about the origin; a power below 1 makes it boxy."""
    polar, around = np.linspace(0, np.pi, rows), np.linspace(0, 2 * np.pi, columns, endpoint=False)
    sine, cosine = np.sin(polar), np.cos(polar)
    x = sine[:, None] * _bent(np.cos(around), power)[None, :]
    z = sine[:, None] * _bent(np.sin(around), power)[None, :]
    y = np.broadcast_to(_bent(cosine, power)[:, None], x.shape)
    points = np.stack([x, y, z], axis=-1).reshape(-1, 3) * np.asarray(radii)
    return mesh_of(points, grid_corners(rows, columns, around=True)[:, ::-1])


def sheet(width: float, depth: float, *, cell: float = 0.25) -> Mesh:
    """A flat piece around the origin, lying in x and z."""
    columns, rows = max(round(width / cell), 3) + 1, max(round(depth / cell), 3) + 1
    z, x = np.meshgrid(
        np.linspace(-depth / 2, depth / 2, rows), np.linspace(-width / 2, width / 2, columns), indexing="ij"
    )
    points = np.stack([x, np.zeros_like(x), z], axis=-1).reshape(-1, 3)
    return mesh_of(points, grid_corners(rows, columns))


def turned(points: Floats, axis: int, angle: float) -> Floats:
    """Floats turned about one of the axes."""
    cos, sin = np.cos(angle), np.sin(angle)
    first, second = [k for k in range(3) if k != axis]
    out = points.copy()
    out[..., first] = points[..., first] * cos - points[..., second] * sin
    out[..., second] = points[..., first] * sin + points[..., second] * cos
    return out


def curve(keys: ArrayLike, count: int) -> Floats:
    """A smooth way through key points."""
    points = np.asarray(keys, dtype=np.float64)
    padded = np.concatenate([2 * points[:1] - points[1:2], points, 2 * points[-1:] - points[-2:-1]])
    where = np.linspace(0, len(points) - 1, count)
    at = np.minimum(where.astype(int), len(points) - 2)
    t = (where - at)[:, None]
    p0, p1, p2, p3 = (padded[at + k] for k in range(4))
    square, cube = (2 * p0 - 5 * p1 + 4 * p2 - p3) * t**2, (3 * p1 - p0 - 3 * p2 + p3) * t**3
    return np.asarray(0.5 * (2 * p1 + (p2 - p0) * t + square + cube))


def waves(x: Floats, z: Floats, rng: Draws, *, length: float, octaves: int = 2) -> Floats:
    """A random relief of about unit height, with hills of about that length."""
    height = np.zeros(np.broadcast(x, z).shape)
    for octave in range(octaves):
        for _ in range(5):
            angle, phase = rng.uniform(0, 2 * np.pi, 2)
            scale = 2 * np.pi / length * 2**octave * rng.uniform(0.7, 1.3)
            height = height + np.sin((x * np.cos(angle) + z * np.sin(angle)) * scale + phase) * 0.32 / 2**octave
    return np.asarray(height)


def _unit(vectors: Floats) -> Floats:
    length = np.sqrt((vectors**2).sum(axis=-1, keepdims=True))
    return np.asarray(vectors / np.maximum(length, 1e-12))


def _bent(values: Floats, power: float) -> Floats:
    return np.sign(values) * np.abs(values) ** power
