import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nested_tables import nested_matrix, two_stage_nest
from surgeval.errors import UnknownName
from surgeval.stats import resampling
from surgeval.stats.draws import picks, replicate_keys, stream, unit_keys
from surgeval.stats.nesting import nest_of
from surgeval.stats.resampling import child_counts, drawn_sums, row_count_blocks, row_counts, unit_counts

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


@pytest.mark.parametrize("sizes", [[1, 1, 4], [3] * 9, [5, 17, 260, 300], [70_000]])
@pytest.mark.parametrize("binary", [True, False])
def test_the_compiled_twin_equals_numpy_bit_for_bit(sizes: list[int], binary: bool) -> None:
    pytest.importorskip("numba")
    nest = two_stage_nest(sizes)
    rng = np.random.default_rng(1)
    values = rng.random((len(nest.order), 37))
    values = (values < 0.6).astype(float) if binary else values
    keys = KEYS[:6]
    assert np.array_equal(row_counts(nest, keys, engine="numba"), row_counts(nest, keys, engine="numpy"))
    for scale in (None, 1 / nest.sizes):
        ours = drawn_sums(nest, keys, values, scale, engine="numpy")
        assert np.array_equal(drawn_sums(nest, keys, values, scale, engine="numba"), ours)


@pytest.mark.parametrize("threads", ["1", "2", "5"])
def test_the_number_of_threads_changes_nothing(threads: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba")
    nest = two_stage_nest([4, 9, 11, 11])
    values = np.random.default_rng(2).integers(0, 2, (35, 9)).astype(float)
    keys = replicate_keys(100, stream(8, "test"))
    alone = drawn_sums(nest, keys, values, 1 / nest.sizes, engine="numpy")
    monkeypatch.setenv("SURGEVAL_THREADS", threads)
    assert np.array_equal(drawn_sums(nest, keys, values, 1 / nest.sizes, engine="numba"), alone)


def test_the_size_of_the_blocks_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    nest = two_stage_nest([2, 2, 5, 8])
    whole = row_counts(nest, KEYS)
    monkeypatch.setattr(resampling, "BLOCK_CELLS", 60)
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


def test_an_unknown_engine_is_named() -> None:
    with pytest.raises(UnknownName, match="unknown engine 'cuda'"):
        resampling.use_compiled("cuda", 1)  # type: ignore[arg-type]


def test_small_work_does_not_wait_for_the_compiler() -> None:
    assert not resampling.use_compiled("auto", 1000)
    assert not resampling.use_compiled("numpy", 10**12)
