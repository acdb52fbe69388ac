"""False positives of the failure analysis stay at their level where effects vary between models."""

import pytest
from docs.validate_models import Truth, rejected

pytestmark = pytest.mark.slow
REPETITIONS = 400
"""A rate of 5 % is then known to 1.1 points; 3-5 % are expected, so 7 % is two of them above."""


@pytest.mark.parametrize("real", [False, True])
@pytest.mark.parametrize(("models", "videos"), [(4, 14), (6, 14), (8, 14), (4, 8)])
def test_effects_are_not_invented_for_models_like_these(models: int, videos: int, real: bool) -> None:
    assert rejected(Truth(models, videos, real), like_these=True, repetitions=REPETITIONS) <= 0.07


@pytest.mark.parametrize("real", [False, True])
@pytest.mark.parametrize("models", [4, 8])
def test_effects_are_not_invented_for_these_models(models: int, real: bool) -> None:
    truth = Truth(models, 14, real, cancels="odds" if real else "shares")
    assert rejected(truth, like_these=False, repetitions=REPETITIONS) <= 0.07


def test_over_videos_alone_effects_are_invented_for_models_like_these() -> None:
    assert rejected(Truth(4, 14, True), like_these=False, repetitions=100) > 0.25


def test_an_effect_that_most_models_share_is_found() -> None:
    assert rejected(Truth(8, 14, model_sd=0.3, effect=-0.6), like_these=True, repetitions=100) > 0.7
