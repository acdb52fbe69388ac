"""The one reader of replies: for tasks, FOCUS questions and judges.

Stages, in order: cleaning; reasoning out; the part that states the answer; objects; key and value in lines; words;
checks against the schema. Nothing falls through to a weaker stage after a contradiction, and nothing has a default.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from surgvalid.asking.reading.candidates import without_quoted
from surgvalid.asking.reading.choice import guess_choice, read_choice
from surgvalid.asking.reading.cleaning import cleaned, without_reasoning
from surgvalid.asking.reading.labels import read_classes, read_labels, read_lists
from surgvalid.asking.reading.names import folded
from surgvalid.asking.reading.objects import embedded_objects, unquoted
from surgvalid.asking.reading.places import read_boxes, read_outlines
from surgvalid.asking.reading.quantities import read_moments, read_number, read_share, read_span
from surgvalid.asking.reading.reading import (
    AS_ASKED,
    GUESS,
    ReadingPolicy,
    ReplyRead,
    ReplyReading,
    agreed,
    failed,
    read_as,
    refused,
)
from surgvalid.asking.reading.schema import ReplySchema, schema_of
from surgvalid.asking.reading.sentences import cannot_look, refuses
from surgvalid.asking.reading.stated import StatedPart, stated_parts
from surgvalid.asking.reading.verdicts import read_verdict
from surgvalid.asking.reading.yes_no import read_yes_no

PARSER_VERSION = "10"
"""Changes whenever a reply could be read otherwise than before."""
CUT_WORDS = frozenset({"length", "max_tokens"})
_WHOLE = frozenset({"text", "open_ended"})
"""Forms whose answer is all that was written."""
_ECHO_WORDS = 3
_MOST_LETTERS = 40_000
"""Outside of its reasoning; what repeats itself to no end states nothing."""
_KEYED = re.compile(r":\s*\d")
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
_ONE_LINE = frozenset({"choice", "multiple_choice", "yes_no", "binary", "number", "percentage", "time"})
_FormReader = Callable[[str, ReplySchema], ReplyReading]


def read_reply(
    reply: str,
    schema: ReplySchema | Mapping[str, Any],
    *,
    finish: str = "stop",
    policy: ReadingPolicy | str = ReadingPolicy.CAREFUL,
) -> ReplyReading:
    """What a reply commits itself to, or why that is nothing.

    Args:
        reply: The text, as the model wrote it.
        schema: What was asked for: `form` and what belongs to it (`classes`, `key`, `numbered_from`, ...).
        finish: Why the model stopped; `length` where it reached the token limit.
        policy: `strict` takes replies in the form that was asked for alone, `lenient` also what needs a guess.

    Raises:
        InputInvalid: The schema is none; every problem of it is named.

    Example:
        >>> read_reply("It is G1, not G10.", {"form": "choice", "classes": ["G1", "G10"]}).value
        'G1'
        >>> read_reply("I cannot tell whether it is G1.", {"form": "choice", "classes": ["G1", "G10"]}).status.value
        'refused'
    """
    wanted, policy = schema_of(schema), ReadingPolicy(policy)
    reading = _read(reply, wanted, finish)
    if policy is ReadingPolicy.STRICT and reading.usable and reading.status is not ReplyRead.OK:
        return failed("not in the form that was asked for")
    if policy is ReadingPolicy.LENIENT and reading.status is ReplyRead.FAILED and reading.path != "contradiction":
        guess = _guess(reply, wanted)
        return guess if guess.usable else reading
    return reading


def _read(reply: str, schema: ReplySchema, finish: str) -> ReplyReading:
    was_cut = finish in CUT_WORDS
    text, is_open = without_reasoning(cleaned(reply))
    if is_open:
        return ReplyReading(ReplyRead.CUT, problem="the reply ends within its reasoning")
    if was_cut and schema.form == "verdict":
        return ReplyReading(ReplyRead.CUT, problem="the reply was cut")
    if len(text) > _MOST_LETTERS:
        return failed(f"{len(text):,} letters are no answer")
    if not text:
        return ReplyReading(ReplyRead.CUT, problem="the reply was cut") if was_cut else failed("an empty answer")
    if schema.form not in _WHOLE and _is_left_open(text):
        return ReplyReading(ReplyRead.CUT if was_cut else ReplyRead.FAILED, problem="an object is not closed")
    if schema.form == "verdict":
        return read_verdict(text, schema)
    if not schema.options and _is_echo(text, schema):
        return failed("the prompt is repeated")
    parts = stated_parts(text, one_line=schema.form in _ONE_LINE) or [StatedPart("", "")]
    readings = [_of_part(stated, schema) for stated in parts]
    reading = agreed(readings)
    if was_cut:
        return _before_the_cut(reading, text)
    if reading.usable and schema.form not in _WHOLE and cannot_look(text):
        return refused("declines beside the answer")
    if not reading.usable and reading.status is ReplyRead.FAILED and reading.path != "contradiction" and refuses(text):
        return replace(reading, status=ReplyRead.REFUSED)
    return reading


def _is_left_open(text: str) -> bool:
    """Whether more objects begin than end; braces in quotes begin and end none."""
    bare = _QUOTED.sub("", text)
    return bare.count("{") > bare.count("}")


def _is_echo(text: str, schema: ReplySchema) -> bool:
    """Whether the reply is a stretch of the prompt."""
    plain = folded(text)
    return plain.count(" ") >= _ECHO_WORDS and plain in folded(schema.asked) and not _KEYED.search(text)


def _of_part(stated: StatedPart, schema: ReplySchema) -> ReplyReading:
    text = stated.text if schema.form in _WHOLE else without_quoted(stated.text)
    reading = _FORMS[schema.form](unquoted(text), schema)
    if not reading.usable or not stated.path:
        return reading
    return replace(reading, status=ReplyRead.REPAIRED, path=f"stated part: {reading.path}")


def _before_the_cut(reading: ReplyReading, text: str) -> ReplyReading:
    """Of a reply that was cut only an object that is closed and answers the whole question."""
    closed = embedded_objects(text)
    whole = reading.usable and closed and not (isinstance(reading.value, dict) and None in reading.value.values())
    if whole and "words" not in reading.path:
        return replace(reading, status=ReplyRead.REPAIRED, path="closed before the cut")
    return ReplyReading(ReplyRead.CUT, problem="the reply was cut at the token limit")


def _read_text(text: str, _: ReplySchema) -> ReplyReading:
    return read_as(text.strip("*` \n"), AS_ASKED)


def _read_open(text: str, schema: ReplySchema) -> ReplyReading:
    if not any(letter.isalnum() for letter in text):
        return failed("an empty answer")
    return refused(f"declines: {text[:60]!r}") if refuses(text) else _read_text(text, schema)


def _guess(reply: str, schema: ReplySchema) -> ReplyReading:
    """A value that a reply does not commit itself to, marked as a guess."""
    text, _ = without_reasoning(cleaned(reply))
    if schema.form == "verdict" or refuses(text):
        return failed("")
    if schema.form in ("choice", "multiple_choice"):
        reading = guess_choice(text, schema)
    else:
        reading = failed("")
    closing = "".join({"{": "}", "[": "]"}[letter] for letter in reversed(text) if letter in "{[")
    if not reading.usable and closing and _is_left_open(text):
        closed = _FORMS[schema.form](f"{text.rstrip('` ')}{closing}", schema)
        reading = replace(closed, path=f"{GUESS}closed an object") if closed.usable else closed
    return replace(reading, status=ReplyRead.REPAIRED) if reading.usable else reading


_FORMS: Mapping[str, _FormReader] = {
    "choice": read_choice,
    "multiple_choice": read_choice,
    "labels": read_labels,
    "lists": read_lists,
    "fo_class": read_classes,
    "yes_no": read_yes_no,
    "binary": read_yes_no,
    "number": read_number,
    "percentage": read_share,
    "time": read_moments,
    "span": read_span,
    "boxes": read_boxes,
    "masks": read_outlines,
    "text": _read_text,
    "open_ended": _read_open,
}
