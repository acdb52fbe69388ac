"""Entries that are sealed one after another: whoever changes, drops or reorders one changes every digest after it.

A log whose last entries were cut off still has a whole chain. The end is therefore kept in a row of its own, and every
leaderboard carries the end as it was when the leaderboard was made: `problems` takes such ends and says where they do
not fit.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

BEGINNING = "0" * 64


class LogRecord(NamedTuple):
    """One act as it is sealed."""

    number: int
    at: datetime
    actor: str
    act: str
    subject: str
    facts: str
    """JSON with sorted keys."""
    previous: str
    digest: str


def facts_text(facts: Mapping[str, Any]) -> str:
    """The facts of an act in the one form that is sealed."""
    return json.dumps(facts, sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=str)


def sealed(number: int, at: datetime, actor: str, act: str, subject: str, facts: str, previous: str) -> LogRecord:
    """The entry with its digest."""
    when = at.astimezone(UTC).isoformat(timespec="microseconds")
    content = json.dumps([number, when, actor, act, subject, facts, previous], ensure_ascii=False)
    digest = hashlib.sha256(content.encode()).hexdigest()
    return LogRecord(number, at, actor, act, subject, facts, previous, digest)


def problems(
    entries: Iterable[LogRecord], *, end: tuple[int, str], witnesses: Mapping[int, str] | None = None
) -> Iterator[str]:
    """What is wrong with a log, one sentence each.

    Args:
        entries: In their order.
        end: Number and digest of the last one, as kept apart.
        witnesses: Digests by number, as leaderboards or printed exports have them.
    """
    number, previous, waiting = 0, BEGINNING, dict(witnesses or {})
    for entry in entries:
        if entry.number != number + 1:
            yield f"entry {number + 1} is missing: {number} is followed by {entry.number}"
        if entry.previous != previous:
            yield f"entry {entry.number} does not follow the one before it"
        if sealed(*entry[:-1]).digest != entry.digest:
            yield f"entry {entry.number} is not what was sealed"
        if waiting.pop(entry.number, entry.digest) != entry.digest:
            yield f"entry {entry.number} is not the one that a leaderboard was made with"
        number, previous = entry.number, entry.digest
    if (number, previous) != end:
        yield f"the log ends with entry {number}; its end was noted as {end[0]}"
    for late in sorted(set(waiting) - {0}):
        yield f"a leaderboard was made with entry {late}, which is missing"
