"""Where instruments touch tissue, how hard, and which objects give way: soft deformation as a function of time.

A grasper draws tissue towards its shaft, every other tool pushes it away. What lies within reach of the tip follows,
the less the farther away: tissue and soft objects bend, hard ones are moved. A soft object in a grip is gathered
about the jaws and hangs down beside them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

from surgeval.simulation.instruments import NO_TOOL, SLOTS, TOOLS, Instruments
from surgeval.simulation.lives import Life
from surgeval.simulation.timelines import Times

SOFT_CLASSES = frozenset(
    {
        "Sponge",
        "Specimen Bag",
        "Silicone Loop",
        "External Drain",
        "Specimen",
        "Mesh",
        "Absorbable Hemostatic Agent",
    }
)
"""Classes that bend. Clips, needles and gallstones do not."""
REACH = 0.2
"""How far around a tip tissue gives way, in view heights at magnification 1."""
LARGEST_PULL = 0.45
"""How far tissue under a tip is moved at most, in reaches; below 0.65 nothing is folded over."""
_CLOSING_S, _RELEASE_S = 0.5, 0.8

Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Touches:
    """How hard each hand's tool touches tissue, by second."""

    forces: NDArray[np.float32]
    """`forces[slot, second]` from 0 (not at all) to 1."""

    def force_at(self, slot: int, times_s: Times) -> Numbers:
        """How hard a hand's tool touches tissue at each time."""
        force: Numbers = np.interp(times_s, np.arange(self.forces.shape[1]), self.forces[slot])
        return force


@dataclass(frozen=True, slots=True, eq=False)
class Tugs:
    """What the touches do in the picture, by hand and time, in view heights."""

    tips: Numbers
    reach: Numbers
    """By time alone: it grows with the magnification."""
    pulls: Numbers
    """By how much what lies under the tip is moved."""

    def moved(self, places: Numbers, span: slice) -> Numbers:
        """By how much a place in the picture is moved at each time of the span."""
        shift = np.zeros_like(places)
        for tip, pull in zip(self.tips[:, span], self.pulls[:, span], strict=True):
            shift += weight(((places - tip) ** 2).sum(axis=1) / self.reach[span] ** 2)[:, None] * pull
        return shift

    def meet(self, places: Numbers, half: Numbers, span: slice) -> NDArray[np.bool_]:
        """Whether anything within `half` of a place might be moved, at each time of the span."""
        met = np.zeros(len(places), dtype=bool)
        for tip, pull in zip(self.tips[:, span], self.pulls[:, span], strict=True):
            met |= (np.hypot(*(places - tip).T) < half + self.reach[span]) & pull.any(axis=1)
        return met


def weight(distance2: NDArray[np.floating]) -> NDArray[np.floating]:
    """How much of a pull arrives at the square of a distance, in reaches: 1 at the tip, 0 from one reach on."""
    left: NDArray[np.floating] = np.maximum(1 - distance2, 0)
    return left * left


def draw_touches(instruments: Instruments, lives: Sequence[Life], rng: np.random.Generator) -> Touches:
    """The touches of one procedure: they come and go while a tool is there and its hand holds nothing."""
    tools = instruments.tools
    unrest = lfilter([1.0], [1.0, -0.8], rng.normal(0, 0.6, tools.shape), axis=1)
    forces = np.clip(0.8 * unrest - 0.1, 0, 1).astype(np.float32)
    free = tools != NO_TOOL
    for life in lives:
        for hold in life.holds:
            free[hold.slot, max(int(hold.stretch.start_s) - 1, 0) : int(np.ceil(hold.stretch.end_s)) + 2] = False
    steady = free.copy()
    steady[:, 1:] &= free[:, :-1]
    steady[:, :-1] &= free[:, 1:]
    return Touches(forces * steady)


def tugs_of(
    touches: Touches, times_s: Times, tools: NDArray[np.int8], tips: Numbers, gates: Numbers, zoom: Numbers
) -> Tugs:
    """What the touches do in a picture whose tips, gates (where shafts come in) and magnification are given."""
    reach = REACH * zoom
    forces = np.stack([touches.force_at(slot, times_s) for slot in range(SLOTS)])
    towards = np.where(tools == TOOLS.index("grasper"), 1.0, -0.8) * forces * (tools != NO_TOOL)
    shaft = gates - tips
    along = shaft / np.maximum(np.hypot(shaft[..., 0], shaft[..., 1]), 1e-9)[..., None]
    return Tugs(tips, reach, along * (towards * LARGEST_PULL * reach)[..., None])


def grip_at(life: Life, times_s: Times) -> Numbers:
    """How firmly an object is gripped at each time, from 0 to 1: jaws close and open within a moment."""
    grip = np.zeros(times_s.shape)
    for start_s, end_s in life.actions:
        closing, opening = (times_s - start_s) / _CLOSING_S, 1 - (times_s - end_s) / _RELEASE_S
        np.maximum(grip, np.clip(np.minimum(closing, opening), 0, 1), out=grip)
    return grip
