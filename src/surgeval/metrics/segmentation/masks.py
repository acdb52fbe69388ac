"""Pairs of masks as cases: checked, cropped, and counted.

A mask is a two-dimensional array in which zero is background; a label map holds class or instance numbers.
Masks are taken one pair at a time, so a sequence that reads its files on demand never holds them all.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from surgeval.errors import InputInvalid, Misuse

Mask = npt.NDArray[np.bool_]
Labels = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class MaskCases:
    """Reference and predicted masks of the same images, in the same order."""

    reference: Sequence[npt.ArrayLike]
    prediction: Sequence[npt.ArrayLike]
    unit: Sequence[Hashable] | None = None
    """What each image is drawn with in a resample, usually its video; each image alone if left out."""

    def pairs(self) -> Iterator[tuple[Labels, Labels]]:
        """The checked pairs.

        Raises:
            InputInvalid: Pairs that are not two-dimensional, of one shape and of whole numbers; all are named.
        """
        if len(self.reference) != len(self.prediction):
            raise Misuse(f"{len(self.reference)} reference masks and {len(self.prediction)} predicted ones")
        problems: list[str] = []
        for index, (left, right) in enumerate(zip(self.reference, self.prediction, strict=True)):
            reference, prediction = np.asarray(left), np.asarray(right)
            if problem := _problem(reference, prediction):
                problems.append(f"image {index}: {problem}")
            elif not problems:
                yield reference, prediction
        if problems:
            raise InputInvalid("masks", problems)


def _problem(reference: Labels, prediction: Labels) -> str | None:
    for name, mask in (("reference", reference), ("prediction", prediction)):
        if mask.ndim != 2:
            return f"the {name} has {mask.ndim} dimensions instead of 2"
        if mask.dtype.kind not in "bui":
            return f"the {name} holds {mask.dtype} instead of truth values or whole numbers; threshold it first"
    if reference.shape != prediction.shape:
        return f"the reference is {reference.shape} and the prediction {prediction.shape}; resize one of them"
    return None


def mask_pair(reference: npt.ArrayLike, prediction: npt.ArrayLike) -> tuple[Mask, Mask]:
    """Two checked binary masks; whatever is not zero is foreground."""
    ((left, right),) = MaskCases([reference], [prediction]).pairs()
    return left.astype(bool, copy=False), right.astype(bool, copy=False)


class PixelCounts(NamedTuple):
    """Pixels of a pair of masks, as failure analysis wants them: trials and successes."""

    true_positive: int
    predicted: int
    reference: int


def pixel_counts(reference: npt.ArrayLike, prediction: npt.ArrayLike) -> PixelCounts:
    """The pixels in both masks, in the predicted one and in the reference one.

    Example:
        >>> pixel_counts([[1, 1, 0]], [[0, 1, 1]])
        PixelCounts(true_positive=1, predicted=2, reference=2)
    """
    left, right = mask_pair(reference, prediction)
    return PixelCounts(*(int(np.count_nonzero(m)) for m in (left & right, right, left)))


def crop(reference: Mask, prediction: Mask) -> tuple[Mask, Mask]:
    """Both masks cut to the smallest box that holds every foreground pixel; nothing is left of two empty ones."""
    union = reference | prediction
    rows = np.flatnonzero(union.any(axis=1))
    if not rows.size:
        return reference[:0, :0], prediction[:0, :0]
    across = slice(rows[0], rows[-1] + 1)
    columns = np.flatnonzero(union[across].any(axis=0))
    along = slice(columns[0], columns[-1] + 1)
    return reference[across, along], prediction[across, along]
