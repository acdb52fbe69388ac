"""Whatever stands in a file of boxes or labels, an error of ours comes back and nothing else."""

from __future__ import annotations

import contextlib
import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from how_many import many
from surgvalid.errors import SurgvalidError
from surgvalid.evaluation.predictions.boxes import read_boxes
from surgvalid.evaluation.predictions.labels import read_labels

REFERENCES = {
    "images": [{"id": 26, "file_name": "a_26.jpg", "video": "a", "width": 854, "height": 480, "frame": 26}],
    "categories": [{"id": 1, "name": "grasper"}, {"id": 2, "name": "hook"}],
    "annotations": [],
}
FORMS: dict[str, Any] = {
    "results": [{"image_id": "a_26", "category_id": 1, "bbox": [1, 2, 30, 40], "score": 0.5}],
    "lists": {"a_26": {"boxes": [[1, 2, 30, 40]], "labels": [1], "scores": [0.5]}},
    "image": {"labels": [0], "scores": [0.9], "bboxes": [[1, 2, 30, 40]]},
    "objects": [{"name": "hook", "class": 1, "confidence": 0.4, "box": {"x1": 1, "y1": 2, "x2": 30, "y2": 40}}],
    "shapes": {"shapes": [{"label": "hook", "points": [[1, 2], [30, 40]], "shape_type": "rectangle"}]},
    "challenge": {
        "type": "Multiple 2D bounding boxes",
        "boxes": [{"name": "slice_nr_26_hook", "corners": [[1, 2], [3, 4]]}],
    },
    "rows": [{"image": "a_26", "label": "hook", "x1": 1, "y1": 2, "x2": 30, "y2": 40, "score": 0.5}],
}
VALUES = st.sampled_from([None, -1, 1e300, "x", "", [], {}, [[]], True, float("nan"), "9" * 400])


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a document."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [at, *(place for key, one in inner for place in places(one, (*at, key)))]


def replaced(value: Any, at: tuple[Any, ...], new: Any) -> Any:
    """The document with something else at one place."""
    if not at:
        return new
    found = deepcopy(value)
    holder = found
    for key in at[:-1]:
        holder = holder[key]
    holder[at[-1]] = new
    return found


@pytest.mark.parametrize("form", FORMS)
def test_any_value_anywhere_is_boxes_or_an_error_of_ours(form: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("boxes") / "a_26.json"

    @settings(max_examples=many(60), deadline=None)
    @given(st.sampled_from(places(FORMS[form])), VALUES)
    def spoilt(at: tuple[Any, ...], value: Any) -> None:
        path.write_text(json.dumps(replaced(FORMS[form], at, value)))
        with contextlib.suppress(SurgvalidError):
            read_boxes(path, REFERENCES, class_numbers="ids")

    spoilt()


@pytest.mark.parametrize("ending", [".txt", ".csv", ".xml", ".npz", ".parquet"])
def test_any_text_is_boxes_or_an_error_of_ours(ending: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("text")

    @settings(max_examples=40, deadline=None)
    @given(st.one_of(st.text(max_size=80), st.from_regex(r"([0-9.]{1,4} ){3,8}[0-9]\n", fullmatch=True)))
    def spoilt(text: str) -> None:
        path = folder / f"a_26{ending}"
        path.write_bytes(text.encode("utf-8", "replace"))
        for source in (folder, path):
            for read in (lambda place: read_boxes(place, REFERENCES), lambda place: read_labels(place, ("a", "b"))):
                with contextlib.suppress(SurgvalidError):
                    read(source)

    spoilt()


def test_a_folder_without_files_is_an_error_of_ours(tmp_path: Path) -> None:
    for read in (lambda place: read_boxes(place, REFERENCES), lambda place: read_labels(place, ())):
        with pytest.raises(SurgvalidError):
            read(tmp_path)
