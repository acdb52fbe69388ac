from __future__ import annotations

import math

import numpy as np
import pytest

from surgvalid.metrics.segmentation.instances import instance_counts, mi_dsc, mi_nsd
from surgvalid.metrics.segmentation.overlap import MaskVideo, mask_stability

REFERENCE = np.array([[1, 1, 1, 1, 0, 2, 2, 0]])


def test_numbers_of_instances_need_not_agree() -> None:
    assert mi_dsc(REFERENCE, REFERENCE * 50) == 1
    assert mi_nsd(REFERENCE, REFERENCE * 50, tolerance_px=0) == 1


def test_matching_maximises_the_sum_not_the_best_pair() -> None:
    prediction = np.array([[5, 5, 5, 9, 9, 9, 9, 9]])
    pairs = {(item.reference_id, item.prediction_id) for item in instance_counts(REFERENCE, prediction)}
    assert pairs == {(1, 5), (2, 9)}


def test_an_instance_too_many_costs_as_much_as_one_missed() -> None:
    invented = np.array([[1, 1, 1, 1, 0, 2, 2, 3]])
    assert mi_dsc(REFERENCE, invented) == pytest.approx(2 / 3)
    assert mi_dsc(invented, REFERENCE) == pytest.approx(2 / 3)


def test_instances_that_share_no_pixel_are_never_a_pair() -> None:
    listed = instance_counts(np.array([[1, 0, 0]]), np.array([[0, 0, 4]]))
    assert [(item.reference_id, item.prediction_id) for item in listed] == [(1, None), (None, 4)]
    assert mi_dsc(np.array([[1, 0, 0]]), np.array([[0, 0, 4]])) == 0


def test_counts_are_the_trials_and_successes_of_failure_analysis() -> None:
    prediction = np.array([[0, 7, 7, 7, 7, 0, 0, 0]])
    listed = instance_counts(REFERENCE, prediction)
    assert listed[0] == (1, 7, 3, 4, 4)
    assert listed[1] == (2, None, 0, 0, 2)
    assert sum(item.reference for item in listed) == (REFERENCE > 0).sum()


def test_empty_images_follow_the_rule() -> None:
    nothing = np.zeros_like(REFERENCE)
    assert math.isnan(mi_dsc(nothing, REFERENCE))
    assert mi_dsc(nothing, REFERENCE, empty="default") == 0
    assert mi_dsc(nothing, nothing, empty="default") == 1
    assert mi_dsc(REFERENCE, nothing) == 0


def test_a_frozen_mask_is_not_stable_when_the_instrument_moves() -> None:
    frames = [np.roll(REFERENCE > 1, shift, axis=1) for shift in range(3)]
    frozen = mask_stability(MaskVideo(frames, [frames[0]] * 3))
    assert frozen.predicted == 1
    assert frozen.gap == pytest.approx(1 - frozen.reference)
    assert frozen.relative > 1
    assert mask_stability(MaskVideo(frames, frames)).gap == 0
    assert mask_stability(MaskVideo(frames[:1], frames[:1])).steps == 0


@pytest.mark.parametrize("numbers", [([0, 1, 9], [0, 3, 4]), ([-5, 0, 70_000, 2], [7, 8]), ([1], [0]), ([0], [-1, 4])])
def test_pixels_are_counted_whatever_numbers_instances_have(numbers: tuple[list[int], list[int]]) -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        ours, theirs = (rng.choice(side, (6, 7)) for side in numbers)
        found = instance_counts(ours, theirs)
        assert {item.reference_id for item in found} - {None} == set(ours.ravel().tolist()) - {0}
        assert {item.prediction_id for item in found} - {None} == set(theirs.ravel().tolist()) - {0}
        for item in found:
            left, right = ours == item.reference_id, theirs == item.prediction_id
            assert (item.reference, item.predicted) == (left.sum(), right.sum())
            assert item.true_positive == (left & right).sum()
