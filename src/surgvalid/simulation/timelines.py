"""Functions of time that are stored sparsely and can be asked at any instant."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Flags = NDArray[np.bool_]
Draws = np.random.Generator
"""A stream of random numbers."""
Times = Floats | float
"""Several times, or one."""


@dataclass(frozen=True, slots=True, eq=False)
class Path:
    """A value that runs in straight lines between keys and stands still before the first and after the last."""

    times_s: Times
    values: Floats
    """One row per key."""

    @classmethod
    def through(cls, keys: Iterable[tuple[float, Sequence[float]]]) -> Path:
        """The path through keys of (time, value), in any order; of equal times the last one counts."""
        rows = sorted({time_s: tuple(value) for time_s, value in keys}.items())
        return cls(np.array([row[0] for row in rows], dtype=float), np.array([row[1] for row in rows], dtype=float))

    def at(self, times_s: Times) -> Floats:
        """One row of values per time; of one time, its values."""
        columns = [np.interp(times_s, self.times_s, column) for column in self.values.T]
        return np.stack(columns, axis=-1)


class Stretch(NamedTuple):
    """A stretch of time, in seconds; `end_s` does not belong to it."""

    start_s: float
    end_s: float


class Episode(NamedTuple):
    """Something that comes, stays and goes, at a known strength between 0 and 1."""

    kind: str
    start_s: float
    end_s: float
    strength: float
    rise: float = 6.0
    """It rises over the first of so many equal stretches of its time, and falls over the last of `fall`."""
    fall: float = 6.0

    def at(self, times_s: Times) -> Floats:
        """The strength at each time."""
        length_s = self.end_s - self.start_s
        rise = (times_s - self.start_s) / max(length_s / self.rise, 1e-9)
        fall = (self.end_s - times_s) / max(length_s / self.fall, 1e-9)
        return np.clip(np.minimum(rise, fall), 0.0, 1.0) * self.strength


def strongest(episodes: Sequence[Episode], times_s: Floats) -> Floats:
    """At each time the strongest of the episodes; 0 where there is none."""
    level = np.zeros(times_s.shape)
    for episode in episodes:
        low, high = np.searchsorted(times_s, (episode.start_s, episode.end_s))
        span = slice(int(low), int(high))
        np.maximum(level[span], episode.at(times_s[span]), out=level[span])
    return level
