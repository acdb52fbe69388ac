"""Scores of image properties on frames of simulated procedures, which take long to paint."""

import pytest
from bench.property_scores import area, rendered, scores

pytestmark = pytest.mark.slow


def test_every_score_finds_its_artefact_on_frames_of_simulated_procedures() -> None:
    """The painter of these frames knows nothing of the scores."""
    found = scores(rendered(12, first=500))
    for name, by_kind in found.items():
        least = {"image_dirty_lens": 0.65, "image_dark": 0.85}.get(name, 0.9)
        assert area(by_kind[name], by_kind["clean"]) >= least, name
    assert area(found["image_haze"]["image_haze"], found["image_haze"]["image_bright"]) >= 0.9
