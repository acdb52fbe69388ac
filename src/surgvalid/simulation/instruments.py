"""Instruments: which tool is in which hand when, where its tip is, and what it touches.

Three hands: 0 holds a grasper from the left, 1 works from the right, 2 assists from above. Kept once per
second and read in straight lines between, which is sparse enough for hours and smooth enough for 25 fps.

A grasper draws tissue towards its shaft, every other tool pushes it away; what lies within reach of the tip follows,
the less the farther away. A soft object in a grip is gathered about the jaws and hangs down beside them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

from surgvalid.simulation.camera import Camera
from surgvalid.simulation.lives import PORTS, Life
from surgvalid.simulation.procedure_types import TimedPhase
from surgvalid.simulation.timelines import Draws, Floats, Times

TOOLS = ("grasper", "hook", "scissors", "clip applier", "needle driver", "suction", "stapler")
NO_TOOL = -1
SLOTS = len(PORTS)
_PRESENT = (0.8, 0.9, 0.3)


@dataclass(frozen=True, slots=True, eq=False)
class Instruments:
    """The tools of one procedure, by hand and second."""

    tools: NDArray[np.int8]
    """`tools[slot, second]`: index into `TOOLS`, or `NO_TOOL`."""
    tips: NDArray[np.float32]
    """`tips[slot, second]`: x and y in the situs; outside the view while there is no tool."""
    forces: NDArray[np.float32]
    """`forces[slot, second]`: how hard it touches tissue, from 0 (not at all) to 1."""

    def tool_at(self, slot: int, time_s: float) -> int:
        """The tool in a hand."""
        return int(self.tools[slot, np.clip(int(time_s), 0, self.tools.shape[1] - 1)])

    def tip_at(self, slot: int, times_s: Times) -> Floats:
        """The tip of a hand's tool at each time, in the situs."""
        seconds = np.arange(self.tips.shape[1])
        return np.stack([np.interp(times_s, seconds, row) for row in self.tips[slot].T], axis=-1)

    def force_at(self, slot: int, time_s: float) -> float:
        """How hard a hand's tool touches tissue."""
        return float(np.interp(time_s, np.arange(self.forces.shape[1]), self.forces[slot]))


def draw_instruments(
    phases: Sequence[TimedPhase],
    lives: Sequence[Life],
    camera: Camera,
    duration_s: int,
    aspect: float,
    rng: Draws,
    touching: Draws,
) -> Instruments:
    """The instruments of one procedure; what they touch is drawn from a stream of its own."""
    tools = _draw_tools(phases, duration_s, rng)
    for life in lives:
        for hold in life.holds:
            first, last = int(hold.stretch.start_s), min(int(np.ceil(hold.stretch.end_s)) + 1, duration_s)
            tools[hold.slot, first:last] = TOOLS.index(hold.tool)
            tools[hold.slot, max(first - 1, 0) : first] = NO_TOOL
            tools[hold.slot, last : last + 1] = NO_TOOL
    return Instruments(tools, _draw_tips(tools, lives, camera, aspect, rng), _draw_forces(tools, lives, touching))


def _draw_tools(phases: Sequence[TimedPhase], duration_s: int, rng: Draws) -> NDArray[np.int8]:
    tools = np.full((SLOTS, duration_s), NO_TOOL, dtype=np.int8)
    for phase in phases:
        start, end = int(phase.start_s), int(phase.end_s)
        for slot in range(SLOTS):
            choices = [TOOLS.index(tool) for tool in phase.model.tools] if slot == 1 else [TOOLS.index("grasper")]
            now = start + int(rng.integers(0, 4))
            while now < end:
                length, gap = int(rng.gamma(2.0, 25.0)) + 4, int(rng.gamma(1.5, 4.0)) + 1
                if rng.random() < _PRESENT[slot]:
                    tools[slot, now : min(now + length, end)] = choices[int(rng.integers(len(choices)))]
                now += length + gap
    return tools


def _draw_tips(
    tools: NDArray[np.int8], lives: Sequence[Life], camera: Camera, aspect: float, rng: Draws
) -> NDArray[np.float32]:
    """Tips wander about the middle of the view, come in from the edge, and follow what they hold."""
    duration_s = tools.shape[1]
    seconds = np.arange(duration_s, dtype=float)
    view = camera.path.at(seconds)
    steps = rng.normal(0, 0.045, (SLOTS, 2, duration_s))
    wander = lfilter([1.0], [1.0, -0.8], steps, axis=2)
    offsets = np.array([(-0.22, 0.08), (0.2, 0.08), (-0.12, -0.2)])
    gates = np.array([(-0.25, 0.9), (aspect + 0.25, 0.95), (0.25 * aspect, -0.3)]) - (aspect / 2, 0.5)  # of the shafts
    tips = np.empty((SLOTS, duration_s, 2), dtype=np.float32)
    for slot in range(SLOTS):
        working = view[:, :2] + (offsets[slot] + wander[slot].T) / view[:, 2:]
        away = view[:, :2] + gates[slot] / view[:, 2:]
        tips[slot] = np.where((tools[slot] == NO_TOOL)[:, None], away, working)
    for life in lives:
        for hold in life.holds:
            first, last = int(np.ceil(hold.stretch.start_s)), min(int(hold.stretch.end_s) + 1, duration_s)
            tips[hold.slot, first:last] = life.path.at(seconds[first:last])[:, :2]
    return tips


_CLOSING_S, _RELEASE_S = 0.5, 0.8


def _draw_forces(tools: NDArray[np.int8], lives: Sequence[Life], rng: Draws) -> NDArray[np.float32]:
    """Touches come and go while a tool is there and its hand holds nothing."""
    unrest = lfilter([1.0], [1.0, -0.8], rng.normal(0, 0.6, tools.shape), axis=1)
    forces = np.clip(0.8 * unrest - 0.1, 0, 1)
    free = tools != NO_TOOL
    for life in lives:
        for hold in life.holds:
            free[hold.slot, max(int(hold.stretch.start_s) - 1, 0) : int(np.ceil(hold.stretch.end_s)) + 2] = False
    steady = free.copy()
    steady[:, 1:] &= free[:, :-1]
    steady[:, :-1] &= free[:, 1:]
    return np.asarray(forces * steady, np.float32)


def grip_at(life: Life, time_s: float) -> float:
    """How firmly an object is gripped, from 0 to 1: jaws close and open within a moment."""
    ways = (min((time_s - start_s) / _CLOSING_S, 1 - (time_s - end_s) / _RELEASE_S) for start_s, end_s in life.actions)
    return float(np.clip(max(ways, default=0.0), 0, 1))
