"""Decisions of the workflow: what is asked of an outcome, what is refused, what goes on record."""

import numpy as np
import polars as pl
import pytest

from mixed_data import nested_table
from surgvalid.errors import TableInvalid
from surgvalid.stats.mixed.failures import failures
from surgvalid.stats.mixed.model.workflow import choose_family

TABLE = nested_table()
SCORE = {"outcome": "score", "fixed": ["smoke"], "random": ["algorithm", "patient", "image", "instance"]}


@pytest.mark.parametrize(
    ("transform", "message"),
    [
        ("log", r"'score' has \d+ values below 0 \(first: row \d+, -.*where the log does not exist"),
        ("logit", r"'score' has \d+ values outside 0 to 1 .*where the logit does not exist"),
    ],
)
def test_a_transform_is_refused_where_it_does_not_exist(transform: str, message: str) -> None:
    with pytest.raises(TableInvalid, match=message):
        failures(TABLE, **SCORE, transform=transform)


def test_exact_bounds_are_moved_inwards_and_nothing_else_is() -> None:
    values = np.linspace(0, 1, 120)
    found = failures(TABLE.with_columns(score=pl.Series(values)), **SCORE, transform="logit").fit.design.response
    assert (found.min(), found.max()) == (pytest.approx(-np.log(999)), pytest.approx(np.log(999)))
    np.testing.assert_allclose(found[1:-1], np.log(values[1:-1] / (1 - values[1:-1])))


def test_two_values_and_whole_numbers_are_told_what_they_could_be() -> None:
    assert "code them as 0 and 1" in choose_family(np.array([1.0, 2.0, 2.0])).decisions[0].reason
    assert "family poisson" in choose_family(np.array([0.0, 2.0, 5.0])).decisions[0].reason
    plain = choose_family(np.array([0.5, 2.0, 5.0])).decisions[0].reason
    assert plain == "3 different values, so a linear model"


def test_every_decision_stands_in_the_order_it_was_made() -> None:
    asked = [decision.question for decision in failures(TABLE, **SCORE).decisions]
    assert asked == [
        "Is the outcome continuous?", "Does the outcome need a transform?",
        "Between what do effects have to hold?", "Which is the finest unit?", "How do models enter?",
        "Are the residuals normal?",
    ]  # fmt: skip
    counts = failures(TABLE, successes="hits", trials="total", fixed=["smoke"], random=["algorithm", "image"])
    assert [decision.question for decision in counts.decisions] == asked[:1] + asked[2:5]


def test_roles_are_on_record_with_their_reason() -> None:
    options = {"successes": "hits", "trials": "total", "fixed": ["smoke"], "random": ["algorithm", "image"]}
    reasons = {
        role: str(failures(TABLE, **options, role=role).decisions[-1])
        for role in ("random", "fixed", "removed", "aggregated")
    }
    assert "effects are for these 3 models, on average" in reasons["random"]
    assert "of interest" in reasons["fixed"]
    assert "removed: asked for" in reasons["removed"]
    assert "averaged over models" in reasons["aggregated"]


def test_a_fit_without_random_effects_says_that_rows_count_as_independent() -> None:
    result = failures(TABLE.drop("patient"), outcome="correct", fixed="smoke")
    assert "independent rows" in str(result.decisions[-1])
    assert "independent rows" not in str(failures(TABLE, outcome="correct", fixed="smoke").decisions)
