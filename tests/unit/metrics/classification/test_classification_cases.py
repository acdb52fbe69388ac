"""Classification input: every problem is listed at once."""

from __future__ import annotations

import numpy as np
import pytest

from surgvalid.errors import InputInvalid
from surgvalid.metrics.classification.cases import LabelCases, ScoreCases, SetCases


def test_labels_list_every_problem() -> None:
    with pytest.raises(InputInvalid) as caught:
        LabelCases(np.array([0, 5, -1]), np.array([0, -2]), 3, unit=["a"])
    text = str(caught.value)
    assert "reference has 2 labels outside 0 to 2 (first: case 1, 5)" in text
    assert "prediction has 1 labels outside -1 to 2" in text
    assert "3 references but 2 predictions" in text
    assert "3 cases but 1 units" in text


def test_labels_that_are_no_indices_are_refused() -> None:
    with pytest.raises(InputInvalid, match="must be one list of class indices"):
        LabelCases(np.array([0.0, 1.0]), np.array([0, 1]), 2)


def test_members_must_be_0_or_1() -> None:
    with pytest.raises(InputInvalid, match="1 entries other than 0 and 1") as caught:
        SetCases(np.array([[0, 2]]), np.array([[1, 0], [0, 0]]))
    assert "references have shape (1, 2), predictions (2, 2)" in str(caught.value)


def test_scores_that_are_not_finite_are_counted() -> None:
    with pytest.raises(InputInvalid, match="2 scores are NaN or infinite"):
        ScoreCases(np.array([0, 1]), np.array([[np.nan, 1.0], [0.0, np.inf]]))


def test_a_class_must_be_declared() -> None:
    with pytest.raises(InputInvalid, match="at least one class"):
        LabelCases(np.zeros(0, int), np.zeros(0, int), 0)


def test_one_label_per_case_becomes_membership() -> None:
    cases = ScoreCases(np.array([1, 0]), np.zeros((2, 3)))
    assert cases.single_label
    assert cases.reference.tolist() == [[False, True, False], [True, False, False]]


@pytest.mark.parametrize("scores", [np.zeros(3), np.zeros((2, 2, 2)), np.float64(1.0)])
def test_scores_of_the_wrong_shape_are_refused(scores: np.ndarray) -> None:
    with pytest.raises(InputInvalid, match="cases by classes"):
        ScoreCases(np.zeros((2, 2), bool), scores)
