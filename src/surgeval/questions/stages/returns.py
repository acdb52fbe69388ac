"""Stage 4, returns: objects that come back under a name whose look is another's.

Two objects of a class that exchanged their names while out of view leave no trace in where they are. What is left is
how they look. At every return after an absence, the mean look of the first boxes is compared with that of the last
boxes before it, and with the last boxes of every other object of the class: a return that is clearly more like
another one is a flag. Its strength grows with how much more alike it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import polars as pl

from surgeval.questions.stages.appearance import likeness
from surgeval.questions.stages.box_tables import Floats

ABSENCE_S = 5
"""Shorter absences are no returns; motion tells who comes back."""
BEFORE, AFTER = 10, 6
"""Boxes before and after the absence whose looks are averaged."""
GAIN = 0.2
"""By how much a return must be more like another object than like itself."""


class StrangeReturn(NamedTuple):
    """An object that comes back with the look of another."""

    video: str
    second: int
    instance: str
    other: str
    gap_s: int
    gain: float

    @property
    def strength(self) -> float:
        """From 0.5 at the threshold towards 1."""
        return self.gain / (self.gain + GAIN)


def strange_returns(frame: pl.DataFrame, looks: Floats) -> Iterator[StrangeReturn]:
    """Every return that looks more like another object of its class.

    Args:
        frame: Boxes with an instance, in order of video and second.
        looks: Appearance of every box.
    """
    rows = frame.with_row_index("at").group_by("video", "class_name", maintain_order=True)
    for (video, _), boxes in rows:
        seconds = frame["second"].to_numpy()
        paths = {
            str(name): boxes["at"].cast(pl.Int64).to_numpy()
            for (name,), boxes in boxes.group_by("instance", maintain_order=True)
        }
        for name, path in paths.items():
            for gap in np.flatnonzero(np.diff(seconds[path]) > ABSENCE_S).tolist():
                now = int(seconds[path[gap + 1]])
                after = looks[path[gap + 1 : gap + 1 + AFTER]].mean(axis=0)[None]
                others = {key: rest[seconds[rest] < now] for key, rest in paths.items() if key != name}
                best, other = max(
                    ((_alike(after, looks[rest]), key) for key, rest in others.items() if rest.size),
                    default=(0.0, ""),
                )
                gain = best - _alike(after, looks[path[: gap + 1]])
                if gain >= GAIN:
                    yield StrangeReturn(str(video), now, name, other, now - int(seconds[path[gap]]) - 1, gain)


def _alike(after: Floats, before: Floats) -> float:
    """How like the last looks of an object another look is."""
    return float(likeness(after, before[-BEFORE:].mean(axis=0)[None])[0, 0])
