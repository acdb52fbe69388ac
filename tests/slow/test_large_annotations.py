"""Annotation files far beyond any that people draw: every box is still there."""

from pathlib import Path

import pytest

from many_boxes import boxes_that_come_back, mot_boxes_that_are_read

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("form", "count"), [("cvat", 200_000), ("coco", 1_000_000), ("label_studio", 200_000), ("procedure", 1_000_000)]
)
def test_very_many_boxes_lose_none(form: str, count: int, tmp_path: Path) -> None:
    assert boxes_that_come_back(form, count, tmp_path) == count


def test_a_million_rows_of_mot_lose_none(tmp_path: Path) -> None:
    assert mot_boxes_that_are_read(1_000_000, tmp_path) == 1_000_000
