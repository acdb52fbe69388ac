"""Estimators of image properties on textures with simulated artefacts of known strength."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy import ndimage, stats

from surgeval.errors import Misuse
from surgeval.metrics.image_properties import ESTIMATORS, propose_properties


def scene(seed: int, side: int = 128) -> np.ndarray:
    """Reddish tissue-like texture with detail at every scale inside a round field."""
    rng = np.random.default_rng(seed)
    layers = [ndimage.gaussian_filter(rng.normal(size=(side, side)), s) * s for s in (0.7, 1.5, 3, 8, 20)]
    light = sum(layers)
    light = 0.45 + 0.13 * (light - light.mean()) / light.std()
    tint = np.array([1.25, 0.8, 0.75]) + rng.normal(0, 0.03, 3)
    image = np.clip(light[..., None] * tint, 0.03, 0.9)
    y, x = np.mgrid[:side, :side] - side / 2
    image[np.hypot(x, y) > side * 0.49] = 0.0
    return image


def bright(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.clip(image * rng.uniform(2.2, 3.0), 0, 1)


def dark(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return image * rng.uniform(0.12, 0.22)


def blurred(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    moved = ndimage.uniform_filter1d(ndimage.gaussian_filter(image, (1, 1, 0)), int(rng.integers(7, 15)), axis=1)
    return np.clip(moved, 0, 1)


def spots(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    marks = np.zeros(image.shape[:2])
    inner = image.shape[0] // 4
    for y, x in rng.integers(inner, image.shape[0] - inner, (25, 2)):
        marks[y, x] = 1
    marks = np.minimum(ndimage.gaussian_filter(marks, 1.2) * 18, 1)[..., None]
    return image * (1 - marks) + 0.98 * marks


def smoke(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    noise = ndimage.gaussian_filter(rng.normal(size=image.shape[:2]), 15)
    density = np.clip(0.6 + 0.1 * noise / noise.std(), 0.4, 0.9)[..., None]
    hazed = image * (1 - density) + 0.75 * density
    hazed[image.max(axis=2) == 0] = 0.0
    return hazed


def smear(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    y, x = np.mgrid[: image.shape[0], : image.shape[1]]
    cy, cx = rng.uniform(0.35, 0.65, 2) * image.shape[0]
    mask = (np.hypot(y - cy, x - cx) < 0.18 * image.shape[0]).astype(float)
    mask = ndimage.gaussian_filter(mask, 2)[..., None]
    return image * (1 - mask) + ndimage.gaussian_filter(image, (5, 5, 0)) * mask


ARTEFACTS: dict[str, Callable[[np.ndarray, np.random.Generator], np.ndarray]] = {
    "image_bright": bright, "image_dark": dark, "image_blur": blurred, "image_reflections": spots, "image_haze": smoke,
    "image_dirty_lens": smear,
}  # fmt: skip


@pytest.mark.parametrize("name", ARTEFACTS)
def test_every_estimator_separates_its_artefact_from_clean_images(name: str) -> None:
    estimator, threshold = ESTIMATORS[name]
    rng = np.random.default_rng(0)
    clean = [estimator(scene(seed)) for seed in range(20)]
    spoiled = [estimator(ARTEFACTS[name](scene(seed), rng)) for seed in range(20)]
    area = stats.mannwhitneyu(spoiled, clean).statistic / 400
    assert area >= 0.95
    assert np.mean(np.array(spoiled) >= threshold) >= 0.8
    assert np.mean(np.array(clean) < threshold) >= 0.8


def test_scores_grow_with_the_artefact() -> None:
    image = scene(3)
    for name, change in {
        "image_bright": lambda s: np.clip(image * (1 + s), 0, 1),
        "image_dark": lambda s: image * (1 - 0.3 * s),
        "image_blur": lambda s: ndimage.gaussian_filter(image, (s, s, 0)) if s else image,
        "image_haze": lambda s: np.where(image.max(axis=2, keepdims=True) > 0, image * (1 - s / 4) + 0.75 * s / 4, 0),
    }.items():
        scores = [ESTIMATORS[name][0](change(strength)) for strength in (0, 1, 2, 3)]
        assert scores == sorted(scores), name


def test_scores_lie_between_zero_and_one_and_are_only_proposals() -> None:
    images = [scene(1), np.zeros((32, 32, 3)), np.ones((32, 32, 3)), np.full((40, 20, 3), 128, dtype=np.uint8)]
    for image in images:
        for proposal in propose_properties(image):
            assert 0 <= proposal.score <= 1
            assert proposal.proposed == (proposal.score >= proposal.threshold)


def test_eight_bit_and_unit_images_score_alike() -> None:
    image = (scene(2) * 255).astype(np.uint8)
    for left, right in zip(propose_properties(image), propose_properties(image / 255.0), strict=True):
        assert left.score == pytest.approx(right.score)


@pytest.mark.parametrize(
    "image", [np.zeros((32, 32)), np.zeros((4, 4, 3)), np.full((32, 32, 3), 2.0), np.full((32, 32, 3), np.nan)]
)
def test_what_is_no_image_is_refused(image: np.ndarray) -> None:
    with pytest.raises(Misuse):
        propose_properties(image)
