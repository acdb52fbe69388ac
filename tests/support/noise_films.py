"""Video files that show nothing, for models whose weights are random."""

from __future__ import annotations

from pathlib import Path

import av
import numpy as np

from surgvalid.video import clip_writer


def noise_film(path: Path, frames: int) -> Path:
    """A video file of 112 x 84 pixels in which every frame is other noise."""
    chance = np.random.default_rng(0)
    with clip_writer(path, 112, 84) as writer:
        for _ in range(frames):
            picture = chance.integers(0, 256, (84, 112, 3), dtype=np.uint8)
            writer.write(av.VideoFrame.from_ndarray(picture, format="rgb24"))
    return path
