"""How many frames of which size a video is shown with: what fits the model's context, the memory and the seconds left.

Frames are given up first: from two a second down to one every twenty seconds, or to 64 where the video is short. Then
they become smaller, one size after the other, and only at the smallest size does their number fall below that.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil, exp, inf

UNIT_PX, PER_SLICE = 28, 2
"""Side of a merged patch, and frames that share their tokens."""
HEIGHTS_PX = (252, 168, 140, 84)
_USUAL_ANSWER = 24
"""Tokens for which time is kept."""
_SLOW = 4
"""Times longer than expected, from which a chunk is believed alone."""
_MEMORY_S = 1.0
"""Seconds of work, by the guesses, after which a chunk counts for a third."""
MOST_PER_S, LEAST_PER_S, LEAST_FRAMES = 2.0, 0.05, 64


@dataclass(slots=True)
class ReadingPace:
    """Seconds that things take on this machine; guesses at first, what was seen later."""

    per_frame: float = 0.004
    """To read one."""
    per_token: float = 2e-5
    """To see one."""
    per_prefilled: float = 3e-5
    """To put one into the prefix, apart from attention."""
    per_pair: float = 4e-10
    """For every token before it."""
    per_question: float = 0.1
    """To read one, up to the first token of its answer."""
    per_answer_token: float = 0.02
    """For every other one."""
    per_recording: float = 0.1
    """To record the steps of answers of a kind, once for a video."""
    per_chunk: float = 0.06
    """To start a chunk of frames, whatever its size."""
    safety: float = 1.25
    chunks: int = 0
    """From which it was learnt."""
    _taken: float = 0.0
    _guessed: float = 0.0
    """Seconds that the last chunks took, and that the guesses above would have given them: small ones count little."""

    def answer(self) -> float:
        """For a question and an answer of usual length."""
        return self.safety * self.per_question + self.recorded_answer()

    def recorded_answer(self) -> float:
        """For the tokens behind the first, where their steps are recorded before."""
        return self.safety * (self.per_recording + _USUAL_ANSWER * self.per_answer_token)

    def seconds(self, frames: int, tokens_per_slice: int, *, before: int = 0) -> float:
        """For so many frames of a size, behind so many tokens."""
        tokens = ceil(frames / PER_SLICE) * tokens_per_slice
        return self.safety * (frames * self.per_frame + self._work(tokens, before))

    def _work(self, tokens: int, before: int) -> float:
        slowness = self._taken / self._guessed if self._guessed else 1.0
        return slowness * self._guess(tokens, before)

    def _guess(self, tokens: int, before: int) -> float:
        return tokens * (self.per_token + self.per_prefilled) + tokens * (before + tokens / 2) * self.per_pair

    def learnt(self, *, frames: int, read_s: float, tokens: int, before: int, work_s: float) -> None:
        """Take what the first chunk took for the truth, and move towards what later ones do, the more the larger."""
        guess, spent = self._guess(tokens, before), max(work_s - self.per_chunk, work_s / 5)
        if spent > _SLOW * max(self._work(tokens, before), self.per_chunk):
            self._taken = self._guessed = 0.0  # as on another machine: what was before is forgotten
        fading, weight = exp(-guess / _MEMORY_S), 0.7 if self.chunks else 1.0
        self._taken = fading * self._taken + spent
        self._guessed = fading * self._guessed + guess
        self.per_frame = (1 - weight) * self.per_frame + weight * read_s / max(frames, 1)
        self.chunks += 1

    def recorded(self, taken_s: float) -> None:
        """Move towards what a recording took."""
        self.per_recording = 0.5 * self.per_recording + 0.5 * taken_s

    def answered(self, *, read_s: float, steps: int, steps_s: float) -> None:
        """Move towards what a question and the tokens behind the first took."""
        self.per_question = 0.5 * self.per_question + 0.5 * read_s
        if steps:
            self.per_answer_token = 0.5 * self.per_answer_token + 0.5 * steps_s / steps


@dataclass(frozen=True, slots=True)
class Shown:
    """Frames and their size."""

    frames: int
    height_px: int
    width_px: int
    is_reduced: bool = field(default=False, compare=False)
    """Whether more would have been shown with more context, memory or time."""

    @property
    def tokens_per_slice(self) -> int:
        """Of two frames."""
        return (self.height_px // UNIT_PX) * (self.width_px // UNIT_PX)

    @property
    def tokens(self) -> int:
        """Of all of them."""
        return ceil(self.frames / PER_SLICE) * self.tokens_per_slice


def sizes(height_px: int, width_px: int) -> list[tuple[int, int]]:
    """Heights and widths at which a video may be shown, the largest first; never larger than it is."""
    fitting = [height for height in HEIGHTS_PX if height <= height_px] or [max(UNIT_PX, height_px // UNIT_PX * UNIT_PX)]
    return [(height, max(1, round(width_px * height / height_px / UNIT_PX)) * UNIT_PX) for height in fitting]


def planned(
    duration_s: float,
    height_px: int,
    width_px: int,
    *,
    tokens: float = inf,
    seconds: float = inf,
    pace: ReadingPace | None = None,
    most_frames: float = inf,
) -> Shown:
    """The frames to show of a video.

    Args:
        duration_s: Of the stretch.
        height_px: Of the video.
        width_px: Of the video.
        tokens: That the context and the memory have left for frames.
        seconds: Left for reading, seeing and the prefix.
        pace: What things take.
        most_frames: A limit from elsewhere.

    Raises:
        ValueError: Not even two of the smallest frames fit the tokens. (Time is never a reason: two are always shown.)
    """
    pace = pace or ReadingPace()
    wanted = max(1, min(int(duration_s * MOST_PER_S) + 1, int(min(most_frames, 1e9))))
    enough = min(wanted, max(LEAST_FRAMES, int(duration_s * LEAST_PER_S)))
    best: Shown | None = None
    for height, width in sizes(height_px, width_px):
        shown = Shown(wanted, height, width)
        by_tokens = int(min(tokens, 1e9) // shown.tokens_per_slice) * PER_SLICE
        frames = min(wanted, by_tokens, _within(seconds, shown.tokens_per_slice, pace, wanted))
        best = Shown(frames, height, width, is_reduced=frames < wanted or best is not None)
        if frames >= enough:
            return best
    assert best is not None
    least = min(wanted, PER_SLICE)
    if tokens < best.tokens_per_slice:
        raise ValueError(
            f"{tokens:.0f} tokens are left for frames, and two of {best.width_px} x {best.height_px} px take "
            f"{best.tokens_per_slice}; a model with a longer context, or shorter questions, is needed"
        )
    return Shown(max(least, best.frames), best.height_px, best.width_px, True)


def _within(seconds: float, tokens_per_slice: int, pace: ReadingPace, most: int) -> int:
    """The largest number of frames that takes no longer."""
    if pace.seconds(most, tokens_per_slice) <= seconds:
        return most
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if pace.seconds(middle, tokens_per_slice) <= seconds else (low, middle)
    return low
