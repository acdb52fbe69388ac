import numpy as np
import pytest
from scipy import stats

from surgvalid.stats.mixed.model.families import BetaBinomial, Binomial, Family, Poisson

RNG = np.random.default_rng(3)
TRIALS = RNG.integers(1, 30, 40)
HITS = RNG.binomial(TRIALS, 0.4)
WEIGHTS = RNG.uniform(0.5, 2, 40)
ETA = RNG.normal(0, 1.5, 40)
FAMILIES: list[tuple[Family, float]] = [
    (Binomial(HITS, TRIALS, WEIGHTS), np.zeros(0)),
    (Poisson(HITS, WEIGHTS), np.zeros(0)),
    (BetaBinomial(HITS, TRIALS, WEIGHTS), np.array([1.3])),
]


@pytest.mark.parametrize(("family", "extra"), FAMILIES, ids=lambda f: getattr(f, "name", ""))
def test_derivatives_agree_with_differences(family: Family, extra: float) -> None:
    step = 1e-5
    one = np.eye(40) * step
    numeric = np.array([(family.value(ETA + h, extra) - family.value(ETA - h, extra)) / (2 * step) for h in one])
    np.testing.assert_allclose(family.terms(ETA, extra).score, numeric, rtol=1e-5, atol=1e-6)
    high, low = family.terms(ETA + step, extra), family.terms(ETA - step, extra)
    np.testing.assert_allclose(
        family.terms(ETA, extra).weight, -(high.score - low.score) / (2 * step), rtol=1e-6, atol=1e-7
    )
    np.testing.assert_allclose(family.slope(ETA, extra), (high.weight - low.weight) / (2 * step), rtol=1e-5, atol=1e-7)


def test_values_are_log_probabilities() -> None:
    probability = 1 / (1 + np.exp(-ETA))
    binomial = Binomial(HITS, TRIALS)
    expected = stats.binom.logpmf(HITS, TRIALS, probability).sum()
    assert binomial.value(ETA) + binomial.saturated == pytest.approx(expected)
    poisson = Poisson(HITS)
    assert poisson.value(ETA) + poisson.saturated == pytest.approx(stats.poisson.logpmf(HITS, np.exp(ETA)).sum())
    beta = stats.betabinom.logpmf(HITS, TRIALS, probability * 5, (1 - probability) * 5).sum()
    assert BetaBinomial(HITS, TRIALS).value(ETA, np.array([np.log(5)])) == pytest.approx(beta)


def test_extreme_predictors_stay_finite() -> None:
    eta = np.array([-800.0, 800.0, 0.0])
    family = Binomial(np.array([0.0, 3.0, 1.0]), np.array([3.0, 3.0, 3.0]))
    assert np.isfinite(family.value(eta))
    assert np.isfinite(family.terms(eta).score).all()
