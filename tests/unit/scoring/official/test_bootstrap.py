import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surgvalid.scoring.official.summary import OfficialBootstrap, WordStream, indices_below, sorted_by_video


@given(st.lists(st.integers(2, 2**32 - 1), min_size=1, max_size=60), st.integers(0, 2**31))
def test_indices_are_those_of_the_generator_even_when_words_are_rejected(bounds: list[int], seed: int) -> None:
    # Bounds near 2^32 reject about every second word, so the slow path is walked all the time.
    array = np.array(bounds, dtype=np.uint64)
    expected = np.random.default_rng(seed).integers(0, array.astype(np.int64))
    assert indices_below(WordStream(seed), array, int(array.max())).tolist() == expected.tolist()


def test_the_stream_goes_on_after_a_rejection() -> None:
    bounds = np.full(50, 3 * 2**30, dtype=np.uint64)
    words, generator = WordStream(1), np.random.default_rng(1)
    for _ in range(3):
        theirs = generator.integers(0, bounds.astype(np.int64))
        assert indices_below(words, bounds, 3 * 2**30).tolist() == theirs.tolist()


@pytest.mark.parametrize("counts", [[1], [1, 1, 1], [5], [1, 7, 2, 1], [300, 1, 12]])
def test_both_kernels_give_the_same_interval(counts: list[int]) -> None:
    rng = np.random.default_rng(sum(counts))
    videos = [f"v{i}" for i, count in enumerate(counts) for _ in range(count)]
    correct = rng.random(len(videos)) < 0.5
    found = [OfficialBootstrap(replicates=40, kernel=kernel).interval(correct, videos) for kernel in ("numpy", "numba")]
    assert found[0] == found[1]


def test_questions_without_a_video_are_left_out() -> None:
    questions = sorted_by_video(np.array([True, False, True]), ["b", None, "a"])
    assert questions.counts.tolist() == [1, 1]
    assert questions.correct.tolist() == [1, 1]


def test_no_video_at_all_gives_no_number() -> None:
    assert np.isnan(OfficialBootstrap(replicates=3).interval(np.array([True]), [None])).all()
