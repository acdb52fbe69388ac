"""Corrections of a review come back into the boxes, and nothing else moves."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from surgvalid.datasets.tools.cvat_review import read_corrected, read_review, seconds_under_review, write_review
from surgvalid.errors import Misuse
from surgvalid.questions.stages.corrections import Corrections, corrected_boxes

BOXES = pl.DataFrame(
    {
        "video": ["v"] * 5, "second": [1, 2, 2, 3, 9], "class_name": ["Clip", "Clip", "Sponge", "Clip", "Clip"],
        "x": [1.0, 2, 40, 3, 9], "y": [5.0] * 5, "width": [10.0] * 5, "height": [10.0] * 5,
        "instance": ["Clip 1", "Clip 1", "Sponge 1", "Clip 1", "Clip 2"],
    }
)  # fmt: skip
FLAGS = pl.DataFrame(
    {
        "kind": ["spurious", "missing"], "video": ["v", "v"], "second": [1, 9], "until_s": [3, 9],
        "class_name": ["Clip", None], "predicted_class": [None, "Sponge"], "x": [1.0, 60], "y": [5.0, 5],
        "width": [10.0, 10], "height": [10.0, 10], "strength": [0.9, 0.8], "review": ["right", "right"],
    }
)  # fmt: skip


def reviewed(tmp_path: Path, *changes: tuple[str, str], boxes: pl.DataFrame | None = BOXES) -> Corrections:
    """The boxes after somebody changed the text of the task's file."""
    path = write_review(FLAGS, tmp_path / "review", boxes=boxes)[0]
    text = path.read_text()
    for before, after in changes:
        assert before in text, before
        text = text.replace(before, after)
    path.write_text(text)
    flags = read_review(path)
    return corrected_boxes(BOXES, flags, read_corrected(path).boxes, seconds_under_review(flags))


def test_a_review_in_which_nobody_touched_a_box_changes_nothing_and_says_so(tmp_path: Path) -> None:
    made = reviewed(tmp_path)
    assert made.boxes.select(BOXES.columns).equals(BOXES)
    assert made.changes.is_empty()
    assert made.unmended["kind"].to_list() == ["spurious", "missing"]


def test_boxes_that_were_moved_renamed_deleted_and_drawn_come_back(tmp_path: Path) -> None:
    path = write_review(FLAGS, tmp_path / "review", boxes=BOXES)[0]
    lines = path.read_text().splitlines()
    of_third = next(line for line in lines if 'xtl="3.0"' in line)
    of_second = next(line for line in lines if 'xtl="2.0"' in line)
    sponge = next(line for line in lines if 'xtl="40.0"' in line)
    drawn = of_third.replace('xtl="3.0"', 'xtl="70.0"').replace('xbr="13.0"', 'xbr="80.0"').replace("Clip 1", "")
    made = reviewed(
        tmp_path,
        (of_second + "\n", ""),
        (of_third, of_third.replace('xtl="3.0"', 'xtl="4.0"') + "\n" + drawn),
        (sponge, sponge.replace('label="Sponge"', 'label="Gauze"')),
    )
    assert made.changes.select("second", "change").rows() == [
        (2, "removed"),
        (2, "renamed"),
        (3, "added"),
        (3, "moved"),
    ]
    kept = made.boxes.select("second", "class_name", "x", "width", "instance").rows()
    assert (2, "Gauze", 40.0, 10.0, "Sponge 1") in kept
    assert (3, "Clip", 4.0, 9.0, "Clip 1") in kept
    assert (3, "Clip", 70.0, 10.0, None) in kept
    assert kept[-1] == (9, "Clip", 9.0, 10.0, "Clip 2")
    assert made.unmended["kind"].to_list() == ["missing"]


def test_a_review_that_never_held_boxes_cannot_delete_them(tmp_path: Path) -> None:
    with pytest.raises(Misuse, match="the review holds no boxes"):
        reviewed(tmp_path, boxes=None)


def test_boxes_at_seconds_without_a_flag_are_counted_and_not_applied(tmp_path: Path) -> None:
    path = write_review(FLAGS, tmp_path / "review", boxes=BOXES)[0]
    line = next(one for one in path.read_text().splitlines() if 'xtl="3.0"' in one)
    image = f'  <image id="30" name="frame_000030" width="99" height="99">\n{line}\n  </image>\n</annotations>'
    path.write_text(path.read_text().replace("</annotations>", image))
    corrected = read_corrected(path)
    assert corrected.elsewhere == 1
    assert 30 not in corrected.boxes["second"].to_list()
