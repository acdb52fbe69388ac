from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surgvalid.errors import InputInvalid, Misuse, UnknownName
from surgvalid.metrics import open_metric
from surgvalid.metrics.metric import value_of
from surgvalid.metrics.times import (
    DeadlineMisses,
    IntervalCases,
    LatencyCases,
    LatencyQuantile,
    TemporalIou,
    quantile_statistics,
    temporal_iou,
    weighted_quantiles,
)


def test_intervals_are_half_open_and_overlaps_count_once() -> None:
    assert temporal_iou([(0, 5)], [(5, 9)]) == 0
    assert temporal_iou([(0, 6), (4, 10)], [(0, 10)]) == 1
    assert temporal_iou([(3, 3)], []) == 1
    assert temporal_iou([(3, 4)], []) == 0


def test_intervals_that_run_backwards_are_all_named() -> None:
    with pytest.raises(InputInvalid) as caught:
        temporal_iou([(5, 1), (0, math.inf)], [(2, 1)])
    assert len(caught.value.problems) == 3


def test_empty_on_both_sides_follows_the_rule() -> None:
    cases = IntervalCases([[], [(0, 1)]], [[], [(0, 2)]])
    assert value_of(TemporalIou(), cases) == 0.75
    assert value_of(TemporalIou(both_empty="not scored"), cases) == 0.5
    with pytest.raises(UnknownName):
        TemporalIou(both_empty="nan")
    with pytest.raises(Misuse, match="1 references and 0"):
        value_of(TemporalIou(), IntervalCases([[]], []))


@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=12), st.integers(0, 2**16), st.sampled_from([0.1, 0.5, 0.95, 1.0])
)
def test_quantiles_under_weights_equal_numpys_on_the_written_out_sample(values: list[int], seed: int, q: float) -> None:
    counts = np.random.default_rng(seed).integers(0, 4, size=len(values))
    statistics = quantile_statistics(values, np.arange(len(values)), len(values))
    ours = weighted_quantiles(statistics, counts[None].astype(float), q)[0]
    if counts.any():
        assert ours == np.quantile(np.repeat(values, counts), q, method="inverted_cdf")
    else:
        assert math.isnan(ours)


def test_a_latency_equal_to_the_deadline_is_in_time_and_no_answer_is_a_miss() -> None:
    cases = LatencyCases([1.0, 2.0, 2.1, math.nan], unit=["a", "a", "b", "b"])
    assert value_of(DeadlineMisses(deadline_s=2), cases) == 0.5
    assert DeadlineMisses(deadline_s=2).prepare(cases).tolist() == [[0, 2], [2, 2]]
    with pytest.raises(Misuse, match="1 items have no latency"):
        value_of(LatencyQuantile(quantile=0.5), cases)


def test_latencies_and_options_that_mean_nothing_are_refused() -> None:
    with pytest.raises(Misuse, match="none negative"):
        value_of(DeadlineMisses(deadline_s=1), LatencyCases([-1.0]))
    with pytest.raises(Misuse, match="deadline_s"):
        DeadlineMisses(deadline_s=0)
    with pytest.raises(Misuse, match="quantile"):
        LatencyQuantile(quantile=99)


def test_a_metric_opened_without_an_option_it_needs_says_which() -> None:
    with pytest.raises(Misuse, match="deadline_s"):
        open_metric("deadline_miss_share")
    with pytest.raises(Misuse, match="tolerance"):
        open_metric("nsd_border", tolerance=3)
