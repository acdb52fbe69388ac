from __future__ import annotations

import math

import numpy as np
import pytest

from surgvalid.errors import InputInvalid, Misuse, UnknownName
from surgvalid.metrics.metric import value_of
from surgvalid.metrics.segmentation.masks import EMPTY_RULES, EmptyRule, MaskCases, empty_rule, pixel_counts
from surgvalid.metrics.segmentation.overlap import Dsc, class_counts, dsc_of

NOTHING, SOMETHING = np.zeros((3, 3), bool), np.ones((3, 3), bool)


@pytest.mark.parametrize(
    ("rule", "both", "invented"),
    [
        ("default", 1, 0),
        ("monai-ignore-empty", math.nan, math.nan),
        ("monai-surface", math.nan, 0),
        ("surface-distance", math.nan, 0),
        ("robust-mis", math.nan, math.nan),
        ("sar-rarp50", 1, 0),
    ],
)
def test_each_named_rule_says_what_empty_masks_count_as(rule: str, both: float, invented: float) -> None:
    counts = [pixel_counts(NOTHING, NOTHING), pixel_counts(NOTHING, SOMETHING), pixel_counts(SOMETHING, NOTHING)]
    assert dsc_of(counts, empty=rule).tolist() == pytest.approx([both, invented, 0.0], nan_ok=True)


def test_an_unknown_rule_is_refused_and_a_rule_can_be_given_as_itself() -> None:
    with pytest.raises(UnknownName, match="robust-mis"):
        empty_rule("robustmis")
    assert empty_rule(EmptyRule()) == EMPTY_RULES["default"]


def test_images_that_the_rule_leaves_out_are_counted() -> None:
    cases = MaskCases([NOTHING, NOTHING, SOMETHING, SOMETHING], [NOTHING, SOMETHING, NOTHING, SOMETHING])
    assert Dsc(empty="robust-mis").not_scored(cases) == 2
    assert value_of(Dsc(empty="robust-mis"), cases) == pytest.approx(0.5)


def test_images_of_one_video_are_one_unit() -> None:
    cases = MaskCases([SOMETHING] * 3, [SOMETHING, NOTHING, NOTHING], unit=["a", "b", "b"])
    statistics = Dsc().prepare(cases)
    assert statistics.tolist() == [[1, 1], [0, 2]]
    assert Dsc().combine(statistics, [[1, 1], [2, 0]]).tolist() == pytest.approx([1 / 3, 1])


def test_every_unusable_pair_is_named() -> None:
    wrong = MaskCases(
        [SOMETHING, np.ones((3, 3, 1), bool), SOMETHING, np.full((3, 3), 0.5)],
        [SOMETHING, SOMETHING, np.ones((2, 3), bool), SOMETHING],
    )
    with pytest.raises(InputInvalid) as caught:
        list(wrong.pairs())
    assert [problem.split(":")[0] for problem in caught.value.problems] == ["image 1", "image 2", "image 3"]
    with pytest.raises(Misuse, match="2 reference masks and 1 predicted"):
        list(MaskCases([SOMETHING] * 2, [SOMETHING]).pairs())


def test_undeclared_labels_are_all_named_and_ignored_pixels_are_left_out() -> None:
    reference, prediction = np.array([[1, 2, 255]]), np.array([[1, 9, 1]])
    with pytest.raises(InputInvalid) as caught:
        class_counts(MaskCases([reference], [prediction]), classes=[1, 2])
    assert len(caught.value.problems) == 2
    counts = class_counts(MaskCases([reference], [np.array([[1, 0, 1]])]), classes=[1, 2], ignore=255)
    assert counts.tolist() == [[[1, 1, 1], [0, 0, 1]]]
    with pytest.raises(Misuse, match="different whole numbers"):
        class_counts(MaskCases([], []), classes=[1, 1])
