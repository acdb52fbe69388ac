"""Estimators of image properties on images with simulated artefacts of known strength."""

import numpy as np
import pytest
from bench.image_properties import ESTIMATORS, propose_properties
from bench.property_scores import ARTEFACTS, area, scores, texture, textures
from scipy import ndimage

from surgvalid.errors import Misuse

SCORES = scores(textures(16, first=500))


@pytest.mark.parametrize("name", ARTEFACTS)
def test_every_score_proposes_its_artefact_and_leaves_clean_images_alone(name: str) -> None:
    threshold = ESTIMATORS[name][1]
    assert np.mean(SCORES[name][name] >= threshold) >= 0.8
    assert np.mean(SCORES[name]["clean"] >= threshold) <= 0.1


@pytest.mark.parametrize("name", ARTEFACTS)
def test_every_score_ranks_its_artefact_above_clean_images_and_all_other_artefacts(name: str) -> None:
    others = {kind: area(SCORES[name][name], found) for kind, found in SCORES[name].items() if kind != name}
    assert min(others.values()) >= 0.95, others


def filmed(image: np.ndarray, strength: float, colour: tuple[float, float, float] = (0.55, 0.45, 0.38)) -> np.ndarray:
    """The image behind a soft coating in one place."""
    y, x = np.mgrid[: image.shape[0], : image.shape[1]] / image.shape[0]
    film = strength * np.exp(-(((y - 0.45) ** 2 + (x - 0.5) ** 2) / 0.05))[..., None]
    return np.asarray(image * (1 - film) + np.array(colour) * film)


def tissue(seed: int, side: int = 128) -> np.ndarray:
    """Smooth red tissue of varying brightness, with a camera's grain."""
    rng = np.random.default_rng(seed)
    light = ndimage.gaussian_filter(rng.normal(size=(side, side)), side / 8)
    light = 0.5 + 0.08 * light / light.std() + rng.normal(0, 0.01, (side, side))
    return np.asarray(np.clip(light[..., None] * np.array([1.35, 0.6, 0.5]), 0, 0.9))


def test_a_brownish_film_is_dirt_and_grows_with_its_strength_while_a_grey_veil_is_none() -> None:
    score = ESTIMATORS["image_dirty_lens"][0]
    for seed in range(4):
        clean = tissue(seed)
        found = [score(filmed(clean, strength)) for strength in (0.4, 0.6, 0.8)]
        assert found == sorted(found)
        assert score(clean) < ESTIMATORS["image_dirty_lens"][1] <= found[2]
        assert score(filmed(clean, 0.8, (0.8, 0.8, 0.8))) < found[2]


def test_a_film_scores_alike_at_every_resolution() -> None:
    small = filmed(tissue(1), 0.8)
    score = ESTIMATORS["image_dirty_lens"][0]
    assert score(small) >= ESTIMATORS["image_dirty_lens"][1]
    assert score(np.kron(small, np.ones((4, 4, 1)))) == pytest.approx(score(small), abs=0.04)


def test_shining_metal_among_grey_is_no_reflection_and_the_same_spot_on_tissue_is() -> None:
    score, threshold = ESTIMATORS["image_reflections"]
    y, x = np.mgrid[:128, :128]
    spot = np.clip(1.5 * np.exp(-((y - 64) ** 2 + (x - 64) ** 2) / 12), 0, 1)[..., None]
    on_tissue = tissue(2) * (1 - spot) + spot
    shaft = np.where((np.abs(y - 64) < 14)[..., None], 0.45, tissue(2))
    on_metal = shaft * (1 - spot) + spot
    assert score(on_tissue) >= threshold
    assert score(on_metal) < threshold
    assert score(0.75 * on_tissue) >= threshold  # a centre with less light


def test_more_light_alone_never_makes_an_image_look_hazier() -> None:
    for seed in range(4):
        image = texture(seed)
        plain = ESTIMATORS["image_haze"][0](image)
        for gain in (0.6, 1.3, 2.0, 3.0):
            assert ESTIMATORS["image_haze"][0](np.clip(image * gain, 0, 1)) <= plain + 0.02


def test_scores_grow_with_the_artefact() -> None:
    image = texture(3)
    for name, change in {
        "image_bright": lambda s: np.clip(image * (1 + s), 0, 1),
        "image_dark": lambda s: image * (1 - 0.3 * s),
        "image_blur": lambda s: ndimage.gaussian_filter(image, (s, s, 0)) if s else image,
        "image_haze": lambda s: np.where(image.max(axis=2, keepdims=True) > 0, image * (1 - s / 4) + 0.75 * s / 4, 0),
    }.items():
        scores = [ESTIMATORS[name][0](change(strength)) for strength in (0, 1, 2, 3)]
        assert scores == sorted(scores), name


def test_scores_lie_between_zero_and_one_and_are_only_proposals() -> None:
    images = [texture(1), np.zeros((32, 32, 3)), np.ones((32, 32, 3)), np.full((40, 20, 3), 128, dtype=np.uint8)]
    for image in images:
        for proposal in propose_properties(image):
            assert 0 <= proposal.score <= 1
            assert proposal.proposed == (proposal.score >= proposal.threshold)


def test_eight_bit_and_unit_images_score_alike() -> None:
    image = (texture(2) * 255).astype(np.uint8)
    for left, right in zip(propose_properties(image), propose_properties(image / 255.0), strict=True):
        assert left.score == pytest.approx(right.score)


@pytest.mark.parametrize(
    "image", [np.zeros((32, 32)), np.zeros((4, 4, 3)), np.full((32, 32, 3), 2.0), np.full((32, 32, 3), np.nan)]
)
def test_what_is_no_image_is_refused(image: np.ndarray) -> None:
    with pytest.raises(Misuse):
        propose_properties(image)
