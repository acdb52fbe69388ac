"""Any model that can be sent images as an engine: a prefix is the list of its frames, sent again with every question.

A server that keeps prefixes (vLLM, SGLang) sees the frames of a video once, since every request about it begins alike.
Forms go as a JSON schema, which such servers hold a model to by their own grammars; a server that takes none answers in
words, and these are handed on as they are.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from hashlib import sha256
from math import ceil
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from threading import Thread
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

from surgvalid.errors import SurgvalidError
from surgvalid.models._long_video.forms import AnswerForm
from surgvalid.models._long_video.watching import Spoken
from surgvalid.models._model import Model, ModelTrouble, Outcome, Part, Prompt, PromptImage
from surgvalid.video.clips import clock_text
from surgvalid.video.images import jpeg_of

_Frames = tuple[tuple[float, PromptImage, float], ...]
"""Time, image, and the tokens that were expected of it."""
_UNIT_PX, _LABEL_TOKENS = 28, 12
_ANSWER_TOKENS = 128


class NoAnswer(Exception):
    """The model behind gave none; `outcome` says why."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.reason)
        self.outcome = outcome


class AskedEngine:
    """Frames and questions as requests to another model.

    Args:
        model: Takes images.
        system: What it is told first.
        context: Tokens that fit.
        clock: Seconds that only grow.
    """

    owes = True

    def __init__(
        self, model: Model, system: str, *, context: int = 100_000, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.model, self.system, self.context, self.clock = model, system, context, clock
        self._folder = Path(mkdtemp(prefix="surgvalid-frames-"))
        finalize(self, rmtree, self._folder, ignore_errors=True)
        self._share = 1.0
        """Tokens that the model counted, for one that was expected."""

    def tokens(self, height_px: int, width_px: int) -> int:
        """Of a frame of that size, by what the model has counted so far."""
        return ceil(self._share * _expected(height_px, width_px))

    def begin(self) -> _Frames:
        """No frame."""
        return ()

    def extend(
        self, prefix: _Frames, times_s: Sequence[float], frames: NDArray[np.uint8], *, after: int | None = None
    ) -> tuple[_Frames, int]:
        """A prefix with frames behind the first `after` of its own, and all of its tokens."""
        expected = _expected(*frames.shape[1:3])
        more = tuple((second, self._stored(frame), expected) for second, frame in zip(times_s, frames, strict=True))
        whole = (*prefix[:after], *more)
        return whole, len(whole) * self.tokens(*frames.shape[1:3])

    def replies(
        self, prefix: _Frames, frames: int, asked: Sequence[tuple[str, AnswerForm]], deadline: float
    ) -> list[Spoken]:
        """What the model answers by the deadline, as many requests at once as it takes; else the shortest of the form.

        Raises:
            MemoryError: The frames do not fit its context.
            NoAnswer: It gave no answer.
        """
        shown: list[Part] = []
        for second, picture, _ in prefix[:frames]:
            shown += [f"Frame at {clock_text(second)}:", picture]
        prompts = [
            Prompt(f"long {number}", (*shown, text), self.system, schema=form.schema, max_tokens=_ANSWER_TOKENS)
            for number, (text, form) in enumerate(asked)
        ]
        begin, coming = self.clock(), [Future[Outcome]() for _ in prompts]
        Thread(target=self._ask, args=(prompts, coming), daemon=True).start()
        return [
            self._spoken(future, text, form, begin, deadline, prefix[:frames])
            for future, (text, form) in zip(coming, asked, strict=True)
        ]

    def _spoken(
        self, coming: Future[Outcome], text: str, form: AnswerForm, begin: float, deadline: float, prefix: _Frames
    ) -> Spoken:
        left = deadline - self.clock()
        try:
            outcome = coming.result(None if left == float("inf") else max(0.0, left))
        except TimeoutError:
            return Spoken(form.finished(form.start), True, self.clock() - begin)
        if outcome.trouble is ModelTrouble.OVERFLOW:
            raise MemoryError(outcome.reason)
        if not outcome.answered:
            raise NoAnswer(outcome)
        if prefix and outcome.tokens_in:
            self._share = outcome.tokens_in / (len(text) / 4 + sum(expected for _, _, expected in prefix))
        return Spoken(_answer(outcome.text), False, self.clock() - begin)

    def _ask(self, prompts: Sequence[Prompt], coming: Sequence[Future[Outcome]]) -> None:
        try:
            self.model.ask(prompts, lambda number, outcome: coming[number].set_result(outcome))
        except (SurgvalidError, OSError) as error:
            for future in coming:
                if not future.done():
                    future.set_exception(error)

    def _stored(self, frame: NDArray[np.uint8]) -> PromptImage:
        """The frame in a file of its own, by its content."""
        digest = sha256(frame.tobytes()).hexdigest()[:32]
        path = self._folder / f"{digest}-{frame.shape[1]}.jpg"
        if not path.exists():
            path.write_bytes(jpeg_of(frame))
        return PromptImage(path, digest)


def _expected(height_px: int, width_px: int) -> float:
    return _LABEL_TOKENS + height_px * width_px / _UNIT_PX**2


def _answer(text: str) -> str:
    """The entry `answer` of an object, or the text as it is."""
    try:
        given = json.loads(text)
    except ValueError:
        return text
    return str(given["answer"]) if isinstance(given, dict) and "answer" in given else text
