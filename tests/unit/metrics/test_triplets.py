from __future__ import annotations

import numpy as np
import pytest

from compat_gaps import compat_gap
from metric_examples.triplets import TINY
from surgvalid.errors import InputInvalid, Misuse, UnknownName
from surgvalid.metrics.metric import value_of
from surgvalid.metrics.triplets import CHOLECT50_TRIPLETS, GlobalTripletMap, TripletCases, VideoTripletMap

COUNT = len(TINY.triplets)


def one_class(frames: list[int], scores: list[float], video: list[str] | None = None) -> TripletCases:
    reference, table = np.zeros((len(frames), COUNT), int), np.zeros((len(frames), COUNT))
    reference[:, 0], table[:, 0] = frames, scores
    return TripletCases(reference, table, video)


def test_global_and_video_wise_map_are_two_numbers() -> None:
    cases = one_class([1, 0, 1, 0], [0.9, 0.8, 0.2, 0.1], ["a", "a", "b", "b"])
    assert value_of(VideoTripletMap(triplets=TINY), cases) == 1
    assert value_of(GlobalTripletMap(triplets=TINY), cases) == pytest.approx((1 + 2 / 3) / 2)


def test_absent_classes_are_left_out_or_counted_as_zero_by_a_declared_rule() -> None:
    cases = one_class([1, 0], [0.9, 0.1])
    for metric in (GlobalTripletMap, VideoTripletMap):
        assert value_of(metric(triplets=TINY), cases) == 1
        assert value_of(metric(triplets=TINY, absent="zero"), cases) == pytest.approx(1 / COUNT)
        flawed = metric(triplets=TINY, compat="ivtmetrics-0.1.5")
        assert compat_gap(flawed, cases).difference == pytest.approx([1 / COUNT - 1])
        assert flawed.facts.conventions["reproduces"] == "ivtmetrics-0.1.5"


def test_dropping_null_triplets_removes_null_verbs_and_targets_too() -> None:
    assert len(CHOLECT50_TRIPLETS.members("v")) == 10
    assert len(CHOLECT50_TRIPLETS.members("v", null=False)) == 9
    assert len(CHOLECT50_TRIPLETS.members("t", null=False)) == 14
    assert len(CHOLECT50_TRIPLETS.members("ivt", null=False)) == 94
    assert len(CHOLECT50_TRIPLETS.members("i", null=False)) == 6
    assert [len(CHOLECT50_TRIPLETS.members(c)) for c in ("ivt", "i", "t")] == [100, 6, 15]


def test_aps_per_class_can_be_read() -> None:
    metric = GlobalTripletMap(triplets=TINY)
    values = metric.class_values(metric.prepare(one_class([0, 1], [0.9, 0.1])), np.ones(1))[0]
    assert values[0] == 0.5
    assert np.isnan(values[1:]).all()


def test_every_problem_of_the_tables_is_named() -> None:
    wrong = TripletCases(np.full((2, COUNT), 2), np.full((3, COUNT), np.nan), ["a"])
    with pytest.raises(InputInvalid) as caught:
        GlobalTripletMap(triplets=TINY).prepare(wrong)
    assert len(caught.value.problems) == 4
    with pytest.raises(InputInvalid, match="100 columns"):
        GlobalTripletMap().prepare(TripletCases(np.zeros((2, 7)), np.zeros((2, 7))))


def test_options_that_mean_nothing_are_refused() -> None:
    for options in ({"component": "vt"}, {"null": "none"}, {"absent": "nan"}, {"compat": "ivtmetrics"}):
        with pytest.raises(UnknownName):
            GlobalTripletMap(**options)
    with pytest.raises(Misuse, match="compat decides"):
        GlobalTripletMap(compat="ivtmetrics-0.1.5 on scikit-learn 1.2", absent="zero")
    assert GlobalTripletMap(compat="ivtmetrics-0.1.5", absent="zero").absent == "zero"
    with pytest.raises(Misuse, match="7 triplets"):
        TINY.component(np.zeros((1, 100)), "i")
