import numpy as np
import polars as pl

from surgvalid.schema.questions.taxonomy import Capability
from surgvalid.scoring.ood import REPEATED, SHARED, ood_gap
from surgvalid.scoring.slices import bucket_name, rows_of

FIRST, SECOND, THIRD = Capability.groups()[:3]


def asked(*groups_and_sides: tuple[Capability, bool, int]):
    """Codes of videos and the questions of each bucket: capability, side and video, two questions each."""
    each = [one for one in groups_and_sides for _ in range(2)]
    buckets = rows_of([bucket_name(group, ood) for group, ood, _ in each])
    return np.array([video for _, _, video in each]), buckets


def both_sides(group: Capability, videos: int = 4):
    return [(group, ood, video + videos * ood) for ood in (False, True) for video in range(videos)]


def scores(number: int) -> np.ndarray:
    return np.random.default_rng(number).integers(2, size=number).astype(float)


def row(table: pl.DataFrame, name: str) -> dict:
    return table.filter(pl.col("capability") == name).row(0, named=True)


def test_the_same_capabilities_stand_on_both_sides_and_the_others_are_named() -> None:
    videos, buckets = asked(*both_sides(FIRST), *both_sides(SECOND), (THIRD, False, 0))
    found = ood_gap(scores(len(videos)), videos, buckets)
    mean = row(found.table, SHARED)
    alone = [row(found.table, group.value)["gap"] for group in (FIRST, SECOND)]
    assert mean["gap"] == np.mean(alone)
    assert (mean["questions_id"], mean["videos_id"], mean["questions_ood"], mean["videos_ood"]) == (16, 4, 16, 4)
    assert mean["low"] is not None
    other = row(found.table, THIRD.value)
    assert other["gap"] is None
    assert other["id_accuracy"] is not None
    assert "in distribution only" in other["note"]
    assert [one.code for one in found.findings] == ["ood-gap-shared", "few-videos"]
    assert THIRD.value in found.findings[0].text


def test_a_capability_in_one_video_takes_the_interval_away_and_the_others_keep_theirs() -> None:
    videos, buckets = asked(*both_sides(FIRST), *[(SECOND, False, v) for v in range(4)], (SECOND, True, 5))
    found = ood_gap(scores(len(videos)), videos, buckets)
    assert row(found.table, SHARED)["low"] is None
    assert SECOND.value in row(found.table, SHARED)["note"]
    assert row(found.table, REPEATED)["gap"] == row(found.table, FIRST.value)["gap"]
    assert row(found.table, REPEATED)["low"] is not None
    assert "ood-gap-open" in [one.code for one in found.findings]


def test_a_set_without_one_of_the_sides_has_no_gap_and_says_so() -> None:
    videos, buckets = asked(*[(FIRST, False, v) for v in range(4)])
    found = ood_gap(scores(len(videos)), videos, buckets)
    assert SHARED not in found.table["capability"].to_list()
    assert found.findings[0].text == "No out-of-distribution gap: no question is out of distribution."
    videos, buckets = asked(*[(FIRST, False, v) for v in range(4)], *[(SECOND, True, v) for v in range(4)])
    found = ood_gap(scores(len(videos)), videos, buckets)
    assert found.findings[0].text == "No out-of-distribution gap: no capability has questions on both sides."


def test_two_videos_on_a_side_are_too_few_for_an_interval() -> None:
    videos, buckets = asked(*[(FIRST, False, v) for v in range(9)], (FIRST, True, 20), (FIRST, True, 21))
    found = ood_gap(scores(len(videos)), videos, buckets)
    assert row(found.table, SHARED)["low"] is None
    assert "9 videos in and 2 out of distribution" in found.findings[-1].text
