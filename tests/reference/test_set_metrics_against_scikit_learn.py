import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import accuracy_score, f1_score, jaccard_score

from surgvalid.metrics.answer_errors import exact, jaccard, set_f1

SHAPES = st.tuples(st.integers(1, 8), st.integers(2, 6))


@given(SHAPES.flatmap(lambda shape: st.tuples(arrays(bool, shape), arrays(bool, shape))))
def test_means_over_cases_equal_the_sample_averages_of_scikit_learn(pair) -> None:
    reference, prediction = pair
    options = {"average": "samples", "zero_division": 1.0}
    assert jaccard(reference, prediction).mean() == pytest.approx(jaccard_score(reference, prediction, **options))
    assert set_f1(reference, prediction).mean() == pytest.approx(f1_score(reference, prediction, **options))
    assert exact(reference, prediction).mean() == pytest.approx(accuracy_score(reference, prediction))


def test_a_fixed_case_agrees_to_the_last_bit() -> None:
    rng = np.random.default_rng(3)
    reference, prediction = rng.random((2, 200, 10)) < 0.2
    ours = jaccard(reference, prediction)
    theirs = [jaccard_score([r], [p], average="samples", zero_division=1.0) for r, p in zip(reference, prediction)]  # noqa: B905
    assert ours.tolist() == theirs
