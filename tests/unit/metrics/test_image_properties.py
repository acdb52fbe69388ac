"""Estimators of image properties on pictures with simulated artefacts of known strength."""

import numpy as np
import pytest
from bench.property_scores import ARTEFACTS, area, rendered, scores, texture, textures
from scipy import ndimage

from surgeval.errors import Misuse
from surgeval.metrics.image_properties import ESTIMATORS, propose_properties

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


@pytest.mark.slow
def test_haze_is_told_from_brightness_on_frames_of_simulated_procedures() -> None:
    """The painter of these frames knows nothing of the scores; its dirty lenses and reflections are not found well."""
    found = scores(rendered(4, first=500))
    for name in ("image_bright", "image_blur", "image_haze"):
        others = {kind: area(found[name][name], found[name][kind]) for kind in ("clean", "image_bright", "image_haze")
                  if kind != name}  # fmt: skip
        assert min(others.values()) >= 0.9, (name, others)


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
