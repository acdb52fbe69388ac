"""When another reading of predictions fits better: the gain of every video, its mean over them, and how sure that is.

With d_v the difference of a statistic in video v between another reading and the one as read:
    mean d >= gain,   t = mean d / (sd d / sqrt(V)) >= t_least,   d_v > 0 in at least 80 % of the videos
With fewer than five videos the units are blocks of frames, at least eight of at least ten frames each.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import special

from surgvalid.metrics.metric import Floats, Indices

FEWEST_VIDEOS = 5
BLOCK_FRAMES, FEWEST_BLOCKS = 10, 8
LEAST_SHARE = 0.8
FRAMES = 400
"""So many frames are looked at, in whole runs of neighbours: a spread sample cannot see a lag."""
RUN = 20
"""No run of frames is shorter where a video has more."""
FOLLOWED_CHANCES = 0.005, 0.05
"""At which motion speaks: that predictions are as read, and that they are half-way as boxes at random are."""
FAR, FEWEST_IN_UNIT = 9.0, 4
"""Squared distances beyond nine medians are of other objects."""


class EvidenceUnits(NamedTuple):
    """What counts as one independent piece of evidence, and which of them each frame is of."""

    code: Indices
    """Of every frame; -1 for none."""
    number: int
    """How many there are."""
    what: str = "videos"
    """In words."""
    fewest: int = FEWEST_VIDEOS
    """So many must hold a reference, else nothing is concluded."""


def units_of_frames(video: Indices, place: Indices) -> EvidenceUnits:
    """Videos, or blocks of neighbouring frames where there are fewer than five of them.

    Args:
        video: Number of the video of every frame, from 0.
        place: Of the frame in its video, from 0 without gaps.
    """
    videos = int(video.max(initial=-1)) + 1
    if videos >= FEWEST_VIDEOS:
        return EvidenceUnits(video, videos)
    blocks = np.bincount(video, minlength=videos) // BLOCK_FRAMES
    first = np.concatenate([[0], np.cumsum(blocks)])
    within = place // BLOCK_FRAMES
    kept = within < blocks[video]
    what = f"blocks of {BLOCK_FRAMES} frames"
    return EvidenceUnits(np.where(kept, first[video] + within, -1), int(first[-1]), what, FEWEST_BLOCKS)


class Gain(NamedTuple):
    """How much better another reading fits."""

    as_read: float
    other: float
    t: float
    better: int
    """EvidenceUnits in which it fits better."""
    units: int

    @property
    def mean(self) -> float:
        """The mean difference of the units."""
        return self.other - self.as_read

    def speaks(self, gain: float, t_least: float) -> bool:
        """Whether it is large, sure and nearly everywhere."""
        return self.mean >= gain and self.t >= t_least and self.better >= LEAST_SHARE * self.units


NO_GAIN = Gain(np.nan, np.nan, 0.0, 0, 0)


def unit_means(values: Floats, code: Indices, count: int) -> Floats:
    """The mean in every unit; NaN where it has none."""
    kept = code >= 0
    total = np.bincount(code[kept], values[kept], minlength=count)
    rows = np.bincount(code[kept], minlength=count)
    return np.asarray(np.divide(total, rows, out=np.full(count, np.nan), where=rows > 0))


def gain_between(as_read: Floats, other: Floats, code: Indices, units: EvidenceUnits) -> Gain:
    """The gain of one reading over another, whose statistics are of the same references.

    Args:
        as_read: The statistic of every reference.
        other: The same under the other reading.
        code: The unit of every reference; -1 leaves it out.
        units: Which units there are.
    """
    means = [unit_means(side, code, units.number) for side in (as_read, other)]
    return gain_of_means(means[0], means[1], units.fewest)


def gain_of_means(as_read: Floats, other: Floats, fewest: int = FEWEST_VIDEOS) -> Gain:
    """The gain of one reading over another, from the means of every unit."""
    held = np.isfinite(as_read) & np.isfinite(other)
    if held.sum() < fewest:
        return NO_GAIN
    change = other[held] - as_read[held]
    spread = float(change.std(ddof=1)) / np.sqrt(change.size)
    mean = float(change.mean())
    t = mean / spread if spread > 0 else float(np.sign(mean) * np.inf) if mean else 0.0
    better = int((change > 0).sum())
    return Gain(float(as_read[held].mean()), float(other[held].mean()), t, better, change.size)


class Followed(NamedTuple):
    """How far predictions lie where references are under another reading and not where they are as read."""

    share: float
    """Of the way from the references as read to those under the other reading: 0 or 1 where one of them is right."""
    t: float
    better: int
    units: int

    @property
    def speaks(self) -> bool:
        """Whether the other reading is nearer, surely and nearly everywhere."""
        if self.share <= 0.5 or self.better < LEAST_SHARE * self.units:
            return False
        chances = special.stdtr(self.units - 1, [-self.t, -(1 - 0.5 / self.share) * self.t])
        return bool((chances < FOLLOWED_CHANCES).all())


def followed(away: Floats, other: Floats, code: Indices, units: EvidenceUnits) -> Followed:
    """How far predictions follow the references of another reading.

    With r the distance of a prediction from its reference as read, m the way from there to its reference under the
    other reading, both less their means in the unit (a model may be off by a constant): share = sum(m r) / sum(m m),
    its spread by leaving out units one at a time.

    Args:
        away: Of every prediction from its reference as read, x and y.
        other: From its reference under the other reading.
        code: The unit of every prediction; -1 leaves it out.
        units: Which units there are.
    """
    least = np.minimum((away**2).sum(axis=1), (other**2).sum(axis=1))
    kept = code >= 0
    kept &= least <= FAR * np.median(least[kept]) if kept.any() else False
    code, residual, way = code[kept], away[kept], away[kept] - other[kept]
    count = np.bincount(code, minlength=units.number)

    def centred(values: Floats) -> Floats:
        sums = np.stack([np.bincount(code, one, minlength=units.number) for one in values.T], axis=1)
        return np.asarray(values - (sums / np.maximum(count, 1)[:, None])[code])

    residual, way = centred(residual), centred(way)
    shared = np.bincount(code, (way * residual).sum(axis=1), minlength=units.number)
    ways = np.bincount(code, (way * way).sum(axis=1), minlength=units.number)
    held = (count >= FEWEST_IN_UNIT) & (ways > 0)
    shared, ways, number = shared[held], ways[held], int(held.sum())
    if number < units.fewest:
        return Followed(0.0, 0.0, 0, 0)
    left_out = (shared.sum() - shared) / (ways.sum() - ways)
    spread = float(np.sqrt((number - 1) / number * ((left_out - left_out.mean()) ** 2).sum()))
    share = float(shared.sum() / ways.sum())
    return Followed(share, share / spread if spread > 0 else 0.0, int((shared > 0).sum()), number)


def runs(video: Indices, place: Indices, frames: int = FRAMES) -> np.ndarray:
    """Which frames are looked at: a run from the middle of every video, or of videos spread over all."""
    sizes = np.bincount(video)
    length = max(RUN, frames // max(len(sizes), 1))
    most = max(1, frames // length)
    chosen = np.unique(np.linspace(0, len(sizes) - 1, min(most, len(sizes))).astype(np.intp))
    start = np.maximum(sizes - length, 0) // 2
    inside = (place >= start[video]) & (place < start[video] + length)
    return np.asarray(inside & np.isin(video, chosen))
