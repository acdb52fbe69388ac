"""What a report needs of thousands of verdicts: who judged, how often judges disagree, and a few wrong answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

KEPT_WRONG = 30
"""Answers judged wrong that are kept as examples."""


class Verdicts(NamedTuple):
    """The verdicts on one model's answers, in short."""

    judges: tuple[str, ...]
    answers: int
    """Answers that were judged."""
    apart: int
    """Answers on which judges say different things; abstaining is different from both."""
    wrong: tuple[Mapping[str, Any], ...]
    """The first answers judged wrong, as they stand in the file."""


def in_short(rows: Iterable[Mapping[str, Any]]) -> Verdicts:
    """The verdicts in short, read one by one so that large files take little memory.

    Example:
        >>> said = [{"judge": "a", "qID": "1", "verdict": True}, {"judge": "b", "qID": "1", "verdict": False}]
        >>> in_short(said)[:3]
        (('a', 'b'), 1, 1)
    """
    judges: dict[str, None] = {}
    votes: dict[int, set[str]] = {}
    wrong: list[Mapping[str, Any]] = []
    for row in rows:
        judges[str(row.get("judge"))] = None
        answer = hash((str(row.get("qID")), str(row.get("candidate"))))
        votes.setdefault(answer, set()).add(str(row.get("verdict")))
        if row.get("verdict") is False and len(wrong) < KEPT_WRONG:
            wrong.append(row)
    return Verdicts(tuple(judges), len(votes), sum(len(verdicts) > 1 for verdicts in votes.values()), tuple(wrong))
