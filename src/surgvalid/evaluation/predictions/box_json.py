"""Boxes from JSON: COCO results, torchvision, MMDetection, ultralytics, supervision, grand-challenge."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from surgvalid.errors import FileUnreadable
from surgvalid.evaluation.predictions.box_tables import FROM_0, FROM_1, IDS, XYWH, XYXY, RawBoxes, boxes_of_table

_SLICE = re.compile(r"slice_nr_(\d+)_(.+)")
_GRAND_CHALLENGE = "Multiple 2D bounding boxes"


def boxes_of_json(content: Any, name: str) -> RawBoxes:
    """The detections of a JSON document.

    Args:
        content: What the file holds.
        name: Its name without ending, which is the image where a document is about one.

    Raises:
        FileUnreadable: None of the known forms.
    """
    if isinstance(content, Mapping):
        return _of_object(content, name)
    records = [one for one in content if isinstance(one, Mapping)] if isinstance(content, list) else []
    if content == []:
        return RawBoxes("an empty list: the model found nothing", (XYWH,), (IDS,))
    if not records or len(records) != len(content):
        raise FileUnreadable(name, ["no boxes: expected a list of objects, or an object"])
    keys = set(records[0])
    if {"image_id", "boxes", "labels"} <= keys:
        return _of_images({one["image_id"]: one for one in records}, "torchvision")
    if "image_id" in keys and keys & {"bbox", "segmentation"}:
        return _coco_results(records)
    if {"box", "class"} <= keys or {"box", "name"} <= keys:
        return _ultralytics({name: records})
    if "keypoints" in keys:
        raise FileUnreadable(name, ["key points, which are no boxes"])
    return boxes_of_table(records, name)


def _of_object(content: Mapping[str, Any], name: str) -> RawBoxes:
    if content.get("type") == _GRAND_CHALLENGE:
        return _grand_challenge(content)
    if isinstance(content.get("annotations"), list):
        return _coco_data_set(content)
    if {"labels", "bboxes"} <= set(content):
        return mmdetection_boxes({name: content})
    if {"boxes", "labels"} <= set(content):
        return _of_images({name: content}, "torchvision")
    values = list(content.values())
    if values and all(isinstance(one, Mapping) and {"boxes", "labels"} <= set(one) for one in values):
        return _of_images(content, "torchvision")
    raise FileUnreadable(
        name,
        ["no form of boxes that is known: neither a COCO list of results, nor lists of boxes and labels per image"],
    )


def _coco_results(records: list[Mapping[str, Any]]) -> RawBoxes:
    """COCO results; a file name in them, or an id that is text, is how ultralytics writes its own data sets."""
    named = any("file_name" in one or isinstance(one.get("image_id"), str) for one in records)
    form = "COCO results as ultralytics writes them" if named else "COCO results"
    raw = RawBoxes(form, (XYWH,), (IDS, FROM_1) if named else (IDS,))
    for one in records:
        label = one.get("category_id", one.get("category_name", ""))
        number, name = one.get("image_id"), one.get("file_name")
        key = name if isinstance(name, str) else number
        raw.ids.append(number if isinstance(number, int | str) else None)
        raw.add(
            key,
            label,
            one.get("bbox"),
            one.get("score"),
            one.get("segmentation"),
        )
    return raw


def _coco_data_set(content: Mapping[str, Any]) -> RawBoxes:
    """Predictions as a COCO data set: ids are those of its own images and categories, which are known by name."""
    images = _names(content.get("images"), "file_name")
    classes = _names(content.get("categories"), "name")
    records: list[Mapping[str, Any]] = []
    for one in content["annotations"]:
        if not isinstance(one, Mapping):
            continue
        record = dict(one)
        if str(one.get("image_id")) in images:
            record["file_name"] = images[str(one["image_id"])]
        if str(one.get("category_id")) in classes:
            record["category_id"] = classes[str(one["category_id"])]
        records.append(record)
    raw = _coco_results(records)
    raw.form, raw.class_numbers = "a COCO data set with images and categories of its own", (IDS,)
    return raw


def _names(records: Any, key: str) -> dict[str, str]:
    """The names in some records by their ids."""
    listed = records if isinstance(records, list) else []
    return {
        str(one["id"]): one[key]
        for one in listed
        if isinstance(one, Mapping) and "id" in one and isinstance(one.get(key), str)
    }


def _of_images(content: Mapping[Any, Any], form: str) -> RawBoxes:
    """Lists of boxes, labels and scores per image; torchvision counts labels from 1 and keeps 0 for the background."""
    raw = RawBoxes(f"lists per image ({form}: corners in pixels, labels from 1)", (XYXY,), (IDS, FROM_1))
    for image, one in content.items():
        boxes, labels = one.get("boxes", []), one.get("labels", [])
        scores = one.get("scores", [None] * len(boxes))
        if not len(boxes) == len(labels) == len(scores):
            raw.problems.append(f"{image}: {len(boxes)} boxes, {len(labels)} labels, {len(scores)} scores")
            continue
        raw.add_image(image, labels, boxes, scores)
    return raw


def mmdetection_boxes(content: Mapping[str, Mapping[str, Any]]) -> RawBoxes:
    """One object per image with `labels` (from 0), `scores` and `bboxes` (corners), as MMDetection's inferencer."""
    raw = RawBoxes("MMDetection per image (corners in pixels, labels from 0)", (XYXY,), (FROM_0,))
    for image, one in content.items():
        boxes = one["bboxes"]
        raw.add_image(image.removeprefix("preds_"), one["labels"], boxes, one.get("scores", [None] * len(boxes)))
    return raw


def _ultralytics(content: Mapping[str, list[Mapping[str, Any]]]) -> RawBoxes:
    """`to_json` of ultralytics: corners as an object; the name of the file is the image."""
    raw = RawBoxes("ultralytics to_json (corners in pixels)", (XYXY,), (FROM_0,))
    for image, records in content.items():
        for one in records:
            box = one["box"]
            corners = [box.get(side) for side in ("x1", "y1", "x2", "y2")] if isinstance(box, Mapping) else None
            outline = _points(one.get("segments"))
            raw.add(image, one.get("name", one.get("class", "")), corners, one.get("confidence"), outline)
    return raw


def _points(segments: Any) -> list[list[float]] | None:
    if not isinstance(segments, Mapping) or not segments.get("x"):
        return None
    return [[n for pair in zip(segments["x"], segments["y"], strict=True) for n in pair]]


def _grand_challenge(content: Mapping[str, Any]) -> RawBoxes:
    """Corners of rectangles whose name holds the frame and the tool, as `slice_nr_12_needle_driver`."""
    raw = RawBoxes("grand-challenge boxes (frame and class in the name)", (XYXY,), (IDS,))
    for one in content.get("boxes", []):
        match = _SLICE.fullmatch(str(one.get("name")))
        corners = one.get("corners") or []
        if match is None or len(corners) < 2:
            raw.problems.append(f"box {str(one.get('name'))[:40]!r}: expected slice_nr_FRAME_CLASS and corners")
            continue
        across, down = [c[0] for c in corners], [c[1] for c in corners]
        raw.add(int(match[1]), match[2], [min(across), min(down), max(across), max(down)], one.get("probability"))
    return raw
