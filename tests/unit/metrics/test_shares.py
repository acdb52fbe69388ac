import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surgvalid.errors import Misuse
from surgvalid.metrics.answer_errors import percentage_points_errors


@given(st.floats(0, 100), st.floats(0, 1e300))
def test_an_error_is_the_distance_but_never_more_than_silence(reference, prediction) -> None:
    given_error, silence = percentage_points_errors([reference] * 2, [prediction, math.nan])
    assert silence == max(reference, 100 - reference)
    assert given_error == min(abs(reference - prediction), silence)


def test_an_infinite_answer_costs_the_worst() -> None:
    assert percentage_points_errors([20], [math.inf]).tolist() == [80]


def test_a_reference_that_is_no_number_is_refused() -> None:
    with pytest.raises(Misuse, match="finite references"):
        percentage_points_errors([math.nan], [1])
