"""What a file seems to be, told from the keys of its first rows: files are mixed up more often than they are broken.

A file that has what its role needs is never doubted. One that lacks it and has keys of its own beside is another
file, and it is said once which one it seems to be and where it belongs, instead of a complaint about every row.
"""

from __future__ import annotations

from collections.abc import Set
from typing import NamedTuple

from surgvalid.schema.questions.questions import DATA_SET_COLUMNS, REFERENCE_KEYS, REQUEST_KEYS, RESPONSE_KEYS

LOOKED_AT = 100
"""Rows whose keys tell what a file is."""
_SHOWN_KEYS = 6
_IDENTIFIERS = ("qID", "id")
_DATA_SET = frozenset(DATA_SET_COLUMNS)
_SCORES = frozenset("accuracy ap auc dice f1 hd95 iou jaccard map nsd precision recall score scores value".split())
"""Words in the names of columns that hold scores."""


class Role(NamedTuple):
    """What a file is given as."""

    name: str
    """That of the option, without its dashes."""
    needs: tuple[tuple[str, ...], ...]
    """Of each of these, one key."""
    keys: Set[str]
    """All that its rows may have in the official layout."""


REQUESTS = Role("requests", (_IDENTIFIERS, ("question",)), REQUEST_KEYS)
REFERENCES = Role("references", (_IDENTIFIERS, ("answer",), ("primary", "primary_capability")), REFERENCE_KEYS)
RESPONSES = Role("responses", (_IDENTIFIERS, ("content",)), RESPONSE_KEYS)


class Kind(NamedTuple):
    """A kind of file that is met in place of another."""

    words: str
    keys: Set[str]
    """All of these are in its rows."""
    cure: str


RESULTS = "the results of a scoring"
KINDS = (
    Kind("a public data set", {"question", "answer", "answer_format"}, "pass it as --requests and as --references"),
    Kind("references", {"qID", "primary", "answer"}, "pass it as --references"),
    Kind("requests", {"qID", "question"}, "pass it as --requests"),
    Kind("verdicts of judges", {"judge", "verdict"}, "pass it as --judge cached:FILE"),
    Kind("responses", {"qID", "content"}, "pass it as --responses"),
    Kind(RESULTS, {"qID", "correctness"}, "compare it with another one by surgvalid score diff"),
    Kind("the summary of a scoring", {"level", "name", "accuracy"}, "pass the answers that were scored"),
    Kind("a score table", {"model", "case", "value"}, "pass it to surgvalid analyse interval, compare or rank"),
    Kind("COCO detections", {"image_id", "category_id"}, "pass it to surgvalid evaluate detection"),
)
_TABLE_OF_SCORES = Kind("a table of scores", frozenset(), "pass it to surgvalid analyse interval, compare or rank")


def mistaken(keys: Set[str], role: Role) -> str | None:
    """Why rows with these keys are not what they were given as, or None where they may be.

    Example:
        >>> mistaken({"qID", "primary", "answer"}, RESPONSES)
        "it seems to be references, not responses (it has 'answer', 'primary', 'qID'); pass it as --references"
        >>> mistaken({"qID", "latency"}, RESPONSES) is None
        True
    """
    lacking = [names for names in role.needs if keys.isdisjoint(names)]
    allowed = role.keys if "qID" in keys or role is RESPONSES else _DATA_SET
    if not keys or not lacking or keys <= allowed:
        return None
    listed = ", ".join(map(repr, sorted(keys)[:_SHOWN_KEYS])) + (", ..." if len(keys) > _SHOWN_KEYS else "")
    if (kind := kind_of(keys)) is not None and kind.words != role.name:
        return f"it seems to be {kind.words}, not {role.name} (it has {listed}); {kind.cure}"
    wanted = " and no ".join(" or ".join(map(repr, names)) for names in lacking)
    return f"it seems to be no {role.name}: its rows have no {wanted} (but {listed}); pass others as --{role.name}"


def kind_of(keys: Set[str]) -> Kind | None:
    """What a file with these keys seems to be, or None where nothing is recognised."""
    if kind := next((kind for kind in KINDS if kind.keys <= keys), None):
        return kind
    words = {word for key in keys for word in key.lower().replace("-", "_").split("_")}
    return None if words.isdisjoint(_SCORES) else _TABLE_OF_SCORES
