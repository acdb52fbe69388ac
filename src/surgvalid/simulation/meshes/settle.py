"""The situs from above: how high it is at every place, and what lies there; things are laid down on it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

CELL_CM = 0.2
LEFT_CM, NEAR_CM = -28.0, -16.0
COLUMNS, ROWS = 280, 210


class Relief(NamedTuple):
    """Heights from above, and the number of what is there."""

    heights: NDArray[np.float64]
    owner: NDArray[np.int32]

    @classmethod
    def empty(cls) -> Relief:
        """A bottomless one."""
        return cls(np.full((ROWS, COLUMNS), -9.0), np.full((ROWS, COLUMNS), -1, np.int32))

    def copied(self) -> Relief:
        """The same, to be changed."""
        return Relief(self.heights.copy(), self.owner.copy())

    def add(self, points: NDArray[np.float64], corners: NDArray[np.int32], owner: int) -> None:
        """Lay a mesh on it."""
        _raise(points, corners, owner, self.heights, self.owner)

    def at(self, x: NDArray[np.float64], z: NDArray[np.float64]) -> NDArray[np.float64]:
        """Heights at places, blended between cells."""
        column = np.clip((x - LEFT_CM) / CELL_CM - 0.5, 0, COLUMNS - 1.001)
        row = np.clip((z - NEAR_CM) / CELL_CM - 0.5, 0, ROWS - 1.001)
        i, j = column.astype(np.int64), row.astype(np.int64)
        a, b, h = column - i, row - j, self.heights
        upper = h[j, i] * (1 - a) + h[j, i + 1] * a
        heights: NDArray[np.float64] = upper * (1 - b) + (h[j + 1, i] * (1 - a) + h[j + 1, i + 1] * a) * b
        return heights

    def below(self, x: NDArray[np.float64], z: NDArray[np.float64]) -> NDArray[np.int32]:
        """Numbers of what is at places."""
        column = np.clip(((x - LEFT_CM) / CELL_CM).astype(np.int64), 0, COLUMNS - 1)
        row = np.clip(((z - NEAR_CM) / CELL_CM).astype(np.int64), 0, ROWS - 1)
        return np.asarray(self.owner[row, column])

    def bridged(self) -> Relief:
        """As cloth lies on it: hollows narrower than a centimetre are spanned."""
        wide = self.heights.copy()
        for axis in (0, 1):
            wide = np.maximum.reduce([np.roll(wide, k, axis) for k in (-2, -1, 0, 1, 2)])
        for axis in (0, 1):
            wide = np.mean([np.roll(wide, k, axis) for k in (-2, -1, 0, 1, 2)], axis=0)
        return Relief(np.maximum(self.heights, wide - 0.12).round(9), self.owner)


@njit(cache=True)
def sway(points, breath, tips, pulls, reach, out):  # type: ignore[no-untyped-def]
    """Write where points of tissue are: it breathes, most far from the camera, and follows what pulls at it."""
    for i in range(len(points)):
        x, y, z = points[i, 0], points[i, 1], points[i, 2]
        far = (z + 9.0) / 20.0
        far = 0.0 if far < 0 else 1.0 if far > 1 else far
        mx, my, mz = 0.0, breath * far * far * (3 - 2 * far), 0.0
        for k in range(len(tips)):
            dx, dy, dz = x - tips[k, 0], y - tips[k, 1], z - tips[k, 2]
            left = 1 - (dx * dx + dy * dy + dz * dz) / (reach * reach)
            if left > 0:
                weight = left * left
                mx, my, mz = mx + weight * pulls[k, 0], my + weight * pulls[k, 1], mz + weight * pulls[k, 2]
        out[i, 0] = np.floor((x + mx) * 1e9 + 0.5) / 1e9
        out[i, 1] = np.floor((y + my) * 1e9 + 0.5) / 1e9
        out[i, 2] = np.floor((z + mz) * 1e9 + 0.5) / 1e9


@njit(cache=True)
def _raise(points, corners, mark, heights, owner):  # type: ignore[no-untyped-def]
    rows, columns = heights.shape
    for t in range(len(corners)):
        a, b, c = corners[t, 0], corners[t, 1], corners[t, 2]
        ax, az = (points[a, 0] + 28.0) / 0.2 - 0.5, (points[a, 2] + 16.0) / 0.2 - 0.5
        bx, bz = (points[b, 0] + 28.0) / 0.2 - 0.5, (points[b, 2] + 16.0) / 0.2 - 0.5
        cx, cz = (points[c, 0] + 28.0) / 0.2 - 0.5, (points[c, 2] + 16.0) / 0.2 - 0.5
        area = (bx - ax) * (cz - az) - (bz - az) * (cx - ax)
        if abs(area) < 1e-12:
            continue
        left, right = max(int(np.floor(min(ax, bx, cx))), 0), min(int(np.floor(max(ax, bx, cx))) + 1, columns - 1)
        low, high = max(int(np.floor(min(az, bz, cz))), 0), min(int(np.floor(max(az, bz, cz))) + 1, rows - 1)
        for j in range(low, high + 1):
            for i in range(left, right + 1):
                u = ((cx - bx) * (j - bz) - (cz - bz) * (i - bx)) / area
                v = ((ax - cx) * (j - cz) - (az - cz) * (i - cx)) / area
                w = 1 - u - v
                if u >= -1e-9 and v >= -1e-9 and w >= -1e-9:
                    height = u * points[a, 1] + v * points[b, 1] + w * points[c, 1]
                    if height > heights[j, i]:
                        heights[j, i] = height
                        owner[j, i] = mark
