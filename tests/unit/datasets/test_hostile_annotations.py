"""Annotations of any content end as findings: never as an exception of the interpreter or of polars."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data_set_files import BUILDERS, endoscapes_image, tracked_tool
from how_many import many
from surgvalid.datasets import open_data_set

ODD = st.sampled_from([None, True, -1, 0, 1, 10**30, 1.5, float("nan"), float("inf"), "", "7", "9" * 30, "8_125.jpg"])
VALUES = st.recursive(
    ODD,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)
TEMPLATES = {
    "cholect50": ("labels/VID01.json", {"fps": 1, "annotations": {"1": [[0] * 15]}}),
    "cholectrack20": ("Training/VID01/VID01.json", {"annotations": {"1": [tracked_tool()]}}),
    "multibypass140": (
        "labels/bern/labels_by70/BBP01.mp4.json",
        {"phases": [{"start": 0, "end": 5, "label_name": "a", "label_id": 1}], "steps": []},
    ),
    "endoscapes2023": (
        "train/annotation_coco.json",
        {
            "images": [endoscapes_image(8, 125, rated=True, boxed=True, ds=[1, 0, 0])],
            "annotations": [{"id": 1, "image_id": 8000125, "category_id": 1, "bbox": [1, 2, 3, 4]}],
            "categories": [{"id": 1, "name": "tool"}],
        },
    ),
    "cholec80_cvs": ("data/folds.json", [[1, 2], [3]]),
}


def places(value, at=()):
    """The path of every value within nested JSON."""
    yield at
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in inner:
        yield from places(child, (*at, key))


def replaced(value, at, new):
    if not at:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[at[0]] = replaced(copy[at[0]], at[1:], new)
    return copy


@pytest.mark.parametrize("name", TEMPLATES)
def test_any_value_anywhere_in_the_json_is_a_finding_or_harmless(name, tmp_path_factory):
    root = tmp_path_factory.mktemp(name)
    BUILDERS[name](root)
    place, content = TEMPLATES[name]

    @settings(max_examples=many(60))
    @given(st.sampled_from(sorted(places(content), key=repr)), VALUES)
    def spoilt(at, value):
        (root / place).write_text(json.dumps(replaced(content, at, value)), encoding="utf-8")
        assert str(open_data_set(name).check(root))

    spoilt()


@pytest.mark.parametrize("name", BUILDERS)
def test_any_cell_of_a_text_file_is_a_finding_or_harmless(name, tmp_path_factory):
    root = tmp_path_factory.mktemp(name)
    BUILDERS[name](root)
    files = {p: p.read_text() for p in sorted(root.rglob("*")) if p.suffix in (".txt", ".csv") and p.stat().st_size}
    if not files:
        return

    @settings(max_examples=25)
    @given(
        st.sampled_from(sorted(files)),
        st.randoms(use_true_random=False),
        st.sampled_from(["", "-1", "nan", "9" * 5000, '"', "\t,", "٣", "x"]),
    )
    def spoilt(path, random, cell):
        text = files[path]
        at = random.randrange(len(text))
        path.write_text(text[:at] + cell + text[at + 1 :], encoding="utf-8")
        assert str(open_data_set(name).check(root))
        path.write_text(text, encoding="utf-8")

    spoilt()
