"""Pairs of masks as cases, and what an empty mask is worth.

Pairs of masks as cases: checked, cropped, and counted.

A mask is a two-dimensional array in which zero is background; a label map holds class or instance numbers.
Masks are taken one pair at a time, so a sequence that reads its files on demand never holds them all.

What an empty mask is worth, as a declared rule instead of whatever a division by zero gives.

Scorers disagree in silence on images without an object. Two empty masks are 1 for one library and not
scored for another; an object invented on an empty image is 0 for one and not scored for another, which
makes false alarms free. Each rule is a pair of choices; an empty prediction on a non-empty reference is
0 under all of them. What is not scored is NaN, is counted, and never enters a mean.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from surgvalid.errors import InputInvalid, Misuse, UnknownName

Floats = npt.NDArray[np.float64]


class BothEmpty(Enum):
    """What a case counts as when neither mask has a pixel."""

    ONE = "one"
    NOT_SCORED = "not scored"


class EmptyReference(Enum):
    """What a case counts as when only the reference has no pixel: every predicted pixel is a false alarm."""

    ZERO = "zero"
    NOT_SCORED = "not scored"


@dataclass(frozen=True, slots=True)
class EmptyRule:
    """What overlap and surface metrics give on empty masks."""

    both: BothEmpty = BothEmpty.ONE
    reference: EmptyReference = EmptyReference.ZERO

    def apply(self, values: npt.ArrayLike, reference_empty: npt.ArrayLike, prediction_empty: npt.ArrayLike) -> Floats:
        """`values` with those on empty masks replaced by what the rule says.

        Example:
            >>> EmptyRule().apply([0.3, 9.0, 9.0, 9.0], [0, 1, 1, 0], [0, 1, 0, 1]).tolist()
            [0.3, 1.0, 0.0, 0.0]
        """
        no_reference, no_prediction = np.asarray(reference_empty, bool), np.asarray(prediction_empty, bool)
        both = 1.0 if self.both is BothEmpty.ONE else np.nan
        invented = 0.0 if self.reference is EmptyReference.ZERO else np.nan
        cases = [no_reference & no_prediction, no_reference, no_prediction]
        return np.select(cases, [both, invented, 0.0], np.asarray(values, np.float64))

    @property
    def name(self) -> str:
        """The first scorer that has the rule, by which it can be named; empty where none has."""
        return next((name for name, rule in EMPTY_RULES.items() if rule == self), "")

    @property
    def conventions(self) -> Mapping[str, str]:
        """The rule in words, for the convention record of a metric."""
        return {
            "both masks empty": self.both.value,
            "only reference empty": self.reference.value,
            "only prediction empty": "zero",
        }


_NAN, _ZERO = EmptyReference.NOT_SCORED, EmptyReference.ZERO
EMPTY_RULES: Mapping[str, EmptyRule] = MappingProxyType(
    {
        "default": EmptyRule(BothEmpty.ONE, _ZERO),
        "monai-keep-empty": EmptyRule(BothEmpty.ONE, _ZERO),
        "monai-ignore-empty": EmptyRule(BothEmpty.NOT_SCORED, _NAN),
        "monai-surface": EmptyRule(BothEmpty.NOT_SCORED, _ZERO),
        "surface-distance": EmptyRule(BothEmpty.NOT_SCORED, _ZERO),
        "robust-mis": EmptyRule(BothEmpty.NOT_SCORED, _NAN),
        "sar-rarp50": EmptyRule(BothEmpty.ONE, _ZERO),
    }
)
"""The rules of known scorers by name."""


def empty_rule(rule: EmptyRule | str) -> EmptyRule:
    """A rule given as itself or by the name of the scorer that has it.

    Raises:
        UnknownName: Nobody knows a scorer of that name.

    Example:
        >>> empty_rule("surface-distance").both.value
        'not scored'
    """
    if isinstance(rule, EmptyRule):
        return rule
    if rule not in EMPTY_RULES:
        raise UnknownName("empty-mask rule", rule, EMPTY_RULES)
    return EMPTY_RULES[rule]


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
