"""Masks as models write them: NPY, NIfTI, colours by a table, and names that end like those of the references."""

from __future__ import annotations

import gzip
import json
import struct
from pathlib import Path

import numpy as np
import pytest

import surgvalid
from data_set_files import BUILDERS, put_colours, put_png
from shared_data import shared
from surgvalid.errors import FileUnreadable, InputInvalid, Misuse
from surgvalid.evaluation.predictions.label_maps import read_colours, read_nifti

LABELS = np.array([[0, 1, 1], [2, 2, 0]], np.uint8)


def nifti(values: np.ndarray, *, order: str = "<", slope: float = 0.0) -> bytes:
    """The bytes of a NIfTI-1 file whose first axis is the first of the array."""
    kinds = {"u1": 2, "i2": 4, "f4": 16}
    kind = values.dtype.str[1:]
    head = bytearray(352)
    struct.pack_into(f"{order}i", head, 0, 348)
    struct.pack_into(f"{order}8h", head, 40, values.ndim, *values.shape, *[1] * (7 - values.ndim))
    struct.pack_into(f"{order}2h", head, 70, kinds[kind], 8 * values.dtype.itemsize)
    struct.pack_into(f"{order}f", head, 108, 352.0)
    struct.pack_into(f"{order}2f", head, 112, slope, 0.0)
    head[344:348] = b"n+1\0"
    return bytes(head) + values.astype(values.dtype.newbyteorder(order)).tobytes(order="F")


@pytest.mark.parametrize("order", ["<", ">"])
def test_the_numbers_of_a_nifti_file_are_read_in_either_byte_order(order: str, tmp_path: Path) -> None:
    for values in (LABELS, LABELS.astype(np.int16), LABELS.astype(np.float32)):
        (tmp_path / "a.nii").write_bytes(nifti(values, order=order))
        assert read_nifti(tmp_path / "a.nii").tolist() == LABELS.tolist()
    (tmp_path / "a.nii.gz").write_bytes(gzip.compress(nifti(LABELS, order=order)))
    assert read_nifti(tmp_path / "a.nii.gz").tolist() == LABELS.tolist()


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "no label map in NIfTI form"),
        (b"x" * 400, "the header is not 348 bytes long"),
        (nifti(np.zeros((2, 3, 4), np.uint8)), "expected two axes"),
        (nifti(LABELS)[:-3], "no label map in NIfTI form"),
        (nifti(LABELS, slope=2.0), "numbers are scaled"),
        (nifti(np.full((2, 3), 0.5, np.float32)), "not whole"),
    ],
)
def test_what_is_no_label_map_in_nifti_form_is_refused(data: bytes, why: str, tmp_path: Path) -> None:
    (tmp_path / "a.nii").write_bytes(data)
    with pytest.raises(FileUnreadable, match=why):
        read_nifti(tmp_path / "a.nii")


def test_nifti_axes_follow_from_the_shape_of_the_reference_and_are_asked_about_where_square(tmp_path: Path) -> None:
    (tmp_path / "v").mkdir()
    references = {"v/1": LABELS}
    for values in (LABELS, LABELS.T.copy()):
        (tmp_path / "v" / "1.nii.gz").write_bytes(gzip.compress(nifti(values)))
        assert surgvalid.evaluate("segmentation", tmp_path, references).value("miou_pooled") == 1.0
    square = np.array([[0, 1], [2, 0]], np.uint8)
    (tmp_path / "v" / "1.nii.gz").write_bytes(gzip.compress(nifti(square.T.copy())))
    with pytest.raises(Misuse, match="say --format nifti_axes=xy or rows"):
        surgvalid.evaluate("segmentation", tmp_path, {"v/1": square})
    assert surgvalid.evaluate("segmentation", tmp_path, {"v/1": square}, nifti_axes="xy").value("miou_pooled") == 1.0
    rows = surgvalid.evaluate("segmentation", tmp_path, {"v/1": square}, nifti_axes="rows")
    assert rows.value("miou_pooled") == 0.0


def test_masks_as_arrays_are_read_and_kinds_are_not_mixed(tmp_path: Path) -> None:
    (tmp_path / "v").mkdir()
    np.save(tmp_path / "v" / "1.npy", LABELS)
    assert surgvalid.evaluate("segmentation", tmp_path, {"v/1": LABELS}).value("miou_pooled") == 1.0
    put_png(tmp_path / "v" / "2.png", [b"\0\1"])
    with pytest.raises(FileUnreadable, match=r"masks of several kinds \(PNG, NPY\)"):
        surgvalid.evaluate("segmentation", tmp_path, {"v/1": LABELS})


@pytest.mark.parametrize("name", ["video_41/segmentation/000000060", "video_41/60", "video_41/000000060"])
def test_masks_are_matched_by_the_end_of_their_names_or_by_the_data_sets(name: str, tmp_path: Path) -> None:
    root, guess = tmp_path / "data", tmp_path / "guess"
    BUILDERS["sar_rarp50"](root)
    for frame in (0, 60, 120):
        put_png(guess / f"{name.replace('000000060', f'{frame:09}').replace('/60', f'/{frame}')}.png", [b"\0\1"])
    result = surgvalid.evaluate("segmentation", guess, root, data_set="sar_rarp50", split="test", task="masks")
    assert result.value("miou_pooled") == 1.0
    assert result.notes[0].startswith("Predicted masks were matched by the end of their names")


def test_names_that_fit_two_masks_are_not_matched(tmp_path: Path) -> None:
    put_png(tmp_path / "1.png", [b"\0\1"])
    two = {"a/1": np.array([[0, 1]], np.uint8), "b/1": np.array([[0, 1]], np.uint8)}
    with pytest.raises(InputInvalid, match="references have no prediction"):
        surgvalid.evaluate("segmentation", tmp_path, two)


def test_colours_are_read_by_a_table_in_the_forms_that_tools_write(tmp_path: Path) -> None:
    (tmp_path / "labelmap.txt").write_text("# label:color_rgb:parts:actions\nbackground:0,0,0::\ntool:250,50,83::\n")
    (tmp_path / "labels.json").write_text(json.dumps([{"name": "tool", "color": [250, 50, 83], "classid": 1}]))
    (tmp_path / "table.csv").write_text("name,r,g,b\nbackground,0,0,0\ntool,250,50,83\n")
    assert read_colours(tmp_path / "labelmap.txt")[250, 50, 83] == 1
    assert read_colours(tmp_path / "labels.json") == {(250, 50, 83): 1}
    assert read_colours(tmp_path / "table.csv") == {(0, 0, 0): 0, (250, 50, 83): 1}
    put_colours(tmp_path / "masks" / "v" / "1.png", [[(0, 0, 0), (250, 50, 83)]])
    ours = {"v/1": np.array([[0, 1]], np.uint8)}
    result = surgvalid.evaluate("segmentation", tmp_path / "masks", ours, colours=tmp_path / "labelmap.txt")
    assert result.value("iou") == 1.0
    with pytest.raises(FileUnreadable, match="say what the colours stand for with --colours"):
        surgvalid.evaluate("segmentation", tmp_path / "masks", ours)
    (tmp_path / "labelmap.txt").write_text("a:1,2,3::\nb:1,2,3::\n")
    with pytest.raises(FileUnreadable, match=r"the colour \(1, 2, 3\) stands for 0 and for 1"):
        read_colours(tmp_path / "labelmap.txt")


def test_real_masks_in_colour_are_refused_without_a_table() -> None:
    folder = shared("data", "real_formats", "masks", "camvid", "testannot")
    with pytest.raises(FileUnreadable, match="say what the colours stand for with --colours"):
        surgvalid.evaluate("segmentation", folder, folder, video_pattern="^([0-9A-Z]+)_")
