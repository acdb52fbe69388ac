"""Free text that a judge compares with the reference: open answers, choices, patterns."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import ClassVar

from surgvalid.schema.questions.formats._base import AnswerFormat, Unreadable, Why, shown
from surgvalid.schema.questions.formats._pattern import Unsupported, matches


def tidied(text: str) -> str:
    """The text without differences of case, white space, width and one trailing full stop.

    Two free texts that read the same when tidied agree without asking anybody.

    Example:
        >>> tidied("  Cystic\\u00a0Duct. ")
        'cystic duct'
    """
    words = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    return words.removesuffix(".").rstrip()


@dataclass(frozen=True, slots=True)
class OpenEnded(AnswerFormat):
    """Accepts up to `max_length` characters (code points, after stripping white space).

    An empty text passes, as in the official toolkit: it is the judge who finds nothing in it.
    """

    name: ClassVar[str] = "open_ended"
    judged: ClassVar[bool] = True
    max_length: int = 300

    def parse(self, text: str) -> str:
        """The stripped text."""
        stripped = text.strip()
        if len(stripped) > self.max_length:
            raise Unreadable
        return stripped

    def explain(self, text: str) -> Why:
        """The length, and the longest legal beginning that ends with a sentence."""
        stripped = text.strip()
        head = stripped[: self.max_length]
        sentence = head.rfind(". ")
        guess = head[: sentence + 1] if sentence > 0 else head.rstrip()
        message = f"{len(stripped)} characters; at most {self.max_length} are read"
        return Why("over-long", message, self.legal_or_none(guess))


@dataclass(frozen=True, slots=True)
class MultipleChoice(OpenEnded):
    """The chosen option as text. Judged, because the options stand only in the question."""

    name: ClassVar[str] = "multiple_choice"


@dataclass(frozen=True, slots=True, kw_only=True)
class Matching(OpenEnded):
    """Text that must match `pattern` from end to end before it is judged.

    The pattern comes from the organisers, the text from a participant who may be hostile: `matches` bounds
    the time that any pattern takes on any text. Patterns that it does not support (back-references, ...) are
    refused when questions are read; only the official profile, which checks no parameters, tries them.
    """

    name: ClassVar[str] = "matching"
    pattern: str

    def parse(self, text: str) -> str:
        """The stripped text."""
        stripped = OpenEnded.parse(self, text)
        try:
            fits = matches(self.pattern, stripped)
        except Unsupported:
            fits = re.fullmatch(self.pattern, stripped) is not None
        if not fits:
            raise Unreadable
        return stripped

    def explain(self, text: str) -> Why:
        """Over-long or not matching."""
        if len(text.strip()) > self.max_length:
            return OpenEnded.explain(self, text)
        return Why("no-match", f"{shown(text)} does not match the pattern {self.pattern!r}")
