"""Our kappas against scikit-learn and statsmodels."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import aggregate_raters
from statsmodels.stats.inter_rater import fleiss_kappa as oracle_fleiss

from surgvalid.judges._agreement import cohen_kappa, fleiss_kappa


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=60))
def test_cohen_equals_scikit_learn(pairs: list[tuple[bool, bool]]) -> None:
    a, b = zip(*pairs, strict=True)
    ours = cohen_kappa(a, b)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        oracle = cohen_kappa_score(a, b, labels=[False, True])
    if len(set(a) | set(b)) == 1:
        assert ours is None
        assert math.isnan(oracle)
    else:
        assert ours == pytest.approx(oracle, abs=1e-12)


@given(st.integers(3, 6), st.integers(1, 40), st.integers(0, 2**32 - 1))
def test_fleiss_equals_statsmodels(raters: int, items: int, seed: int) -> None:
    ratings = np.random.default_rng(seed).integers(0, 2, size=(items, raters))
    counts, _ = aggregate_raters(ratings, n_cat=2)
    ours = fleiss_kappa([[True] * right + [False] * wrong for right, wrong in counts.tolist()])
    if len(np.unique(ratings)) == 1:
        assert ours is None
    else:
        assert ours == pytest.approx(oracle_fleiss(counts), abs=1e-12)


def test_nothing_to_compare_has_no_kappa() -> None:
    assert cohen_kappa([], []) is None
    assert fleiss_kappa([]) is None
