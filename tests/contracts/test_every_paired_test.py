"""What every paired test keeps, and that it is documented."""

import numpy as np
import pytest

from ranking_tables import nested_scores
from repository import REPOSITORY
from surgvalid.stats.comparing.paired_tests import CORRECTIONS, TESTS, pair_tests
from surgvalid.stats.ranking import MERGES

DOCS = REPOSITORY / "docs" / "concepts"


@pytest.mark.parametrize("name", sorted(TESTS))
def test_p_values_are_probabilities_and_swapping_models_changes_only_the_sign(name: str) -> None:
    values, video = nested_scores(15, 6, 3, seed=1, gap=0.6)
    result = pair_tests(values, video, test=name, replicates=300)
    assert ((result.p >= 0) & (result.p <= 1)).all()
    turned = pair_tests(values[:, ::-1], video, test=name, replicates=300)
    assert turned.p[::-1] == pytest.approx(result.p)
    assert turned.difference[::-1] == pytest.approx(-result.difference)


@pytest.mark.parametrize("name", sorted(set(TESTS) - {"cluster-bootstrap"}))  # its draws follow the names
def test_videos_may_have_any_names_in_any_order(name: str) -> None:
    values, video = nested_scores(12, 4, 2, seed=2, gap=1.0)
    named = np.array([f"patient {99 - v}" for v in video])
    assert pair_tests(values, named, test=name).p == pytest.approx(pair_tests(values, video, test=name).p)


@pytest.mark.parametrize("name", [*TESTS, *CORRECTIONS])
def test_every_test_and_correction_is_documented(name: str) -> None:
    assert f"`{name}`" in (DOCS / "tests.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", sorted(MERGES))
def test_every_merge_rule_is_documented(name: str) -> None:
    assert f"`{name}`" in (DOCS / "ranking-rules.md").read_text(encoding="utf-8")
