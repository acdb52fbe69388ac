"""Where the eye is and how it looks: the optics' geometry."""

from __future__ import annotations

from math import cos, radians, sin, tan
from typing import NamedTuple

import numpy as np

from surgvalid.simulation.timelines import Floats


class Lens(NamedTuple):
    """An eye in the scene, in centimetres."""

    eye: Floats
    axes: Floats
    """Rows: to the right, downwards in the image, ahead."""
    focal_px: float
    width_px: int
    height_px: int
    distance_cm: float = 7.0
    """How far away it is what it looks at."""

    @classmethod
    def looking(
        cls,
        eye: Floats,
        target: Floats,
        *,
        roll: float = 0.0,
        field_deg: float = 60.0,
        width_px: int = 480,
        height_px: int = 270,
    ) -> Lens:
        """A lens at a place that looks at another; `field_deg` is the angle from the upper to the lower edge."""
        ahead = target - eye
        distance = float(np.sqrt((ahead**2).sum()))
        ahead = ahead / distance
        right = np.array([ahead[2], 0.0, -ahead[0]])
        right = right / np.sqrt((right**2).sum())
        down = np.cross(right, ahead)
        if down[1] > 0:
            down = -down
        turned = np.array([right * cos(roll) - down * sin(roll), right * sin(roll) + down * cos(roll), ahead])
        focal = height_px / 2 / tan(radians(field_deg) / 2)
        return cls(np.round(eye, 9), np.round(turned, 9), round(focal, 9), width_px, height_px, round(distance, 9))

    def to_image(self, points: Floats) -> Floats:
        """Columns, rows and depths of points of the scene; nonsense for those behind the eye."""
        local = (points - self.eye) @ self.axes.T
        depth = np.where(np.abs(local[..., 2]) < 1e-9, 1e-9, local[..., 2])
        across = self.width_px / 2 + self.focal_px * local[..., 0] / depth
        below = self.height_px / 2 + self.focal_px * local[..., 1] / depth
        return np.stack([across, below, local[..., 2]], axis=-1)
