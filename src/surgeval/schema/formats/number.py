"""A count: a non-negative whole number in digits."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from surgeval.schema.formats._base import AnswerFormat, Unreadable, Why, shown

_WORDS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
    " seventeen eighteen nineteen twenty"
).split()


@dataclass(frozen=True, slots=True)
class Number(AnswerFormat):
    """Accepts digits only; digits of any script count, as in the official toolkit.

    Example:
        >>> Number().parse("003"), Number().why("two clips").nearest
        (3, '2')
    """

    name: ClassVar[str] = "number"

    def parse(self, text: str) -> int:
        """The number. Superscripts pass `isdigit` but not `int`; both failures are the same here."""
        digits = self.rules.normalize(text)
        if not digits.isdigit():
            raise Unreadable
        try:
            return int(digits)
        except ValueError:
            raise Unreadable from None

    def explain(self, text: str) -> Why:
        """Distinguishes empty, over-long, signed or fractional numbers, and words."""
        stripped = self.rules.normalize(text)
        if not stripped:
            return Why("empty", "the answer is empty; expected a whole number in digits")
        if stripped.isdecimal():
            return Why("too-many-digits", f"{len(stripped)} digits are more than the interpreter converts")
        numbers = re.findall(r"[-+]?\d[\d_,]*(?:\.\d+)?", stripped[:1000])
        if len(numbers) == 1:
            return Why("not-a-whole-number", f"expected digits alone, got {shown(text)}", self._from_digits(numbers[0]))
        words = [w for w in re.findall(r"[a-z]+", stripped[:1000].lower()) if w in _WORDS]
        guess = str(_WORDS.index(words[0])) if len(words) == 1 and not numbers else None
        return Why("not-a-whole-number", f"expected digits alone, got {shown(text)}", guess)

    def _from_digits(self, number: str) -> str | None:
        if number.startswith("-"):
            return None
        whole, _, fraction = re.sub(r"[+_,]", "", number).partition(".")
        return self.legal_or_none(whole) if not fraction.strip("0") else None
