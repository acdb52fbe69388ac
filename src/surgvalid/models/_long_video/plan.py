"""How many frames of which size a video is shown with: what fits the engine's context and the seconds left.

Frames are given up first: from two a second down to one every twenty seconds, or to 64 where the video is short. Then
they become smaller, one size after the other, and only at the smallest size does their number fall below that. What
things take is learnt from the engine at hand while it works, beginning with its first frame.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf

import numpy as np
from scipy.optimize import nnls

UNIT_PX = 28
HEIGHTS_PX = (252, 168, 140, 84)
MOST_PER_S, LEAST_PER_S, LEAST_FRAMES = 2.0, 0.05, 64
_REMEMBERED, _FADING, _TOLD_APART = 24, 0.85, 3
"""Chunks from which the pace is learnt, what each counts beside the next, and how many tell starts from tokens."""
_PER_TOKEN, _PER_PAIR = 5e-5, 4e-10
"""Seconds of a fast machine for a token and for each token before it; only their ratio counts, and only at first."""
_SHARE_OF_BUDGET = 0.4
"""Of the frames that still fit, so many are shown before the plan is made anew."""
_STARTS = 2
"""A chunk takes at least so many times what its start takes."""

TokensOf = Callable[[int, int], int]
"""Tokens of a frame by its height and width."""


@dataclass(slots=True)
class ReadingPace:
    """Seconds that things take with this engine; guesses at first, what was seen later."""

    per_frame: float = 0.004
    """To read one."""
    per_token: float = 5e-5
    """To see one."""
    per_pair: float = 4e-10
    """For every token before it."""
    per_chunk: float = 0.0
    """To start on a chunk of frames, whatever its size."""
    per_question: float = 0.1
    """To read one, up to the first token of its answer."""
    per_answer_token: float = 0.02
    """For every other one."""
    safety: float = 1.15
    chunks: int = 0
    """From which it was learnt."""
    answers: int = 0
    reads: int = 0
    _rows: deque[tuple[float, float, float]] = field(default_factory=lambda: deque(maxlen=_REMEMBERED))
    """Tokens, pairs and seconds of the last chunks."""

    def answer(self, tokens: float) -> float:
        """For a question and so many tokens of answer."""
        return self.safety * (self.per_question + tokens * self.per_answer_token)

    def seconds(self, frames: int, tokens: int, *, before: int = 0) -> float:
        """For so many frames of so many tokens each, behind so many tokens."""
        return self.safety * frames * self.per_frame + self.seeing(frames * tokens, before)

    def seeing(self, tokens: int, before: int = 0) -> float:
        """For so many tokens of frames, behind so many others."""
        return self.safety * (self.per_chunk + tokens * self.per_token + _pairs(tokens, before) * self.per_pair)

    def read(self, frames: int, seconds: float) -> None:
        """Move towards what reading took."""
        self.per_frame += (0.7 if self.reads else 1.0) * (seconds / max(frames, 1) - self.per_frame)
        self.reads += 1

    def learnt(self, tokens: int, before: int, work_s: float) -> None:
        """Take in what a chunk took; from the third on, what each part of the work takes is told apart.

        Least squares without negative rates, in which an older chunk counts less.
        """
        self._rows.append((tokens, _pairs(tokens, before), work_s))
        sizes, pairs, seconds = np.array(self._rows).T
        if len(seconds) < _TOLD_APART:
            scale = work_s / (tokens * _PER_TOKEN + pairs[-1] * _PER_PAIR)
            self.per_chunk, self.per_token, self.per_pair = 0.0, scale * _PER_TOKEN, scale * _PER_PAIR
        else:
            weights = _FADING ** np.arange(len(seconds))[::-1] / np.maximum(seconds, 1e-9)
            scales = np.array([1.0, 1 / _PER_TOKEN, 1 / _PER_PAIR])
            columns = np.stack([np.ones_like(sizes), sizes, pairs], axis=1) / scales
            fitted = nnls(columns * weights[:, None], seconds * weights)[0] / scales
            self.per_chunk, self.per_token, self.per_pair = fitted.tolist()
        if not self.answers and not self.chunks:  # nobody has asked yet: a question is read like a frame
            self.per_question = max(self.per_question, work_s)
            self.per_answer_token = max(self.per_answer_token, work_s / 4)
        self.chunks += 1

    def answered(self, *, read_s: float, steps: int, steps_s: float) -> None:
        """Move towards what a question and the tokens behind the first took."""
        weight = 0.5 if self.answers else 1.0
        self.per_question += weight * (read_s - self.per_question)
        if steps:
            self.per_answer_token += weight * (steps_s / steps - self.per_answer_token)
        self.answers += 1


def _pairs(tokens: int, before: int) -> float:
    return tokens * (before + tokens / 2)


@dataclass(frozen=True, slots=True)
class Shown:
    """Frames and their size."""

    frames: int
    height_px: int
    width_px: int
    is_reduced: bool = field(default=False, compare=False)
    """Whether more would have been shown with more context or time."""
    at_once: int = field(default=0, compare=False)
    """How many of them to show before the plan is made anew."""


def sizes(height_px: int, width_px: int) -> list[tuple[int, int]]:
    """Heights and widths at which a video may be shown, the largest first; never larger than it is."""
    fitting = [height for height in HEIGHTS_PX if height <= height_px] or [max(UNIT_PX, height_px // UNIT_PX * UNIT_PX)]
    return [(height, max(1, round(width_px * height / height_px / UNIT_PX)) * UNIT_PX) for height in fitting]


def planned(
    duration_s: float,
    height_px: int,
    width_px: int,
    tokens_of: TokensOf,
    *,
    whole_s: float = 0.0,
    before: int = 0,
    tokens: float = inf,
    seconds: float = inf,
    pace: ReadingPace | None = None,
    most_frames: float = inf,
) -> Shown:
    """The frames to show of a stretch, or of what is left of one.

    Args:
        duration_s: Of what is left.
        height_px: Of the video.
        width_px: Of the video.
        tokens_of: What a frame costs the engine.
        whole_s: Of the whole stretch, where some of it was shown.
        before: Tokens that were shown.
        tokens: That the context has left for frames.
        seconds: Left for reading and seeing.
        pace: What things take.
        most_frames: A limit from elsewhere.

    Raises:
        ValueError: Not even one of the smallest frames fits the tokens. (Time is never a reason: one is always shown.)
    """
    pace = pace or ReadingPace()
    wanted = max(1, min(int(duration_s * MOST_PER_S) + 1, int(min(most_frames, 1e9))))
    share = duration_s / whole_s if whole_s > 0 else 1.0
    enough = min(wanted, max(1, int(LEAST_FRAMES * share), int(duration_s * LEAST_PER_S)))
    frames, each, height, width = 0, 1, height_px, width_px
    for number, (height, width) in enumerate(sizes(height_px, width_px)):
        each = tokens_of(height, width)
        frames = min(wanted, int(min(tokens, 1e9) // each), _within(seconds, each, before, pace, wanted))
        if frames >= enough:
            return Shown(frames, height, width, frames < wanted or number > 0, _at_once(frames, each, seconds, pace))
    if tokens < each:
        raise ValueError(
            f"{tokens:.0f} tokens are left for frames, and one of {width} x {height} px takes {each}; a model with a "
            "longer context, or shorter questions, is needed"
        )
    return Shown(max(1, frames), height, width, True, _at_once(max(1, frames), each, seconds, pace))


def _at_once(frames: int, tokens: int, seconds: float, pace: ReadingPace) -> int:
    """All, where nothing can go wrong; few, as long as nobody knows how long they take."""
    if not pace.chunks:
        return 1
    bound = 2 ** min(pace.chunks, 8)
    if pace.seconds(frames, tokens) > _SHARE_OF_BUDGET * seconds:
        starts = int(_STARTS * pace.per_chunk / max(1e-9, pace.per_frame + tokens * pace.per_token))
        bound = min(bound, max(1, int(_SHARE_OF_BUDGET * frames), starts))
    return int(min(frames, bound))


def _within(seconds: float, tokens: int, before: int, pace: ReadingPace, most: int) -> int:
    """The largest number of frames that takes no longer."""
    low, high = 0, int(most) + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if pace.seconds(middle, tokens, before=before) <= seconds else (low, middle)
    return low
