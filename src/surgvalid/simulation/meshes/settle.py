"""The situs from above: how high it is at every place, and what lies there; things are laid down on it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from surgvalid.simulation.render.raster import NOTHING, STEPS, dot, fill, plus
from surgvalid.simulation.timelines import Floats, Ints

CELL_CM = 0.2
LEFT_CM, NEAR_CM = -28.0, -16.0
COLUMNS, ROWS = 280, 210
LOWEST_CM = -50.0
"""Everything lies above; from there a z-buffer sees heights."""


class Relief(NamedTuple):
    """Heights from above, and the number of what is there."""

    heights: Floats
    owner: Ints

    @classmethod
    def empty(cls) -> Relief:
        """A bottomless one."""
        return cls(np.full((ROWS, COLUMNS), -9.0), np.full((ROWS, COLUMNS), -1, np.int32))

    def copied(self) -> Relief:
        """The same, to be changed."""
        return Relief(self.heights.copy(), self.owner.copy())

    def add(self, points: Floats, corners: Ints, owner: int) -> None:
        """Lay a mesh on it."""
        cells = (points[:, [0, 2]] - (LEFT_CM, NEAR_CM)) / CELL_CM
        places = np.floor(cells * STEPS + 0.5).astype(np.int64)
        near, front = self.heights - LOWEST_CM, np.full(self.owner.shape, NOTHING, np.int32)
        one, sides = np.zeros(len(corners), np.int32), np.zeros(len(corners), np.uint8)
        fill(corners, one, sides, 1, places, points[:, 1] - LOWEST_CM, (0, 0, COLUMNS, ROWS), near, front, near, front)
        higher = front >= 0
        np.copyto(self.heights, near + LOWEST_CM, where=higher)
        np.copyto(self.owner, np.int32(owner), where=higher)

    def at(self, points: Floats) -> Floats:
        """Heights below points, blended between cells."""
        column, row = _cells(points, 0.5, 1.001)
        i, j = column.astype(np.int64), row.astype(np.int64)
        a, b, h = column - i, row - j, self.heights
        upper = h[j, i] * (1 - a) + h[j, i + 1] * a
        return np.asarray(upper * (1 - b) + (h[j + 1, i] * (1 - a) + h[j + 1, i + 1] * a) * b)

    def below(self, points: Floats) -> Ints:
        """Numbers of what is below points."""
        column, row = _cells(points, 0.0, 1.0).astype(np.int64)
        return np.asarray(self.owner[row, column])

    def bridged(self) -> Relief:
        """As cloth lies on it: hollows narrower than a centimetre are spanned."""
        wide = self.heights.copy()
        for axis in (0, 1):
            wide = np.maximum.reduce([np.roll(wide, k, axis) for k in (-2, -1, 0, 1, 2)])
        for axis in (0, 1):
            wide = np.mean([np.roll(wide, k, axis) for k in (-2, -1, 0, 1, 2)], axis=0)
        return Relief(np.maximum(self.heights, wide - 0.12).round(9), self.owner)


def _cells(points: Floats, middle: float, edge: float) -> Floats:
    """Columns and rows of the cells in which points lie."""
    cells = (points[..., [0, 2]] - (LEFT_CM, NEAR_CM)) / CELL_CM - middle
    return np.clip(cells, 0, (COLUMNS - edge, ROWS - edge)).T


@njit(cache=True)
def sway(points, breath, tips, pulls, reach, out):  # type: ignore[no-untyped-def]
    """Write where points of tissue are: it breathes, most far from the camera, and follows what pulls at it."""
    for i in range(len(points)):
        far = (points[i, 2] + 9.0) / 20.0
        far = 0.0 if far < 0 else 1.0 if far > 1 else far
        moved = 0.0, breath * far * far * (3 - 2 * far), 0.0
        for k in range(len(tips)):
            away = plus(points[i], -1.0, tips[k])
            left = 1 - dot(away, away) / (reach * reach)
            if left > 0:
                moved = plus(moved, left * left, pulls[k])
        for k in range(3):
            out[i, k] = np.floor((points[i, k] + moved[k]) * 1e9 + 0.5) / 1e9
