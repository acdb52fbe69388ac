"""What is drawn over images: masks and boxes of references and predictions, from files that are still as they were."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from surgvalid import evaluate
from surgvalid.evaluation.predictions.label_maps import read_label_map
from surgvalid.report.cases.collect import section
from surgvalid.report.cases.frames import by_tails, frames_in, with_frames
from surgvalid.report.cases.overlays import overlays_of
from surgvalid.report.inputs import read_inputs
from surgvalid.video.images import outline_png, write_png

SIDE = 12


def square(shift: int) -> np.ndarray:
    """An image of a square of 5 by 5 pixels."""
    labels = np.zeros((SIDE, SIDE, 3), np.uint8)
    labels[3:8, 2 + shift : 7 + shift] = 255
    return labels


def masks(folder: Path, model: str, shift: int) -> None:
    for video in ("v1", "v2"):
        for frame in range(3):
            for side, moved in (("truth", 0), (model, shift if (video, frame) == ("v2", 1) else 0)):
                path = folder / "masks" / side / video / f"{frame}.png"
                path.parent.mkdir(parents=True, exist_ok=True)
                write_png(square(moved), path)
    sides = (folder / "masks" / model, folder / "masks" / "truth")
    evaluate("segmentation", *sides, metrics=["dsc"]).to_dir(folder / "results" / model)


def boxes(folder: Path) -> None:
    """Eight images of two videos; in one the hook is seen elsewhere, in another a second one hardly at all."""
    images = [
        {"id": n, "file_name": f"v{n // 4}_{n}.jpg", "width": 100, "height": 50, "video": f"v{n // 4}"}
        for n in range(8)
    ]
    hook = {"category_id": 1, "bbox": [10, 10, 20, 20]}
    truth = [{**hook, "id": n + 1, "image_id": n, "area": 400, "iscrowd": 0} for n in range(8)]
    given = [{**hook, "image_id": n, "score": 0.9} for n in range(8)]
    given[6]["bbox"] = [60, 10, 20, 20]
    given += [{"image_id": 0, "category_id": 1, "bbox": [70, 10, 20, 20], "score": 0.01}]
    data = {"images": images, "annotations": truth, "categories": [{"id": 1, "name": "hook"}]}
    sides = folder / "net.json", folder / "references.json"
    for path, content in zip(sides, (given, data), strict=True):
        path.write_text(json.dumps(content))
    evaluate("detection", *sides, metrics=["coco_ap50"], video_column="video").to_dir(folder / "results" / "net")


def test_outlines_of_reference_and_prediction_are_drawn_over_the_case(tmp_path: Path) -> None:
    masks(tmp_path, "net", 3)
    image = tmp_path / "images" / "v2" / "1.png"
    image.parent.mkdir(parents=True)
    write_png(np.full((SIDE, SIDE, 3), 9, np.uint8), image)
    inputs = read_inputs(tmp_path / "results")
    [browser] = section(inputs).blocks
    worst = next(case for case in browser.cases if case["c"] == "v2/1")
    [listed], pictures = with_frames((worst,), frames_in(inputs, tmp_path / "images"), "f/")
    [frame] = listed["f"]
    outlines = [[0, "f/00000.png"], [1, "f/00001.png"]]
    assert frame == {"u": "f/00002.png", "b": [], "z": [SIDE, SIDE], "n": "v2/1", "m": outlines}
    assert pictures[2]() == image.read_bytes()
    (tmp_path / "outline.png").write_bytes(pictures[1]() or b"")
    drawn = np.argwhere(read_label_map(tmp_path / "outline.png") > 0)
    assert (drawn.min(axis=0).tolist(), drawn.max(axis=0).tolist()) == ([3, 5], [7, 9]), "three pixels to the right"


def test_a_file_that_was_changed_since_is_not_drawn(tmp_path: Path) -> None:
    masks(tmp_path, "net", 3)
    write_png(square(1), tmp_path / "masks" / "net" / "v1" / "0.png")
    assert overlays_of(read_inputs(tmp_path / "results")).masks == {}


def test_of_a_video_the_images_with_most_errors_are_shown_with_all_boxes_that_count(tmp_path: Path) -> None:
    boxes(tmp_path)
    inputs = read_inputs(tmp_path / "results")
    made = overlays_of(inputs)
    first = made.of({"c": "v1", "v": "v1"})[0]
    assert first.image == "v1_6"
    assert first.boxes == [[0, "hook", 0.1, 0.2, 0.2, 0.4], [1, "hook", 0.6, 0.2, 0.2, 0.4]]
    [unlikely] = [one for one in made.of({"c": "v0", "v": "v0"}) if one.image == "v0_0"]
    assert [box[0] for box in unlikely.boxes] == [0, 1], "a box of score 0.01 is one more than there are objects"


def test_a_picture_of_another_case_is_never_shown() -> None:
    named = by_tails([Path("a/v1/1.png"), Path("a/v2/1.png")])
    assert "1" not in named
    assert named["v2/1"] == Path("a/v2/1.png")


@pytest.mark.parametrize("thickness_px", [1, 2])
def test_an_outline_is_as_thick_as_asked_for_and_hollow(thickness_px: int, tmp_path: Path) -> None:
    labels = np.zeros((20, 20), int)
    labels[4:16, 4:16] = 2
    (tmp_path / "o.png").write_bytes(outline_png(labels, (255, 0, 0), thickness_px=thickness_px))
    drawn = read_label_map(tmp_path / "o.png") > 0
    assert drawn.sum() == 12**2 - (12 - 2 * thickness_px) ** 2
