from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from how_many import many
from metric_examples.segmentation import brute_distances, one_border_nsd, random_mask
from surgvalid.errors import Misuse, UnknownName
from surgvalid.metrics.segmentation import surfaces
from surgvalid.metrics.segmentation.surfaces import hausdorff_px, nsd

SQUARE = np.zeros((12, 12), bool)
SQUARE[4:8, 4:8] = True


@settings(max_examples=many(60), deadline=None)
@given(seed=st.integers(0, 2**32 - 1), tolerance=st.sampled_from([0, 0.5, 1, 1.5, 2, 2.9, 4, 20]))
def test_border_nsd_is_what_all_pairs_of_pixels_say(seed: int, tolerance: float) -> None:
    rng = np.random.default_rng(seed)
    pair = random_mask(rng), random_mask(rng)
    assert nsd(*pair, tolerance_px=tolerance) == pytest.approx(one_border_nsd(*pair, tolerance), nan_ok=True)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), outline=st.sampled_from(["border", "contour"]))
def test_stamping_and_measuring_agree(seed: int, outline: str) -> None:
    rng = np.random.default_rng(seed)
    pair = random_mask(rng), random_mask(rng)
    stamped = nsd(*pair, tolerance_px=2, outline=outline)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(surfaces, "MOST_STAMPS", 0)
        assert nsd(*pair, tolerance_px=2, outline=outline) == pytest.approx(stamped, nan_ok=True)


@pytest.mark.parametrize("outline", ["border", "contour"])
def test_moving_both_masks_and_swapping_them_changes_nothing(outline: str) -> None:
    moved, other = np.roll(SQUARE, 3, axis=1), np.roll(SQUARE, 1, axis=0)
    value = nsd(SQUARE, other, tolerance_px=0.5, outline=outline)
    assert nsd(other, SQUARE, tolerance_px=0.5, outline=outline) == value
    assert nsd(moved, np.roll(other, 3, axis=1), tolerance_px=0.5, outline=outline) == value


def test_an_object_cut_off_by_the_frame_has_an_outline_there() -> None:
    corner = np.zeros((6, 6), bool)
    corner[:3, :3] = True
    larger = np.pad(corner, 4)
    assert nsd(corner, np.roll(corner, 1, axis=0), tolerance_px=0) == nsd(
        larger, np.roll(larger, 1, axis=0) & np.pad(np.ones((6, 6), bool), 4), tolerance_px=0
    )


def test_hausdorff_takes_the_larger_direction_and_knows_empty_masks() -> None:
    far = SQUARE.copy()
    far[0, 0] = True
    assert hausdorff_px(SQUARE, far, percentile=100) == pytest.approx(math.hypot(4, 4))
    assert hausdorff_px(far, SQUARE, percentile=100) == pytest.approx(math.hypot(4, 4))
    assert hausdorff_px(SQUARE, SQUARE & False) == pytest.approx(math.hypot(12, 12))
    assert hausdorff_px(SQUARE & False, SQUARE & False) == 0
    there, back = brute_distances(SQUARE, far)
    assert hausdorff_px(SQUARE, far) == pytest.approx(max(np.percentile(there, 95), np.percentile(back, 95)))


def test_options_that_mean_nothing_are_refused() -> None:
    for tolerance in (-1, math.nan, math.inf):
        with pytest.raises(Misuse, match="tolerance_px"):
            nsd(SQUARE, SQUARE, tolerance_px=tolerance)
    with pytest.raises(UnknownName, match="border"):
        nsd(SQUARE, SQUARE, tolerance_px=1, outline="borders")
    with pytest.raises(Misuse, match="percentile"):
        hausdorff_px(SQUARE, SQUARE, percentile=0)
