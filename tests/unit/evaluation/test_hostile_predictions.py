"""Whatever a file of predictions holds, evaluate answers or raises an error of its own, never a foreign traceback."""

from __future__ import annotations

import contextlib
import copy
import io
import json
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import surgvalid
from how_many import many
from surgvalid.errors import SurgvalidError
from surgvalid.video.images import write_png

FRAMES = {"video": ["u", "u", "v", "v"], "frame": [0, 1, 0, 1]}
LABELS = {**FRAMES, "reference": list("abab"), "prediction": list("abba")}
SCORES = {**FRAMES, **{f"{side}:{name}": [0, 1, 1, 0] for side in ("reference", "score") for name in "ab"}}
CRITERIA = {**FRAMES, "C1": [0.1, 0.9, 0.4, 0.6], "C2": [0, 1, 0, 1], "C3": [1, 0, 0, 1]}
SQUARE = {"size": [4, 4], "counts": [5, 2, 2, 2, 5]}
DATASET = {
    "images": [
        {"id": n, "video": "uv"[n % 2], "height": 4, "width": 4, "file_name": f"{n % 2}_{n}.jpg"} for n in range(4)
    ],
    "categories": [{"id": 1, "name": "tool"}],
    "annotations": [
        {
            "id": n,
            "image_id": n,
            "category_id": 1,
            "bbox": [1, 1, 2, 2],
            "segmentation": SQUARE,
            "area": 4,
            "iscrowd": 0,
        }
        for n in range(4)
    ],
}
RESULTS = [
    {"image_id": n, "category_id": 1, "bbox": [1, 1, 2, 2], "segmentation": [[1, 1, 3, 1, 3, 3]], "score": 0.5}
    for n in range(4)
]
MASKS = [{"case": f"{video}/{n}", "segmentation": SQUARE, "class": 1} for video in "uv" for n in range(2)]
TRACKS = "1,1,2,3,4,5,1,1,1\n2,1,2,3,4,5,1,1,1\n"

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from([10**400, -1, 2**63, 1e308, "nan", "1e999", "\x00", "u", "a", ""]),
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=8,
)
small = settings(max_examples=many(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])


def tried(kind: str, predictions: Any, references: Any = None, **options: Any) -> None:
    """Run; errors of ours are fine, anything else fails the test."""
    with contextlib.suppress(SurgvalidError):
        surgvalid.evaluate(kind, predictions, references, replicates=5, **options)


def mutated(data: st.DataObject, record: Any) -> Any:
    """A deep copy with one value somewhere inside replaced, or one key removed or added."""
    changed = copy.deepcopy(record)
    place = changed
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = data.draw(st.sampled_from(keys))
        if isinstance(place[key], dict | list) and place[key] and data.draw(st.booleans()):
            place = place[key]
            continue
        action = data.draw(st.sampled_from(["replace", "remove", "add"]))
        if action == "remove":
            del place[key]
        elif action == "add" and isinstance(place, dict):
            place[data.draw(st.text(max_size=6))] = data.draw(values)
        else:
            place[key] = data.draw(values)
        return changed


KINDS_OF_FILES = [
    ("classification", "p.csv"), ("classification", "p.tsv"), ("classification", "p.parquet"),
    ("classification", "p.json"), ("phases", "p.jsonl"), ("triplets", "p.npz"), ("segmentation", "p.npz"),
    ("segmentation", "p.json"), ("detection", "p.json"), ("cvs", "p.csv"), ("tracking", "p.txt"), ("phases", "p.exe"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "name"), KINDS_OF_FILES)
@small
@given(
    content=st.one_of(
        st.binary(max_size=120),
        st.text(max_size=80).map(str.encode),
        values.map(lambda v: json.dumps(v, default=str).encode()),
    )
)
def test_any_bytes_in_any_kind_of_file(kind: str, name: str, content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.write_bytes(content)
        tried(kind, path)
        tried(kind, path, path)


@small
@given(data=st.data())
@pytest.mark.long
def test_coco_results_and_data_sets_with_anything_in_them(data: st.DataObject) -> None:
    overlap = data.draw(st.sampled_from(["box", "mask"]))
    results, dataset = mutated(data, RESULTS), mutated(data, DATASET)
    tried("detection", results, DATASET, overlap=overlap)
    tried("detection", RESULTS, dataset, overlap=overlap)
    tried("cvs", None, None, boxes=results, box_references=DATASET, masks=RESULTS, mask_references=dataset)


@small
@given(data=st.data())
def test_masks_in_json_with_anything_in_them(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name, records in (("ours", MASKS), ("theirs", mutated(data, MASKS))):
            Path(folder, f"{name}.json").write_text(json.dumps(records, default=str))
        tried("segmentation", Path(folder, "theirs.json"), Path(folder, "ours.json"))


@pytest.mark.parametrize(
    ("kind", "table"), [("classification", LABELS), ("classification", SCORES), ("phases", LABELS), ("cvs", CRITERIA)]
)
@small
@given(data=st.data())
def test_tables_with_anything_in_a_cell(kind: str, table: dict, data: st.DataObject) -> None:
    rows = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "p.json").write_text(json.dumps(mutated(data, rows), default=str))
        tried(kind, Path(folder, "p.json"), table if kind == "cvs" else None)


@small
@given(
    rows=st.lists(
        st.lists(st.one_of(st.text(max_size=5), st.integers().map(str), st.floats().map(str)), max_size=6), max_size=6
    ),
    header=st.booleans(),
)
def test_csv_of_any_cells(rows: list[list[str]], header: bool) -> None:
    text = "\n".join(([",".join(LABELS)] if header else []) + [",".join(row) for row in rows])
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "p.csv").write_text(text, encoding="utf-8", errors="replace")
        for kind in ("classification", "phases"):
            tried(kind, Path(folder, "p.csv"))


@small
@given(
    lines=st.lists(
        st.one_of(
            st.text(max_size=20), st.lists(st.one_of(st.integers(), st.floats()).map(str), max_size=10).map(",".join)
        ),
        max_size=5,
    )
)
def test_tracks_of_any_lines(lines: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "ours.txt").write_text(TRACKS)
        Path(folder, "theirs.txt").write_text(TRACKS + "\n".join(lines), encoding="utf-8", errors="replace")
        for classes in (False, True):
            tried("tracking", Path(folder, "theirs.txt"), Path(folder, "ours.txt"), use_classes=classes)


def test_numbers_beyond_all_identities_are_named(tmp_path: Path) -> None:
    (tmp_path / "ours.txt").write_text(TRACKS)
    (tmp_path / "theirs.txt").write_text(TRACKS + "9.3e18,1,2,3,4,5,1,1,1\n3,1e300,2,3,4,5,1,1,1\n")
    with pytest.raises(SurgvalidError, match="2 rows with numbers beyond"):
        surgvalid.evaluate("tracking", tmp_path / "theirs.txt", tmp_path / "ours.txt")


@small
@given(cut=st.integers(0, 2**16), byte=st.integers(0, 255), kind=st.sampled_from(["png", "npz"]))
def test_pictures_and_archives_that_were_cut_or_spoilt(cut: int, byte: int, kind: str) -> None:
    mask = np.eye(6, dtype=np.uint8)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "theirs", "u", "0.png") if kind == "png" else Path(folder, "theirs.npz")
        path.parent.mkdir(parents=True, exist_ok=True)
        if kind == "png":
            write_png(np.repeat(mask[..., None], 3, axis=2), path)
        else:
            np.savez(path, **{"u/0": mask})
        content = bytearray(path.read_bytes())
        content[cut % len(content)] = byte
        path.write_bytes(content[: len(content) - (cut % 7)])
        tried("segmentation", Path(folder, "theirs") if kind == "png" else path, {"u/0": mask})


def test_an_archive_that_would_be_huge_or_holds_objects_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "objects.npz", **{"u/0": np.array([{}], dtype=object)})
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "|u1", "fortran_order": False, "shape": (10**7, 10**7)})
    with zipfile.ZipFile(tmp_path / "huge.npz", "w") as archive:
        archive.writestr("u/0.npy", header.getvalue())
    for name in ("objects.npz", "huge.npz"):
        with pytest.raises(SurgvalidError):
            surgvalid.evaluate("segmentation", tmp_path / name, {"u/0": np.zeros((2, 2), np.uint8)})
