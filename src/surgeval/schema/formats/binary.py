"""Yes or no."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from surgeval.schema.formats._base import AnswerFormat, Unreadable, Why, shown

_MEANT = {"y": "yes", "true": "yes", "1": "yes", "n": "no", "false": "no", "0": "no"}


@dataclass(frozen=True, slots=True)
class Binary(AnswerFormat):
    """Accepts `yes` and `no` in any case.

    Example:
        >>> Binary().parse("Yes."), Binary().why("Yes, it is").nearest
        (True, 'yes')
    """

    name: ClassVar[str] = "binary"

    def parse(self, text: str) -> bool:
        """True for yes, False for no."""
        word = self.rules.normalize(text).lower()
        if word == "yes":
            return True
        if word == "no":
            return False
        raise Unreadable

    def explain(self, text: str) -> Why:
        """Names the empty answer, and the word that was probably meant."""
        if not text.strip():
            return Why("empty", "the answer is empty; expected yes or no")
        words = re.findall(r"[^\W_]+", text[:1000].lower())
        named = {w for w in words if w in ("yes", "no")} or {_MEANT[w] for w in words[:1] if w in _MEANT}
        guess = named.pop() if len(named) == 1 else None
        return Why("not-yes-or-no", f"expected yes or no alone, got {shown(text)}", guess)
