"""Which objects of a reply are asserted: not those that a sentence quotes, denies, or gives as an example."""

from __future__ import annotations

import re

from surgvalid.asking.reading.objects import EmbeddedObject, embedded_objects, plain_key
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


def asserted_objects(text: str) -> list[EmbeddedObject]:
    """The objects and lists of a text, without those that are quoted, denied, or an example."""
    return [one for one in embedded_objects(text) if _is_asserted(text, one)]


def _is_asserted(text: str, one: EmbeddedObject) -> bool:
    lead = text[max(0, one.start - 200) : one.start].rpartition("\n")[2]
    before = clauses(lead)
    if before and not re.search(r"[.!?]\s*$", lead) and before[-1].mood in (Mood.HEDGES, Mood.REFUSES):
        return False
    return _REJECTED.search(text[one.end : one.end + 120].partition("\n")[0]) is None
