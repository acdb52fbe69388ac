"""Boxes and masks of references and predictions, read again from the files that evaluations were made of.

As everywhere in a report, a file that a manifest names is read only where its content is the recorded one. What cannot
be found or read again is not drawn. References in the folder of a public data set are not looked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple, Protocol

import numpy as np

from surgvalid.errors import SurgvalidError
from surgvalid.evaluation.detection import Detections, read_detections
from surgvalid.evaluation.predictions.label_maps import read_colours
from surgvalid.evaluation.predictions.mask_files import read_label_maps, under_names_of
from surgvalid.metrics.detection.cases import Objects
from surgvalid.metrics.detection.matching import box_iou as overlap
from surgvalid.report.cases.collect import originals, originals_below
from surgvalid.report.inputs import ReportInputs
from surgvalid.report.words import plain
from surgvalid.results.reading import StoredResult
from surgvalid.video.images import outline_png

MOST_IMAGES = 4
"""Images of one video that are shown: those with most errors."""
_FITS = 0.5
"""Overlap from which a predicted box fits an object."""
_REFERENCE = 0
_COLOURS = {True: (255, 212, 0), False: (86, 180, 233)}
"""Of outlines: references and predictions."""


class OverlayImage(Protocol):
    """Something that can be drawn when it is asked for."""

    def __call__(self) -> bytes | None:
        """The PNG file; None where it cannot be made."""


class Overlay(NamedTuple):
    """What is drawn over one image; `who` is 0 for the reference and 1 + the number of a model otherwise."""

    image: str
    """The name of the image, without ending."""
    size: tuple[int, int]
    """Width and height."""
    boxes: list[list[Any]]
    """who, label, and left, top, width and height as shares of the image."""
    masks: Sequence[tuple[int, OverlayImage]]
    """who, and the outlines."""


@dataclass
class Overlays:
    """What can be drawn over the images of cases."""

    detections: dict[int, Detections] = field(default_factory=dict)
    """By the number of the model."""
    references: Mapping[str, np.ndarray] = field(default_factory=dict)
    masks: dict[int, Mapping[str, np.ndarray]] = field(default_factory=dict)
    """Of predictions, by the number of the model, under the names of the references."""

    def of(self, case: Mapping[str, Any]) -> list[Overlay]:
        """What is drawn over the images of a case: its own, or those with most errors of a video.

        Args:
            case: As `collect` makes it.
        """
        if case["c"] in self.references:
            return [overlay] if (overlay := self._masks(case["c"])) else []
        if not self.detections:
            return []
        errors: Counter[int] = Counter()
        for detections in self.detections.values():
            errors.update(_errors(detections, str(case["v"])))
        worst = sorted(errors, key=lambda image: (-errors[image], image))[:MOST_IMAGES]
        return [self._boxes(image) for image in worst]

    def _masks(self, case: str) -> Overlay | None:
        try:
            height, width = self.references[case].shape[:2]
        except (SurgvalidError, OSError):
            return None
        sides = {_REFERENCE: self.references} | {1 + number: maps for number, maps in self.masks.items()}
        drawn: list[tuple[int, OverlayImage]] = [
            (who, partial(_outlines, maps, case, who)) for who, maps in sides.items() if case in maps
        ]
        return Overlay(case, (width, height), [], drawn)

    def _boxes(self, image: int) -> Overlay:
        first = next(iter(self.detections.values()))
        record = first.records[image]
        width, height = float(record["width"]), float(record["height"])
        boxes = list(_drawn(first.cases.reference, image, _REFERENCE, first.names, width, height))
        for number, detections in self.detections.items():
            foremost = _foremost(detections)
            boxes += _drawn(detections.cases.prediction, image, 1 + number, detections.names, width, height, foremost)
        name = PurePosixPath(str(record["file_name"])).with_suffix("").as_posix()
        return Overlay(name, (int(width), int(height)), boxes, [])


def overlays_of(inputs: ReportInputs) -> Overlays:
    """What the evaluations of the folder were made of, as far as it is found unchanged."""
    made = Overlays()
    numbers = {model: number for number, model in enumerate(inputs.models)}
    for result in inputs.of("evaluate"):
        number = numbers.get(str(result.options.get("model")))
        if number is None or result.options.get("data_set"):
            continue
        try:
            if result.request.verb == "evaluate detection":
                _add_boxes(made, number, result, inputs.source)
            elif result.request.verb == "evaluate segmentation":
                _add_masks(made, number, result, inputs.source)
        except (SurgvalidError, OSError, LookupError, ValueError):
            continue
    return made


def _add_boxes(made: Overlays, number: int, result: StoredResult, home: Path) -> None:
    predictions, references = (originals(result, side, home) for side in ("predictions", "references"))
    if not predictions or not references:
        return
    options = result.options
    keys = ("box_format", "class_numbers", "prediction_labels", "columns", "join", "boxes_from")
    detections = read_detections(
        Path(predictions[0]),
        Path(references[0]),
        video_column=options.get("video_column") or None,
        video_pattern=options.get("video_pattern") or None,
        readings={key: options.get(key) or None for key in keys},
        renamed=options.get("renamed") or None,
        lag=options.get("lag") or None,
    )
    other = next(iter(made.detections.values()), detections)
    sized = all({"width", "height", "file_name"} <= record.keys() for record in detections.records)
    if sized and [one["id"] for one in other.records] == [one["id"] for one in detections.records]:
        made.detections[number] = detections


def _add_masks(made: Overlays, number: int, result: StoredResult, home: Path) -> None:
    colours = originals(result, "colours", home)
    table = read_colours(Path(colours[0])) if colours else None
    axes = result.options.get("nifti_axes") or None
    sides: list[Mapping[str, np.ndarray]] = []
    for name in ("references", "predictions"):
        place = originals_below(result, name, home)
        if place is None:
            return
        like = sides[0] if sides else None
        sides.append(read_label_maps(place, name, table, like=like, nifti_axes=axes))
    ours, theirs = sides
    made.references = made.references or ours
    made.masks[number] = under_names_of(ours, theirs, {})[0]


def _outlines(maps: Mapping[str, np.ndarray], case: str, who: int) -> bytes | None:
    try:
        labels = maps[case]
    except (SurgvalidError, OSError, LookupError, ValueError):
        return None
    return outline_png(labels, _COLOURS[who == _REFERENCE])


def _foremost(detections: Detections) -> float:
    """The score from which on a model has as many boxes as there are objects; boxes below it are not drawn."""
    scores, wanted = detections.cases.prediction.score, len(detections.cases.reference)
    if scores is None or len(scores) <= wanted:
        return -np.inf
    return float(np.sort(scores)[-max(wanted, 1)])


def _drawn(
    objects: Objects, image: int, who: int, names: Sequence[str], width: float, height: float, least: float = -np.inf
) -> Iterator[list[Any]]:
    for row in _rows(objects, image, least).tolist():
        left, top, wide, high = (float(side) for side in _boxes_of(objects)[row])
        sides = (left / width, top / height, wide / width, high / height)
        yield [who, plain(names[objects.category[row]], limit=30), *(round(side, 4) for side in sides)]


def _errors(detections: Detections, video: str) -> dict[int, int]:
    """Objects without a box of their class that fits, and boxes without such an object, by image of the video."""
    reference, prediction = detections.cases.reference, detections.cases.prediction
    least, counted = _foremost(detections), {}
    for image in (place for place, name in enumerate(detections.videos) if name == video):
        ours, theirs = _rows(reference, image), _rows(prediction, image, least)
        pairs = np.repeat(ours, len(theirs)), np.tile(theirs, len(ours))
        fits = overlap(_boxes_of(reference)[pairs[0]], _boxes_of(prediction)[pairs[1]]) >= _FITS
        fits &= reference.category[pairs[0]] == prediction.category[pairs[1]]
        table = fits.reshape(len(ours), len(theirs))
        counted[image] = int((~table.any(axis=1)).sum() + (~table.any(axis=0)).sum())
    return counted


def _rows(objects: Objects, image: int, least: float = -np.inf) -> np.ndarray:
    """The objects of an image, those of a lower score left out."""
    rows = np.flatnonzero(objects.image == image)
    return rows if objects.score is None else rows[objects.score[rows] >= least]


def _boxes_of(objects: Objects) -> np.ndarray:
    return np.zeros((len(objects), 4)) if objects.box is None else objects.box
