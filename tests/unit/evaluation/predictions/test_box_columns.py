"""COCO results read by columns are those read one by one; what does not fit is left to the general reader."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surgvalid
from surgvalid.errors import SurgvalidError
from surgvalid.evaluation.predictions import box_columns
from surgvalid.evaluation.predictions.box_columns import read_box_columns, read_data_set_columns
from surgvalid.metrics.detection.cases import coco_cases

IMAGES = [{"id": n * 1_000_003, "video": f"v{n % 3}", "width": 90, "height": 90} for n in range(20)]
CATEGORIES = [{"id": 4, "name": "hook"}, {"id": 9, "name": "clip"}]


def results(count: int = 200, seed: int = 0) -> list[dict[str, Any]]:
    rng = np.random.default_rng(seed)
    return [
        {"image_id": IMAGES[int(rng.integers(20))]["id"], "category_id": int(rng.choice([4, 9])),
         "bbox": (rng.random(4) * 10.0 ** rng.integers(-3, 2)).tolist(), "score": float(rng.random())}
        for _ in range(count)
    ]  # fmt: skip


def dataset() -> dict[str, Any]:
    annotations = [{**one, "id": place + 1, "iscrowd": 0} for place, one in enumerate(results(80, seed=1))]
    return {"images": IMAGES, "categories": CATEGORIES, "annotations": annotations}


@pytest.fixture(autouse=True, params=["one piece", "pieces of a kilobyte"])
def pieces(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything holds for files larger than a piece."""
    if request.param != "one piece":
        monkeypatch.setattr(box_columns, "_PIECE_BYTES", 1000)


@pytest.mark.parametrize("size", [1, 7, 100, 333, 1000, 10**6])
@pytest.mark.parametrize("indent", [None, 2])
def test_pieces_of_any_size_give_all_records(
    size: int, indent: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(box_columns, "_PIECE_BYTES", size)
    listed = results(30)
    (tmp_path / "results.json").write_text(json.dumps(listed, indent=indent))
    columns = read_box_columns(tmp_path / "results.json")
    assert columns is not None
    assert columns.records() == listed


def test_text_that_looks_like_the_end_of_a_record_is_left_to_the_general_reader(tmp_path: Path) -> None:
    listed = results(40)
    listed[20]["note"] = "},{" * 1000
    (tmp_path / "results.json").write_text(json.dumps(listed))
    columns = read_box_columns(tmp_path / "results.json")
    assert columns is None or columns.records() == results(40)


@pytest.mark.parametrize("seed", range(10))
def test_columns_are_the_records_number_by_number(seed: int, tmp_path: Path) -> None:
    listed = results(seed=seed)
    path = tmp_path / "results.json"
    path.write_text(json.dumps(listed, indent=seed % 3 or None))
    columns = read_box_columns(path)
    assert columns is not None
    assert columns.records() == listed
    ours, theirs = (coco_cases(dataset(), given).cases.prediction for given in (columns, listed))
    for name in ("image", "category", "box", "score"):
        assert np.array_equal(getattr(ours, name), getattr(theirs, name))


ODD: dict[str, Any] = {
    "an id that is no whole number": {"image_id": 1.5},
    "no id": {"image_id": None},
    "a box of three": {"bbox": [1, 2, 3]},
    "a box in a box": {"bbox": [[1, 2, 3, 4]]},
    "a number in place of a box": {"bbox": 5},
    "a score as text": {"score": "0.5"},
    "no score": {"score": None},
    "an unknown image": {"image_id": 7},
    "an unknown class": {"category_id": 5},
    "a negative size": {"bbox": [1, 2, -3, 4]},
    "a huge id": {"image_id": 2**60 + 1},
}


@pytest.mark.parametrize("odd", ODD)
def test_what_does_not_fit_is_refused_as_before(odd: str, tmp_path: Path) -> None:
    listed = results()
    listed[120] = {**listed[120], **ODD[odd]}
    path = tmp_path / "results.json"
    path.write_text(json.dumps(listed))
    messages = []
    for given in (path, listed):
        with pytest.raises(SurgvalidError) as caught:
            surgvalid.evaluate("detection", given, dataset(), metrics=["coco_ap"])
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


STRANGE = ("[]", "{}", "[1]", "[[1]]", "null", "", "[{", '[{"image_id": 1', '[{"image_id": NaN}]')


@pytest.mark.parametrize("text", STRANGE)
def test_other_files_are_left_to_the_general_reader(text: str, tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    path.write_text(text)
    assert read_box_columns(path) is None


def test_forms_that_say_more_are_left_to_the_general_reader(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    for more in ({"segmentation": []}, {"image_id": "a"}, {"boxes": []}):
        path.write_text(json.dumps([{**results(1)[0], **more}]))
        assert read_box_columns(path) is None
    assert read_box_columns(tmp_path / "nowhere.json") is None


def test_results_without_scores_are_read(tmp_path: Path) -> None:
    listed = [{key: one[key] for key in one if key != "score"} for one in results()]
    path = tmp_path / "results.json"
    path.write_text(json.dumps(listed))
    columns = read_box_columns(path)
    assert columns is not None
    assert columns.records() == listed
    result = surgvalid.evaluate("detection", path, dataset(), metrics=["coco_ap"], as_read=True)  # boxes at random
    assert "No detection has a score" in " ".join(result.notes)


REFERENCES: dict[str, Any] = {
    "plain": {},
    "numbered 0": {"id": 0},
    "a crowd": {"iscrowd": 1},
    "an area of its own": {"area": 7.25},
    "an area that is not known": {"area": None},
    "more than is needed": {"segmentation": [[1, 2, 3, 4, 5, 6]], "note": '], "text": "}'},
}


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("odd", REFERENCES)
def test_annotations_by_columns_are_the_records(odd: str, first: bool, tmp_path: Path) -> None:
    whole = dataset()
    whole["annotations"][40] |= REFERENCES[odd]
    if first:
        whole = {"annotations": whole.pop("annotations"), "info": {}, **whole}
    path = tmp_path / "dataset.json"
    path.write_text(json.dumps(whole, indent=None if first else 1))
    columns = read_data_set_columns(path)
    assert columns is not None
    assert [*columns] == [*whole]
    ours, theirs = (coco_cases(given, results()).cases.reference for given in (columns, whole))
    for name in ("image", "category", "box", "crowd", "sizes", "numbered_0"):
        assert np.array_equal(getattr(ours, name), getattr(theirs, name)), name


ODD_REFERENCES: dict[str, Any] = {
    **{name: odd for name, odd in ODD.items() if "score" not in name},
    "a crowd of two": {"iscrowd": 2},
    "a crowd in words": {"iscrowd": "0"},
    "an area in words": {"area": "large"},
    "no record": None,
}


@pytest.mark.parametrize("odd", ODD_REFERENCES)
def test_annotations_that_do_not_fit_are_refused_as_before(odd: str, tmp_path: Path) -> None:
    whole = dataset()
    whole["annotations"][40] = ODD_REFERENCES[odd] and {**whole["annotations"][40], **ODD_REFERENCES[odd]}
    path = tmp_path / "dataset.json"
    path.write_text(json.dumps(whole))
    messages = []
    for given in (path, whole):
        with pytest.raises(SurgvalidError) as caught:
            surgvalid.evaluate("detection", results(), given, metrics=["coco_ap"])
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


def test_other_data_sets_are_left_to_the_general_reader(tmp_path: Path) -> None:
    path = tmp_path / "dataset.json"
    plain = dataset()
    text = json.dumps(plain)
    for given in (
        "", "[]", "{}", text[:-1], text.replace('"annotations"', '"boxes"'), json.dumps([plain]),
        json.dumps({"info": {"annotations": []}, **plain}), json.dumps({"info": plain}),
        json.dumps({**plain, "annotations": [{**one, "attributes": {}} for one in plain["annotations"]]}),
        json.dumps({**plain, "annotations": {"0": plain["annotations"][0]}}), json.dumps({**plain, "tracks": []}),
    ):  # fmt: skip
        path.write_text(given)
        assert read_data_set_columns(path) is None, given[:80]
