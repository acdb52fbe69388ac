"""When the keyframes of a video are shown, from its index."""

from __future__ import annotations

from typing import Any

import numpy as np


def keyframe_times_s(index: Any) -> np.ndarray:
    """In seconds from the first frame."""
    keys = np.sort(index.stored[index.keys])
    return (keys[keys >= index.shown[0]] - index.shown[0]) * float(index.tick_s)
