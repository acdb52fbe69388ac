"""Units, weights and tickets: what all metrics share."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from surgvalid.errors import Misuse
from surgvalid.metrics.metric import BLOCK_CELLS, blocks, redeem, tickets, units_of, weight_rows


def test_without_units_every_row_stands_for_itself() -> None:
    assert units_of(None, 3).codes.tolist() == [0, 1, 2]


def test_units_keep_their_first_order_and_may_be_of_any_kind() -> None:
    units = units_of([("v", 2), 7, ("v", 2), None], 4)
    assert units.names == (("v", 2), 7, None)
    assert units.codes.tolist() == [0, 1, 0, 2]


def test_a_row_without_a_unit_is_refused() -> None:
    with pytest.raises(Misuse, match="each of 3 rows, got 2"):
        units_of(["a", "b"], 3)


def test_one_vector_of_weights_becomes_one_row() -> None:
    assert weight_rows([1, 0, 2], 3).tolist() == [[1, 0, 2]]


@pytest.mark.parametrize("wrong", [[1, 2], [[[1, 2, 3]]], 3.0])
def test_weights_of_the_wrong_shape_are_refused(wrong: object) -> None:
    with pytest.raises(Misuse, match="one weight for each of 3 units"):
        weight_rows(wrong, 3)  # type: ignore[arg-type]


def test_tickets_taken_twice_add_their_weights_and_left_out_weigh_nothing() -> None:
    store = SimpleNamespace(units=3)
    rows = tickets(store, 3)[[2, 0, 2]]
    assert redeem(rows, np.array([[1.0, 10.0, 100.0]])).weights.tolist() == [[10.0, 0.0, 101.0]]


def test_tickets_of_two_stores_cannot_be_mixed() -> None:
    both = np.concatenate([tickets(SimpleNamespace(units=1), 1), tickets(SimpleNamespace(units=1), 1)])
    with pytest.raises(Misuse, match="prepared separately"):
        redeem(both, np.ones((1, 2)))


def test_blocks_cover_every_weighting_once() -> None:
    weights = np.zeros((10, 1))
    covered = [place for part in blocks(weights, BLOCK_CELLS // 3) for place in range(10)[part]]
    assert covered == list(range(10))
