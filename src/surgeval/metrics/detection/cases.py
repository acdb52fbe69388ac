"""What detection metrics take: reference objects and detected objects of a list of images.

Everything is an array over objects. Images without any object count too, which is why they are listed. The
evaluation needs no ids of annotations, so none can be wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from surgeval.errors import InputInvalid
from surgeval.metrics.classification.cases import UnitNames
from surgeval.metrics.detection.masks import Mask
from surgeval.metrics.metric import Floats, Indices, Units, units_of


@dataclass(frozen=True)
class Objects:
    """Objects of one side, reference or prediction.

    Args:
        image: The image of each object, as an index into the images.
        category: The class of each object, 0 to `classes` - 1.
        box: x, y, width and height of each object; worked out from the masks' extent only if given.
        score: Confidences of detections; None where the model gives none.
        crowd: Which references stand for a crowd that may be hit any number of times without reward.
        area: Areas that decide the size range; NaN or left out means that of the mask, else of the box.
        mask: The mask of each object, where masks are to be compared.
        numbered_0: Which references have the annotation id 0, which a reproduced scorer takes for no match.
    """

    image: Indices
    category: Indices
    box: Floats | None = None
    score: Floats | None = None
    crowd: npt.NDArray[np.bool_] | None = None
    area: Floats | None = None
    mask: Sequence[Mask] | None = None
    numbered_0: npt.NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.image)

    @property
    def sizes(self) -> Floats:
        """The area of every object: as given, else of its mask, else of its box."""
        if self.mask is not None:
            areas = np.array([mask.area for mask in self.mask], dtype=np.float64)
        elif self.box is not None:
            areas = self.box[:, 2] * self.box[:, 3]
        else:
            areas = np.zeros(len(self))
        return areas if self.area is None else np.where(np.isnan(self.area), areas, self.area)

    @property
    def crowds(self) -> npt.NDArray[np.bool_]:
        """Which objects are crowds; none unless said."""
        return np.zeros(len(self), dtype=bool) if self.crowd is None else self.crowd


@dataclass(frozen=True)
class DetectionCases:
    """Images with their reference objects and detections.

    Args:
        images: How many images there are.
        reference: What is there.
        prediction: What was detected.
        classes: How many classes were declared.
        unit: The unit of each image, usually its video; each image its own if left out.

    Raises:
        InputInvalid: With every problem.
    """

    images: int
    reference: Objects
    prediction: Objects
    classes: int
    unit: UnitNames = None
    units: Units = field(init=False)

    def __post_init__(self) -> None:
        problems: list[str] = []
        if self.classes < 1:
            problems.append(f"at least one class must be declared, got {self.classes}")
        if self.unit is not None and len(self.unit) != self.images:
            problems.append(f"{self.images} images but {len(self.unit)} units")
        for name in ("reference", "prediction"):
            objects = _checked(getattr(self, name), name, self.images, self.classes, problems)
            object.__setattr__(self, name, objects)
        if problems:
            raise InputInvalid("objects", problems)
        object.__setattr__(self, "units", units_of(self.unit, self.images))


def _checked(objects: Objects, name: str, images: int, classes: int, problems: list[str]) -> Objects:
    count = len(objects.image)
    image = _indices(objects.image, f"{name}: image", images, problems)
    category = _indices(objects.category, f"{name}: class", classes, problems)
    box = None if objects.box is None else _numbers(objects.box, f"{name}: boxes", problems).reshape(-1, 4)
    score = None if objects.score is None else _numbers(objects.score, f"{name}: scores", problems)
    area = None if objects.area is None else np.asarray(objects.area, dtype=np.float64)
    crowd = None if objects.crowd is None else np.asarray(objects.crowd, dtype=bool)
    for what, column in (("classes", category), ("boxes", box), ("scores", score), ("areas", area), ("crowds", crowd)):
        if column is not None and len(column) != count:
            problems.append(f"{name}: {count} objects but {len(column)} {what}")
    if objects.mask is not None and len(objects.mask) != count:
        problems.append(f"{name}: {count} objects but {len(objects.mask)} masks")
    if box is not None and (wrong := np.flatnonzero((box[:, 2:] < 0).any(axis=1))).size:
        problems.append(f"{name}: {wrong.size} boxes of negative width or height (first: object {wrong[0]})")
    return replace(objects, image=image, category=category, box=box, score=score, area=area, crowd=crowd)


def _indices(given: npt.ArrayLike, what: str, limit: int, problems: list[str]) -> Indices:
    values = np.asarray(given)
    if values.ndim != 1 or (values.size and not np.issubdtype(values.dtype, np.integer)):
        problems.append(f"{what} must be a list of indices, got {values.dtype} of shape {values.shape}")
        return np.zeros(0, dtype=np.intp)
    if (wrong := np.flatnonzero((values < 0) | (values >= limit))).size:
        first = f"first: object {wrong[0]}, {values[wrong[0]]}"
        problems.append(f"{what}: {wrong.size} indices outside 0 to {limit - 1} ({first})")
    return values.astype(np.intp)


def _numbers(given: Any, what: str, problems: list[str]) -> Floats:
    values = np.asarray(given, dtype=np.float64)
    if (wrong := np.argwhere(~np.isfinite(values))).size:
        problems.append(f"{what}: {len(wrong)} numbers are NaN or infinite (first: object {wrong[0][0]})")
    return values
