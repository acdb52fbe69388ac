"""Boxes as a file holds them, before anyone knows which images, classes and corners they mean."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

IDS, FROM_0, FROM_1 = "ids", "from-0", "from-1"
CLASS_NUMBERS = (IDS, FROM_0, FROM_1)
"""What a class number can be: an id of the references, or a place in a list that counts from 0 or from 1."""
XYXY, XYWH, CXCYWH = "xyxy", "xywh", "cxcywh"
BOX_FORMATS = (XYXY, XYWH, CXCYWH, "xyxyn", "xywhn", "cxcywhn")
"""Corners, corner and size, centre and size; `n` for shares of the image, else pixels."""

Key = int | str | tuple[str, int]
"""An image: its id, its name, or its video and frame number."""


@dataclass
class RawBoxes:
    """Detections in the order of a file, and which readings of their numbers its format allows."""

    form: str
    """What the file was taken for, in words."""
    formats: tuple[str, ...]
    """Readings of the four numbers of a box."""
    class_numbers: tuple[str, ...] = CLASS_NUMBERS
    """Readings of a class number."""
    class_names: tuple[str, ...] = ()
    """Names by place, where a file beside the predictions lists them."""
    images: list[Key] = field(default_factory=list)
    labels: list[int | str] = field(default_factory=list)
    boxes: list[Any] = field(default_factory=list)
    scores: list[float | None] = field(default_factory=list)
    outlines: list[Any] = field(default_factory=list)
    """A COCO segmentation, a flat polygon as shares of the image under `shares`, or None."""
    problems: list[str] = field(default_factory=list)

    def add(self, image: Key, label: Any, box: Any, score: Any = None, outline: Any = None) -> None:
        """Keep one detection."""
        self.images.append(image)
        self.labels.append(label if isinstance(label, int | str) else str(label))
        self.boxes.append(box)
        self.scores.append(self._score(score))
        self.outlines.append(outline)

    def _score(self, score: Any) -> float | None:
        try:
            return None if score is None else float(score)
        except (TypeError, ValueError):
            self.problems.append(f"box {len(self.images)}: the score is no number: {str(score)[:40]!r}")
            return None

    def add_image(self, image: Key, labels: Iterable[Any], boxes: Iterable[Any], scores: Iterable[Any]) -> None:
        """Keep the detections of one image."""
        rows = list(zip(labels, boxes, scores, strict=False))
        for label, box, score in rows:
            self.add(image, _plain(label), box, score)


def _plain(label: Any) -> int | str:
    """A label as text or a whole number; JSON and arrays may hold it as a float."""
    if isinstance(label, str):
        return label
    number = float(label)
    return int(number) if number.is_integer() else str(label)
