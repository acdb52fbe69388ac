"""Files that real tools wrote give the number of an outside tool, or a question; none a wrong number in silence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import surgvalid
from shared_data import shared_or_none
from surgvalid.errors import SurgvalidError
from surgvalid.evaluation.folders import meanings

ROOT = shared_or_none("data", "real_predictions")
FILES: dict[str, Any] = (
    {} if ROOT is None else {one["id"]: one for one in json.loads((ROOT / "truth.json").read_text())["files"]}
)
ARGUMENTS = {
    "--overlap": "overlap",
    "--classes": "classes",
    "--video-pattern": "video_pattern",
    "--fps": "fps",
    "--prediction-labels": "prediction_labels",
    "--class-numbers": "class_numbers",
    "--nifti-axes": "nifti_axes",
}
LISTS = ("classes", "prediction_labels")
VIDEOS = r"^(.*?)[_/]"
"""The video in names of images whose records do not state it."""
OTHERWISE: dict[str, dict[str, Any]] = {
    "tracks-comma-from-0": {"lag": "1"},
    "tracks-blank-from-0": {"lag": "1"},
    "maps-all-class-1": {"as_read": True},
}
"""What answers the question of a file, beside the options that truth.json names."""


def options_of(listed: list[str]) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for flag, value in zip(listed[::2], listed[1::2], strict=True):
        name = ARGUMENTS[flag]
        options[name] = value.split(",") if name in LISTS else float(value) if name == "fps" else value
    return options


def evaluated(one: dict[str, Any], **more: Any) -> dict[str, float] | str:
    """The values of a file, or what was asked."""
    sides = [Path(str(ROOT)) / one[side] for side in ("predictions", "references")]
    options = {**options_of(one["options"]), **more}
    if one["kind"] == "detection" and sides[1].is_dir():
        options["video_pattern"] = VIDEOS
    values: dict[str, float] = {}
    for kind in dict.fromkeys(POOLED.get(name, one["kind"]) for name in one["answers"]):
        names = [name for name in one["answers"] if POOLED.get(name, one["kind"]) == kind]
        if kind == "classification":
            options.pop("fps")
        try:
            result = surgvalid.evaluate(kind, *sides, metrics=[METRICS.get(name, name) for name in names], **options)
        except SurgvalidError as error:
            return str(error)
        values |= {name: result.value(METRICS.get(name, name)) for name in names}
    return values


METRICS = {
    "foreground": "dsc_foreground",
    "class_mean_nnunet": "dsc_classes",
    "class_mean_monai": "dsc_classes_monai",
    "class_mean_batch_monai": "dsc_classes_monai_batch",
}
"""What truth.json calls our metrics."""
POOLED = {"accuracy": "classification", "macro_f1": "classification"}
"""Metrics of frames of all videos together, which are of another kind than phases."""
if "boxes-datumaro-yolo" in FILES:  # 2 F1 is printed there, and F1 is at most 1
    FILES["boxes-datumaro-yolo"]["answers"]["detection_f1"] = 1.709402 / 2


@pytest.mark.parametrize("name", FILES)
def test_a_real_file_gives_the_right_number_or_a_question(name: str) -> None:
    one = FILES[name]
    values = evaluated(one)
    if isinstance(values, dict):
        assert values == pytest.approx(one["answers"], abs=one["tolerance"])
        return
    answers = [evaluated(one, **more) for more in (options_of(one["if_asked"]), OTHERWISE.get(name, {})) if more]
    assert answers or name == "boxes-references-yolo", "shares of images whose size nothing states"
    for answer in answers:
        assert answer == pytest.approx(one["answers"], abs=one["tolerance"])


RIGHT = {
    *("boxes-coco", "boxes-ultralytics-txt", "boxes-ultralytics-json", "boxes-ultralytics-val", "boxes-torchvision"),
    *("boxes-supervision-csv", "boxes-supervision-json", "boxes-datumaro-coco_instances", "boxes-video-frame-csv"),
    *("numbered-coco", "numbered-ultralytics-val", "numbered-ultralytics-old", "rle-masks", "triplets-npz"),
    *("tracks-comma-from-1", "tracks-blank-from-1", "maps-nnunet-png", "maps-monai-png"),
    *("boxes-ultralytics-csv", "boxes-semicolon-csv", "boxes-datumaro-yolo", "boxes-datumaro-voc_detection"),
    *("boxes-datumaro-datumaro", "boxes-datumaro-cvat", "boxes-references-voc_detection", "boxes-references-cvat"),
    *("boxes-references-datumaro", "maps-binary-255", "triplets-challenge-json"),
    *("phases-csv", "phases-semicolon", "phases-per-video-csv", "phases-json-by-video", "phases-json-by-video-frame"),
}
"""Files that need no question."""


@pytest.mark.parametrize("name", [name for name, one in FILES.items() if one["kind"] == "phases"])
def test_references_are_read_in_every_layout_of_predictions(name: str) -> None:
    layouts = {one["predictions"] for one in FILES.values() if one["kind"] == "phases"}
    for layout in sorted(one for one in layouts if not one.endswith(".csv")):  # a table names its references
        sides = [Path(str(ROOT)) / one for one in (FILES[name]["predictions"], layout)]
        assert surgvalid.evaluate("phases", *sides, fps=1, metrics=["phase_accuracy"]).value("phase_accuracy") == 1.0


@pytest.mark.parametrize("name", FILES)
def test_a_folder_of_both_sides_tells_what_it_holds(name: str, tmp_path: Path) -> None:
    one = FILES[name]
    for side in ("references", "predictions"):
        path = Path(str(ROOT)) / one[side]
        (tmp_path / f"{side}{path.suffix}").symlink_to(path)
    kinds = [meaning.kind for meaning in meanings(tmp_path)]
    assert kinds == (["phases", "classification"] if one["kind"] == "phases" else [one["kind"]])


@pytest.mark.parametrize("name", sorted(RIGHT & set(FILES)))
def test_a_file_that_can_be_told_is_not_asked_about(name: str) -> None:
    assert evaluated(FILES[name]) == pytest.approx(FILES[name]["answers"], abs=FILES[name]["tolerance"])
