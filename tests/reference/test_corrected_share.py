"""The interval of Lang and Reiczigel against another implementation, and its coverage in the two ways gold is made.

The values are those of `prevSeSp` in the R package asht 1.0.1 (M. P. Fay), which follows the paper by its equations;
it leaves estimates above 1 as they are, so these are cut to 1 here.
"""

import numpy as np
import pytest

from surgvalid.stats.intervals.proportions import Hits, corrected_share

VALUES = [
    (60, 100, (90, 100), (80, 100), 0.95, 0.571428571429, 0.413345451024, 0.722072608943),
    (60, 100, (90, 100), (80, 100), 0.90, 0.571428571429, 0.439574702484, 0.699691580830),
    (0, 20, (10, 12), (9, 10), 0.95, 0.000000000000, 0.000000000000, 0.175736837064),
    (0, 20, (10, 12), (9, 10), 0.90, 0.000000000000, 0.000000000000, 0.106149480263),
    (20, 20, (10, 12), (9, 10), 0.95, 1.227272727273, 0.884093757467, 1.000000000000),
    (20, 20, (10, 12), (9, 10), 0.90, 1.227272727273, 0.952982745650, 1.000000000000),
    (7, 9, (5, 6), (4, 5), 0.95, 0.912280701754, 0.221710635459, 1.000000000000),
    (7, 9, (5, 6), (4, 5), 0.90, 0.912280701754, 0.339582121239, 1.000000000000),
    (350, 400, (20, 25), (31, 40), 0.95, 1.130434782609, 0.888227397141, 1.000000000000),
    (350, 400, (20, 25), (31, 40), 0.90, 1.130434782609, 0.927096257698, 1.000000000000),
    (12, 300, (48, 50), (290, 300), 0.95, 0.007194244604, 0.000000000000, 0.044307048711),
    (12, 300, (48, 50), (290, 300), 0.90, 0.007194244604, 0.000000000000, 0.036827469563),
    (1000, 4000, (700, 800), (380, 500), 0.95, 0.015748031496, 0.000000000000, 0.073780081866),
    (1000, 4000, (700, 800), (380, 500), 0.90, 0.015748031496, 0.000000000000, 0.064519192712),
    (33, 50, (11, 20), (12, 20), 0.95, 1.733333333333, 0.000000000000, 1.000000000000),
    (33, 50, (11, 20), (12, 20), 0.90, 1.733333333333, 0.000000000000, 1.000000000000),
    (5, 8, (3, 3), (3, 3), 0.95, 0.625000000000, 0.075040552169, 1.000000000000),
    (5, 8, (3, 3), (3, 3), 0.90, 0.625000000000, 0.160706003109, 1.000000000000),
    (210, 400, (60, 100), (55, 100), 0.95, 0.500000000000, 0.000000000000, 1.000000000000),
    (210, 400, (60, 100), (55, 100), 0.90, 0.500000000000, 0.025520316502, 0.978593114333),
]  # accepted, cases, right, wrong, level; estimate, low, high


@pytest.mark.parametrize("row", VALUES, ids=str)
def test_share_and_interval_are_those_of_asht(row: tuple) -> None:
    accepted, cases, right, wrong, level, *expected = row
    ours = corrected_share(accepted, cases, right=Hits(*right), wrong=Hits(*wrong), level=level)
    assert ours == pytest.approx([min(1.0, expected[0]), *expected[1:]], abs=1e-11)


SETTINGS = [(0.5, 0.9, 0.9, 80, 30), (0.3, 0.95, 0.7, 60, 20), (0.8, 0.75, 0.9, 200, 40), (0.1, 0.9, 0.95, 100, 25)]
"""Share of right answers, sensitivity, specificity, answers judged, gold answers of each kind."""


@pytest.mark.parametrize(("share", "se", "sp", "cases", "gold"), SETTINGS)
def test_the_interval_covers_where_gold_comes_from_elsewhere(
    share: float, se: float, sp: float, cases: int, gold: int
) -> None:
    rng, hits, repeats = np.random.default_rng(5), 0, 1500
    accepted = rng.binomial(cases, share * se + (1 - share) * (1 - sp), repeats)
    right, wrong = rng.binomial(gold, se, repeats), rng.binomial(gold, sp, repeats)
    for k, r, w in zip(accepted.tolist(), right.tolist(), wrong.tolist(), strict=True):
        found = corrected_share(k, cases, right=Hits(r, gold), wrong=Hits(w, gold))
        hits += found is not None and found.low <= share <= found.high
    assert hits / repeats >= 0.935


@pytest.mark.parametrize(("share", "se", "sp", "cases", "gold"), SETTINGS)
def test_the_interval_covers_where_gold_is_a_part_of_the_judged_answers(
    share: float, se: float, sp: float, cases: int, gold: int
) -> None:
    """As `judge calibrate` is used: people label a random part, so the same opinions enter both rates and share."""
    rng, hits, repeats = np.random.default_rng(6), 0, 1500
    for _ in range(repeats):
        truth = rng.random(cases) < share
        said = np.where(truth, rng.random(cases) < se, rng.random(cases) >= sp)
        labelled = slice(0, 2 * gold)
        right, wrong = said[labelled][truth[labelled]], ~said[labelled][~truth[labelled]]
        found = corrected_share(
            int(said.sum()), cases, right=Hits(int(right.sum()), right.size), wrong=Hits(int(wrong.sum()), wrong.size)
        )
        hits += found is None or found.low <= share <= found.high
    assert hits / repeats >= 0.935
