"""What a reader may know of a question: the form of its answer, the classes, and what must be known of the case."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

from surgvalid.asking.reading.names import ANOTHER, ClassNames, folded
from surgvalid.errors import InputInvalid

FORMS = (
    "choice",
    "labels",
    "lists",
    "span",
    "boxes",
    "masks",
    "text",
    "yes_no",
    "verdict",
    "binary",
    "number",
    "percentage",
    "time",
    "fo_class",
    "multiple_choice",
    "open_ended",
)
_THING = re.compile(
    r"\b(?:how many|is (?:there )?an?|are there(?: any)?|when (?:does|is|do|are)(?: the)?(?: first"
    r"| last)?) (\w{3,}?)s?\b",
    re.IGNORECASE,
)
_THERE = re.compile(r"\b(?:there|visible|present|seen?|shown?|appears?|contains?)\b|可见|有", re.IGNORECASE)
_BE = r"(?:is|are|was|were|has|have|had|does|do|did)"
_YES_OR_NO = re.compile(rf"\s*{_BE} (?:there )?([^?]+)\?", re.IGNORECASE)
KEY_RULES = ("abstain", "negative", "fail")
"""What becomes of a class that a reply does not mention: no answer, absent, or the whole reply failed."""


@dataclass(frozen=True)
class ReplySchema:
    """The form of an answer and what belongs to it."""

    form: str
    classes: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    """Letter -> text, of questions with options."""
    synonyms: Mapping[str, str] = field(default_factory=dict)
    """Other words for classes."""
    numbered_from: int | None = None
    """The number of the first class, where the prompt numbers them."""
    key: str = ""
    """The key of the one value, or of the list that holds the classes."""
    ordered: bool = False
    """Whether neighbouring classes are alike, as ratings are."""
    duration_s: float | None = None
    window_s: tuple[float, float] | None = None
    """Within which a moment lies."""
    several: bool = False
    """Whether several moments may be named."""
    boxes: str | None = None
    """The convention of the model's boxes."""
    size_px: tuple[int, int] | None = None
    shown_px: tuple[int, int] | None = None
    frames_s: tuple[float, ...] = ()
    """The real times of the frames, where the prompt asked for their numbers."""
    missing_keys: str = KEY_RULES[0]
    asked: str = ""
    """The words of the prompt that say what to write."""
    max_length: int | None = None

    @cached_property
    def thing(self) -> re.Pattern[str] | None:
        """The one kind of thing that is counted or waited for."""
        asked = _THING.search(self.asked)
        ends = "|".join(asked[1][place:] for place in range(max(1, len(asked[1]) - 4))) if asked else ""
        return re.compile(rf"\b(?:{ends})(?:e?s|s)?\b{ANOTHER}", re.IGNORECASE) if asked else None

    @cached_property
    def question(self) -> str:
        """The words that a yes affirms, as they are compared; empty where nothing is asked so."""
        asked = _YES_OR_NO.match(self.asked)
        return folded(asked[1]) if asked else ""

    @property
    def asks_what_is_there(self) -> bool:
        """Whether a yes says that something is there."""
        return _THERE.search(self.asked) is not None

    @cached_property
    def of_the_thing(self) -> ReplySchema:
        """The schema of one label: the one kind of thing."""
        asked = _THING.search(self.asked)
        return ReplySchema("labels", classes=self.classes or ((asked[1],) if asked else ()), synonyms=self.synonyms)

    def about(self, text: str) -> bool:
        """Whether a text names what is counted or waited for."""
        return self.thing is not None and self.thing.search(text) is not None

    @cached_property
    def names(self) -> ClassNames:
        """The names of the classes, prepared once."""
        return ClassNames(tuple(self.options.values()) if self.options else self.classes, self.synonyms)


_KNOWN = {one.name for one in fields(ReplySchema)}


def schema_of(given: ReplySchema | Mapping[str, Any]) -> ReplySchema:
    """The schema of a mapping.

    Raises:
        InputInvalid: With every problem of it.
    """
    if isinstance(given, ReplySchema):
        return given
    problems = [f"unknown field {name!r}" for name in given if name not in _KNOWN]
    form = given.get("form")
    if form not in FORMS:
        problems.append(f"'form' must be one of {', '.join(FORMS)}, got {form!r}")
    if given.get("missing_keys", KEY_RULES[0]) not in KEY_RULES:
        problems.append(f"'missing_keys' must be one of {', '.join(KEY_RULES)}, got {given['missing_keys']!r}")
    for name in ("classes", "size_px", "shown_px", "window_s", "frames_s"):
        value = given.get(name)
        if value is not None and (isinstance(value, str) or not isinstance(value, Sequence)):
            problems.append(f"{name!r} must be a list, got {value!r}")
    if problems:
        raise InputInvalid("schema of replies", problems)
    settled: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in given.items()}
    return ReplySchema(**settled)
