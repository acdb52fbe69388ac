"""Our agreement coefficients against scikit-learn, statsmodels, krippendorff and pingouin."""

import krippendorff as kd
import numpy as np
import pandas as pd
import pingouin
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa

from surgvalid.stats.agreement.coefficients import Units, cohen, fleiss, icc, krippendorff


def total(found) -> float:
    return float(found.value(found.statistics.sum(axis=0)))


def ratings(seed: int, units: int = 40, raters: int = 4, categories: int = 4) -> np.ndarray:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, categories, units)
    slips = rng.integers(0, categories, (units, raters))
    return np.where(rng.random((units, raters)) < 0.6, truth[:, None], slips)


@pytest.mark.parametrize("weights", ["none", "linear", "quadratic"])
@given(seed=st.integers(0, 10_000))
def test_cohen_equals_scikit_learn(weights: str, seed: int) -> None:
    codes = ratings(seed, raters=2)
    theirs = cohen_kappa_score(
        codes[:, 0], codes[:, 1], weights=None if weights == "none" else weights, labels=range(4)
    )
    assert total(cohen(codes[:, 0], codes[:, 1], 4, Units.single(40), weights=weights)) == pytest.approx(theirs)


@given(seed=st.integers(0, 10_000))
def test_fleiss_equals_statsmodels(seed: int) -> None:
    codes = ratings(seed)
    found = fleiss(codes, Units.single(40))
    assert found is not None
    assert total(found) == pytest.approx(fleiss_kappa(aggregate_raters(codes, n_cat=4)[0]))


@pytest.mark.parametrize("scale", ["nominal", "ordinal", "interval"])
@given(seed=st.integers(0, 10_000))
def test_alpha_equals_krippendorff_with_missing_ratings(scale: str, seed: int) -> None:
    codes = ratings(seed)
    holes = np.random.default_rng(seed + 1).random(codes.shape) < 0.3
    values = np.array([1.0, 2.0, 4.0, 7.0])
    data = np.where(holes, np.nan, values[codes])
    theirs = kd.alpha(reliability_data=data.T, value_domain=values, level_of_measurement=scale)
    found = krippendorff(np.where(holes, -1, codes), 4, Units.single(40), scale=scale, numbers=values)
    assert total(found) == pytest.approx(theirs, abs=1e-9)


@pytest.mark.filterwarnings("ignore")  # pingouin uses deprecated pandas calls
@pytest.mark.parametrize(("kind", "row"), [("2,1", 1), ("3,1", 2)])
@pytest.mark.parametrize("seed", range(5))
def test_icc_equals_pingouin(kind: str, row: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=(12, 1)) + rng.normal(size=(12, 3)) * 0.5 + np.array([0.0, 0.3, -0.2])
    long = pd.DataFrame(
        {"unit": np.repeat(np.arange(12), 3), "rater": np.tile(np.arange(3), 12), "score": numbers.ravel()}
    )
    theirs = pingouin.intraclass_corr(data=long, targets="unit", raters="rater", ratings="score")
    found = icc(numbers, Units.single(12), kind=kind)
    assert found is not None
    assert total(found) == pytest.approx(theirs["ICC"].to_numpy()[row], abs=2e-4)
