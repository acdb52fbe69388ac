"""One class out of several: the exact name, then a stated answer, then its number, then the only one that is named.

Two different classes are no answer, and neither the first nor the last of them is taken.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from surgeval.tasks.parsing.json_objects import last_object
from surgeval.tasks.parsing.names import ClassNames
from surgeval.tasks.parsing.reading import Read, Reading, failed
from surgeval.tasks.task import AnswerForm

_STATED = re.compile(
    r"(?:answer|label|class|phase|score|rating|grade|severity|gesture|action|motion|error(?:[ _]type)?)"
    r"\s*(?:is|:|=|would be)\s*[\"'*`]*([^\n.;\"'*`]+)",
    re.IGNORECASE,
)
_NUMBERED = re.compile(r"\(?#?(\d+)[).:]?\s*(.*)", re.DOTALL)
_OF_A_SCALE = re.compile(
    r"\s*(?:/|out of)\s*\d+\b"
    r"|\b(?:on|using|from)?\s*(?:a|the)?\s*scale\s*(?:of|from)?\s*\d+\s*(?:to|-|–)\s*\d+",
    re.IGNORECASE,
)


def read_choice(text: str, answer: AnswerForm, names: ClassNames) -> Reading:
    """The class that an answer names."""
    held = last_object(text)
    if held is not None:
        return _of_object(held.value, held.strict, answer, names)
    return _of_words(text, answer, names)


def _of_object(value: Mapping[Any, Any], strict: bool, answer: AnswerForm, names: ClassNames) -> Reading:
    """By the key that was asked for; by the only value where the key is another."""
    by_key = {str(key).casefold().replace(".", "_"): one for key, one in value.items()}
    if answer.key and answer.key.casefold() in by_key:
        given, exact = by_key[answer.key.casefold()], strict
    elif len(by_key) == 1:
        given, exact = next(iter(by_key.values())), strict and not answer.key
    else:
        wanted = f"no key {answer.key!r}" if answer.key else "several keys"
        return failed(f"{wanted} in an object with {', '.join(map(repr, list(by_key)[:5])) or 'no keys'}")
    name, problem = _class_of(given, answer, names)
    if name is None:
        return failed(problem)
    return Reading(Read.OK if exact else Read.REPAIRED, name)


def _class_of(given: Any, answer: AnswerForm, names: ClassNames) -> tuple[str | None, str]:
    """The class that one value stands for, or why it stands for none."""
    if isinstance(given, list) and len(given) == 1:
        given = given[0]
    if isinstance(given, bool) or given is None or isinstance(given, dict | list):
        return None, f"{given!r} is no single class"
    if isinstance(given, int | float):
        numbered = _of_number(float(given), answer)
        return numbered, "" if numbered else f"{given!r} is the number of no class"
    if exact := names.exact(given):
        return exact, ""
    if match := _NUMBERED.fullmatch(given.strip()):
        numbered, named = _of_number(float(match[1]), answer), names.exact(match[2]) if match[2].strip() else None
        if numbered and (named == numbered or not match[2].strip()):
            return numbered, ""
        if numbered and named:
            return None, f"{given[:60]!r} gives the number of {numbered!r} to {named!r}"
    return _named_once(given, answer, names)


def _of_number(number: float, answer: AnswerForm) -> str | None:
    text = f"{number:g}"
    if text in answer.classes:
        return text
    if answer.numbered_from is None or number != int(number):
        return None
    place = int(number) - answer.numbered_from
    return answer.classes[place] if 0 <= place < len(answer.classes) else None


def _of_words(text: str, answer: AnswerForm, names: ClassNames) -> Reading:
    bare = text.strip().strip("\"'`*. ")
    if exact := names.exact(bare):
        return Reading(Read.OK, exact)
    if not bare:
        return failed("an empty answer")
    stated = list(dict.fromkeys(name for match in _STATED.findall(text) if (name := _stated(match, answer, names))))
    if len(stated) == 1:
        return Reading(Read.REPAIRED, stated[0])
    if len(stated) > 1:
        return failed(f"two answers are stated: {stated[0]!r} and {stated[1]!r}")
    if match := _NUMBERED.fullmatch(bare):
        name, problem = _class_of(bare, answer, names)
        if name or match[2].strip() == "":
            return Reading(Read.REPAIRED, name) if name else failed(problem)
    name, problem = _named_once(text, answer, names)
    return Reading(Read.REPAIRED, name) if name else failed(problem)


def _stated(piece: str, answer: AnswerForm, names: ClassNames) -> str | None:
    if names.denied(piece):
        return None
    return _class_of(piece.strip(), answer, names)[0]


def _named_once(text: str, answer: AnswerForm, names: ClassNames) -> tuple[str | None, str]:
    """The only class that a text names by whole words."""
    text = _OF_A_SCALE.sub(" ", text) if answer.ordered else text
    named = names.within(text)
    if len(named) > 1:
        return None, f"several classes are named: {', '.join(map(repr, named[:4]))}"
    if not named:
        return None, f"no class is named in {text.strip()[:60]!r}"
    if names.denied(text):
        return None, f"{named[0]!r} is named as what it is not"
    return named[0], ""
