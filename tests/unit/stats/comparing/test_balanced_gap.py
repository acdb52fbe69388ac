import math

import numpy as np
import polars as pl
import pytest

from surgvalid import strata
from surgvalid.stats.comparing.class_contrasts import balanced_gap


def drawn(seed: int, *, classes: int = 3, videos: int = 12, rows: int = 8):
    """Random 0/1 scores: each video lies on one side and has questions of some classes."""
    rng = np.random.default_rng(seed)
    video = np.repeat(np.arange(videos), rows)
    second = video >= videos // 2
    kind = rng.integers(classes, size=len(video))
    value = (rng.random(len(video)) < 0.3 + 0.1 * kind + 0.2 * rng.random(videos)[video]).astype(float)
    return value, video, kind, second


def brute_gap(value, video, kind, second, without=None):
    """The gap by loops over classes, without one video where named."""
    kept = np.ones(len(value), dtype=bool) if without is None else video != without
    gaps = []
    for one in np.unique(kind):
        sides = [value[kept & (kind == one) & (second == side)] for side in (False, True)]
        if all(len(side) for side in sides):
            gaps.append(sides[1].mean() - sides[0].mean())
    return float(np.mean(gaps))


@pytest.mark.parametrize("seed", range(20))
def test_gap_and_its_standard_error_are_those_of_loops(seed: int) -> None:
    value, video, kind, second = drawn(seed)
    found = balanced_gap(value, video, kind, second)
    assert found.value == pytest.approx(brute_gap(value, video, kind, second))
    left = np.array([brute_gap(value, video, kind, second, without=one) for one in np.unique(video)])
    sd = math.sqrt((len(left) - 1) / len(left) * ((found.value - left) ** 2).sum())
    assert found.sd == pytest.approx(sd)
    assert found.low < found.value < found.high


@pytest.mark.parametrize("seed", range(5))
def test_one_class_gives_what_strata_gives_against_the_rest(seed: int) -> None:
    value, video, _, second = drawn(seed, classes=1)
    table = {
        "model": ["m"] * len(value), "case": [str(i) for i in range(len(value))], "video": video.astype(str),
        "value": value, "ood": second,
    }  # fmt: skip
    row = strata(pl.DataFrame(table), ["ood"], baseline="rest", better="larger").table.row(0, named=True)
    found = balanced_gap(value, video, np.zeros(len(value), dtype=int), second)
    assert (found.value, found.low, found.high, found.df) == pytest.approx(
        (row["delta"], row["low"], row["high"], row["df"])
    )


def test_a_side_with_more_easy_questions_gains_nothing() -> None:
    value = np.array([1.0] * 9 + [0.0] + [1.0] + [0.0] * 9)
    kind, second = (value == 0).astype(int), np.arange(20) >= 10
    assert value[second].mean() - value[~second].mean() == pytest.approx(-0.8)
    assert balanced_gap(value, np.arange(20), kind, second).value == 0


def test_the_degrees_of_freedom_are_those_of_the_smaller_side() -> None:
    rng = np.random.default_rng(0)
    video = np.repeat(np.arange(33), 10)
    found = balanced_gap(rng.integers(2, size=330).astype(float), video, np.tile(np.arange(5), 66), video >= 30)
    assert found.videos == (30, 3)
    assert found.df <= 2


def test_classes_on_one_side_only_do_not_enter() -> None:
    value, video, kind, second = drawn(3)
    value = np.append(value, 1.0)
    more = (np.append(video, 0), np.append(kind, 9), np.append(second, False))
    found = balanced_gap(value, more[0], more[1], more[2])
    assert 9 not in found.classes
    assert found.value == pytest.approx(brute_gap(value, *more))


def test_a_class_in_one_video_of_a_side_and_too_few_videos_leave_no_interval() -> None:
    value, video, kind, second = drawn(4)
    kind = np.where((kind == 2) & second & (video != 11), 1, kind)
    found = balanced_gap(value, video, kind, second)
    assert found.single == (2,)
    assert math.isnan(found.low)
    assert math.isfinite(found.value)
    few = balanced_gap(*drawn(4, videos=4))
    assert few.videos == (2, 2)
    assert math.isnan(few.low)


def test_nothing_on_one_side_is_no_gap_and_no_variation_no_interval() -> None:
    value, video, kind, second = drawn(5)
    assert math.isnan(balanced_gap(value, video, kind, np.zeros(len(value), dtype=bool)).value)
    assert math.isnan(balanced_gap(np.full(len(value), np.nan), video, kind, second).value)
    flat = balanced_gap(np.ones(len(value)), video, kind, second)
    assert flat.value == 0
    assert math.isnan(flat.low)
