"""Which pixel belongs to which instrument or object, and what hides the rest: read from the buffers of the picture."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np

from surgvalid.simulation import Renderer
from surgvalid.simulation.renderer import BEFORE_S

INSTRUMENT, OBJECT, TISSUE, MATERIAL = "instrument", "object", "tissue", "material"
"""What may lie before a pixel. Organs count as tissue; material is blood or lint."""


class Instance(NamedTuple):
    """One instrument or object in one image."""

    name: str
    """As in the annotated procedure."""
    class_name: str
    kind: str
    seen_px: int
    hidden_px: Counter[str]
    """How many of the pixels that it would have alone each kind of thing before it hides."""
    cut: bool
    """It reaches beyond the image; an instrument: its tip is not in the image."""
    speed: float
    """How fast its pixels move, in view heights per second."""


class InstanceMap(NamedTuple):
    """One image."""

    labels: np.ndarray
    """0, or the place in `instances`, counted from 1."""
    instances: tuple[Instance, ...]


def instance_map(renderer: Renderer, time_s: float) -> InstanceMap:
    """The label map of one time. While the camera is outside the body nothing is in view."""
    look, frame = renderer.look(time_s), renderer.frame(time_s)
    moment, hands = renderer.world.at(time_s), renderer.world.hands_in_view(time_s)
    named = {one.instance for one in look.objects if one.verdict == "visible"} | {tool.name for tool in look.tools}
    kinds = np.array([TISSUE if thing.kind == "organ" else thing.kind for thing in moment.things])
    labels, instances = np.zeros(frame.labels.shape, dtype=np.uint8), []
    for number, thing in enumerate(moment.things):
        if thing.name not in named:
            continue
        mine, clear = (frame.labels == number) | (frame.foil == number), frame.arrives >= 0.25
        alone = renderer.painter.alone(moment, number)
        before = kinds[frame.labels[alone & ~mine & (frame.labels >= 0)]]
        edge = np.concatenate([alone[0], alone[-1], alone[:, 0], alone[:, -1]]).any()
        tool = thing.kind == INSTRUMENT
        pixels = mine & clear
        labels[pixels] = len(instances) + 1
        moved = np.hypot(*frame.flow[pixels].T).mean() / labels.shape[0] / BEFORE_S
        cut = not hands.shown[int(thing.name[-1])] if tool else bool(edge)
        counted = Counter(before.tolist())
        instances.append(
            Instance(thing.name, thing.class_name, thing.kind, int(pixels.sum()), counted, bool(cut), float(moved))
        )
    return InstanceMap(labels, tuple(instances))
