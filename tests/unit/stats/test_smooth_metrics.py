"""The jackknife is left to metrics that are smooth functions of their units."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from metric_examples import all_examples
from surgvalid.errors import ContractBroken
from surgvalid.metrics.times import LatencyCases, LatencyQuantile
from surgvalid.stats.intervals.interval import prepared_spread
from surgvalid.stats.intervals.statistic import MetricStatistic
from surgvalid.testing import check_metric


class Median(LatencyQuantile):
    """As somebody outside would write it, with or without saying what it is."""

    smooth = True

    def __init__(self) -> None:
        super().__init__(quantile=0.95)


class SaidSo(Median):
    smooth = False


def method_of(metric: Any) -> str:
    rng = np.random.default_rng(1)
    videos = [f"v{place % 12}" for place in range(120)]
    prepared = metric.prepare(LatencyCases(rng.gamma(2.0, 1.0, 120), unit=videos))
    found = prepared_spread(
        MetricStatistic(metric), prepared, video=sorted(set(videos)), facts=metric.facts, names=["it"], replicates=50
    )
    return found[0].method[0]


def test_a_metric_that_is_not_smooth_is_resampled() -> None:
    assert "jackknife" in method_of(Median())
    assert method_of(SaidSo()) == "bootstrap"


def test_draws_that_are_all_equal_are_no_certainty() -> None:
    metric, videos = SaidSo(), [f"v{place % 12}" for place in range(120)]
    equal = metric.prepare(LatencyCases(np.zeros(120), unit=videos))
    options: Any = {"video": sorted(set(videos)), "facts": metric.facts, "names": ["it"], "replicates": 50}
    spread, _ = prepared_spread(MetricStatistic(metric), equal, **options)
    assert np.isnan([spread.low[0], spread.high[0]]).all()
    assert (spread.method, spread.findings[-1].code) == (("none",), "no-variation")
    asked, _ = prepared_spread(MetricStatistic(metric), equal, **options, method="bootstrap")
    assert (asked.low[0], asked.high[0]) == (0.0, 0.0)


def test_the_check_compares_both_ways() -> None:
    pytest.importorskip("sklearn")  # the examples' oracle
    example = all_examples()["latency_p95_s"]
    with pytest.raises(ContractBroken, match="smooth = False"):
        check_metric(Median(), example, seeds=1)
    check_metric(SaidSo(), example, seeds=1)
