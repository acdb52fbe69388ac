"""Where the endoscope looks: from site to site with the phases, to whatever is being handled, now and then outside.

It is turned about its axis: held for a while, then turned within a second or two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import pi, radians
from typing import NamedTuple

import numpy as np

from surgvalid.simulation.lives import Life
from surgvalid.simulation.procedure_types import ProcedureType, TimedPhase
from surgvalid.simulation.timelines import Draws, Episode, Flags, Floats, Path, Times

FULL_ROLL = radians(25)
"""The camera is never turned farther from the horizon; the characteristic `image_roll` has strength 1 there."""
_USUAL_ROLL = radians(9)


def _draw_roll(duration_s: float, rng: Draws, pace: float) -> Path:
    """The angle of the image at every time, in radians; positive turns what is seen clockwise."""
    now_s, angle = 0.0, _angle(rng)
    keys = [(now_s, (angle,))]
    while now_s < duration_s:
        held_s, turning_s = rng.gamma(2.0, 18.0) * pace + 3, rng.uniform(0.8, 2.0)
        keys.append((now_s + held_s, (angle,)))
        now_s, angle = now_s + held_s + turning_s, _angle(rng)
        keys.append((now_s, (angle,)))
    return Path.through(keys)


def _angle(rng: Draws) -> float:
    return float(np.clip(rng.normal(0, _USUAL_ROLL), -FULL_ROLL, FULL_ROLL))


_MOVE_S = 1.4
_SWAY = 0.012


class _Cut(NamedTuple):
    start_s: float
    x: float
    y: float
    zoom: float


@dataclass(frozen=True, slots=True, eq=False)
class Camera:
    """The view at any time."""

    path: Path
    """Middle of the view (x, y) and magnification, without the hand's unrest."""
    phases_of_sway: Floats
    masked: tuple[tuple[int, int], ...]
    """Stretches outside the body, in whole seconds; their frames are black."""
    roll: Path
    """The angle about its axis, in radians."""

    def at(self, times_s: Times) -> Floats:
        """Rows of x, y and zoom."""
        view = self.path.at(times_s)
        angles = 2 * pi * np.multiply.outer(times_s, (0.23, 0.61, 0.19, 0.53)) + self.phases_of_sway
        waves = np.sin(angles)
        view[..., :2] += _SWAY * (waves[..., ::2] + 0.4 * waves[..., 1::2])
        return view

    def roll_at(self, times_s: Times) -> Floats:
        """The angle about its axis at each time."""
        return self.roll.at(times_s)[..., 0]

    def speed(self, times_s: Times) -> Floats:
        """How fast the image moves, in view heights per second."""
        step = 0.05
        before, after = self.at(times_s - step), self.at(times_s + step)
        moved = np.hypot(after[:, 0] - before[:, 0], after[:, 1] - before[:, 1]) * after[:, 2]
        turned = np.abs(after[:, 2] - before[:, 2])
        turned += 0.5 * np.abs(self.roll_at(times_s + step) - self.roll_at(times_s - step))  # half a height off
        return (moved + turned) / (2 * step)

    def is_masked(self, times_s: Times) -> Flags:
        """Whether the camera is outside the body."""
        outside = np.zeros(np.shape(times_s), dtype=bool)
        for start_s, end_s in self.masked:
            outside |= (times_s >= start_s) & (times_s < end_s)
        return outside


def draw_camera(
    kind: ProcedureType,
    phases: Sequence[TimedPhase],
    lives: Sequence[Life],
    episodes: Sequence[Episode],
    duration_s: int,
    rng: Draws,
    pace: float,
) -> Camera:
    """The camera of one procedure."""
    cuts = _with_attention(_resting_cuts(kind, phases, rng, pace), lives, rng)
    keys: list[tuple[float, tuple[float, float, float]]] = [(0.0, cuts[0][1:])]
    for before, cut, after in zip(cuts, cuts[1:], [*cuts[2:], _Cut(float(duration_s) + 10, 0, 0, 1)], strict=False):
        move_s = min(_MOVE_S, 0.6 * max(after.start_s - cut.start_s, 0.01))
        keys += [(cut.start_s, before[1:]), (cut.start_s + move_s, cut[1:])]
    sway = rng.uniform(0, 2 * pi, 4)
    masked = _draw_masked(episodes, duration_s, rng, pace)
    return Camera(Path.through(keys), sway, masked, _draw_roll(duration_s, rng, pace))


def _resting_cuts(kind: ProcedureType, phases: Sequence[TimedPhase], rng: Draws, pace: float) -> list[_Cut]:
    sites = list(kind.sites)
    cuts = []
    for phase in phases:
        now_s = phase.start_s
        while now_s < phase.end_s:
            elsewhere = rng.random() < 0.14 and now_s > phase.start_s
            x, y = kind.sites[sites[int(rng.integers(len(sites)))] if elsewhere else phase.model.site]
            dx, dy = rng.normal(0, 0.07, 2)
            zoom = rng.uniform(0.95, 1.15) if elsewhere else rng.uniform(1.0, 1.5)
            cuts.append(_Cut(now_s, x + dx, y + dy, float(zoom)))
            now_s += (rng.gamma(2.0, 6.0) if elsewhere else rng.gamma(3.0, 16.0)) * pace + 2
    return cuts


def _with_attention(cuts: list[_Cut], lives: Sequence[Life], rng: Draws) -> list[_Cut]:
    """The cuts, broken wherever an object is handled: nine times of ten the camera looks there."""
    looks = []
    for life in lives:
        for stretch in life.actions:
            if rng.random() < 0.9:
                x, y, _ = life.path.at(min(stretch.end_s, life.gone_s - 3))
                zoom = 1.5 if life.class_name in ("Clip", "Needle") else 1.1
                looks.append((stretch.start_s - 2.0, stretch.end_s + 2.5, _Cut(0.0, float(x), float(y), zoom)))
    looks.sort(key=lambda look: look[0])
    kept = list(cuts)
    for start_s, end_s, view in looks:
        start_s = max(start_s, 0.0)
        resumed = [cut for cut in kept if cut.start_s <= end_s][-1]
        kept = [cut for cut in kept if not start_s <= cut.start_s <= end_s]
        kept += [view._replace(start_s=start_s), resumed._replace(start_s=end_s)]
        kept.sort()
    return kept


def _draw_masked(episodes: Sequence[Episode], duration_s: int, rng: Draws, pace: float) -> tuple[tuple[int, int], ...]:
    """Out of the body: to clean a dirty lens, and now and then for other reasons."""
    starts = [e.end_s for e in episodes if e.kind == "image_lens_dirty" and rng.random() < 0.7]
    starts += rng.uniform(0, duration_s, int(rng.poisson(duration_s / 1500))).tolist()
    spans: list[tuple[int, int]] = []
    for start_s in sorted(starts):
        begin = int(start_s)
        end = min(begin + 1 + int(rng.gamma(3.0, 5.0) * pace + 1), duration_s - 1)
        if begin > (spans[-1][1] if spans else 0) and end > begin:
            spans.append((begin, end))
    return tuple(spans)
