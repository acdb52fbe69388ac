import math

import pytest

from surgvalid.schema.questions.taxonomy import Capability
from surgvalid.scoring.slices import Slices, bucket_name


def test_the_headline_weighs_buckets_alike_whatever_their_size() -> None:
    slices = Slices(["v"] * 5, ["a_id"] * 4 + ["a_ood"], ["time"] * 5)
    values = slices.values([1, 1, 1, 0, 0])
    assert values["bucket", "a_id"].rows == 0.75
    assert values["headline", "headline"].rows == pytest.approx(0.75 / 2)
    assert values["overall", "overall"] == (0.6, 0.6, 3, 5, 1)


def test_both_estimands_are_there() -> None:
    value = Slices(["a", "a", "a", "b"], ["x"] * 4, ["y"] * 4).values([1, 1, 1, 0])["overall", "overall"]
    assert (value.rows, value.videos, value.video_count) == (0.75, 0.5, 2)


def test_what_is_not_scored_is_left_out_and_an_empty_bucket_does_not_count() -> None:
    values = Slices(["a", "b", "c"], ["x", "x", "y"], ["f"] * 3).values([1, math.nan, math.nan])
    assert values["bucket", "x"].questions == 1
    assert math.isnan(values["bucket", "y"].rows)
    assert values["headline", "headline"].rows == 1
    assert math.isnan(Slices(["a"], ["x"], ["f"]).values([math.nan])["headline", "headline"].rows)


def test_a_question_that_does_not_state_ood_is_in_distribution() -> None:
    assert bucket_name(Capability.EVENT_AGGREGATION, None) == "aggregation_id"
    assert bucket_name(Capability.AGGREGATION, True) == "aggregation_ood"
