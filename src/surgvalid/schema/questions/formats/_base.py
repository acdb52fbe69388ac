"""What every answer format offers, and the text normalisation they share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple


class Unreadable(ValueError):
    """A text that does not follow its format. `AnswerFormat.why` tells the reason."""


class Why(NamedTuple):
    """Why a text does not follow its format."""

    rule: str
    """The broken rule, as a short stable name (`empty`, `not-a-number`, ...)."""
    message: str
    nearest: str | None = None
    """The legal text that was probably meant, or None."""


@dataclass(frozen=True, slots=True)
class Rules:
    """Points on which versions of the official toolkit differ; the defaults are 0.4.0."""

    trailing_period: bool = True
    """One full stop at the end of a closed answer is forgiven."""
    percentage_tolerance: bool = True
    """`threshold_pp` is used; otherwise two percentages must agree to 1e-9."""
    several_times: bool = True
    """A time answer may list several timestamps; otherwise exactly one."""

    def normalize(self, text: str) -> str:
        """The text without surrounding white space and, if forgiven, one trailing full stop."""
        return normalize(text) if self.trailing_period else text.strip()


@dataclass(frozen=True, slots=True)
class AnswerFormat:
    """Base of all formats. Subclasses are frozen, so one object can serve many questions."""

    name: ClassVar[str]
    judged: ClassVar[bool] = False
    rules: Rules = Rules()

    def parse(self, text: str) -> Any:
        """The value that `text` stands for.

        Raises:
            Unreadable: The text does not follow the format.
        """
        raise NotImplementedError

    def compare(self, reference: Any, response: Any) -> bool:
        """Whether two parsed values agree."""
        return bool(reference == response)

    def explain(self, text: str) -> Why:
        """The reason for a text that `parse` refused."""
        raise NotImplementedError

    def reads(self, text: str) -> bool:
        """Whether `text` follows the format."""
        try:
            self.parse(text)
        except Unreadable:
            return False
        return True

    def why(self, text: str) -> Why | None:
        """Why `text` does not follow the format, or None when it does."""
        return None if self.reads(text) else self.explain(text)

    def legal_or_none(self, text: str) -> str | None:
        """`text` if it follows the format; only legal texts are ever suggested."""
        return text if self.reads(text) else None


def normalize(text: str) -> str:
    """The text without surrounding white space and one trailing full stop.

    Example:
        >>> normalize(" yes . ")
        'yes'
    """
    text = text.strip()
    return text[:-1].rstrip() if text.endswith(".") else text


def parts(text: str) -> list[str]:
    """The non-empty members of a comma-separated answer."""
    return [stripped for piece in text.split(",") if (stripped := piece.strip())]


def shown(text: str, limit: int = 60) -> str:
    """`text` quoted for a message, cut when long."""
    return repr(text if len(text) <= limit else text[: limit - 1] + "…")
