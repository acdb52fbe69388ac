"""Writing a scene as a video, frame by frame: memory does not grow with its length."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from surgeval.errors import Misuse
from surgeval.simulation.renderer import Renderer
from surgeval.simulation.scene import Scene
from surgeval.video import converted, pyav
from surgeval.video.clips import planes_of
from surgeval.video.clock import burn_clock
from surgeval.video.encoding import OFFICIAL_CLIP, ClipSpec, clip_writer

Step = Callable[[int], None]
"""Called with the number of seconds that were added."""


def write_film(
    scene: Scene,
    *,
    plain: str | Path | None = None,
    overlayed: str | Path | None = None,
    spec: ClipSpec = OFFICIAL_CLIP,
    start_s: float = 0.0,
    end_s: float | None = None,
    step: Step | None = None,
) -> int:
    """Paint and encode a scene; frame n shows `start_s + n / fps`. Returns the number of frames.

    Args:
        scene: What to film.
        plain: Where the video without a clock goes.
        overlayed: Where the video with a burned-in clock goes.
        spec: The encoding; its rate is the rate of the film.
        start_s: Where the film starts.
        end_s: Where it ends; the end of the scene when None.
        step: Called after every second.
    """
    if plain is None and overlayed is None:
        raise Misuse("name a file for the plain film, the overlayed film or both")
    end_s = float(scene.duration_s) if end_s is None else end_s
    times = start_s + np.arange(round((end_s - start_s) * spec.fps)) / spec.fps
    width, height = spec.size_for(scene.width_px, scene.height_px)
    targets = [(path, clock) for path, clock in ((plain, False), (overlayed, True)) if path is not None]
    with ExitStack() as files:
        writers = [(files.enter_context(clip_writer(path, width, height, spec)), clock) for path, clock in targets]
        for number, picture in enumerate(Renderer(scene).frames(times)):
            pixels = _yuv(picture, width, height)
            for writer, clock in writers:
                if clock:
                    burn_clock(*planes_of(pixels, width, height), float(times[number]))
                writer.write(pyav().VideoFrame.from_ndarray(pixels, format="yuv420p"))
            if step and (number + 1) % spec.fps == 0:
                step(1)
    return len(times)


def _yuv(picture: NDArray[np.uint8], width: int, height: int) -> NDArray[np.uint8]:
    frame = pyav().VideoFrame.from_ndarray(np.ascontiguousarray(picture), format="rgba")
    return cast(NDArray[np.uint8], converted(frame, "yuv420p", width_px=width, height_px=height).to_ndarray())
