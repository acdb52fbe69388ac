"""A share in percent, right within a tolerance in percentage points."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from surgeval.schema.formats._base import AnswerFormat, Unreadable, Why, shown

_SHARE = re.compile(r"(\d+(?:\.\d+)?)\s*%?")


@dataclass(frozen=True, slots=True)
class Percentage(AnswerFormat):
    """Accepts `50`, `50%`, `50.5 %`; agrees within `threshold_pp` (inclusive).

    Example:
        >>> share = Percentage()
        >>> share.compare(share.parse("50%"), share.parse("55"))
        True
    """

    name: ClassVar[str] = "percentage"
    threshold_pp: float = 5.0

    def parse(self, text: str) -> float:
        """The share as a number of percent."""
        match = _SHARE.fullmatch(self.rules.normalize(text))
        if match is None:
            raise Unreadable
        return float(match[1])

    def compare(self, reference: float, response: float) -> bool:
        """Whether the two differ by at most the tolerance. Two infinities differ by NaN: no."""
        if not self.rules.percentage_tolerance:
            return reference == response or abs(reference - response) <= 1e-9
        return abs(reference - response) <= float(self.threshold_pp)

    def explain(self, text: str) -> Why:
        """Points at signs, commas, ranges and missing digits."""
        stripped = self.rules.normalize(text)
        if not stripped:
            return Why("empty", "the answer is empty; expected a share such as 40%")
        numbers = re.findall(r"-?\d*[.,]?\d+", stripped[:1000])
        guess = None
        if len(numbers) == 1 and not numbers[0].startswith("-"):
            number = numbers[0].replace(",", ".")
            guess = self.legal_or_none(("0" if number.startswith(".") else "") + number + "%")
        return Why("not-a-percentage", f"expected a share such as 40%, got {shown(text)}", guess)
