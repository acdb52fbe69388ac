"""What was evaluated without a word before: each is now seen, with evidence and a hint; clean data are left alone."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import surgvalid
from surgvalid.errors import InputInvalid
from surgvalid.evaluation.sanity.sanity_finding import RULES
from surgvalid.results.result import Result

VIDEOS = [f"v{number}" for number in range(8)]
WIDTH, HEIGHT = 800, 600
CLASSES = ("grasper", "hook", "clipper")


def findings(result: Result) -> dict[str, str]:
    return {one.code: one.text for one in result.findings if one.code in RULES}


def outcome(result: Result, check: str) -> str:
    return str(result.tables["sanity"].filter(pl.col("check") == check)["outcome"].item())


def boxes(seed: int = 0, images: int = 80, shake: float = 0.05) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A COCO data set and the results of a good detector."""
    rng = np.random.default_rng(seed)
    records = [
        {"id": n, "video": VIDEOS[n % len(VIDEOS)], "file_name": f"{n}.png", "width": WIDTH, "height": HEIGHT}
        for n in range(images)
    ]
    annotations, results = [], []
    for n in range(images):
        for label in rng.choice(3, size=rng.integers(1, 4), replace=False).tolist():
            size = rng.uniform(40, 200, 2)
            box = np.concatenate([rng.uniform(0, [WIDTH - 200, HEIGHT - 200]), size])
            annotations.append({"id": len(annotations) + 1, "image_id": n, "category_id": label + 1,
                                "bbox": box.tolist(), "area": float(np.prod(size)), "iscrowd": 0})  # fmt: skip
            if rng.random() < 0.9:
                moved = box + rng.normal(0, shake, 4) * np.tile(size, 2)
                results.append({"image_id": n, "category_id": label + 1, "bbox": np.maximum(moved, 1).tolist(),
                                "score": float(rng.beta(5, 2))})  # fmt: skip
        if rng.random() < 0.3:
            results.append({"image_id": n, "category_id": 1, "bbox": [*rng.uniform(0, 500, 2).tolist(), 50.0, 60.0],
                            "score": float(rng.beta(2, 5))})  # fmt: skip
    categories = [{"id": place + 1, "name": name} for place, name in enumerate(CLASSES)]
    return {"images": records, "annotations": annotations, "categories": categories}, results


def changed(results: list[dict[str, Any]], how: Callable[[np.ndarray], np.ndarray]) -> list[dict[str, Any]]:
    return [{**one, "bbox": [float(side) for side in how(np.array(one["bbox"]))]} for one in results]


READINGS: dict[str, tuple[Callable[[np.ndarray], np.ndarray], str]] = {
    "corners": (lambda b: np.array([b[0], b[1], b[0] + b[2], b[1] + b[3]]), "--format boxes=xyxy"),
    "centres": (lambda b: np.array([b[0] + b[2] / 2, b[1] + b[3] / 2, b[2], b[3]]), "--format boxes=cxcywh"),
    "shares": (lambda b: b / np.array([WIDTH, HEIGHT, WIDTH, HEIGHT]), "--format boxes=xywhn"),
    "shares of centres": (
        lambda b: np.array([b[0] + b[2] / 2, b[1] + b[3] / 2, b[2], b[3]]) / np.array([WIDTH, HEIGHT, WIDTH, HEIGHT]),
        "--format boxes=cxcywhn",
    ),
    "axes": (lambda b: b[[1, 0, 3, 2]], "--format boxes_from=swap"),
    "another size": (lambda b: b * np.array([700 / WIDTH, 500 / HEIGHT] * 2), "--format boxes_from=scale:1.1"),
    "stretched": (lambda b: b * np.array([640 / WIDTH, 640 / HEIGHT] * 2), "--format boxes_from=stretch:640"),
    "mirrored": (lambda b: np.array([WIDTH - b[0] - b[2], b[1], b[2], b[3]]), "--format boxes_from=mirror:x"),
    "letterbox": (lambda b: (b + np.array([0, 100, 0, 0])) * 0.8, "--format boxes_from=letterbox:640"),
    "offset": (lambda b: b + np.array([60, 0, 0, 0]), "--format boxes_from=offset:6"),
}


@pytest.mark.parametrize("reading", READINGS)
def test_boxes_in_another_format_are_seen_with_the_reading_that_mends_them(reading: str) -> None:
    dataset, results = boxes()
    how, hint = READINGS[reading]
    wrong = changed(results, how)
    result = surgvalid.evaluate("detection", wrong, dataset, as_read=True, metrics=["coco_ap"])
    assert hint in findings(result)["boxes-elsewhere"]
    assert outcome(result, "boxes-elsewhere") == "error"
    with pytest.raises(InputInvalid, match="evaluate --format as_read") as caught:
        surgvalid.evaluate("detection", wrong, dataset)
    option, value = re.search(r"--format (\w+)=(\S+)\.", str(caught.value)).groups()  # type: ignore[union-attr]
    named = {option.replace("boxes", "box_format") if option == "boxes" else option: value}
    right = surgvalid.evaluate("detection", results, dataset, metrics=["coco_ap"]).value("coco_ap")
    mended = surgvalid.evaluate("detection", wrong, dataset, metrics=["coco_ap"], **named).value("coco_ap")
    assert mended == pytest.approx(right, abs=0.1)


def test_boxes_that_no_reading_mends_are_seen_too() -> None:
    dataset, results = boxes()
    result = surgvalid.evaluate("detection", changed(results, lambda b: np.array([700.0, 500.0, 9.0, 9.0])), dataset)
    assert "No other reading mends it" in findings(result)["boxes-elsewhere"]


def test_every_detection_twice_is_seen() -> None:
    dataset, results = boxes()
    once, twice = (surgvalid.evaluate("detection", given, dataset) for given in (results, results * 2))
    assert twice.value("detection_f1") < once.value("detection_f1")
    assert "number by number" in findings(twice)["detections-doubled"]
    near = changed(results, lambda b: b + np.array([0.5, 0.0, 0.0, 0.0]))
    assert "NMS" in findings(surgvalid.evaluate("detection", results + near, dataset))["detections-doubled"]


def test_class_numbers_of_detections_shifted_by_one_are_seen() -> None:
    dataset, results = boxes()
    dataset["categories"].append({"id": 4, "name": "irrigator"})
    shifted = [{**one, "category_id": one["category_id"] + 1} for one in results]
    text = findings(surgvalid.evaluate("detection", shifted, dataset, as_read=True))["labels-renamed"]
    assert "of 'grasper' are called 'hook'" in text
    assert "1 place later" in text
    assert "--format renamed=hook:grasper+clipper:hook+irrigator:clipper." in text


def test_the_same_boxes_in_every_image_are_seen() -> None:
    dataset, _ = boxes()
    constant = [{"image_id": n, "category_id": 1, "bbox": [300, 200, 150, 150], "score": 0.5} for n in range(80)]
    assert "same in every image" in findings(surgvalid.evaluate("detection", constant, dataset))["constant-predictions"]


def labels(seed: int = 0, right: float = 0.85, share: float | None = None) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    video, names = np.repeat(VIDEOS, 50), np.array(["a", "b", "c", "d"])
    truth = rng.integers(0, 4, video.size) if share is None else (rng.random(video.size) >= share).astype(int)
    guess = np.where(rng.random(video.size) < right, truth, rng.integers(0, 4, video.size))
    frame = np.tile(np.arange(50), len(VIDEOS))
    return pl.DataFrame({"video": video, "frame": frame, "reference": names[truth], "prediction": names[guess]})


def test_labels_shifted_by_one_are_seen_with_the_shift() -> None:
    shifted = labels().with_columns(pl.col("prediction").replace({"a": "b", "b": "c", "c": "d", "d": "e"}))
    result = surgvalid.evaluate("classification", shifted, as_read=True)
    assert result.value("accuracy") < 0.1
    assert "1 place later in the list" in findings(result)["labels-renamed"]
    assert outcome(result, "labels-renamed") == "error"
    swapped = labels().with_columns(pl.col("prediction").replace({"a": "d", "d": "a"}))
    text = findings(surgvalid.evaluate("classification", swapped, as_read=True))["labels-renamed"]
    assert "crossed (a and d)" in text
    assert "--format renamed=d:a+a:d." in text


def test_columns_of_scores_shifted_by_one_are_seen() -> None:
    rng, names = np.random.default_rng(0), list("abcdef")
    member = rng.random((400, 6)) < 0.2
    scores = rng.normal(0, 1, member.shape) + 3 * member
    at = {"video": np.repeat(VIDEOS, 50), "frame": np.tile(np.arange(50), 8)}
    truth = {f"reference:{name}": member[:, place] * 1 for place, name in enumerate(names)}
    for roll, speaks in ((0, False), (1, True)):
        given = {f"score:{name}": np.roll(scores, roll, axis=1)[:, place] for place, name in enumerate(names)}
        codes = findings(surgvalid.evaluate("classification", {**at, **truth, **given}, as_read=True))
        assert ("labels-renamed" in codes) is speaks


def test_a_constant_predictor_at_95_percent_is_seen_and_no_better_than_its_floor() -> None:
    constant = labels(share=0.95).with_columns(pl.lit("a").alias("prediction"))
    result = surgvalid.evaluate("classification", constant)
    assert result.value("accuracy") == pytest.approx(0.95, abs=0.03)
    assert "Every prediction is 'a'" in findings(result)["constant-predictions"]
    assert "accuracy" in findings(result)["no-better-than-trivial"]
    floor = result.metrics.filter(pl.col("metric") == "accuracy").row(0, named=True)
    assert floor["floor"] == pytest.approx(floor["value"], abs=1e-12)


def test_floors_stand_beside_values_of_every_family() -> None:
    dataset, results = boxes()
    good = surgvalid.evaluate("detection", results, dataset)
    assert good.metrics["floor"].null_count() == 0
    assert dict(good.metrics.select("metric", "floor_predictor").rows())["coco_ap"].startswith("the median box")
    result = surgvalid.evaluate("classification", labels())
    rows = {row["metric"]: row for row in result.metrics.to_dicts()}
    share = float((labels()["reference"] == labels()["reference"].mode()[0]).mean() or 0)
    assert rows["accuracy"]["floor"] == pytest.approx(share)
    assert rows["balanced_accuracy"]["floor"] == pytest.approx(0.25)
    assert rows["mcc"]["floor"] is None or rows["mcc"]["floor"] == 0
    masks = {f"{video}/0": np.eye(8, dtype=np.uint8) for video in VIDEOS}
    dsc = surgvalid.evaluate("segmentation", masks, masks).metrics.filter(pl.col("metric") == "dsc").row(0, named=True)
    assert dsc["floor"] == pytest.approx(2 * 8 / (8 + 64))


def test_one_case_per_video_is_seen_with_the_videos_that_may_be_meant() -> None:
    frame = labels().with_columns(video=pl.concat_str("video", "frame", separator="_"), frame=pl.lit(0))
    text = findings(surgvalid.evaluate("classification", frame))["one-case-per-video"]
    assert "400 videos has one case" in text
    assert "the names are 8 ('v0', 'v1', 'v2', ...)" in text


def test_three_clusters_are_seen() -> None:
    result = surgvalid.evaluate("classification", labels().filter(pl.col("video").is_in(VIDEOS[:3])))
    assert findings(result)["few-videos"].startswith("3 videos")
    assert outcome(result, "few-videos") == "warning"


def test_a_pooled_value_far_from_the_mean_over_videos_is_seen() -> None:
    sizes = {"long": 500, "short": 10, "shorter": 10}
    rows = [
        {"video": video, "frame": frame, "reference": "ab"[frame % 2],
         "prediction": "ab"[frame % 2] if video == "long" else "ba"[frame % 2]}
        for video, size in sizes.items() for frame in range(size)
    ]  # fmt: skip
    result = surgvalid.evaluate("classification", pl.DataFrame(rows), metrics=["macro_f1"])
    assert result.value("macro_f1") == pytest.approx(0.962, abs=0.01)
    text = findings(result)["pooled-apart"]
    assert "0.333 as a mean over videos" in text
    assert "2 of 3 videos are below" in text


def test_a_board_row_of_4_of_40_test_videos_is_marked_and_has_no_place() -> None:
    rng = np.random.default_rng(0)
    at = {"video": np.repeat([str(n) for n in range(162, 166)], 45), "frame": np.tile(125 * np.arange(45), 4)}
    truth = {code: rng.integers(0, 2, 180) for code in ("C1", "C2", "C3")}
    scores = {code: np.clip(truth[code] + rng.normal(0, 0.1, 180), 0, 1) for code in truth}
    result = surgvalid.evaluate("cvs", {**at, **scores}, {**at, **truth})
    last = result.tables["board_cvs"].row(-1, named=True)
    assert last["source"] == "this run, incomplete"
    assert last["map_mean"] > result.tables["board_cvs"]["map_mean"][0]
    assert last["mark"].startswith("NOT COMPARABLE: 180 cases of 4 videos; the test part of cvs has 1,799")
    assert "180 cases of 4 videos" in findings(result)["incomplete-split"]


def test_the_sum_of_identity_switches_that_trackeval_prints_is_told(tmp_path: Path) -> None:
    for side in ("ours", "theirs"):
        (tmp_path / side).mkdir()
        for place, video in enumerate(("a", "b", "c")):
            switched = side == "theirs" and place < 2
            lines = [f"{f},{1 + (switched and f > 5)},10,10,20,20,1,1,1" for f in range(1, 11)]
            (tmp_path / side / f"{video}.txt").write_text("\n".join(lines))
    result = surgvalid.evaluate("tracking", tmp_path / "theirs", tmp_path / "ours")
    assert result.value("id_switches") == pytest.approx(2 / 3)
    assert "is a mean over 3 videos; TrackEval and py-motmetrics print the sum, 2." in findings(result)["sum-elsewhere"]


def test_tracks_in_another_format_and_a_box_under_two_identities_are_seen(tmp_path: Path) -> None:
    for side in ("ours", "corners", "twice"):
        (tmp_path / side).mkdir()
        lines = []
        for frame in range(1, 31):
            x, y = 100 + 3 * frame, 50 + 2 * frame
            box = f"{x},{y},{x + 40},{y + 60}" if side == "corners" else f"{x},{y},40,60"
            lines += [f"{frame},{identity},{box},1,1,1" for identity in ((1, 2) if side == "twice" else (1,))]
        (tmp_path / side / "a.txt").write_text("\n".join(lines))
    wrong = surgvalid.evaluate("tracking", tmp_path / "corners", tmp_path / "ours", as_read=True)
    assert "two corners" in findings(wrong)["boxes-elsewhere"]
    assert "detections-doubled" in findings(surgvalid.evaluate("tracking", tmp_path / "twice", tmp_path / "ours"))


def masks(seed: int = 0, empty: int = 0) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    rng, (y, x) = np.random.default_rng(seed), np.ogrid[:48, :64]
    ours, theirs = {}, {}
    for number in range(24):
        labels = np.zeros((48, 64), np.uint8)
        for label in (1, 2):
            row, column = rng.uniform((6, 6), (20, 56))
            labels[np.hypot(y - row, x - column) < 6] = label
        name = f"{VIDEOS[number % 8]}/{number}"
        ours[name] = labels if number >= empty else np.zeros_like(labels)
        theirs[name] = np.roll(ours[name], 1, axis=1)
    return ours, theirs


def test_masks_upside_down_inverted_or_under_other_numbers_are_seen() -> None:
    ours, theirs = masks()
    flipped = {name: mask[::-1].copy() for name, mask in theirs.items()}
    assert "upside down" in findings(surgvalid.evaluate("segmentation", flipped, ours, as_read=True))["masks-elsewhere"]
    inverted = {name: (mask == 0).astype(np.uint8) for name, mask in theirs.items()}
    assert "swapped" in findings(surgvalid.evaluate("segmentation", inverted, ours, as_read=True))["masks-elsewhere"]
    renumbered = {name: np.where(mask == 1, 2, np.where(mask == 2, 3, 0)) for name, mask in theirs.items()}
    text = findings(surgvalid.evaluate("segmentation", renumbered, ours, as_read=True))["labels-renamed"]
    assert "of '1' are called '2'" in text
    nothing = {name: np.zeros_like(mask) for name, mask in theirs.items()}
    assert "label 0" in findings(surgvalid.evaluate("segmentation", nothing, ours))["constant-predictions"]


def test_empty_masks_that_count_for_dsc_and_not_for_nsd_are_seen() -> None:
    ours, theirs = ({name: (mask > 0) * 1 for name, mask in side.items()} for side in masks(empty=6))
    options = {"metrics": ["dsc", "nsd_border"], "tolerance_px": 1}
    text = findings(surgvalid.evaluate("segmentation", theirs, ours, **options))["empty-masks-apart"]
    assert "6 images have two empty masks: they count as 1 in dsc and are left out of nsd_border" in text
    alone = surgvalid.evaluate("segmentation", theirs, ours, metrics=["dsc"], empty="surface-distance").value("dsc")
    assert f"dsc {alone:.4f}" in text
    ruled = surgvalid.evaluate("segmentation", theirs, ours, empty="default", **options)
    assert "empty-masks-apart" not in findings(ruled)


GOOD = {"few-videos", "sum-elsewhere"}
"""Facts that stand beside good predictions too."""


@pytest.mark.parametrize("seed", range(5))
def test_good_predictions_raise_no_doubt(seed: int) -> None:
    dataset, results = boxes(seed)
    ours, theirs = masks(seed)
    for result in (
        surgvalid.evaluate("detection", results, dataset),
        surgvalid.evaluate("classification", labels(seed)),
        surgvalid.evaluate("classification", labels(seed, right=0.4)),
        surgvalid.evaluate("classification", labels(seed, share=0.95, right=0.98)),
        surgvalid.evaluate("segmentation", theirs, ours),
        surgvalid.evaluate("phases", phase_rows(seed), fps=1),
    ):
        assert {one.code for one in result.findings if one.severity != "note"} <= GOOD, result.kind
        assert set(result.tables["sanity"]["outcome"]) <= {"ok", "note"}


def phase_rows(seed: int) -> pl.DataFrame:
    rng, frames = np.random.default_rng(seed), []
    for video in VIDEOS:
        truth = np.repeat(np.arange(5), rng.integers(30, 90, 5))
        guess = np.where(
            rng.random(truth.size) < 0.05, rng.integers(0, 5, truth.size), np.roll(truth, rng.integers(-4, 5))
        )
        names = np.array([f"phase {place}" for place in range(5)])
        at = {"video": [video] * truth.size, "frame": np.arange(truth.size)}
        frames.append(pl.DataFrame({**at, "reference": names[truth], "prediction": names[guess]}))
    return pl.concat(frames)


def test_every_check_says_when_it_speaks_and_every_rule_is_checked_somewhere() -> None:
    dataset, results = boxes()
    ours, theirs = masks()
    results_of = [
        surgvalid.evaluate("detection", results, dataset),
        surgvalid.evaluate("segmentation", theirs, ours),
    ]
    seen = {check for result in results_of for check in result.tables["sanity"]["check"]}
    assert set(RULES) - seen == {"incomplete-split"}
    assert all(text.startswith("speaks ") for text in RULES.values())
