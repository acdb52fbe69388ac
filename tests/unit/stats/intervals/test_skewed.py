import math

import numpy as np
import pytest
from docs.validate_intervals import skewed_coverage
from scipy import stats

import surgvalid
from surgvalid.stats.intervals.skewed import half_line_ends, median_interval, skewness, unseen_rate
from surgvalid.stats.intervals.video_jackknife import mean_interval

RNG = np.random.default_rng(5)


def distances(values: list[float], *, rows: int = 1) -> dict[str, list[object]]:
    """A table of one model, `rows` frames of each patient."""
    patients = [f"P{number:02d}" for number in range(1, len(values) + 1) for _ in range(rows)]
    scores = [value for value in values for _ in range(rows)]
    cases = [f"c{number}" for number in range(len(scores))]
    return {"model": ["A"] * len(scores), "case": cases, "video": patients, "metric": ["hd95"] * len(scores),
            "value": scores}  # fmt: skip


def by_the_book(y: np.ndarray) -> tuple[float, float]:
    """Both intervals of the specification, written out for equal units."""
    count, mean = len(y), y.mean()
    se, t = y.std(ddof=1) / math.sqrt(count), stats.t.ppf(0.975, count - 1)
    a = stats.skew(y, bias=False) / (6 * math.sqrt(count))
    skew = count**2 / ((count - 1) * (count - 2)) * ((y - mean) ** 3).mean() / y.std(ddof=1) ** 3
    assert stats.skew(y, bias=False) == pytest.approx(skew)

    def hall(z: float) -> float:
        return float(np.cbrt(1 + 6 * a * (z - a)) - 1) / (2 * a)

    lows = mean * math.exp(-t * se / mean), mean - se * hall(t)
    highs = mean * math.exp(t * se / mean), mean - se * hall(-t)
    return max(0.0, min(lows)), max(highs)


@pytest.mark.parametrize("count", [3, 5, 12, 40])
def test_the_mean_of_a_distance_has_the_union_of_both_intervals(count: int) -> None:
    y = RNG.lognormal(1.0, 0.9, count)
    found = mean_interval(y[:, None], np.ones(count), low=0.0)
    assert (found.low[0], found.high[0]) == pytest.approx(by_the_book(y), rel=1e-9)


def test_the_interval_is_not_that_of_plain_t_and_stays_above_the_bound() -> None:
    y = np.array([0.1, 0.2, 0.1, 9.0])[:, None]
    plain, skewed = mean_interval(y, np.ones(4)), mean_interval(y, np.ones(4), low=0.0)
    assert plain.low[0] < 0 <= skewed.low[0]
    assert skewed.high[0] > plain.high[0]
    shifted = mean_interval(y + 5, np.ones(4), low=5.0)
    assert (shifted.low[0] - 5, shifted.high[0] - 5) == pytest.approx((skewed.low[0], skewed.high[0]))


def test_units_of_unequal_size_count_by_their_pseudo_values() -> None:
    totals, sizes = np.array([4.0, 30.0, 9.0, 80.0, 12.0]), np.array([2.0, 10.0, 3.0, 10.0, 5.0])
    whole, count = totals.sum() / sizes.sum(), 5
    pseudo = count * whole - (count - 1) * (totals.sum() - totals) / (sizes.sum() - sizes)
    found = mean_interval(totals[:, None], sizes, low=0.0)
    t = stats.t.ppf(0.975, found.df)
    expected = half_line_ends(found.value, found.sd, t, np.array([stats.skew(pseudo, bias=False)]), np.array([count]))
    assert (found.low[0], found.high[0]) == pytest.approx((expected[0][0], expected[1][0]))


def test_without_skewness_hall_is_plain_t() -> None:
    y = np.array([4.0, 5.0, 6.0])
    assert skewness(y[:, None], np.ones((3, 1), dtype=bool)) == pytest.approx(0.0)
    low, high = half_line_ends(*(np.array([x]) for x in (5.0, 0.1, 2.0, 0.0, 3.0)))
    assert (low[0], high[0]) == pytest.approx((4.8, 5.0 * math.exp(0.04)))


@pytest.mark.parametrize("values", [[3.0, 4.0], [4.0, 4.0, 4.0, 4.0]])
def test_two_units_or_equal_values_have_no_interval(values: list[float]) -> None:
    row = surgvalid.interval(distances(values)).table.row(0, named=True)
    assert (row["low"], row["high"], row["method"]) == (None, None, "none")


def test_an_infinite_mean_has_no_interval() -> None:
    found = mean_interval(np.array([[1.0], [2.0], [math.inf], [3.0]]), np.ones(4), low=0.0)
    assert np.isnan([found.low[0], found.high[0]]).all()


def test_the_median_over_units_stands_beside_the_mean_from_six_units() -> None:
    values = [2.0, 3.0, 4.0, 5.0, 9.0, 40.0]
    row = surgvalid.interval(distances(values, rows=3)).table.row(0, named=True)
    assert (row["median"], row["median_low"], row["median_high"]) == (4.5, 2.0, 40.0)
    assert row["method"] == "jackknife, log and Hall"
    fewer = surgvalid.interval(distances(values[:5])).table.row(0, named=True)
    assert (fewer["median"], fewer["median_low"]) == (4.0, None)
    shares = surgvalid.interval(distances([0.2, 0.4, 0.5, 0.3, 0.6, 0.1]) | {"metric": ["dsc"] * 6})
    assert "median" not in shares.shown.columns


@pytest.mark.parametrize("count", [6, 9, 20, 41])
def test_the_interval_of_the_median_is_exact(count: int) -> None:
    found = median_interval(np.arange(1.0, count + 1))
    k = int(found.low)
    assert 2 * stats.binom.cdf(k - 1, count, 0.5) <= 0.05 < 2 * stats.binom.cdf(k, count, 0.5)
    assert found.high == count + 1 - k


def test_a_patient_who_makes_up_the_mean_is_named_with_the_median() -> None:
    found = surgvalid.interval(distances([4.0, 4.2, 3.0, 4.1, 5.0, 4.0, 21.0])).findings
    texts = {finding.code: finding.text for finding in found}
    assert texts["one-unit-carries"] == "P07 alone makes up 46 % of the mean; the median is 4.1."
    even = surgvalid.interval(distances([4.0, 4.2, 3.0, 4.1, 5.0, 4.0, 5.0])).findings
    assert "one-unit-carries" not in [finding.code for finding in even]


def test_what_no_patient_shows_is_said_with_every_mean_of_a_distance() -> None:
    values = RNG.uniform(3, 5, 12).tolist()
    told = {finding.code: finding.text for finding in surgvalid.interval(distances(values)).findings}
    assert "up to 22 % of videos could have gone unseen in the 12 with scores" in told["unseen-failures"]
    failed = {finding.code: finding.text for finding in surgvalid.interval(distances([*values, 400.0])).findings}
    assert "1 of 13 videos failed outright, and up to 32 % may" in failed["unseen-failures"]
    assert unseen_rate(13, 1) == pytest.approx(stats.beta.ppf(0.95, 2, 12))
    assert unseen_rate(3, 3) == 1.0


@pytest.mark.parametrize("kind", ["Lomax(5)", "chi-squared(1)", "log-normal, SD of log .7"])
@pytest.mark.parametrize("videos", [5, 10, 40])
def test_means_of_skewed_metrics_are_covered(kind: str, videos: int) -> None:
    # 1,200 repetitions know a share of .94 to about .007.
    assert skewed_coverage(kind, videos, unequal=False, repetitions=1200) >= 0.91
