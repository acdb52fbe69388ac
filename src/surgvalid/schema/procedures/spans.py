"""Sets of seconds as sorted spans, and counts that change at a few seconds only.

Every query is a binary search over the borders of the spans, so its cost follows from how often an
object comes and goes, not from how long the video is. Spans are half-open, windows are closed: a
question about `Window(3, 5)` is about the seconds 3, 4 and 5.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from surgvalid.schema.procedures.tracks import Span

Seconds = NDArray[np.int64]


class Window(NamedTuple):
    """The seconds `start_s` to `end_s`, both included; a single frame starts where it ends."""

    start_s: int
    end_s: int

    @property
    def length_s(self) -> int:
        """From the first to the last second, as the official files count it; 0 for a frame."""
        return self.end_s - self.start_s

    @property
    def frames(self) -> int:
        """How many annotated seconds it holds."""
        return self.end_s - self.start_s + 1


@dataclass(frozen=True, eq=False)
class Spans:
    """A set of seconds: disjoint spans in order of time, never touching each other."""

    starts: Seconds
    ends: Seconds

    @classmethod
    def of_seconds(cls, seconds: Seconds) -> Spans:
        """The runs in rising seconds.

        Example:
            >>> list(Spans.of_seconds(np.array([3, 4, 7])))
            [Span(start_s=3, end_s=5), Span(start_s=7, end_s=8)]
        """
        if not seconds.size:
            return EMPTY
        breaks = np.flatnonzero(np.diff(seconds) != 1)
        starts = seconds[np.concatenate(([0], breaks + 1))]
        ends = seconds[np.concatenate((breaks, [seconds.size - 1]))] + 1
        return cls(starts.astype(np.int64), ends.astype(np.int64))

    @classmethod
    def union(cls, members: Iterable[Spans]) -> Spans:
        """Every second that lies in any member."""
        listed = [member for member in members if len(member)]
        if len(listed) < 2:
            return listed[0] if listed else EMPTY
        starts = np.concatenate([member.starts for member in listed])
        ends = np.concatenate([member.ends for member in listed])
        order = np.argsort(starts, kind="stable")
        starts, ends = starts[order], np.maximum.accumulate(ends[order])
        fresh = np.concatenate(([True], starts[1:] > ends[:-1]))
        last = np.concatenate((np.flatnonzero(fresh)[1:] - 1, [starts.size - 1]))
        return cls(starts[fresh], ends[last])

    def __len__(self) -> int:
        return self.starts.size

    def __iter__(self) -> Iterator[Span]:
        return (Span(int(a), int(b)) for a, b in zip(self.starts, self.ends, strict=True))

    @cached_property
    def _covered(self) -> Seconds:
        """Seconds covered by all spans before each."""
        return np.concatenate((np.zeros(1, np.int64), np.cumsum(self.ends - self.starts)))

    def has(self, second: int) -> bool:
        """Whether the second belongs to the set."""
        at = int(self.starts.searchsorted(second, "right")) - 1
        return at >= 0 and bool(second < self.ends[at])

    def within(self, window: Window) -> Spans:
        """What of the set lies in the window."""
        low = int(self.ends.searchsorted(window.start_s, "right"))
        high = int(self.starts.searchsorted(window.end_s, "right"))
        if low >= high:
            return EMPTY
        starts, ends = self.starts[low:high].copy(), self.ends[low:high].copy()
        starts[0], ends[-1] = max(starts[0], window.start_s), min(ends[-1], window.end_s + 1)
        return Spans(starts, ends)

    def seconds_in(self, window: Window) -> int:
        """How many seconds of the window belong to the set."""
        return self._before(window.end_s + 1) - self._before(window.start_s)

    def _before(self, second: int) -> int:
        at = int(self.starts.searchsorted(second, "right")) - 1
        if at < 0:
            return 0
        return int(self._covered[at] + min(second, self.ends[at]) - self.starts[at])

    def first_in(self, window: Window) -> int | None:
        """The first second of the set in the window, or None."""
        at = int(self.ends.searchsorted(window.start_s, "right"))
        if at == len(self) or self.starts[at] > window.end_s:
            return None
        return max(int(self.starts[at]), window.start_s)

    def last_in(self, window: Window) -> int | None:
        """The last second of the set in the window, or None."""
        at = int(self.starts.searchsorted(window.end_s, "right")) - 1
        if at < 0 or self.ends[at] <= window.start_s:
            return None
        return min(int(self.ends[at]) - 1, window.end_s)

    def gaps_in(self, window: Window, *, least_s: int = 1) -> list[Span]:
        """The stretches between two spans of the window that last at least `least_s` seconds."""
        inside = self.within(window)
        lengths = inside.starts[1:] - inside.ends[:-1]
        return [Span(int(inside.ends[i]), int(inside.starts[i + 1])) for i in np.flatnonzero(lengths >= least_s)]

    def lasting(self, least_s: int) -> Spans:
        """Only the spans of at least that length."""
        keep = self.ends - self.starts >= least_s
        return self if keep.all() else Spans(self.starts[keep], self.ends[keep])

    def without(self, other: Spans) -> Spans:
        """The seconds of this set that are not in the other."""
        if not len(other) or not len(self):
            return self
        seconds = self.seconds
        at = other.starts.searchsorted(seconds, "right") - 1
        return Spans.of_seconds(seconds[(at < 0) | (seconds >= other.ends[at])])

    def within_span(self, span: Span) -> Spans:
        """What of the set lies in the span."""
        return self.within(Window(span.start_s, span.end_s - 1))

    @property
    def total_s(self) -> int:
        """How many seconds the set holds."""
        return int(self._covered[-1])

    def nth(self, index: int) -> int:
        """The second with that index, counted from 0.

        Example:
            >>> Spans.of_seconds(np.array([3, 4, 7])).nth(2)
            7
        """
        at = int(self._covered.searchsorted(index, "right")) - 1
        return int(self.starts[at] + index - self._covered[at])

    @property
    def seconds(self) -> Seconds:
        """Every second of the set."""
        before = np.repeat(self.starts - self._covered[:-1], self.ends - self.starts)
        return np.arange(self.total_s) + before


EMPTY = Spans(np.empty(0, np.int64), np.empty(0, np.int64))


class Peak(NamedTuple):
    """The largest count in a window and the first second that reaches it."""

    most: int
    second: int


@dataclass(frozen=True, eq=False)
class Steps:
    """A count that changes at `times` to `values`; zero before the first."""

    times: Seconds
    values: Seconds

    @classmethod
    def of_spans(cls, members: Iterable[Spans]) -> Steps:
        """How many of the members hold each second."""
        listed = [member for member in members if len(member)]
        if not listed:
            return cls(np.empty(0, np.int64), np.empty(0, np.int64))
        starts = np.concatenate([member.starts for member in listed])
        ends = np.concatenate([member.ends for member in listed])
        times, at = np.unique(np.concatenate((starts, ends)), return_inverse=True)
        steps = np.zeros(times.size, np.int64)
        np.add.at(steps, at, np.concatenate((np.ones(starts.size, np.int64), -np.ones(ends.size, np.int64))))
        return cls(times, np.cumsum(steps))

    def at(self, second: int) -> int:
        """The count at that second."""
        at = int(self.times.searchsorted(second, "right")) - 1
        return int(self.values[at]) if at >= 0 else 0

    def peak_in(self, window: Window) -> Peak:
        """The largest count in the window and when it is first reached."""
        low = int(self.times.searchsorted(window.start_s, "right"))
        high = int(self.times.searchsorted(window.end_s, "right"))
        now = self.at(window.start_s)
        if low >= high:
            return Peak(now, window.start_s)
        best = low + int(np.argmax(self.values[low:high]))
        most = int(self.values[best])
        return Peak(now, window.start_s) if most <= now else Peak(most, int(self.times[best]))
