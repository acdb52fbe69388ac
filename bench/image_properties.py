"""Scores of image properties from pixels, as proposals that a person confirms.

Each estimator takes one image (height x width x 3, 8-bit or in [0, 1]) and gives a score in [0, 1] that grows with the
artefact. None of them knows what the image shows: bright fat is not overexposure, and smooth tissue looks blurred.
Scores are for sorting and pre-filling an annotation form, not for a table of effects.

* overexposure, underexposure: share of the visible field that is clipped (small spots aside) or nearly black.
* blur: share of neighbour-to-neighbour variation that survives blurring once more (Crete et al. 2007), in the sharper
  parts of the image, so that a dirty lens is not mistaken for it.
* reflections: share of the field in small, compact, colourless spots that outshine what is around them, where that is
  as coloured as tissue is here. A shining tip of an instrument lies among grey, a reflection on tissue among red.
* haze: the dark channel, the least of the three colours in a neighbourhood (He, Sun and Tang 2009), relative to the
  brightest, so that a bright image is not mistaken for a hazy one.
* dirty lens: what sticks to the lens is out of focus and colours the image by itself. Counted are parts that are far
  less sharp than is usual in the image (a drop, a smear), or that lose colour against their surroundings gradually,
  without growing brighter or grey (a coating of blood, fat or bile; smoke is brighter and grey). Edges, clipped and
  dark parts are set aside, and in an image that is blurred as a whole nothing can be told.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from scipy import ndimage

from surgvalid.errors import Misuse

_DARK, _BRIGHT, _BLACK, _CLIPPED, _SHINE = 0.12, 0.9, 0.02, 0.91, 0.6
_OUTSHINE = 0.2
"""How much brighter than its surroundings a reflection is, of full brightness."""
_FILM_SIDE_PX = 144
"""Shorter side to which an image is reduced before a coating is looked for: coatings are large, and detail is in the
way.
"""
_BLURRED = 0.6
"""Blur from which it is proposed."""
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
        before, after = (np.abs(np.gradient(picture, axis=axis)) for picture in (light, again))
        total, lost = (
            ndimage.uniform_filter(energy, size, mode="nearest") for energy in (before, np.maximum(before - after, 0))
        )
        inside = field & (total > 0.1 * float(np.quantile(total[field], 0.9)) + 1e-9)
        scores.append(1 - float(np.quantile(lost[inside] / total[inside], 0.75)) if inside.any() else 1.0)
    return float(np.clip(max(scores), 0.0, 1.0))


def reflections(image: np.ndarray) -> float:
    """Share of the visible field in small spots without colour that outshine the tissue around them."""
    pixels, field = _prepared(image)
    light, colour = _luminance(pixels), pixels.max(axis=2) - pixels.min(axis=2)
    around = ndimage.uniform_filter(light, max(3, min(light.shape) // 10), mode="nearest")
    spots = _small((light > np.maximum(_SHINE, around + _OUTSHINE)) & (colour < 0.15), field)
    return _share(_on_tissue(spots, light, _saturation(pixels), field), field)


def _on_tissue(spots: np.ndarray, light: np.ndarray, saturation: np.ndarray, field: np.ndarray) -> np.ndarray:
    """The spots whose surroundings are darker than they are, and coloured as the image is."""
    labels, count = ndimage.label(spots)
    reach = max(4, min(light.shape) // 36)
    kept, usual = np.zeros(count + 1, dtype=bool), float(np.median(saturation[field])) if field.any() else 0.0
    for spot, box in enumerate(ndimage.find_objects(labels), start=1):
        rows, columns = (slice(max(side.start - reach, 0), side.stop + reach) for side in box)
        patch = labels[rows, columns] == spot
        ring = ndimage.binary_dilation(patch, iterations=reach) & ~ndimage.binary_dilation(patch, iterations=reach // 2)
        if ring.any():
            coloured = float(np.quantile(saturation[rows, columns][ring], 0.25)) >= 0.7 * usual
            outside = float(np.quantile(light[rows, columns][ring], 0.75))
            kept[spot] = coloured and float(light[rows, columns][patch].mean()) >= outside + _OUTSHINE
    return np.asarray(kept[labels])


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
    """Share of the visible field behind something on the lens, be it a smear (unsharp) or a coating (pale).

    The larger of both shares; 0 for an image that is blurred as a whole.
    """
    pixels, field = _prepared(image)
    return 0.0 if blur(image) >= _BLURRED else max(_unsharp(pixels, field), _filmed(pixels, field))


def _unsharp(pixels: np.ndarray, field: np.ndarray) -> float:
    """Share of the field that is far less sharp than is usual in the image, clipped and dark parts aside."""
    light = _luminance(pixels)
    size = max(5, min(light.shape) // 12)
    sharp = ndimage.uniform_filter(np.abs(ndimage.laplace(light, mode="nearest")), size, mode="nearest")
    local = sharp / np.maximum(ndimage.uniform_filter(light, size, mode="nearest"), 0.05)
    clipped = ndimage.maximum_filter(pixels.max(axis=2), size, mode="nearest") >= _CLIPPED
    inside = field & (light > _DARK) & ~clipped
    if inside.sum() < 0.2 * field.sum():
        return 0.0
    return _share(local < 0.3 * float(np.median(local[inside])), inside)


def _filmed(pixels: np.ndarray, field: np.ndarray) -> float:
    """Share of the field that has less colour than what is around it, though neither brighter nor grey."""
    step = max(1, min(field.shape) // _FILM_SIDE_PX)
    if step > 1:
        pixels = ndimage.uniform_filter(pixels, (step, step, 1), mode="nearest")[::step, ::step]
        field = field[::step, ::step]
    side = min(field.shape)
    soft = np.stack([_mean_near(pixels[..., c], field, max(1.0, side / 60)) for c in range(3)], axis=2)
    bright, colour, light = soft.max(axis=2), _saturation(soft), _luminance(pixels)
    edges = ndimage.gaussian_gradient_magnitude(light, 1.0) > 0.05 * np.maximum(_luminance(soft), 0.1)
    hard = ndimage.maximum_filter(edges | (pixels.max(axis=2) >= _CLIPPED), size=max(3, side // 20))
    inside = field & ~hard & (bright > _DARK)
    if inside.sum() < 0.2 * field.sum():
        return 0.0
    usual, light_near = (_mean_near(channel, inside, side / 4) for channel in (colour, bright))
    labels, count = ndimage.label(inside & (usual - colour > 0.12 * usual))
    film = (bright < 1.1 * light_near) & (colour > 0.25)
    whole, covered = (
        np.bincount(labels.ravel(), weights.ravel(), count + 1) for weights in (np.ones(film.shape), film)
    )
    mostly = covered > 0.7 * np.maximum(whole, 1)
    mostly[0] = False
    return _share(mostly[labels], inside)


def _mean_near(values: np.ndarray, inside: np.ndarray, reach_px: float) -> np.ndarray:
    """Gaussian mean over the pixels inside."""
    weight = ndimage.gaussian_filter(inside.astype(float), reach_px)
    return np.asarray(ndimage.gaussian_filter(values * inside, reach_px) / np.maximum(weight, 1e-6))


ESTIMATORS: Mapping[str, tuple[Callable[[np.ndarray], float], float]] = {
    "image_bright": (overexposure, 0.05),
    "image_dark": (underexposure, 0.2),
    "image_blur": (blur, _BLURRED),
    "image_reflections": (reflections, 0.001),
    "image_haze": (haze, 0.52),
    "image_dirty_lens": (dirty_lens, 0.05),
}
"""Property to its estimator and the score from which it is proposed (by hand, checked on simulated artefacts)."""


def propose_properties(image: np.ndarray) -> list[Proposal]:
    """Every property with its score and whether it is proposed; never more than a proposal.

    Raises:
        Misuse: The array is no colour image.
    """
    proposals = []
    for name, (estimator, threshold) in ESTIMATORS.items():
        score = estimator(image)
        proposals.append(Proposal(name, score, threshold, score >= threshold))
    return proposals


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
    for spot, box in enumerate(ndimage.find_objects(labels), start=1):
        tall, wide = (side.stop - side.start for side in box)
        small[spot] &= max(tall, wide) <= 4 * min(tall, wide) and (labels[box] == spot).mean() >= _FULL
    return np.asarray(small[labels])


def _luminance(pixels: np.ndarray) -> np.ndarray:
    return np.asarray(pixels @ np.array([0.299, 0.587, 0.114]))


def _saturation(pixels: np.ndarray) -> np.ndarray:
    most = pixels.max(axis=2)
    return np.asarray((most - pixels.min(axis=2)) / np.maximum(most, 0.05))


def _share(mask: np.ndarray, field: np.ndarray) -> float:
    return float((mask & field).sum() / max(int(field.sum()), 1))
