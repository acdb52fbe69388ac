"""A z-buffer in whole numbers: which triangle lies at every sample, and which one would if its instance were not there.

A pixel has two by two samples. Vertices are snapped to sixteenths of a sample, edge functions are exact integers, a
sample on the edge between two triangles belongs to one of them, and of equal depths the lower triangle counts. So
the buffers depend on neither processor nor compiler. Besides the nearest triangle, the nearest of *another* instance is
kept wherever a movable one is in front: the scene without that instance, for its contrast, comes from the same walk.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from surgvalid.simulation.render.lens import Lens
from surgvalid.simulation.timelines import Floats, Ints

SIDE = 2
"""Samples along each side of a pixel."""
SHIFT = 4
STEPS = 1 << SHIFT
"""Places a vertex may have along a sample."""
NEAREST_CM = 0.4
"""What is nearer to the lens is not drawn."""
NOTHING = -1


class Samples(NamedTuple):
    """What a z-buffer holds: by sample, the inverse depth and the number of a triangle, or `NOTHING`."""

    near: Floats
    front: Ints
    far: Floats
    """Inverse depth of what lies behind the front's instance."""
    behind: Ints

    @classmethod
    def empty(cls, width_px: int, height_px: int) -> Samples:
        """Buffers for an image of that size."""
        shape = height_px * SIDE, width_px * SIDE
        return cls(
            np.zeros(shape), np.full(shape, NOTHING, np.int32), np.zeros(shape), np.full(shape, NOTHING, np.int32)
        )

    def clear(self) -> None:
        """Forget everything."""
        self.near[:], self.far[:] = 0, 0
        self.front[:], self.behind[:] = NOTHING, NOTHING


def seen_through(lens: Lens, vertices: Floats) -> tuple[Floats, NDArray[np.int64], Floats]:
    """Vertices in the lens's own axes, snapped to its samples, and their inverse depth (0: too near)."""
    local = np.empty_like(vertices)
    places = np.empty((len(vertices), 2), dtype=np.int64)
    inverse = np.empty(len(vertices))
    _project(vertices, lens.eye, lens.axes, lens.focal_px, lens.width_px, lens.height_px, local, places, inverse)
    return local, places, inverse


@njit(cache=True)
def dot(a, b):  # type: ignore[no-untyped-def]
    """The scalar product of two directions."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@njit(cache=True)
def plus(a, share, b):  # type: ignore[no-untyped-def]
    """A place, and a share of another."""
    return a[0] + share * b[0], a[1] + share * b[1], a[2] + share * b[2]


@njit(cache=True)
def scaled(a, share):  # type: ignore[no-untyped-def]
    """A direction, longer or shorter."""
    return a[0] * share, a[1] * share, a[2] * share


@njit(cache=True)
def _project(vertices, eye, axes, focal, width, height, local, places, inverse):  # type: ignore[no-untyped-def]
    for i in range(len(vertices)):
        away = plus(vertices[i], -1.0, eye)
        for k in range(3):
            local[i, k] = dot(axes[k], away)
        depth = local[i, 2]
        inverse[i] = 0.0
        if depth > NEAREST_CM:
            inverse[i] = 1.0 / depth
            across = width * 0.5 + focal * local[i, 0] / depth
            down = height * 0.5 + focal * local[i, 1] / depth
            if abs(across) > 1e6 or abs(down) > 1e6:
                inverse[i] = 0.0
            else:
                places[i, 0] = np.int64(np.floor(across * SIDE * STEPS + 0.5))
                places[i, 1] = np.int64(np.floor(down * SIDE * STEPS + 0.5))


@njit(cache=True)
def fill(triangles, owner, closed, movable, places, inverse, window, near, front, far, behind):  # type: ignore[no-untyped-def]
    """Lay triangles into the buffers, in the order of their numbers.

    `owner` is the instance of a triangle, `closed` whether its back is never seen, `movable` the first of those whose
    absence is asked for, `window` the samples (left, top, right, bottom) that are filled.
    """
    half = STEPS // 2
    for t in range(len(triangles)):
        a, b, c = triangles[t, 0], triangles[t, 1], triangles[t, 2]
        if inverse[a] == 0 or inverse[b] == 0 or inverse[c] == 0:
            continue
        ax, ay, bx, by = places[a, 0], places[a, 1], places[b, 0], places[b, 1]
        cx, cy = places[c, 0], places[c, 1]
        left = max((min(ax, bx, cx) - half + STEPS - 1) >> SHIFT, window[0])
        right = min((max(ax, bx, cx) - half) >> SHIFT, window[2] - 1)
        if left > right:
            continue
        top = max((min(ay, by, cy) - half + STEPS - 1) >> SHIFT, window[1])
        bottom = min((max(ay, by, cy) - half) >> SHIFT, window[3] - 1)
        if top > bottom:
            continue
        area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
        if area == 0:
            continue
        if area < 0:
            if closed[t]:
                continue
            area = -area
            b, c = c, b
            bx, by, cx, cy = cx, cy, bx, by
        ux, uy, vx, vy, wx, wy = cx - bx, cy - by, ax - cx, ay - cy, bx - ax, by - ay
        # an edge belongs to the triangle on one side of it only
        u_bias = 0 if (uy < 0 or (uy == 0 and ux > 0)) else 1
        v_bias = 0 if (vy < 0 or (vy == 0 and vx > 0)) else 1
        w_bias = 0 if (wy < 0 or (wy == 0 and wx > 0)) else 1
        share = 1.0 / area
        ia, ib, ic = inverse[a] * share, inverse[b] * share, inverse[c] * share
        slope = -(uy * ia + vy * ib + wy * ic) * STEPS
        mine = owner[t]
        for row in range(top, bottom + 1):
            py = row * STEPS + half
            px = left * STEPS + half
            u = ux * (py - by) - uy * (px - bx)
            v = vx * (py - cy) - vy * (px - cx)
            w = wx * (py - ay) - wy * (px - ax)
            start, inside = u * ia + v * ib + w * ic, False
            for column in range(left, right + 1):
                if u >= u_bias and v >= v_bias and w >= w_bias:
                    inside = True
                    here = start + (column - left) * slope
                    was = front[row, column]
                    if here > near[row, column]:
                        if was >= 0 and owner[was] != mine:
                            far[row, column] = near[row, column]
                            behind[row, column] = was
                        near[row, column] = here
                        front[row, column] = t
                    elif owner[was] != mine and owner[was] >= movable and here > far[row, column]:
                        far[row, column] = here
                        behind[row, column] = t
                elif inside:
                    break
                u -= uy * STEPS
                v -= vy * STEPS
                w -= wy * STEPS


@njit(cache=True)
def normals_of(vertices, triangles, normals):  # type: ignore[no-untyped-def]
    """Write the mean normal of every vertex; flat faces count by their area."""
    normals[:] = 0
    for t in range(len(triangles)):
        a, b, c = triangles[t, 0], triangles[t, 1], triangles[t, 2]
        p, q = plus(vertices[b], -1.0, vertices[a]), plus(vertices[c], -1.0, vertices[a])
        normal = p[1] * q[2] - p[2] * q[1], p[2] * q[0] - p[0] * q[2], p[0] * q[1] - p[1] * q[0]
        for corner in (a, b, c):
            for k in range(3):
                normals[corner, k] += normal[k]
    for i in range(len(normals)):
        length = np.sqrt(dot(normals[i], normals[i]))
        if length > 0:
            normals[i] /= length


@njit(cache=True)
def take_out(front, near, owner, movable, labels, behind, far):  # type: ignore[no-untyped-def]
    """Put what lies behind into the samples of movable things, at each pixel those of the thing that it shows."""
    for y in range(front.shape[0]):
        for x in range(front.shape[1]):
            t = front[y, x]
            if t >= 0 and owner[t] >= movable and owner[t] == labels[y // 2, x // 2]:
                front[y, x], near[y, x] = behind[y, x], far[y, x]


@njit(cache=True)
def weights_at(column, row, t, triangles, places, inverse):  # type: ignore[no-untyped-def]
    """The corners of a triangle, and how much each counts at a place in the image."""
    a, b, c = triangles[t, 0], triangles[t, 1], triangles[t, 2]
    unit = np.float64(SIDE * STEPS)
    ax, ay, bx, by = places[a, 0] / unit, places[a, 1] / unit, places[b, 0] / unit, places[b, 1] / unit
    cx, cy = places[c, 0] / unit, places[c, 1] / unit
    area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
    u = max(((cx - bx) * (row - by) - (cy - by) * (column - bx)) / area * inverse[a], 0.0)
    v = max(((ax - cx) * (row - cy) - (ay - cy) * (column - cx)) / area * inverse[b], 0.0)
    w = max(((bx - ax) * (row - ay) - (by - ay) * (column - ax)) / area * inverse[c], 0.0)
    if u + v + w <= 0:
        u, v, w = inverse[a], inverse[b], inverse[c]
    whole = u + v + w
    return a, b, c, u / whole, v / whole, w / whole


@njit(cache=True)
def blended(values, corners):  # type: ignore[no-untyped-def]
    """What points hold, at a place between three of them."""
    a, b, c, u, v, w = corners
    return plus(plus(scaled(values[a], u), v, values[b]), w, values[c])


@njit(cache=True)
def flow_of(front, triangles, places, inverse, before, eye, axes, focal, flow):  # type: ignore[no-untyped-def]
    """Write how far the middle of every pixel has moved since its points were `before`, seen through another lens."""
    height, width, _ = flow.shape
    for y in range(height):
        for x in range(width):
            t = front[2 * y, 2 * x]
            if t < 0:
                continue
            column, row = x + 0.25, y + 0.25
            was = plus(blended(before, weights_at(column, row, t, triangles, places, inverse)), -1.0, eye)
            depth = dot(axes[2], was)
            if depth > NEAREST_CM:
                flow[y, x, 0] = column - (width * 0.5 + focal * dot(axes[0], was) / depth)
                flow[y, x, 1] = row - (height * 0.5 + focal * dot(axes[1], was) / depth)
