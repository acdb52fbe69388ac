import math

import numpy as np
import pytest
from scipy.stats import t

from surgvalid.metrics.answer_errors import expected_cost
from surgvalid.scoring.targeted import COSTS, CostStatistic, summary_rows
from surgvalid.stats.intervals.interval_settings import IntervalSettings
from surgvalid.stats.intervals.video_jackknife import degrees_of_freedom

VIDEOS = [f"v{place}" for place in np.repeat(np.arange(7), [3, 5, 2, 8, 4, 6, 4])]
REFERENCE = np.random.default_rng(1).integers(6, size=32).astype(float)
GIVEN = np.where(
    np.random.default_rng(2).random(32) < 0.1, np.nan, REFERENCE + np.random.default_rng(3).integers(3, size=32)
)


def costs(kept: np.ndarray, weights: np.ndarray) -> list[float]:
    found = [
        expected_cost(REFERENCE[kept], GIVEN[kept], power=power, top=REFERENCE.max(), weights=weights[kept])
        for power in (1, 2)
    ]
    return [value for one in found for value in (one.value, one.normalised)]


@pytest.mark.parametrize("estimand", ["rows", "videos"])
def test_expected_costs_and_their_standard_errors_are_those_of_loops(estimand: str) -> None:
    names, codes = np.unique(VIDEOS, return_inverse=True)
    weights = np.ones(32) if estimand == "rows" else 1 / np.bincount(codes)[codes]
    rows = summary_rows(VIDEOS, {}, (REFERENCE, GIVEN), IntervalSettings())
    found = {row["metric"]: row for row in rows if row["estimand"] == estimand}
    whole = costs(np.ones(32, dtype=bool), weights)
    left = np.array([costs(codes != video, weights) for video in range(len(names))])
    sizes = np.bincount(codes).astype(float) if estimand == "rows" else np.ones(len(names))
    for place, metric in enumerate(COSTS):
        sd = math.sqrt((len(names) - 1) / len(names) * ((left[:, place] - whole[place]) ** 2).sum())
        quantile, value, count = t.ppf(0.975, float(degrees_of_freedom(sizes))), whole[place], len(names)
        pseudo = count * value - (count - 1) * left[:, place]
        skew = count**2 / ((count - 1) * (count - 2)) * ((pseudo - pseudo.mean()) ** 3).mean() / pseudo.std(ddof=1) ** 3
        a = skew / (6 * math.sqrt(count))
        hall = [value - sd * (np.cbrt(1 + 6 * a * (z - a)) - 1) / (2 * a) for z in (quantile, -quantile)]
        logs = [value * math.exp(side * quantile * sd / value) for side in (-1, 1)]
        row = found[metric]
        assert row["value"] == pytest.approx(value)
        assert (row["low"], row["high"]) == pytest.approx((max(0.0, min(hall[0], logs[0])), max(hall[1], logs[1])))


def test_one_video_leaves_values_without_intervals() -> None:
    rows = summary_rows(["v"] * 32, {"count_error": np.ones(32)}, (REFERENCE, GIVEN), IntervalSettings())
    assert all(row["value"] is not None and row["low"] is None and row["method"] == "none" for row in rows)


def test_a_method_that_draws_is_followed_and_no_resamples_leave_values_alone() -> None:
    drawn = summary_rows(
        VIDEOS, {"count_error": np.ones(32)}, (REFERENCE, GIVEN), IntervalSettings(method="bootstrap", replicates=50)
    )
    assert {row["method"] for row in drawn} == {"bootstrap"}
    none = summary_rows(VIDEOS, {}, (REFERENCE, GIVEN), IntervalSettings(method="bootstrap", replicates=0))
    assert {row["method"] for row in none} == {"none"}
    assert [row["value"] for row in none] == pytest.approx([row["value"] for row in drawn if row["metric"] in COSTS])


def test_a_weighting_without_a_question_has_no_cost() -> None:
    values = np.column_stack([REFERENCE, GIVEN, np.ones(32)])
    assert np.isnan(CostStatistic(5.0).weighted(np.zeros((1, 32)), values)).all()
