import numpy as np
import pytest
from scipy import stats

from surgvalid.stats.draws import blocks, picks, replicate_keys, stream, unit_keys, video_counts
from surgvalid.stats.intervals.replicates import child_counts


def test_streams_of_different_purposes_are_unrelated_and_of_one_purpose_are_equal() -> None:
    first = stream(1, "bootstrap", "overall").random(1000)
    assert np.array_equal(first, stream(1, "bootstrap", "overall").random(1000))
    assert abs(np.corrcoef(first, stream(1, "bootstrap", "smoke").random(1000))[0, 1]) < 0.1
    assert not np.array_equal(first, stream(2, "bootstrap", "overall").random(1000))


def test_every_replicate_draws_as_many_videos_as_there_are() -> None:
    counts = video_counts(7, 50, stream(3, "test"))
    assert counts.shape == (50, 7)
    assert (counts.sum(axis=1) == 7).all()


def drawn_counts(units: int, keys: np.ndarray) -> np.ndarray:
    whole = np.ones((len(keys), 1), dtype=np.int32)
    return child_counts(keys, 0, whole, np.array([0, units]))


def test_drawn_counts_follow_the_multinomial_distribution() -> None:
    counts = drawn_counts(5, replicate_keys(20_000, stream(5, "test")))
    seen = np.bincount(counts[:, 0], minlength=6)[:6]
    expected = stats.binom.pmf(np.arange(6), 5, 0.2) * len(counts)
    kept = expected > 5
    assert stats.chisquare(seen[kept], expected[kept] * seen[kept].sum() / expected[kept].sum()).pvalue > 1e-3
    assert np.cov(counts[:, 0], counts[:, 1])[0, 1] == pytest.approx(-5 * 0.04, abs=0.02)


def test_a_replicate_does_not_depend_on_how_many_others_are_drawn() -> None:
    keys = replicate_keys(300, stream(9, "test"))
    assert np.array_equal(drawn_counts(1000, keys)[120:130], drawn_counts(1000, keys[120:130]))


def test_draws_within_a_unit_are_uniform_and_independent_between_copies_units_and_levels() -> None:
    keys = replicate_keys(3000, stream(11, "test"))
    names = unit_keys(keys, 1, np.array([0, 1]))
    drawn = picks(names, np.full((3000, 2), 2), 7)
    assert drawn.children.shape == (12_000, 7)
    assert stats.chisquare(np.bincount(drawn.children.ravel(), minlength=7)).pvalue > 1e-3
    first, second = drawn.children[0::2].ravel(), drawn.children[1::2].ravel()
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.02
    other = picks(unit_keys(keys, 2, np.array([0, 1])), np.full((3000, 2), 2), 7)
    assert abs(np.corrcoef(drawn.children.ravel(), other.children.ravel())[0, 1]) < 0.02


def test_blocks_cover_every_replicate_and_unit_once() -> None:
    seen = np.zeros((13, 29), dtype=int)
    for rows, units in blocks(13, 29, 10, limit=100):
        seen[rows, units] += 1
    assert (seen == 1).all()
