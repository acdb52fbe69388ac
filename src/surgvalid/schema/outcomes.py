"""What became of a question or a case: the one list of words; other documents map theirs to it."""

from __future__ import annotations

from enum import StrEnum


class Status(StrEnum):
    """What became of a question or a case, and so why a score is there or is not."""

    ANSWERED = "answered"
    REFUSED = "refused"
    UNREADABLE = "unreadable"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    MISSING = "missing"
    NOT_ASKED = "not_asked"
    NOT_JUDGED = "not_judged"
    JUDGE_ABSTAINED = "judge_abstained"
    INFRASTRUCTURE = "infrastructure"


OF_A_RESPONSE = frozenset(Status) - {Status.NOT_JUDGED, Status.JUDGE_ABSTAINED}
"""What can be said of a response before anybody judges it."""

WITHOUT_ANSWER = OF_A_RESPONSE - {Status.ANSWERED, Status.UNREADABLE}
"""Nothing came back that could be an answer."""
