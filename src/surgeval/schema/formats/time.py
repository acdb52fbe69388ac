"""One or more timestamps hh:mm:ss, right within a tolerance in seconds."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from surgeval.schema.formats._base import AnswerFormat, Unreadable, Why, parts, shown

_STAMP = re.compile(r"(\d{2}):(\d{2}):(\d{2})")


@dataclass(frozen=True, slots=True)
class Time(AnswerFormat):
    """Accepts timestamps separated by commas; their number must agree, duplicates count.

    Sorted timestamps are compared pair by pair, each within `threshold_seconds` (inclusive).

    Example:
        >>> stamp = Time()
        >>> stamp.compare(stamp.parse("00:01:00, 00:02:00"), stamp.parse("00:02:05, 00:00:55"))
        True
        >>> stamp.why("1:05").nearest
        '00:01:05'
    """

    name: ClassVar[str] = "time"
    threshold_seconds: float = 5.0

    def parse(self, text: str) -> tuple[int, ...]:
        """The timestamps in seconds, sorted."""
        if self.rules.several_times:
            members = parts(self.rules.normalize(text))
            if not members:
                raise Unreadable
        else:
            members = [text.strip()]
        return tuple(sorted(_seconds(member) for member in members))

    def compare(self, reference: tuple[int, ...], response: tuple[int, ...]) -> bool:
        """Whether both list the same number of times and every pair is close enough."""
        if len(reference) != len(response):
            return False
        return all(abs(a - b) <= self.threshold_seconds for a, b in zip(reference, response, strict=True))

    def explain(self, text: str) -> Why:
        """Points at the member that is no timestamp."""
        members = parts(self.rules.normalize(text)) if self.rules.several_times else [text.strip()]
        if not any(members):
            return Why("empty", "the answer is empty; expected hh:mm:ss")
        if not self.rules.several_times and len(parts(text)) > 1:
            return Why("several-times", "this version accepts exactly one timestamp", self._guess(parts(text)[0]))
        bad = next(m for m in members if not _is_stamp(m))
        range_error = _STAMP.fullmatch(bad) is not None
        rule = "time-out-of-range" if range_error else "not-a-time"
        expected = "minutes and seconds below 60" if range_error else "hh:mm:ss"
        return Why(rule, f"expected {expected}, got {shown(bad)}", self._guess(text))

    def _guess(self, text: str) -> str | None:
        if texts := _STAMP.findall(text[:1000]):
            return self.legal_or_none(", ".join(":".join(stamp) for stamp in texts))
        stamps = re.findall(r"(?<![\d:])(?:(\d{1,2}):)?(\d{1,2}):(\d{2})(?![\d:])", text[:1000])
        padded = [f"{int(h or 0):02}:{int(m):02}:{int(s):02}" for h, m, s in stamps]
        return self.legal_or_none(", ".join(padded)) if padded else None


def time_tolerance_s(window_s: float) -> float:
    """The tolerance of a time question from the length of its window, as the official loader sets it.

    One second for a single frame, growing to five at six minutes. The order of the operations is
    the official one, so that the result agrees to the last bit.

    Example:
        >>> time_tolerance_s(0), time_tolerance_s(60), time_tolerance_s(300), time_tolerance_s(3600)
        (1.0, 1.6666666666666667, 4.333333333333334, 5.0)
    """
    return min(5.0, 1 + window_s * (4 / 360))


def _seconds(stamp: str) -> int:
    match = _STAMP.fullmatch(stamp)
    if match is None:
        raise Unreadable
    hours, minutes, seconds = (int(group) for group in match.groups())
    if minutes >= 60 or seconds >= 60:
        raise Unreadable
    return hours * 3600 + minutes * 60 + seconds


def _is_stamp(member: str) -> bool:
    try:
        _seconds(member)
    except Unreadable:
        return False
    return True
