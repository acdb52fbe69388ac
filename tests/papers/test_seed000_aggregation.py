"""Figure 6 of the validation-pitfalls study: ranks of ten algorithms and what its text says about them."""

import numpy as np
import pytest

from surgvalid.stats.comparing.aggregation import summarise, tau_b

MODELS = [f"A{i}" for i in range(1, 11)]
PRINTED = {
    "frame-wise": ["A1", "A2", "A3", "A4", "A5", "A6", "A7 A8 A9 A10"],
    "video-wise": ["A2", "A3", "A1", "A4", "A5", "A6", "A7", "A8", "A10", "A9"],
    "phase-wise": ["A4", "A1", "A2 A5", "A3", "A7", "A6", "A10", "A8", "A9"],
    "phase-wise video-wise": ["A4", "A2", "A1", "A5", "A7", "A3", "A6", "A10", "A9", "A8"],
    "video-wise phase-wise": ["A4", "A2", "A1", "A5", "A7", "A3", "A6", "A10", "A9", "A8"],
    "weighted phase-wise": ["A1 A4", "A2", "A5", "A3", "A7", "A6", "A10", "A8", "A9"],
}
"""The columns of the figure, from rank 1 down; algorithms in one entry share a rank."""
PRINTED_TAU = {"video-wise": 0.84, "phase-wise": 0.68, "phase-wise video-wise": 0.60, "video-wise phase-wise": 0.60,
               "weighted phase-wise": 0.72}  # fmt: skip
STORED = {
    "frame-wise": [1, 4, 2, 5, 3, 7, 6, 7, 7, 7],
    "video-wise": [3, 4, 1, 5, 2, 7, 6, 9, 8, 10],
    "phase-wise": [2, 1, 3, 3, 5, 6, 7, 8, 9, 10],
}
"""Ranks as the authors stored them, under other pseudonyms."""


def ranks(column: list[str]) -> np.ndarray:
    found, rank = {}, 1
    for entry in column:
        found |= dict.fromkeys(entry.split(), rank)
        rank += len(entry.split())
    return np.array([float(found[model]) for model in MODELS])


@pytest.fixture(scope="module")
def summary():
    values = {name: ranks(column) for name, column in PRINTED.items()}
    return summarise(MODELS, values, better=dict.fromkeys(values, "smaller"), default="frame-wise")


def test_ranking_printed_ranks_again_changes_nothing(summary) -> None:
    table = summary[0]
    for name, column in PRINTED.items():
        assert table.filter(strategy=name)["rank"].to_list() == ranks(column).tolist()


@pytest.mark.parametrize(("strategy", "tau"), PRINTED_TAU.items())
def test_tau_b_equals_the_printed_value(summary, strategy: str, tau: float) -> None:
    assert summary[1].filter(strategy=strategy)["tau_b"][0] == pytest.approx(tau, abs=0.005)


def test_tau_b_of_the_stored_ranks() -> None:
    default = np.array(STORED["frame-wise"])
    assert tau_b(np.array(STORED["video-wise"]), default) == pytest.approx(0.835467, abs=1e-6)
    assert tau_b(np.array(STORED["phase-wise"]), default) == pytest.approx(0.675926, abs=1e-6)


def test_what_the_text_says_about_all_rankings(summary) -> None:
    table, agreement = summary
    others = agreement.filter(~(agreement["strategy"] == "frame-wise"))
    assert others["tau_b"].median() == pytest.approx(0.68, abs=0.005)
    assert others["winner_changes"].mean() == pytest.approx(0.8)
    change = table.filter(~(table["strategy"] == "frame-wise"))["rank_change"]
    assert change.abs().median() == 1
    assert change.abs().max() == 3
    assert (change > 0).mean() == pytest.approx(0.58)
    assert (change < 0).mean() == pytest.approx(0.28)
    assert (change == 0).mean() == pytest.approx(0.14)
