"""Which pixel belongs to which instrument or object: one label map per time, laid in the order of painting.

The rules are those of `sighting`: what is painted later hides what was painted before, less than `LEAST_CLEAR` of a
pixel cannot be made out, and an object of which too little is left is not in view. A reflection on an instrument's tip
is still the instrument; whatever else lies behind it is hidden.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from surgvalid.simulation.instrument_painters import Shaft
from surgvalid.simulation.instruments import NO_TOOL, SLOTS, TOOLS
from surgvalid.simulation.lives import Life
from surgvalid.simulation.paint import Rect, Stamp
from surgvalid.simulation.renderer import Pose, Renderer
from surgvalid.simulation.scene import Scene, View
from surgvalid.simulation.sighting import LEAST_CLEAR, LEAST_PIXELS, LEAST_SHOWN
from surgvalid.simulation.timelines import Times

INSTRUMENT, OBJECT, TISSUE, MATERIAL, SHINE = "instrument", "object", "tissue", "material", "shine"
"""What may lie before a pixel. Material is a trocar's rim or lint; the last is a reflection on an instrument."""


@dataclass(slots=True, eq=False)
class Instance:
    """One instrument or object in one image."""

    name: str
    """As in the annotated procedure."""
    class_name: str
    kind: str
    """`instrument` or `object`."""
    whole_px: int
    """Its pixels if nothing hid any: of an object those beside the image too, of an instrument those within."""
    seen_px: int = 0
    hidden_px: Counter[str] = field(default_factory=Counter)
    """How many pixels each kind of thing before it hides."""


class InstanceMap(NamedTuple):
    """One image."""

    labels: NDArray[np.uint8]
    """0, or the place in `instances`, counted from 1."""
    instances: tuple[Instance, ...]


def instance_maps(scene: Scene, times_s: Times) -> Iterator[InstanceMap]:
    """The label map of every time; times must rise. While the camera is outside the body nothing is in view.

    Args:
        scene: The simulated procedure.
        times_s: The times.
    """
    renderer, view = Renderer(scene, colours=False), scene.look(times_s)
    levels = scene.conditions(view.times_s)
    poses = [(life, pose) for life in renderer.lives if len(pose := renderer.pose(view, life))]
    for at in range(len(view.times_s)):
        now = {kind: float(level[at]) for kind, level in levels.items()}
        yield _Layers(renderer, view, at, now).laid([] if view.masked[at] else poses)


class _Layers:
    """The layers of one time."""

    def __init__(self, renderer: Renderer, view: View, at: int, levels: dict[str, float]) -> None:
        self.renderer, self.view, self.at, self.levels = renderer, view, at, levels
        self.frame = Rect(0, 0, renderer.width, renderer.height)
        self.labels = np.zeros((renderer.height, renderer.width), dtype=np.uint8)
        self.instances: list[Instance] = []

    def laid(self, poses: Sequence[tuple[Life, Pose]]) -> InstanceMap:
        """Everything in the order of painting, then what cannot be made out is taken away."""
        if not self.view.masked[self.at]:
            for life, pose in poses:
                if pose.painted(self.at):
                    self._lay_object(life, pose)
            for slot in range(SLOTS):
                self._lay_instrument(slot)
            for stamp in self.renderer.artefacts.material(self.levels):
                self._hide(stamp, MATERIAL)
            self._take_away_unclear()
        return self._in_view()

    def _lay_object(self, life: Life, pose: Pose) -> None:
        stamp, *flaps = self.renderer.object_stamps(life, pose, self.at)
        whole = int(np.count_nonzero(stamp.sprite.shape))
        self._lay([stamp], Instance(life.instance, life.class_name, OBJECT, whole))
        for flap in flaps:
            self._hide(flap, TISSUE)

    def _lay_instrument(self, slot: int) -> None:
        layers = list(self.renderer.instrument_layers(self.view, slot, self.at, self.levels))
        if self.view.tools[slot, self.at] == NO_TOOL or not layers:
            return
        tool = TOOLS[self.view.tools[slot, self.at]]
        shaft, tip, *sticking = layers
        label = self._lay([shaft, tip], Instance(f"{tool.replace(' ', '_')}_hand{slot}", tool, INSTRUMENT, 0))
        for kind, layer in zip(self.renderer.artefacts.kinds_on_instrument(self.levels), sticking, strict=True):
            self._hide(layer, {"instrument_tissue": TISSUE, "instrument_reflections": SHINE}.get(kind, MATERIAL), label)

    def _lay(self, layers: Sequence[Stamp | Shaft], instance: Instance) -> int:
        pixels = self._pixels(*layers)
        self._count(pixels, instance.kind)
        if instance.kind == INSTRUMENT:
            instance.whole_px = int(np.count_nonzero(pixels))
        self.instances.append(instance)
        self.labels[pixels] = len(self.instances)
        return len(self.instances)

    def _hide(self, layer: Stamp | Shaft, kind: str, spared: int = 0) -> None:
        pixels = self._pixels(layer)
        if kind == SHINE:
            pixels &= self.labels != spared
        self._count(pixels, kind)
        self.labels[pixels] = 0

    def _pixels(self, *layers: Stamp | Shaft) -> NDArray[np.bool_]:
        pixels = np.zeros(self.labels.shape, dtype=bool)
        for layer in layers:
            layer.hide(pixels, self.frame)
        return pixels

    def _count(self, pixels: NDArray[np.bool_], kind: str) -> None:
        for label, hidden in enumerate(np.bincount(self.labels[pixels], minlength=1).tolist()):
            if label and hidden:
                self.instances[label - 1].hidden_px[kind] += hidden

    def _take_away_unclear(self) -> None:
        artefacts = self.renderer.artefacts
        veils = list(artefacts.veils(self.view, self.at, self.levels))
        clear = artefacts.clear_in(self.frame, self.view, self.at, self.levels, veils)
        self.labels[clear < LEAST_CLEAR] = 0

    def _in_view(self) -> InstanceMap:
        """Those of which enough is left, numbered anew."""
        seen = np.bincount(self.labels.reshape(-1), minlength=len(self.instances) + 1)
        new, kept = np.zeros(len(self.instances) + 1, dtype=np.uint8), []
        for label, instance in enumerate(self.instances, start=1):
            instance.seen_px = int(seen[label])
            share = LEAST_SHOWN if instance.kind == OBJECT else 0.0
            if instance.seen_px >= max(LEAST_PIXELS, share * instance.whole_px):
                kept.append(instance)
                new[label] = len(kept)
        return InstanceMap(new[self.labels], tuple(kept))
