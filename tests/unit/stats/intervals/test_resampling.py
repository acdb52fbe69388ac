import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nested_tables import nested_matrix, two_stage_nest
from surgvalid.stats.draws import picks, replicate_keys, stream, unit_keys
from surgvalid.stats.intervals import replicates
from surgvalid.stats.intervals.nesting import nest_of
from surgvalid.stats.intervals.replicates import child_counts, drawn_sums, row_count_blocks, row_counts, unit_counts

KEYS = replicate_keys(40, stream(7, "test"))
SIZES = st.lists(st.integers(1, 9), min_size=1, max_size=12)


def test_row_counts_are_the_draws_of_every_copy_of_every_video() -> None:
    nest = two_stage_nest([2, 3, 3, 5])
    counts = row_counts(nest, KEYS)
    parents = unit_counts(nest, KEYS)
    expected = np.zeros_like(counts)
    for replicate in range(len(KEYS)):
        for video, (begin, end) in enumerate(zip(nest.row_starts[:-1], nest.row_starts[1:], strict=True)):
            names = unit_keys(KEYS[replicate : replicate + 1], 1, np.array([video]))
            drawn = picks(names, parents[replicate : replicate + 1, video : video + 1], end - begin)
            for child in drawn.children.ravel():
                expected[replicate, begin + child] += 1
    assert np.array_equal(counts, expected)


@given(SIZES)
def test_each_video_brings_as_many_rows_as_it_has_per_copy(sizes: list[int]) -> None:
    nest = two_stage_nest(sizes)
    parents = unit_counts(nest, KEYS)
    per_video = np.add.reduceat(row_counts(nest, KEYS), nest.row_starts[:-1], axis=1)
    assert np.array_equal(per_video, parents * nest.sizes)


@given(SIZES, st.integers(0, 3))
def test_sums_over_drawn_rows_equal_counts_times_values(sizes: list[int], seed: int) -> None:
    nest = two_stage_nest(sizes)
    values = np.random.default_rng(seed).integers(0, 2, (len(nest.order), 3)).astype(float)
    assert np.array_equal(drawn_sums(nest, KEYS, values), row_counts(nest, KEYS) @ values)
    scaled = row_counts(nest, KEYS) @ (values * np.repeat(1 / nest.sizes, nest.sizes)[:, None])
    np.testing.assert_allclose(drawn_sums(nest, KEYS, values, 1 / nest.sizes), scaled, rtol=1e-12)


@pytest.mark.parametrize("sizes", [[250] * 3, [50] * 3000])
def test_every_draw_is_counted_when_copies_and_blocks_are_many(sizes: list[int]) -> None:
    nest = two_stage_nest(sizes)
    keys = KEYS if len(sizes) < 10 else KEYS[:3]
    parents = unit_counts(nest, keys)
    assert parents.max() >= 3
    ones = np.ones((len(nest.order), 2))
    assert np.array_equal(drawn_sums(nest, keys, ones), (parents @ nest.sizes)[:, None].repeat(2, axis=1))
    per_video = np.add.reduceat(row_counts(nest, keys), nest.row_starts[:-1], axis=1)
    assert np.array_equal(per_video, parents * nest.sizes)


def test_the_size_of_the_blocks_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    nest = two_stage_nest([2, 2, 5, 8])
    whole = row_counts(nest, KEYS)
    monkeypatch.setattr(replicates, "BLOCK_CELLS", 60)
    pieces = [counts for _, counts in row_count_blocks(nest, KEYS)]
    assert len(pieces) > 5
    assert np.array_equal(np.concatenate(pieces), whole)


def test_a_hierarchy_draws_children_only_of_drawn_parents() -> None:
    matrix = nested_matrix(videos=6)
    nest = nest_of(matrix, "center>video>rows")
    centers = child_counts(KEYS, 0, np.ones((len(KEYS), 1), dtype=int), nest.starts[0])
    videos = child_counts(KEYS, 1, centers, nest.starts[1])
    assert (centers.sum(axis=1) == 2).all()
    per_center = np.add.reduceat(videos, nest.starts[1][:-1], axis=1)
    assert np.array_equal(per_center, centers * np.diff(nest.starts[1]))
    assert np.array_equal(videos, unit_counts(nest, KEYS))
    assert np.array_equal(np.add.reduceat(row_counts(nest, KEYS), nest.row_starts[:-1], axis=1), videos * nest.sizes)
