"""One pass over a video, then every question about it from the same prefix, before its deadline.

Frames go in chunk by chunk, each after a line with its time: while the host decodes one, the GPU sees and prefills the
one before. What is left of the time is looked at before every chunk, and where it runs short the rest of the video is
shown more coarsely, down to a few frames, so that its end is always seen. Questions that end earlier use as much of the
prefix as they may see and no more: a prefix of causal attention is the prefix of the shorter video.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, repeat
from typing import Any, NamedTuple, Protocol

from ._torch import torch
from .decoder import Decoder, Prefix, text_positions, video_positions
from .forms import AnswerForm, form_of, quoted_times
from .plan import LEAST_FRAMES, MOST_PER_S, PER_SLICE, ReadingPace, Shown, planned
from .vision import VisionTower
from .words import Words
from .writing import ANSWER_TOKENS, Line, written

STATES = ("per_question", "per_video", "free")
_CHUNKS = (4, 16, 64, 192)
"""Frames of the first chunks, and of all others: small while nobody knows how long they take."""
_QUESTION_TOKENS = 1024
"""Room that is kept for a question and its answer."""
_LABEL_TOKENS = 24
"""Of the line before a chunk, at most."""
_LOOK_S, _LOOK_FRAMES = 8.0, 16
"""Half a second look, and its frames."""
_SYSTEM = "You answer questions about videos of minimally invasive surgery. Reply with the answer alone."


class FrameSource(Protocol):
    """A video that can be looked at."""

    name: str
    """Questions of one name share what was seen."""
    start_s: float
    """The time of its first frame, as questions count."""
    end_s: float
    height_px: int
    width_px: int

    def frames(self, times_s: Sequence[float], height_px: int, width_px: int) -> Any:
        """The frames on screen at these times, `(n, height, width, 3)` of 8 bits, as an array."""
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
        name, form = form_of(self.text, self.start_s, self.end_s, classes)
        return (name, form) if self.form is None else ("labels", self.form)


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
    """The prefix was there."""
    looked_twice: bool = False

    def facts(self) -> dict[str, Any]:
        """What a log would keep."""
        return {
            "format": self.format,
            "frames": self.frames,
            "tokens": self.tokens,
            "reduced": self.is_reduced,
            "cut": self.is_cut,
            "reused": self.reused,
            "looked_twice": self.looked_twice,
        }


class _Mark(NamedTuple):
    """How far a prefix had come after a slice."""

    time_s: float
    length: int
    next_position: int
    frames: int
    is_open: bool
    """Whether the block of frames goes on behind it."""


@dataclass(slots=True)
class _Seen:
    """What is known of a stretch of a video file."""

    prefix: Prefix
    shown: Shown
    marks: list[_Mark] = field(default_factory=list)
    """After the opening, and after every slice."""

    def until(self, end_s: float) -> tuple[Prefix, _Mark]:
        """The prefix as a question sees it that ends then."""
        mark = [mark for mark in self.marks if mark.time_s <= end_s + 1e-6][-1]
        return self.prefix.until(mark.length, mark.next_position), mark

    @property
    def step_s(self) -> float:
        """Seconds between slices, about."""
        return (self.marks[-1].time_s - self.marks[1].time_s) / max(1, len(self.marks) - 2)


class LongVideo:
    """Answers to questions about long videos.

    Args:
        tower: Sees.
        decoder: Reads and writes.
        tokenizer: Of the model.
        classes: Names that a question may ask for.
        state: What is kept: nothing (`per_question`), the prefix of the last video (`per_video`), or of the last eight
            (`free`).
        tokens_per_second: How the model counts time.
        stops: Tokens that end an answer; the tokenizer's own by default.
        context: Tokens that fit, if fewer than the model's.
        most_frames: Of a video.
        clock: Seconds that only grow.
    """

    def __init__(
        self,
        tower: VisionTower,
        decoder: Decoder,
        tokenizer: Any,
        *,
        classes: Sequence[str] = (),
        state: str = "per_video",
        tokens_per_second: float = 2.0,
        stops: Iterable[int] = (),
        context: int | None = None,
        most_frames: int = 768,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if state not in STATES:
            raise ValueError(f"state must be one of {', '.join(STATES)}, got {state!r}")
        self.tower, self.decoder, self.tokenizer, self.classes = tower, decoder, tokenizer, tuple(classes)
        self.state, self.per_second, self.clock, self.most_frames = state, tokens_per_second, clock, most_frames
        self.context = min(context or decoder.longest, decoder.longest)
        self.words = Words.of(tokenizer, len(decoder.head))
        self.stops = set(stops) or {tokenizer.eos_token_id}
        self.pace = ReadingPace()
        self._kept: dict[tuple[str, float], _Seen] = {}
        self._reader = ThreadPoolExecutor(max_workers=1, thread_name_prefix="frames")

    def warm_up(self, height_px: int = 252, width_px: int = 448) -> None:
        """Answer about black video files twice: kernels are chosen and compiled, and the pace is learnt from the second
        time.

        On a GPU one of them has all the frames that a video is ever shown with: long videos have its lengths then.
        """
        lengths_s = (10.0, self.most_frames / MOST_PER_S) if self.decoder.device.type == "cuda" else (10.0,)
        for self.decoder.is_warming in (True, False):
            self.pace = ReadingPace()
            for length_s in lengths_s:
                film = _Black(height_px, width_px, length_s)
                self._forget(0)
                self.answer(
                    film, VideoQuestion("What is seen? Answer with a time (hh:mm:ss).", film.start_s, film.end_s)
                )
        self._forget(0)

    def close(self) -> None:
        """Let go of prefixes and the thread that reads."""
        self._forget(0)
        self._reader.shutdown(wait=False, cancel_futures=True)

    def answer(self, film: FrameSource, asked: VideoQuestion, deadline: float = float("inf")) -> VideoAnswered:
        """The answer to one question, by `deadline` on the engine's clock."""
        return self.answers(film, [asked], deadline)[0]

    def answers(
        self, film: FrameSource, questions: Sequence[VideoQuestion], deadline: float = float("inf")
    ) -> list[VideoAnswered]:
        """The answers to questions about the same stretch or its beginnings, all by the same deadline.

        Raises:
            ValueError: Not even two small frames fit the context.
            MemoryError: Not even two small frames, or a single question, fit the memory of the GPU.
        """
        forms = [asked.named_form(self.classes) for asked in questions]
        seen, is_reused = self._seen(film, questions, deadline)
        replies = self._replies(seen, questions, forms, deadline)
        marked = [replace(reply, reused=is_reused) for reply in replies]
        final = [
            self._second_look(film, seen, asked, form, reply, deadline)
            for asked, form, reply in zip(questions, forms, marked, strict=True)
        ]
        if self.state == "per_question":
            self._forget(0)
        return final

    def _forget(self, most: int) -> None:
        """Keep the newest prefixes, so many of them."""
        while len(self._kept) > most:
            self._kept.pop(next(iter(self._kept))).prefix.recorded.clear()

    # --- seeing ------------------------------------------------------------------------------------------------------

    def _seen(self, film: FrameSource, questions: Sequence[VideoQuestion], deadline: float) -> tuple[_Seen, bool]:
        start, end = min(q.start_s for q in questions), min(film.end_s, max(q.end_s for q in questions))
        first_end = min(film.end_s, *(q.end_s for q in questions))
        key = (film.name, start)
        seen = self._kept.pop(key, None) if self.state != "per_question" else None
        if seen is not None and _carries(seen, start, first_end, end):
            self._kept[key] = seen  # as the newest
            return seen, True
        if seen is not None:
            seen.prefix.recorded.clear()
        del seen
        self._forget(7 if self.state == "free" else 0)
        self._kept[key] = self._watched(film, start, end, deadline)
        return self._kept[key], False

    def _watched(self, film: FrameSource, start_s: float, end_s: float, deadline: float) -> _Seen:
        """One pass; where memory runs out, again with half of the frames."""
        most = float(self.most_frames)
        while True:
            try:
                return self._pass(film, start_s, end_s, deadline, most)
            except torch.cuda.OutOfMemoryError:
                most = most // 2
                torch.cuda.empty_cache()
                if most < PER_SLICE:
                    raise MemoryError("the memory of the GPU does not even hold the prefix of two frames") from None

    def _pass(self, film: FrameSource, start_s: float, end_s: float, deadline: float, most: float) -> _Seen:
        shown = self._planned(film, start_s, end_s, deadline, most)
        step = (end_s - start_s) / shown.frames
        times = [start_s + (number + 0.5) * step for number in range(shown.frames)]
        opening = self._text(_opening(_SYSTEM))
        seen = _Seen(self.decoder.prefix(len(opening) + shown.tokens + _LABEL_TOKENS * _chunks(shown.frames)), shown)
        self.decoder.extend(seen.prefix, *self._placed([(opening, None, None)], 0))
        seen.marks.append(_Mark(float("-inf"), seen.prefix.length, seen.prefix.next_position, 0, False))
        sizes = chain(_CHUNKS, repeat(_CHUNKS[-1]))
        size, read = next(sizes), partial(self._read, film, shown)
        coming = self._reader.submit(read, times[:size])
        while times:
            now, times = times[:size], times[size:]
            frames, read_s = coming.result()
            size, is_known = next(sizes), self.pace.chunks > 0
            if times and is_known:  # the next frames are read while these are seen
                times = self._thinned(times, end_s, seen, deadline, pending=len(now))
                coming = self._reader.submit(read, times[:size])
            self._learning(seen, frames, now, read_s)
            if times and not is_known:
                times = self._thinned(times, end_s, seen, deadline)
                coming = self._reader.submit(read, times[:size])
        count = seen.marks[-1].frames
        seen.shown = replace(shown, frames=count, is_reduced=shown.is_reduced or count < shown.frames)
        return seen

    def _planned(self, film: FrameSource, start_s: float, end_s: float, deadline: float, most: float) -> Shown:
        left = deadline - self.clock() - self.pace.answer()
        room: float = self.context - _QUESTION_TOKENS - _LABEL_TOKENS * _chunks(int(most))
        if self.decoder.device.type == "cuda":
            free = torch.cuda.mem_get_info(self.decoder.device)[0] + torch.cuda.memory_reserved(self.decoder.device)
            free -= torch.cuda.memory_allocated(self.decoder.device)
            room = min(room, 0.6 * free / self.decoder.bytes_per_token())
        return planned(
            end_s - start_s, film.height_px, film.width_px, tokens=room, seconds=left, pace=self.pace, most_frames=most
        )

    def _learning(self, seen: _Seen, frames: Any, times: Sequence[float], read_s: float) -> None:
        """See a chunk, and learn from what it takes."""
        begin, before = self.clock(), seen.prefix.length
        self._chunk(seen, frames, times)
        if self.decoder.device.type == "cuda":
            torch.cuda.synchronize()
        tokens, taken = seen.prefix.length - before, self.clock() - begin
        self.pace.learnt(frames=len(times), read_s=read_s, tokens=tokens, before=before, work_s=taken)

    def _thinned(
        self, times: list[float], end_s: float, seen: _Seen, deadline: float, *, pending: int = 0
    ) -> list[float]:
        """The times that are left, fewer where the seconds no longer carry them; the last stretch keeps two."""
        left = deadline - self.clock() - self.pace.answer()
        fits, before, per_slice = len(times), seen.prefix.length, seen.shown.tokens_per_slice
        while fits > PER_SLICE and self.pace.seconds(fits + pending, per_slice, before=before) > left:
            fits = max(PER_SLICE, int(fits * 0.8))
        if fits == len(times):
            return times
        start = times[0]
        return [start + (number + 0.5) * (end_s - start) / fits for number in range(fits)]

    def _read(self, film: FrameSource, shown: Shown, times: Sequence[float]) -> tuple[Any, float]:
        begin = self.clock()
        frames = torch.as_tensor(film.frames(times, shown.height_px, shown.width_px))
        if len(frames) != len(times):
            raise ValueError(f"{film.name}: {len(times)} frames were asked for and {len(frames)} came")
        return frames, self.clock() - begin

    def _chunk(self, seen: _Seen, frames: Any, times: Sequence[float]) -> None:
        """A line with the time of the first frame, then the frames."""
        prefix, count = seen.prefix, seen.marks[-1].frames
        features, layout = self._features(frames, times)
        label = [*self._text(f"{_clock(times[0])}: "), self._vision("start")]
        rows, places = self._placed([(label, None, None), ([], features, layout)], prefix.next_position)
        begin, per_slice = prefix.length + len(label), layout[1] * layout[2]
        highest = places[:, len(label) :].reshape(3, layout[0], per_slice).amax(dim=(0, 2)).cummax(0).values.tolist()
        self.decoder.extend(prefix, rows, places)
        for number, position in enumerate(highest):
            last = min(PER_SLICE * (number + 1), len(times))
            length = begin + (number + 1) * per_slice
            seen.marks.append(_Mark(times[last - 1], length, position + 1, count + last, True))
        self.decoder.extend(prefix, *self._placed([([self._vision("end")], None, None)], prefix.next_position))
        seen.marks[-1] = seen.marks[-1]._replace(
            length=prefix.length, next_position=prefix.next_position, is_open=False
        )

    def _features(self, frames: Any, times: Sequence[float]) -> tuple[Any, tuple[int, int, int, float]]:
        """Features, and how many slices of which grid how far apart."""
        gap = (times[-1] - times[0]) / max(1, len(times) - 1) * PER_SLICE * self.per_second
        features = self.tower.features(frames).to(self.decoder.dtype)
        return features, (-(-len(frames) // PER_SLICE), *self.tower.grid(*frames.shape[1:3]), gap)

    def _placed(self, pieces: Sequence[tuple[list[int], Any, Any]], start: int) -> tuple[Any, Any]:
        """Rows and places of text and frames in order; text goes on behind the largest place."""
        rows, places, device = [], [], self.decoder.device
        for tokens, features, layout in pieces:
            if features is None:
                rows.append(self.decoder.embedded(tokens))
                places.append(text_positions(len(tokens), start, device))
            else:
                slices, down, across, gap = layout
                rows.append(features)
                places.append(video_positions(slices, down, across, start, per_slice=gap, device=device))
            start = int(places[-1].max()) + 1
        return torch.cat(rows), torch.cat(places, dim=1)

    # --- answering ---------------------------------------------------------------------------------------------------

    def _replies(
        self, seen: _Seen, questions: Sequence[VideoQuestion], forms: Sequence[tuple[str, AnswerForm]], deadline: float
    ) -> list[VideoAnswered]:
        """Greedy answers; questions that see the same stretch are decoded together."""
        groups: dict[int, list[int]] = {}
        for number, asked in enumerate(questions):
            groups.setdefault(seen.until(asked.end_s)[0].length, []).append(number)
        replies: dict[int, VideoAnswered] = {}
        for numbers in groups.values():
            prefix, mark = seen.until(questions[numbers[0]].end_s)
            suffixes = [self._question(prefix, mark, questions[number].text) for number in numbers]
            try:
                texts = self._fitting(prefix, suffixes, [forms[number][1] for number in numbers], deadline)
            except MemoryError:
                problem = f"the memory of the GPU does not hold a question beside the prefix of {mark.frames} frames"
                raise MemoryError(f"{problem}; show fewer (most_frames)") from None
            for number, (text, is_cut) in zip(numbers, texts, strict=True):
                replies[number] = VideoAnswered(
                    text, forms[number][0], mark.frames, prefix.length, seen.shown.is_reduced, is_cut
                )
        return [replies[number] for number in range(len(questions))]

    def _question(self, prefix: Prefix, mark: _Mark, text: str, look: Any = None) -> tuple[Any, Any]:
        """Rows and places of a question, after a second look where there is one."""
        pieces: list[tuple[list[int], Any, Any]] = [([self._vision("end")], None, None)] if mark.is_open else []
        if look is not None:
            label, features, layout = look
            pieces += [([*self._text(label), self._vision("start")], None, None), ([], features, layout)]
            pieces += [([self._vision("end")], None, None)]
        spoken = text.replace("<|", "< |")  # nobody's question opens or closes a turn
        pieces.append((self._text(f"\n{spoken}{_CLOSING}")[-_QUESTION_TOKENS + ANSWER_TOKENS :], None, None))
        return self._placed(pieces, prefix.next_position)

    def _fitting(
        self, prefix: Prefix, suffixes: Sequence[tuple[Any, Any]], forms: Sequence[AnswerForm], deadline: float
    ) -> list[tuple[str, bool]]:
        """Answers to as many questions at once as the memory holds."""
        try:
            return self._decoded(prefix, suffixes, forms, deadline)
        except torch.cuda.OutOfMemoryError:
            prefix.recorded.clear()
            half = len(suffixes) // 2
        torch.cuda.empty_cache()
        if not half:
            raise MemoryError
        first = self._fitting(prefix, suffixes[:half], forms[:half], deadline)
        return first + self._fitting(prefix, suffixes[half:], forms[half:], deadline)

    def _decoded(
        self, prefix: Prefix, suffixes: Sequence[tuple[Any, Any]], forms: Sequence[AnswerForm], deadline: float
    ) -> list[tuple[str, bool]]:
        return written(
            self.decoder,
            prefix,
            suffixes,
            [Line(form, self.words, self.stops) for form in forms],
            pace=self.pace,
            clock=self.clock,
            deadline=deadline,
        )

    def _second_look(
        self,
        film: FrameSource,
        seen: _Seen,
        asked: VideoQuestion,
        form: tuple[str, AnswerForm],
        reply: VideoAnswered,
        deadline: float,
    ) -> VideoAnswered:
        """The answer after frames from close around a time that the question quotes or the first answer names."""
        around = quoted_times(asked.text) or (quoted_times(reply.text)[:1] if form[0] == "time" else [])
        inside = [second for second in around if asked.start_s <= second <= min(asked.end_s, film.end_s)]
        if len(inside) != 1 or reply.is_cut or seen.step_s <= 2 * PER_SLICE * _LOOK_S / _LOOK_FRAMES:
            return reply
        cost = self.pace.seconds(_LOOK_FRAMES, seen.shown.tokens_per_slice, before=reply.tokens) + self.pace.answer()
        if self.clock() + cost > deadline:
            return reply
        start, end = max(asked.start_s, inside[0] - _LOOK_S), min(asked.end_s, film.end_s, inside[0] + _LOOK_S)
        times = [start + (number + 0.5) * (end - start) / _LOOK_FRAMES for number in range(_LOOK_FRAMES)]
        prefix, mark = seen.until(asked.end_s)
        label, usual = f"\nA closer look from {_clock(start)} on: ", self.pace.per_question
        try:
            look = self._features(self._read(film, seen.shown, times)[0], times)
            suffix = self._question(prefix, mark, asked.text, (label, *look))
            ((text, is_cut),) = self._decoded(prefix, [suffix], [form[1]], deadline)
        except torch.cuda.OutOfMemoryError:
            return reply
        self.pace.per_question = usual  # other questions come without frames
        if is_cut:
            return reply
        return replace(reply, text=text, frames=reply.frames + _LOOK_FRAMES, looked_twice=True)

    # --- small things ------------------------------------------------------------------------------------------------

    def _text(self, text: str) -> list[int]:
        return list(self.tokenizer(text, add_special_tokens=False)["input_ids"])

    def _vision(self, which: str) -> int:
        return int(self.tokenizer.convert_tokens_to_ids(f"<|vision_{which}|>"))


class _Black:
    """Seconds of nothing."""

    name, start_s = "black", 0.0

    def __init__(self, height_px: int, width_px: int, end_s: float) -> None:
        self.height_px, self.width_px, self.end_s = height_px, width_px, end_s

    def frames(self, times_s: Sequence[float], height_px: int, width_px: int) -> Any:
        """Nothing, in 8 bits."""
        return torch.zeros(len(times_s), height_px, width_px, 3, dtype=torch.uint8)


_CLOSING = "<|im_end|>\n<|im_start|>assistant\n"


def _carries(seen: _Seen, start_s: float, first_end_s: float, end_s: float) -> bool:
    """Whether what was seen reaches to the end, and shows enough of the shortest stretch that is asked about."""
    enough = min(LEAST_FRAMES, int((first_end_s - start_s) * MOST_PER_S))
    reaches = seen.marks[-1].time_s + seen.step_s >= end_s - 1e-6
    return reaches and seen.until(first_end_s)[1].frames >= min(enough, seen.shown.frames)


def _chunks(frames: int) -> int:
    return len(_CHUNKS) + -(-frames // _CHUNKS[-1])


def _opening(system: str) -> str:
    return f"<|im_start|>system\n{system}<|im_end|>\n<|im_start|>user\n"


def _clock(seconds: float) -> str:
    whole = int(seconds)
    return f"{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}"
