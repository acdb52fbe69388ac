import numpy as np
import pytest

from surgvalid.scoring.slices import bucket_warnings, question_weights, video_influence

BUCKETS = {"a_id": np.array([0]), "a_ood": np.array([1, 2, 3, 4])}
VIDEOS = np.array([0, 0, 1, 1, 2])


def test_a_lone_question_weighs_as_much_as_a_whole_bucket() -> None:
    weights = question_weights(BUCKETS)
    assert weights["weight_of_question"].to_list() == [0.5, 0.125]


def test_leaving_a_video_out_moves_the_headline_as_a_recount_does() -> None:
    values = np.array([1.0, 1.0, 0.0, 1.0, 0.0])
    table = video_influence(values, VIDEOS, ["x", "y", "z"], BUCKETS)
    by_video = dict(zip(table["video"], table["headline_without"], strict=True))
    assert by_video["x"] == pytest.approx(np.mean([0, 1, 0]))  # bucket a_id vanishes with its only question
    assert by_video["y"] == pytest.approx((1 + 0.5) / 2)
    assert by_video["z"] == pytest.approx((1 + 2 / 3) / 2)
    assert table["change"].abs().is_sorted(descending=True)


def test_unscored_questions_have_no_influence() -> None:
    values = np.array([1.0, np.nan, 0.0, 1.0, 0.0])
    table = video_influence(values, VIDEOS, ["x", "y", "z"], {"b": np.array([1, 2, 3, 4])})
    assert dict(zip(table["video"], table["change"], strict=True))["x"] == pytest.approx(0.0)


def test_orphan_tiny_and_unpopulated_buckets_are_named() -> None:
    found = {f.code: f.message for f in bucket_warnings(BUCKETS, VIDEOS, ["a_id", "a_ood", "b_id"])}
    assert "carries 50% of the primary result: a_id" in found["orphan-bucket"]
    assert "a_ood (3)" in found["tiny-bucket"]
    assert "b_id" in found["unpopulated-bucket"]
