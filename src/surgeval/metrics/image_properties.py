"""Scores of image properties from pixels, as proposals that a person confirms.

Each estimator takes one image (height x width x 3, 8-bit or in [0, 1]) and gives a score in [0, 1] that grows with the
artefact. None of them knows what the image shows: bright fat is not overexposure, and smooth tissue looks blurred.
Scores are for sorting and pre-filling an annotation form, not for a table of effects.

* overexposure, underexposure: share of the visible field that is clipped (small spots aside) or nearly black.
* blur: share of neighbour-to-neighbour variation that survives blurring once more (Crete et al. 2007), in the sharper
  parts of the image, so that a dirty lens is not taken for it.
* reflections: share of the field in small, compact, bright, colourless spots.
* haze: the dark channel, the least of the three colours in a neighbourhood (He, Sun and Tang 2009), relative to the
  brightest, so that a bright image is not taken for a hazy one.
* dirty lens: share of the field that is much less sharp than the rest of the image, dark and clipped parts aside.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from scipy import ndimage

from surgeval.errors import Misuse

_DARK, _BRIGHT, _BLACK, _CLIPPED, _SHINE = 0.12, 0.9, 0.02, 0.91, 0.85
_FULL = 0.5
"""Share of its bounding box that a reflection fills; the bright edge of an instrument fills less."""
_SPOT_SHARE = 0.01
"""Largest share of the field a single reflection covers; more is overexposure."""


class Proposal(NamedTuple):
    """A property proposed by an estimator, for a person to confirm or reject."""

    name: str
    score: float
    threshold: float
    proposed: bool


def overexposure(image: np.ndarray) -> float:
    """Share of the visible field that is clipped, small spots aside."""
    pixels, field = _prepared(image)
    clipped = _luminance(pixels) >= _BRIGHT
    return _share(clipped & ~_small(clipped, field), field)


def underexposure(image: np.ndarray) -> float:
    """Share of the visible field that is nearly black."""
    pixels, field = _prepared(image)
    return _share(_luminance(pixels) <= _DARK, field)


def blur(image: np.ndarray) -> float:
    """How little the sharper parts lose when blurred again, along the worse axis: near 0 sharp, near 1 blurred."""
    pixels, field = _prepared(image)
    light = _luminance(pixels)
    size = max(9, min(light.shape) // 6)
    scores = []
    for axis in (0, 1):
        again = ndimage.uniform_filter1d(light, 9, axis=axis, mode="nearest")
        before, after = (np.abs(np.gradient(part, axis=axis)) for part in (light, again))
        total, lost = (
            ndimage.uniform_filter(part, size, mode="nearest") for part in (before, np.maximum(before - after, 0))
        )
        inside = field & (total > 0.1 * float(np.quantile(total[field], 0.9)) + 1e-9)
        scores.append(1 - float(np.quantile(lost[inside] / total[inside], 0.75)) if inside.any() else 1.0)
    return float(np.clip(max(scores), 0.0, 1.0))


def reflections(image: np.ndarray) -> float:
    """Share of the visible field in small bright spots without colour."""
    pixels, field = _prepared(image)
    light = _luminance(pixels)
    colour = pixels.max(axis=2) - pixels.min(axis=2)
    typical = float(np.median(light[field])) if field.any() else 0.0
    spots = (light > max(_SHINE, typical + 0.25)) & (colour < 0.15)
    return _share(_small(spots, field), field)


def haze(image: np.ndarray) -> float:
    """Share of the light that is a colourless veil: the dark channel over the brightest, where nothing is clipped.

    Brighter light lifts all channels alike and leaves this ratio, until it clips; what is clipped says nothing.
    """
    pixels, field = _prepared(image)
    size = max(3, min(pixels.shape[:2]) // 24) | 1
    dark = ndimage.minimum_filter(pixels.min(axis=2), size=size, mode="nearest")
    light = ndimage.uniform_filter(pixels.max(axis=2), size=size, mode="nearest")
    clipped = ndimage.maximum_filter(pixels.max(axis=2), size=size, mode="nearest") >= _CLIPPED
    veil = np.where((dark > _DARK) & ~clipped, dark / np.maximum(light, _DARK), 0.0)
    return float(np.clip(veil[field].mean(), 0.0, 1.0)) if field.any() else 0.0


def dirty_lens(image: np.ndarray) -> float:
    """Share of the visible field that is far less sharp than the image as a whole, clipped and dark parts aside."""
    pixels, field = _prepared(image)
    light = _luminance(pixels)
    detail = np.abs(ndimage.laplace(light, mode="nearest"))
    size = max(5, min(light.shape) // 12)
    sharp = ndimage.uniform_filter(detail, size, mode="nearest")
    local = sharp / np.maximum(ndimage.uniform_filter(light, size, mode="nearest"), 0.05)
    clipped = ndimage.maximum_filter(pixels.max(axis=2), size, mode="nearest") >= _CLIPPED
    inside = field & (light > _DARK) & ~clipped
    if inside.sum() < 0.2 * field.sum():
        return 0.0
    return _share(local < 0.3 * float(np.quantile(local[inside], 0.75)), inside)


ESTIMATORS: Mapping[str, tuple[Callable[[np.ndarray], float], float]] = {
    "image_bright": (overexposure, 0.05),
    "image_dark": (underexposure, 0.2),
    "image_blur": (blur, 0.6),
    "image_reflections": (reflections, 0.003),
    "image_haze": (haze, 0.52),
    "image_dirty_lens": (dirty_lens, 0.08),
}
"""Property to its estimator and the score from which it is proposed (by hand, checked on simulated artefacts)."""


def propose_properties(image: np.ndarray) -> list[Proposal]:
    """Every property with its score and whether it is proposed; never more than a proposal.

    Raises:
        Misuse: The array is no colour image.
    """
    found = []
    for name, (estimator, threshold) in ESTIMATORS.items():
        score = estimator(image)
        found.append(Proposal(name, score, threshold, score >= threshold))
    return found


def _prepared(image: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pixels in [0, 1], and the visible field without the black surround of an endoscope."""
    array = np.asarray(image)
    if array.ndim != 3 or array.shape[2] != 3 or min(array.shape[:2]) < 16:
        raise Misuse(f"expected a colour image (height x width x 3, at least 16 pixels a side), got {array.shape}")
    pixels = array / 255.0 if array.dtype == np.uint8 else array.astype(float)
    if not np.isfinite(pixels).all() or pixels.min() < 0 or pixels.max() > 1:
        raise Misuse("expected 8-bit colours, or numbers from 0 to 1")
    return pixels, _field(_luminance(pixels))


def _field(light: np.ndarray) -> np.ndarray:
    """Pixels that are not part of a black region touching the border."""
    labels, _ = ndimage.label(light <= _BLACK)
    edges = np.concatenate([labels[0], labels[-1], labels[:, 0], labels[:, -1]])
    outside = np.setdiff1d(edges, [0])
    field = ~np.isin(labels, outside)
    if not field.all():
        field = ndimage.binary_erosion(field, iterations=max(2, min(light.shape) // 40), border_value=1)
    return field if field.mean() > 0.1 else np.ones_like(field)


def _small(mask: np.ndarray, field: np.ndarray) -> np.ndarray:
    """The parts of `mask` that hang together and are small and compact enough to be reflections."""
    labels, count = ndimage.label(mask)
    small = np.bincount(labels.ravel(), minlength=count + 1) <= _SPOT_SHARE * max(int(field.sum()), 1)
    small[0] = False
    for part, box in enumerate(ndimage.find_objects(labels), start=1):
        tall, wide = (side.stop - side.start for side in box)
        small[part] &= max(tall, wide) <= 4 * min(tall, wide) and (labels[box] == part).mean() >= _FULL
    return np.asarray(small[labels])


def _luminance(pixels: np.ndarray) -> np.ndarray:
    return np.asarray(pixels @ np.array([0.299, 0.587, 0.114]))


def _share(mask: np.ndarray, field: np.ndarray) -> float:
    return float((mask & field).sum() / max(int(field.sum()), 1))
