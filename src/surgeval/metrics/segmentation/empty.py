"""What an empty mask is worth, as a declared rule instead of whatever a division by zero gives.

Scorers disagree in silence on images without an object. Two empty masks are 1 for one library and not
scored for another; an object invented on an empty image is 0 for one and not scored for another, which
makes false alarms free. Each rule is a pair of choices; an empty prediction on a non-empty reference is
0 under all of them. What is not scored is NaN, is counted, and never enters a mean.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from surgeval.errors import UnknownName

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
