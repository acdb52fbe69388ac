"""One pass over a video, then every question about it from the same prefix, before its deadline, with any engine.

Frames go in chunk by chunk, each frame after a line with its time. Before every chunk the plan for the rest is made
anew from what the engine was seen to take: more frames where it is faster than thought, fewer or smaller ones where it
is slower. Questions that end earlier use as much of the prefix as they may see and no more; questions that end later
let it grow, so windows of one video share what was seen.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from surgvalid.models._long_video.forms import AnswerForm, form_of, quoted_times, times
from surgvalid.models._long_video.plan import LEAST_FRAMES, MOST_PER_S, ReadingPace, planned, sizes

STATES = {"per_question": 0, "per_video": 2, "free": 8}
"""What is kept between questions: so many prefixes; under `per_video` of one video alone."""
_QUESTION_TOKENS = 1024
"""Room that is kept for a question and its answer."""
_FREE_TOKENS, _LETTERS = 24, 2.0
"""Tokens of a free answer for which time is kept, and letters of a token in others."""
_FIRST_FRAMES = 8
"""Of the first look through an engine that nobody knows."""
_TOGETHER = 32
"""Questions that are answered at once."""
_LOOK_S, _LOOK_FRAMES = 8.0, 16
"""Half a second look, and its frames."""


class FrameSource(Protocol):
    """A video that can be looked at."""

    name: str
    """Questions of one name share what was seen."""
    start_s: float
    """The time of its first frame, as questions count."""
    end_s: float
    height_px: int
    width_px: int

    def frames(
        self, times_s: Sequence[float], height_px: int, width_px: int, *, slack_s: float = 0.0
    ) -> tuple[list[float], NDArray[np.uint8]]:
        """When the frames were shown, and these `(n, height, width, 3)`; each as near to its time as the slack asks."""
        ...


class Spoken(NamedTuple):
    """What an engine said."""

    text: str
    is_cut: bool = False
    read_s: float = 0.0
    """Up to the first token."""
    steps: int = 0
    """Tokens behind the first."""
    steps_s: float = 0.0


class VideoEngine(Protocol):
    """What sees, reads and writes; a prefix is what it likes, and is never changed."""

    context: int
    """Tokens that fit."""
    owes: bool
    """Whether frames are seen with the first question only, as by a server."""

    def tokens(self, height_px: int, width_px: int) -> int:
        """Of a frame of that size."""
        ...

    def begin(self) -> Any:
        """A prefix without frames."""
        ...

    def extend(
        self, prefix: Any, times_s: Sequence[float], frames: NDArray[np.uint8], *, after: int | None = None
    ) -> tuple[Any, int]:
        """A prefix with frames behind the first `after` of its own (all by default), and all of its tokens.

        Raises:
            MemoryError: They do not fit.
        """
        ...

    def replies(
        self, prefix: Any, frames: int, asked: Sequence[tuple[str, AnswerForm]], deadline: float
    ) -> list[Spoken]:
        """The answers to questions that see so many frames of the prefix, and not each other.

        Raises:
            MemoryError: It does not fit.
        """
        ...


@dataclass(frozen=True, slots=True)
class VideoQuestion:
    """A question and the stretch that it is about."""

    text: str
    start_s: float
    end_s: float
    form: AnswerForm | None = None
    """What the answer may be, where more is known than the wording says."""

    def named_form(self, classes: Sequence[str]) -> tuple[str, AnswerForm]:
        """The name of the format and the form."""
        return form_of(self.text, self.start_s, self.end_s, classes) if self.form is None else ("labels", self.form)


@dataclass(frozen=True, slots=True)
class VideoAnswered:
    """An answer, and how it came about."""

    text: str
    format: str
    frames: int = 0
    tokens: int = 0
    is_reduced: bool = False
    """Fewer or smaller frames were shown than the video would deserve."""
    is_cut: bool = False
    """Time ran out: the answer is the shortest readable one that begins as the model began."""
    reused: bool = False
    """The prefix was there, or its beginning."""
    looked_twice: bool = False

    def facts(self) -> dict[str, Any]:
        """What a log would keep."""
        return {name.removeprefix("is_"): value for name, value in asdict(self).items() if name != "text"}


class _Turn(NamedTuple):
    """A question under way."""

    asked: VideoQuestion
    format: str
    form: AnswerForm
    deadline: float = float("inf")


@dataclass(slots=True)
class _Seen:
    """What is known of a stretch of a video."""

    prefix: Any
    start_s: float
    end_s: float
    times: list[float] = field(default_factory=list)
    tokens: int = 0
    is_reduced: bool = False
    is_owed: bool = False

    def until(self, end_s: float) -> int:
        """How many of its frames a question may see that ends then."""
        return bisect_right(self.times, end_s + 1e-6)

    def shows(self, start_s: float, end_s: float) -> bool:
        """Whether enough of that stretch was seen."""
        inside = sum(start_s - 1e-6 <= second <= end_s + 1e-6 for second in self.times)
        is_whole = (start_s, end_s) == (self.start_s, self.end_s)
        reaches = self.start_s <= start_s + 1e-6 and self.end_s >= end_s - 1e-6
        return reaches and (is_whole or inside >= _enough(end_s - start_s))

    def shows_alike(self, first: VideoQuestion, other: VideoQuestion) -> bool:
        """Whether another question sees enough, and as many frames as the first."""
        return self.shows(other.start_s, other.end_s) and self.until(other.end_s) == self.until(first.end_s)


def _enough(length_s: float) -> int:
    return max(1, min(LEAST_FRAMES, int(length_s * MOST_PER_S)))


class LongVideo:
    """Answers to questions about long videos.

    Args:
        engine: Sees, reads and writes.
        classes: Names that a question may ask for.
        state: What is kept: nothing (`per_question`), prefixes of the last video (`per_video`), or eight (`free`).
        most_frames: Of a prefix.
        clock: Seconds that only grow; the engine's own.
    """

    def __init__(
        self,
        engine: VideoEngine,
        *,
        classes: Sequence[str] = (),
        state: str = "per_video",
        most_frames: int = 768,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if state not in STATES:
            raise ValueError(f"state must be one of {', '.join(STATES)}, got {state!r}")
        self.engine, self.classes, self.state = engine, tuple(classes), state
        self.most_frames, self.clock, self.pace = most_frames, clock, ReadingPace()
        self._kept: list[tuple[str, _Seen]] = []

    def warm_up(self, height_px: int = 252, width_px: int = 448) -> None:
        """Show black frames and ask about them: kernels are chosen, and the pace is learnt before a budget begins."""
        for _ in range(2):
            self.pace, seen = ReadingPace(), _Seen(self.engine.begin(), 0.0, 0.0)
            for count in (1, 2, 4, 8, 16):
                self._show(seen, list(range(count)), np.zeros((count, height_px, width_px, 3), np.uint8))
            self._replies(seen, [_Turn(VideoQuestion("When?", 0.0, 99.0), "time", times((0.0, 99.0)))])

    def close(self) -> None:
        """Let go of prefixes."""
        self._kept.clear()

    def answers(
        self, film: FrameSource, questions: Sequence[VideoQuestion], budget_s: float = float("inf")
    ) -> list[VideoAnswered]:
        """The answers to questions about one video, each within the budget from when its turn comes.

        Those that end first come first, so that the prefix only grows; what needs nothing new is answered together.
        """
        turns = {number: self._turn(film, asked) for number, asked in enumerate(questions)}
        waiting = sorted(turns, key=lambda number: (turns[number].asked.end_s, turns[number].asked.start_s))
        given: dict[int, VideoAnswered] = {}
        while waiting:
            kept, first = self._shown(film, turns[waiting[0]]), turns[waiting[0]]
            together = [number for number in waiting if kept and kept.shows_alike(first.asked, turns[number].asked)]
            numbers, deadline = together[:_TOGETHER] or waiting[:1], self.clock() + budget_s
            answers = self._answered(film, [turns[number]._replace(deadline=deadline) for number in numbers])
            given |= dict(zip(numbers, answers, strict=True))
            waiting = [number for number in waiting if number not in given]
        return [given[number] for number in range(len(questions))]

    def answer(self, film: FrameSource, asked: VideoQuestion, deadline: float = float("inf")) -> VideoAnswered:
        """The answer to one question, by `deadline` on the engine's clock.

        Raises:
            ValueError: Not even one small frame fits the context.
            MemoryError: Not even one, or no question beside it, fits the memory.
        """
        return self._answered(film, [self._turn(film, asked)._replace(deadline=deadline)])[0]

    def _turn(self, film: FrameSource, asked: VideoQuestion) -> _Turn:
        end_s = max(asked.start_s, min(asked.end_s, film.end_s))
        return _Turn(replace(asked, end_s=end_s), *asked.named_form(self.classes))

    def _answered(self, film: FrameSource, turns: Sequence[_Turn]) -> list[VideoAnswered]:
        """The answers to the first question and to others that are shown the same."""
        turn = turns[0]
        first: VideoAnswered | None = None
        if self.engine.owes and not self.pace.chunks:
            first = self._replies(self._pass(film, self._empty(turn), turn, _FIRST_FRAMES), turns)[0]
        seen, is_reused = self._seen(film, turn)
        replies = [replace(reply, reused=is_reused) for reply in self._replies(seen, turns)]
        if first is not None and replies[0].is_cut and not first.is_cut:
            return [first, *replies[1:]]
        return [self._second_look(film, seen, *each) for each in zip(turns, replies, strict=True)]

    # --- seeing ------------------------------------------------------------------------------------------------------

    def _empty(self, turn: _Turn) -> _Seen:
        return _Seen(self.engine.begin(), turn.asked.start_s, turn.asked.start_s)

    def _seen(self, film: FrameSource, turn: _Turn) -> tuple[_Seen, bool]:
        """What was seen before if it shows enough, else what is seen now, behind it where that is possible."""
        start, end = turn.asked.start_s, turn.asked.end_s
        seen = self._shown(film, turn)
        mine = (seen for name, seen in reversed(self._kept) if name == film.name)
        base = seen or next((seen for seen in mine if self._may_grow(film, seen, start, end)), None)
        self._kept = [
            (name, kept)
            for name, kept in self._kept
            if kept is not base and (self.state == "free" or name == film.name)
        ]
        del self._kept[: max(0, len(self._kept) - STATES[self.state] + 1)]
        if seen is None:
            seen = self._watched(film, base or self._empty(turn), turn)
        if STATES[self.state]:
            self._kept.append((film.name, seen))
        return seen, base is not None

    def _shown(self, film: FrameSource, turn: _Turn) -> _Seen | None:
        """What was seen last and shows enough."""
        mine = (seen for name, seen in reversed(self._kept) if name == film.name)
        return next((seen for seen in mine if seen.shows(turn.asked.start_s, turn.asked.end_s)), None)

    def _may_grow(self, film: FrameSource, seen: _Seen, start_s: float, end_s: float) -> bool:
        """Whether what was seen can go on to the end of a window and show enough of it."""
        if not seen.start_s <= start_s + 1e-6 or seen.end_s >= end_s or self.state == "per_question":
            return False
        if seen.end_s > start_s and not seen.shows(start_s, seen.end_s):
            return False
        more = _enough(end_s - max(start_s, seen.end_s))
        room = self.engine.context - seen.tokens - _QUESTION_TOKENS
        height, width = sizes(film.height_px, film.width_px)[-1]
        return len(seen.times) + more <= self.most_frames and more * self.engine.tokens(height, width) <= room

    def _watched(self, film: FrameSource, base: _Seen, turn: _Turn) -> _Seen:
        """One pass; where memory runs out, again with half of the frames."""
        most = self.most_frames
        while True:
            try:
                return self._pass(film, base, turn, most)
            except MemoryError:
                most //= 2
                if most < 1:
                    raise MemoryError("the memory does not even hold a prefix of one frame") from None

    def _pass(self, film: FrameSource, base: _Seen, turn: _Turn, most: int) -> _Seen:
        end_s, engine, pace = turn.asked.end_s, self.engine, self.pace
        seen, at = replace(base, times=list(base.times), end_s=end_s), max(base.end_s, turn.asked.start_s)
        whole_s = end_s - at
        while True:
            is_told = engine.owes and pace.chunks  # what a question takes is learnt with its frames
            left = turn.deadline - self.clock() - (0.0 if is_told else pace.answer(_usual_tokens(turn.form)))
            shown = planned(
                end_s - at,
                film.height_px,
                film.width_px,
                engine.tokens,
                whole_s=whole_s,
                before=seen.tokens,
                tokens=engine.context - seen.tokens - _QUESTION_TOKENS,
                seconds=left,
                pace=pace,
                most_frames=max(1, most - len(seen.times)),
            )
            each = engine.tokens(shown.height_px, shown.width_px)
            if seen.times and pace.seconds(1, each, before=seen.tokens) > left:
                seen.is_reduced = True
                return seen
            count, step = shown.frames if engine.owes else shown.at_once, (end_s - at) / shown.frames
            self._see(film, seen, [at + (number + 0.5) * step for number in range(count)], shown, step / 2)
            seen.is_reduced |= shown.is_reduced
            at += count * step
            if count >= shown.frames or len(seen.times) >= most:
                return seen

    def _see(self, film: FrameSource, seen: _Seen, wanted: list[float], shown: Any, slack_s: float) -> None:
        """Read frames and show them, and learn from what both take."""
        begin = self.clock()
        times, frames = film.frames(wanted, shown.height_px, shown.width_px, slack_s=slack_s)
        fresh = [number for number, second in enumerate(times) if not seen.times or second > seen.times[-1]]
        self.pace.read(len(wanted), self.clock() - begin)
        if fresh:
            self._show(seen, [times[number] for number in fresh], frames[fresh])

    def _show(self, seen: _Seen, times: list[float], frames: NDArray[np.uint8]) -> None:
        begin, before = self.clock(), seen.tokens
        seen.prefix, seen.tokens = self.engine.extend(seen.prefix, times, frames)
        seen.times += times
        seen.is_owed = self.engine.owes
        if not seen.is_owed:
            self.pace.learnt(seen.tokens - before, before, self.clock() - begin)

    # --- answering ---------------------------------------------------------------------------------------------------

    def _replies(self, seen: _Seen, turns: Sequence[_Turn]) -> list[VideoAnswered]:
        frames, deadline = seen.until(turns[0].asked.end_s), turns[0].deadline
        about = [VideoAnswered("", turn.format, frames, seen.tokens, seen.is_reduced) for turn in turns]
        needed = self.pace.seeing(seen.tokens) if seen.is_owed and self.pace.chunks else self.pace.answer(0)
        if self.clock() + needed > deadline:
            return [
                replace(each, text=turn.form.finished(turn.form.start), is_cut=True)
                for each, turn in zip(about, turns, strict=True)
            ]
        asked = [(turn.asked.text, turn.form) for turn in turns]
        try:
            spoken = self.engine.replies(seen.prefix, frames, asked, deadline)
        except MemoryError:
            if len(turns) == 1:
                raise
            return [reply for turn in turns for reply in self._replies(seen, [turn])]
        if seen.is_owed:
            self.pace.learnt(max(1, seen.tokens), 0, max(1e-6, spoken[0].read_s))
            seen.is_owed = False
        else:
            for each in spoken:
                self.pace.answered(read_s=each.read_s, steps=each.steps, steps_s=each.steps_s)
        return [
            replace(each, text=answer.text, is_cut=answer.is_cut) for each, answer in zip(about, spoken, strict=True)
        ]

    def _second_look(self, film: FrameSource, seen: _Seen, turn: _Turn, reply: VideoAnswered) -> VideoAnswered:
        """The answer after frames from close around a time that the question quotes or the first answer names."""
        asked, form, deadline = turn.asked, turn.form, turn.deadline
        named = reply.text if reply.format == "time" and not asked.text.lower().startswith("how ") else ""
        around = [
            second
            for second in quoted_times(asked.text) or quoted_times(named)[:1]
            if asked.start_s < second < asked.end_s
        ]
        spacing = (asked.end_s - asked.start_s) / max(1, reply.frames)
        if len(around) != 1 or reply.is_cut or spacing <= 2 * _LOOK_S / _LOOK_FRAMES:
            return reply
        start, end = max(asked.start_s, around[0] - _LOOK_S), min(asked.end_s, around[0] + _LOOK_S)
        height, width = sizes(film.height_px, film.width_px)[0]
        each, pace = self.engine.tokens(height, width), self.pace
        cost = pace.seconds(_LOOK_FRAMES, each, before=reply.tokens) + pace.answer(_usual_tokens(form))
        if (
            self.clock() + cost > deadline
            or reply.tokens + each * _LOOK_FRAMES + _QUESTION_TOKENS > self.engine.context
        ):
            return reply
        close = [start + (number + 0.5) * (end - start) / _LOOK_FRAMES for number in range(_LOOK_FRAMES)]
        try:
            prefix, _ = self.engine.extend(
                seen.prefix, *film.frames(close, height, width), after=seen.until(asked.end_s)
            )
            (spoken,) = self.engine.replies(prefix, reply.frames + len(close), [(asked.text, form)], deadline)
        except MemoryError:
            return reply
        if spoken.is_cut:
            return reply
        return replace(reply, text=spoken.text, frames=reply.frames + _LOOK_FRAMES, looked_twice=True)


def _usual_tokens(form: AnswerForm) -> float:
    """Tokens for which time is kept."""
    return _FREE_TOKENS if form.is_free else max(1.0, len(form.finished(form.start)) / _LETTERS)
