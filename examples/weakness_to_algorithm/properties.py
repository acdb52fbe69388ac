"""The property schema of the failure analysis: what of Table 1 of Roß et al. (2023) holds for an instance and for an
image.

Strengths come from the simulator, coverage from the label maps. A box is ticked as an annotator would tick it
(`TICKED_FROM`). Added to the table: the thing is small, cut off, touches another, is no instrument, is one of many.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from examples.weakness_to_algorithm.instances import INSTRUMENT, MATERIAL, OBJECT, TISSUE, Instance, InstanceMap
from scipy.ndimage import binary_dilation

from surgvalid.simulation.artefacts import TICKED_FROM
from surgvalid.simulation.scene import FULL_BLUR_SPEED

OF_PICTURES = (
    "background_blood",
    "background_smoke",
    "background_motion",
    "background_reflections",
    "background_other_object",
    "image_too_bright",
    "image_too_dark",
    "image_lens_dirty",
)
COVERED_FROM = 0.1
"""Share of its pixels that something must hide for an instance to count as covered."""
SMALL_BELOW = 0.005
"""Share of the image."""
MANY_FROM = 4
"""Instances in an image."""


def picture_properties(levels: Mapping[str, float], instances: int) -> dict[str, int]:
    """What holds for the whole image."""
    ticked = {kind: int(levels[kind] >= TICKED_FROM) for kind in OF_PICTURES}
    return {**ticked, "instances": instances, "image_many_instances": int(instances >= MANY_FROM)}


def instance_properties(picture: InstanceMap, levels: Mapping[str, float]) -> list[dict[str, int]]:
    """What holds for each instance, in the order of the label map."""
    return [
        {"reference_id": label, **_of_one(picture, label, one, levels)}
        for label, one in enumerate(picture.instances, start=1)
    ]


def _of_one(picture: InstanceMap, label: int, one: Instance, levels: Mapping[str, float]) -> dict[str, int]:
    tool = one.kind == INSTRUMENT
    pixels = picture.labels == label
    beside = picture.labels[binary_dilation(pixels, iterations=1) & ~pixels]
    ticked = {
        f"instance_{kind}": tool and levels[f"instrument_{kind}"] >= TICKED_FROM
        for kind in ("blood", "reflections", "too_bright", "too_dark")
    }
    there = one.seen_px + one.hidden_px.total()
    covered = {kind: one.hidden_px[kind] >= COVERED_FROM * there for kind in (TISSUE, MATERIAL, INSTRUMENT, OBJECT)}
    named = {
        **ticked,
        "instance_tissue": covered[TISSUE],
        "instance_other_object": covered[MATERIAL],
        "instance_overlapped": covered[INSTRUMENT] or covered[OBJECT],
        "instance_motion": one.speed >= TICKED_FROM * FULL_BLUR_SPEED,
        "instance_touching": bool(np.any(beside != 0)),
        "instance_small": one.seen_px < SMALL_BELOW * pixels.size,
        "instance_cut": one.cut,
        "instance_no_instrument": not tool,
    }
    return {name: int(holds) for name, holds in named.items()}
