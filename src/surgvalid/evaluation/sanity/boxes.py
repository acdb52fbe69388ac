"""Boxes that cannot be meant: every detection twice, the same boxes in every image."""

from __future__ import annotations

import numpy as np

from surgvalid.evaluation.alignment.boxes import LocatedBoxes, overlap, pairs
from surgvalid.evaluation.sanity.sanity_finding import SanityFinding
from surgvalid.schema.findings import Severity

TWIN_IOU, TWINS = 0.95, 0.2
FEWEST = 10
"""Detections below which nothing is said."""


def detections_doubled(prediction: LocatedBoxes) -> SanityFinding | None:
    """Whether many detections repeat the box of another one; in order of the images."""
    count = len(prediction.image)
    if count < FEWEST:
        return None
    left, right = pairs(prediction.image, prediction.image)
    apart = (left != right) & (prediction.category[left] == prediction.category[right])
    left, right = left[apart], right[apart]
    twins = overlap(prediction.box[left], prediction.box[right]) >= TWIN_IOU
    copies = len(np.unique(left[twins]))
    if copies < TWINS * count:
        return None
    exact = (prediction.box[left[twins]] == prediction.box[right[twins]]).all(axis=1)
    alike = len(np.unique(left[twins][exact]))
    evidence = (
        f"{copies:,} of {count:,} detections repeat the box of another one of the same class in the same image "
        f"({alike:,} of them number by number); all but one of each count as false."
    )
    hint = (
        "A file that a second run appended to, or two files taken together? Keep one of each."
        if alike > copies / 2
        else "Was suppression of overlapping boxes (NMS) left out?"
    )
    return SanityFinding("detections-doubled", Severity.WARNING, evidence, hint)


def same_everywhere(prediction: LocatedBoxes, images: int) -> SanityFinding | None:
    """Whether the same few boxes are there in every image; all detections, not a sample."""
    count = len(prediction.image)
    if count < FEWEST or images < FEWEST:
        return None
    different = len(np.unique(np.column_stack([prediction.category, prediction.box]), axis=0))
    if different * images > count + images / 2:
        return None
    evidence = f"The {count:,} detections in {images:,} images are {different} boxes, the same in every image."
    return SanityFinding("constant-predictions", Severity.WARNING, evidence, "The model ignores the images.")
