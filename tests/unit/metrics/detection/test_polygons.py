"""Polygons: drawn pixel by pixel as pycocotools draws them, and refused where they are none."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pycocotools import mask as coco_mask

from how_many import many
from surgvalid.errors import InputInvalid, Misuse
from surgvalid.metrics.detection.cases import coco_cases
from surgvalid.metrics.detection.masks import (
    joined_runs,
    mask_of_coco,
    mask_of_pixels,
    mask_of_polygons,
    mask_of_segmentation,
)

corner = st.one_of(
    st.integers(-20, 80).map(float), st.integers(-40, 160).map(lambda half: half / 2), st.floats(-20, 80, width=32)
)
polygon = st.lists(corner, min_size=6, max_size=16).map(lambda numbers: numbers[: len(numbers) // 2 * 2])
sides = st.integers(1, 60)


@settings(max_examples=many(300), deadline=None)
@given(st.lists(polygon, min_size=1, max_size=3), sides, sides)
def test_any_polygons_are_drawn_as_pycocotools_draws_them(polygons: list[list[float]], height: int, width: int) -> None:
    theirs = coco_mask.merge(coco_mask.frPyObjects(polygons, height, width))
    ours = mask_of_polygons(polygons, height=height, width=width)
    assert ours.edges.tolist() == mask_of_coco(theirs).edges.tolist()


def test_a_rectangle_on_pixel_borders_is_its_pixels() -> None:
    grid = np.zeros((6, 8))
    grid[1:4, 2:7] = 1
    drawn = mask_of_polygons([[2, 1, 7, 1, 7, 4, 2, 4]], height=6, width=8)
    assert drawn.edges.tolist() == mask_of_pixels(grid).edges.tolist()


def test_the_way_round_and_repeated_corners_change_nothing() -> None:
    one = [3.2, 1.0, 20.7, 4.4, 11.1, 17.9]
    turned = np.array(one).reshape(-1, 2)[::-1].ravel().tolist()
    doubled = np.repeat(np.array(one).reshape(-1, 2), 2, axis=0).ravel().tolist()
    drawn = [mask_of_polygons([each], height=20, width=24).edges.tolist() for each in (one, turned, doubled)]
    assert drawn[0] == drawn[1] == drawn[2]


@given(st.integers(0, 2**32 - 1))
def test_joined_runs_are_the_pixels_of_either_mask(seed: int) -> None:
    grids = np.random.default_rng(seed).random((3, 7, 9)) < 0.3
    together = joined_runs([mask_of_pixels(grid).edges for grid in grids])
    assert together.tolist() == mask_of_pixels(grids.any(axis=0)).edges.tolist()


@pytest.mark.parametrize(
    "given",
    [
        [],
        [[1, 2, 3, 4]],
        [[1, 2, 3, 4, 5, 6, 7]],
        [["a"] * 6],
        [[1, 2, 3, 4, 5, float("nan")]],
        [[1e9] * 6],
        [5],
        [None],
    ],
)
def test_what_is_no_polygon_is_refused(given: list) -> None:
    with pytest.raises(Misuse):
        mask_of_segmentation(given, height=10, width=10)


@pytest.mark.parametrize("size", [(None, 5), (5, 0), (5, -1), (True, 5), (5, 10**9), ("5", 5)])
def test_polygons_need_an_image_of_known_size(size: tuple) -> None:
    with pytest.raises(Misuse, match="width and height"):
        mask_of_segmentation([[0, 0, 2, 0, 2, 1]], height=size[0], width=size[1])


@pytest.mark.parametrize(
    "given",
    [{"size": [1e400, 2], "counts": [1]}, {"size": [2, 2], "counts": [10**30]}, {"size": [10**9, 1], "counts": []}],
)
def test_runs_beyond_all_images_are_refused(given: dict) -> None:
    with pytest.raises(Misuse):
        mask_of_segmentation(given)


def test_masks_of_several_sizes_in_one_image_are_refused() -> None:
    dataset = {"images": [{"id": 7, "height": 4, "width": 4}], "categories": [{"id": 1}]}
    dataset["annotations"] = [{"image_id": 7, "category_id": 1, "segmentation": [[0, 0, 4, 0, 4, 4]]}]
    runs = {"size": [4, 4], "counts": [0, 16]}
    result = {"image_id": 7, "category_id": 1, "score": 1.0, "segmentation": runs}
    assert len(coco_cases(dataset, [result], kind="mask").cases.prediction) == 1
    result["segmentation"] = {"size": [2, 8], "counts": [0, 16]}
    with pytest.raises(InputInvalid, match="image 7, 2 by 8 and 4 by 4 pixels"):
        coco_cases(dataset, [result], kind="mask")
