"""From a scene to images with what is in them: the only door to `render`, which is loaded when something is drawn.

Drawing needs the extra `fast`. A frame depends on the scene and the time alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from surgvalid.errors import ExtraNeeded
from surgvalid.simulation.timelines import Floats

if TYPE_CHECKING:
    from surgvalid.simulation.render.passes import Frame
    from surgvalid.simulation.render.sight import SightOfThing
    from surgvalid.simulation.render.world import World
    from surgvalid.simulation.scene import Scene

BEFORE_S = 0.04
"""Motion is told from so long before a frame."""
SHUTTER_S = 0.03
"""How long the shutter is open; what moves meanwhile is blurred."""


def check_drawing() -> None:
    """Nothing, where scenes can be drawn.

    Raises:
        ExtraNeeded: numba is not installed.
    """
    if find_spec("numba") is None:
        raise ExtraNeeded("simulated procedures", "numba", "fast")


@lru_cache(2)
def world_of(scene: Scene) -> World:
    """The scene as bodies in space.

    Raises:
        ExtraNeeded: numba is not installed.
    """
    check_drawing()
    from surgvalid.simulation.render.world import World

    return World(scene)


class Renderer:
    """Draws one scene. It holds the buffers of one frame."""

    def __init__(self, scene: Scene) -> None:
        """Make ready to draw.

        Raises:
            ExtraNeeded: numba is not installed.
        """
        self.scene, self.world = scene, world_of(scene)
        from surgvalid.simulation.render.passes import Painter

        self.painter = Painter(scene.center, scene.width_px, scene.height_px, scene.seed)

    def frame(self, time_s: float) -> Frame:
        """The image at one time with every pass; its flow is told from `BEFORE_S` before."""
        before = self.world.at(round(time_s - BEFORE_S, 9))
        number = round(1000 * time_s)
        return self.painter.frame(self.world.at(time_s), number=number, before=before, open_s=SHUTTER_S)

    def frames(self, times_s: Sequence[float] | Floats) -> Iterator[NDArray[np.uint8]]:
        """One image of height x width x 3 per time."""
        return (self.frame(float(time_s)).colour for time_s in times_s)

    def look(self, time_s: float, *, tools: bool = True, related: bool = False) -> SightOfThing:
        """What can be seen at one time, where wanted of instruments and relations too; drawn or not."""
        from surgvalid.simulation.render.relations import look_at

        return look_at(self.world, self.painter, time_s, tools=tools, related=related)
