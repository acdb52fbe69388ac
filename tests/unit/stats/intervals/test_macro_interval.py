import numpy as np
import pytest
from scipy import special, stats

from surgvalid.stats.intervals.macro_interval import MacroInterval, macro_difference_interval, macro_interval
from surgvalid.stats.intervals.video_jackknife import mean_interval


def recalls(hits: np.ndarray, cases: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Class values and class values without each video, from counts `[video, class]`."""
    with np.errstate(invalid="ignore", divide="ignore"):
        whole = hits.sum(axis=0) / cases.sum(axis=0)
        return whole, (hits.sum(axis=0) - hits) / (cases.sum(axis=0) - cases)


def random_counts(seed: int, videos: int = 12, classes: int = 4) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    cases = rng.integers(0, 9, (videos, classes)) + (np.arange(videos) < 2)[:, None]
    return rng.binomial(cases, rng.beta(4, 2, (videos, classes))).astype(float), cases.astype(float)


def interval_of(hits: np.ndarray, cases: np.ndarray) -> MacroInterval:
    return macro_interval(*recalls(hits, cases), cases)


def test_the_numbers_follow_the_definition() -> None:
    hits, cases = random_counts(1)
    hits[3:, 0] = cases[3:, 0] = 0
    found = interval_of(hits, cases)
    value, without = recalls(hits, cases)
    gaps = value - without
    u = 11 / 12 * (gaps**2).sum(axis=0)
    m = cases.sum(axis=0) ** 2 / (cases**2).sum(axis=0)
    df = min(u.sum() ** 2 / (u**2 / (m - 1)).sum(), 11)
    sd = np.sqrt(11 / 12 * (gaps.sum(axis=1) ** 2).sum()) / 4
    step = stats.t.ppf(0.975, df) * sd / (value.mean() * (1 - value.mean()))
    assert found.every == found.repeated
    assert (found.every.sd, found.every.df) == pytest.approx((sd, df))
    assert found.every.low == pytest.approx(special.expit(special.logit(value.mean()) - step))
    assert found.every.high == pytest.approx(special.expit(special.logit(value.mean()) + step))


def test_one_class_is_a_plain_value() -> None:
    hits, cases = random_counts(2, classes=1)
    cases += 1
    plain = mean_interval(hits, cases, low=0, high=1)
    found = interval_of(hits, cases).every
    assert (found.low, found.high, found.df) == pytest.approx((plain.low[0], plain.high[0], plain.df[0]))


def test_a_class_in_one_video_may_be_anything() -> None:
    hits, cases = random_counts(3, classes=6)
    cases[1:, 5] = hits[1:, 5] = 0
    found = interval_of(hits, cases)
    without_it = interval_of(hits[:, :5], cases[:, :5])
    assert found.single == (5,)
    assert found.repeated == without_it.every
    assert found.every.low == pytest.approx(5 * without_it.every.low / 6)
    assert found.every.high == pytest.approx((5 * without_it.every.high + 1) / 6)
    assert found.every.value == pytest.approx(recalls(hits, cases)[0].mean())


def test_many_classes_in_one_video_leave_only_the_second_row() -> None:
    hits, cases = random_counts(4, classes=4)
    cases[1:, 3] = hits[1:, 3] = 0
    found = interval_of(hits, cases)
    assert np.isnan([found.every.low, found.every.high]).all()
    assert np.isfinite([found.repeated.low, found.repeated.high]).all()


def test_a_constant_answer_has_balanced_accuracy_one_half_for_certain() -> None:
    cases = np.array([[5.0, 2], [4, 0], [6, 3], [5, 1]])
    found = interval_of(cases * [1, 0], cases)
    assert (found.every.value, found.every.low, found.every.high) == (0.5, 0.5, 0.5)


def test_perfect_classes_leave_room_for_the_rarest() -> None:
    cases = np.array([[5.0, 2], [4, 0], [6, 3], [5, 1]])
    found = interval_of(cases, cases).every
    m = cases.sum(axis=0) ** 2 / (cases**2).sum(axis=0)
    assert (found.low, found.high) == (pytest.approx((0.025 ** (1 / m)).mean()), 1.0)


def test_classes_that_never_occur_are_no_part_of_the_mean() -> None:
    hits, cases = random_counts(5)
    more = [np.concatenate([counts, np.zeros((12, 1))], axis=1) for counts in (hits, cases)]
    assert interval_of(*more).every == interval_of(hits, cases).every


def test_differences_stand_on_their_own_scale_and_single_classes_widen_both_ways() -> None:
    hits, cases = random_counts(6, classes=5)
    other = np.minimum(hits + 1, cases)
    (a, a_out), (b, b_out) = recalls(hits, cases), recalls(other, cases)
    found = macro_difference_interval(a - b, a_out - b_out, cases).every
    reach = stats.t.ppf(0.975, found.df) * found.sd
    assert (found.low, found.high) == pytest.approx((found.value - reach, found.value + reach))
    cases[1:, 4] = 0
    single = macro_difference_interval(a - b, a_out - b_out, cases)
    assert single.every.low == pytest.approx((4 * single.repeated.low - 1) / 5)
    assert single.every.high == pytest.approx((4 * single.repeated.high + 1) / 5)


def test_the_order_of_videos_and_classes_changes_nothing() -> None:
    hits, cases = random_counts(7)
    order, classes = np.random.default_rng(0).permutation(12), [2, 0, 3, 1]
    moved = interval_of(hits[order][:, classes], cases[order][:, classes]).every
    assert moved == pytest.approx(interval_of(hits, cases).every, rel=1e-12)
