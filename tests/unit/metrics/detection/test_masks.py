"""Run-length masks: read, measured and intersected as pycocotools and plain pixels do."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pycocotools import mask as coco_mask

from surgvalid.errors import Misuse
from surgvalid.metrics.detection.masks import intersection, mask_of_coco, mask_of_pixels

sizes = st.tuples(st.integers(1, 40), st.integers(1, 40))


def pixels(seed: int, size: tuple[int, int], share: float) -> np.ndarray:
    return np.random.default_rng(seed).random(size) < share


@given(st.integers(0, 2**32 - 1), sizes, st.sampled_from([0.0, 0.02, 0.5, 0.98, 1.0]))
def test_packed_and_plain_runs_are_the_pixels(seed: int, size: tuple[int, int], share: float) -> None:
    grid = pixels(seed, size, share)
    expected = mask_of_pixels(grid)
    packed = coco_mask.encode(np.asfortranarray(grid.astype(np.uint8)))
    as_text = {**packed, "counts": packed["counts"].decode()}
    edges = np.concatenate(([0], expected.edges, [grid.size]))
    plain = {"size": list(size), "counts": np.diff(edges).tolist()}
    for encoded in (packed, as_text, plain):
        assert mask_of_coco(encoded).edges.tolist() == expected.edges.tolist()
    assert expected.area == int(grid.sum())


@given(st.integers(0, 2**32 - 1), sizes)
def test_the_intersection_is_counted_exactly(seed: int, size: tuple[int, int]) -> None:
    one, two = pixels(seed, size, 0.4), pixels(seed + 1, size, 0.6)
    assert intersection(mask_of_pixels(one), mask_of_pixels(two)) == (one & two).sum()


def test_a_large_mask_survives_packing() -> None:
    grid = np.zeros((1080, 1920), dtype=np.uint8)
    grid[100:900, 300:1500] = 1
    assert mask_of_coco(coco_mask.encode(np.asfortranarray(grid))).area == 800 * 1200


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        [[1, 2, 3, 4, 5, 6]],
        None,
        {"size": [2, 2], "counts": [1, 2]},
        {"size": [2, 2], "counts": [5, -1]},
        {"size": [2, 2], "counts": "\x01"},
        {"size": [2, 2], "counts": "é"},
        {"size": [2, 2], "counts": "o"},
        {"size": [2, 2], "counts": "oooooooooooooooooooooooo0"},
        {"size": [2], "counts": [4]},
        {"size": ["a", 2], "counts": [4]},
        {"size": [2, 2], "counts": {"a": 1}},
    ],
)
def test_what_is_no_mask_is_refused_in_our_own_words(wrong: object) -> None:
    with pytest.raises(Misuse):
        mask_of_coco(wrong)  # type: ignore[arg-type]


def test_pixels_have_two_dimensions() -> None:
    with pytest.raises(Misuse, match="two dimensions"):
        mask_of_pixels([1, 0])
