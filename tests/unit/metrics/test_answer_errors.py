import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surgvalid.errors import Misuse
from surgvalid.metrics.answer_errors import count_errors, expected_cost, worst_errors

COUNTS = st.integers(0, 12)
PAIRS = st.lists(st.tuples(COUNTS, st.one_of(COUNTS, st.integers(13, 10**6), st.none())), min_size=1, max_size=30)


def arrays(pairs):
    return [r for r, _ in pairs], [math.nan if p is None else p for _, p in pairs]


def cost_by_hand(pairs, power: int) -> tuple[float, float]:
    """Expected Cost and that of the best constant, by going through the confusion table cell by cell."""
    top = max(r for r, _ in pairs)
    cells: dict[tuple[int, int | None], int] = {}
    for pair in pairs:
        cells[pair] = cells.get(pair, 0) + 1
    total = 0.0
    for (i, j), count in cells.items():
        prior = sum(n for (r, _), n in cells.items() if r == i) / len(pairs)
        rate = count / sum(n for (r, _), n in cells.items() if r == i)
        worst = max(abs(i - d) ** power for d in range(top + 1))
        total += prior * rate * (worst if j is None else min(abs(i - j) ** power, worst))
    constant = min(sum(abs(i - d) ** power for i, _ in pairs) / len(pairs) for d in range(top + 1))
    return total, constant


@pytest.mark.parametrize("power", [1, 2])
@given(PAIRS)
def test_expected_cost_equals_the_sum_over_the_confusion_table(power, pairs) -> None:
    value, constant = cost_by_hand(pairs, power)
    ours = expected_cost(*arrays(pairs), power=power)
    assert ours.value == pytest.approx(value)
    assert ours.constant_cost == pytest.approx(constant)
    if constant:
        assert ours.normalised == pytest.approx(value / constant)
    else:
        assert math.isnan(ours.normalised)


def test_expected_cost_of_a_case_worked_by_hand() -> None:
    # References 0 1 1 4; the best constant is 1 (|.|: 1+0+0+3 = 4; squared, mean 1.5: d=1 10, d=2 10).
    linear = expected_cost([0, 1, 1, 4], [1, 1, math.nan, 9], power=1)
    assert linear == (2.0, 2.0, 1, 1.0)  # (1 + 0 + 3 + 4) / 4, the 9 costing no more than a missing answer
    squared = expected_cost([0, 1, 1, 4], [1, 1, math.nan, 9], power=2)
    assert squared == (6.5, 2.6, 1, 2.5)  # (1 + 0 + 9 + 16) / 4


@given(PAIRS)
def test_the_best_constant_has_a_normalised_cost_of_one(pairs) -> None:
    references, _ = arrays(pairs)
    for power in (1, 2):
        best = expected_cost(references, references, power=power).constant
        cost = expected_cost(references, [best] * len(references), power=power)
        assert math.isnan(cost.normalised) or cost.normalised == pytest.approx(1)


@given(PAIRS)
def test_silence_is_never_better_than_an_answer(pairs) -> None:
    references, predictions = arrays(pairs)
    assert (count_errors(references, predictions) <= worst_errors(references)).all()


@given(PAIRS, st.data())
def test_whole_weights_act_like_repeated_cases(pairs, data) -> None:
    times = data.draw(st.lists(st.integers(0, 3), min_size=len(pairs), max_size=len(pairs)).filter(sum))
    references, predictions = arrays(pairs)
    weighted = expected_cost(references, predictions, top=12, weights=times, power=2)
    repeated = expected_cost(np.repeat(references, times), np.repeat(predictions, times), top=12, power=2)
    assert weighted.value == pytest.approx(repeated.value)
    assert weighted.constant_cost == pytest.approx(repeated.constant_cost)


def test_no_case_at_all_has_no_cost() -> None:
    assert math.isnan(expected_cost([], []).value)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: expected_cost([1], [1], power=3), "power must be 1 or 2, got 3"),
        (lambda: expected_cost([-1], [1]), "none negative"),
        (lambda: count_errors([1, 2], [1]), "2 references and 1 predictions"),
        (lambda: expected_cost([1, 2], [1, 2], weights=[0, 0]), "weights must be 2 finite numbers"),
    ],
)
def test_misuse_is_named(call, message) -> None:
    with pytest.raises(Misuse, match=message):
        call()
