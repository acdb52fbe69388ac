"""Which objects of a reply are asserted: not those that a sentence quotes, denies, or gives as an example."""

from __future__ import annotations

import re
from typing import Any

from surgvalid.asking.reading.objects import EmbeddedObject, KeyedPairs, embedded_objects, plain_key
from surgvalid.asking.reading.reading import contradiction, refused
from surgvalid.asking.reading.sentences import Mood, clauses

_ASIDE = frozenset(
    (
        "confidence explanation reason reasoning rationale justification comment comments note notes max description "
        "thought thoughts probability certainty analysis evidence details scale unit observation observations summary "
        "status caption maximum min minimum"
    ).split()
)
_REJECTED = re.compile(
    r"^\W*(?:is|was|are|would be|seems|looks)\b[^.\n]*\b(?:not|wrong|incorrect|what|would|example|impossible)\b"
    r"|^\W*(?:would|\?)",
    re.IGNORECASE,
)


def is_aside(key: str) -> bool:
    """Whether a member of this name explains and answers nothing.

    Example:
        >>> is_aside("Confidence"), is_aside("phase")
        (True, False)
    """
    return plain_key(key) in _ASIDE


def without_quoted(text: str) -> str:
    """The text without the objects and lists that are quoted, denied, or an example: no rule may read within them.

    Example:
        >>> without_quoted('An example would be {"phase": 1}. It is {"phase": 2}')
        'An example would be  . It is {"phase": 2}'
    """
    for one in reversed(embedded_objects(text)):
        if not _is_asserted(text, one):
            text = f"{text[: one.start]} {text[one.end :]}"
    return text


def is_whole(text: str, one: EmbeddedObject) -> bool:
    """Whether a text is one JSON object and nothing else."""
    return one.strict and (one.start, one.end) == (0, len(text.strip()))


def _is_asserted(text: str, one: EmbeddedObject) -> bool:
    lead = text[max(0, one.start - 200) : one.start].rpartition("\n")[2]
    before = clauses(lead)
    if before and not re.search(r"[.!?]\s*$", lead) and before[-1].mood in (Mood.HEDGES, Mood.REFUSES):
        return False
    return _REJECTED.search(text[one.end : one.end + 120].partition("\n")[0]) is None


def object_value(text: str) -> tuple[bool, Any]:
    """Whether the reply holds objects, and the one value that they share."""
    values = []
    for one in embedded_objects(text):
        value = one.value
        while isinstance(value, KeyedPairs):
            kept = [inner for key, inner in value if not is_aside(key)]
            if len(kept) != 1:
                return True, contradiction("an object with several values")
            value = kept[0]
        values.append(value)
    if not values:
        return False, None
    if any(repr(one) != repr(values[0]) for one in values):
        return True, contradiction("two objects say different things")
    return True, refused("no value is given") if values[0] is None else values[0]
