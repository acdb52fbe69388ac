"""Many questions about long videos with any model: a video is seen once, as much of it as time allows.

Behind the colon stands the folder of a model that transformers opens (Qwen2.5-VL, Qwen3-VL, InternVL3, SmolVLM2), or
the specification of another kind that takes images, such as `openai:MODEL@URL`. Frames as many and as large as context
and time allow; answers held to the form that the question asks for; a second look close around a time that a question
quotes or an answer names. `timeout_s` is the budget of a question, reading the video included, and is kept to.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surgvalid.errors import Misuse, SurgvalidError
from surgvalid.models._local import pictures_of
from surgvalid.models._long_video.asked import AskedEngine, NoAnswer
from surgvalid.models._long_video.forms import form_of as form_of
from surgvalid.models._long_video.forms import one_of, some_of
from surgvalid.models._long_video.kept import KeptEngine
from surgvalid.models._long_video.watching import LongVideo as LongVideo
from surgvalid.models._long_video.watching import VideoAnswered
from surgvalid.models._long_video.watching import VideoQuestion as VideoQuestion
from surgvalid.models._model import Can, Clip, Done, Model, ModelTrouble, Outcome, Prompt, PromptImage
from surgvalid.models._open import MODELS, ModelOptions, open_model
from surgvalid.models._questions import SYSTEM
from surgvalid.models.transformers import TransformersModel
from surgvalid.schema.outcomes import Status
from surgvalid.schema.procedures.foreign_objects import CLASS_NAMES
from surgvalid.video import VideoFrames as VideoFrames


class ImageFrames:
    """Images in order, as if they were the frames of a video file of two a second.

    Args:
        prompt: With at least one.
    """

    start_s = 0.0

    def __init__(self, prompt: Prompt) -> None:
        self._pictures = pictures_of(prompt)
        self.name = " ".join(piece.digest for piece in prompt.parts if isinstance(piece, PromptImage))
        self.end_s = (len(self._pictures) - 1) / 2
        self.width_px, self.height_px = self._pictures[0].size

    def frames(
        self, times_s: Sequence[float], height_px: int, width_px: int, *, slack_s: float = 0.0
    ) -> tuple[list[float], NDArray[np.uint8]]:
        """The times, and their images, each scaled to the size."""
        del slack_s
        share = len(self._pictures) / max(self.end_s, 0.5)
        shown = [self._pictures[min(int(second * share), len(self._pictures) - 1)] for second in times_s]
        return list(times_s), np.stack([np.asarray(picture.resize((width_px, height_px))) for picture in shown])


USAGE = "long-video:PATH|SPEC"
_MOST_FRAMES = 768


def build(argument: str, options: ModelOptions) -> LongVideoModel:
    """The model that `argument` names: a folder, or the specification of another kind.

    Raises:
        InputInvalid: There is no saved model.
        Misuse: The model takes no images, or is to run on a GPU and there is none.
    """
    return LongVideoModel(_behind(argument, options), options)


def _behind(argument: str, options: ModelOptions | None = None, **changes: Any) -> Model:
    word = argument.partition(":")[0].replace("-", "_")
    is_kind = ":" in argument and word in MODELS
    model = open_model(argument if is_kind else f"transformers:{argument}", options, **changes)
    device = getattr(model, "device", "")
    if isinstance(model, TransformersModel) and device.startswith("cuda") and not model.torch.cuda.is_available():
        raise Misuse(f"model 'long-video' is to run on {device}, and torch sees no GPU; say device=cpu to wait")
    if not model.can.images or not model.can.text:
        raise Misuse(f"model {argument!r} takes no images or gives no words, and long-video needs both")
    return model


class LongVideoModel:
    """The planner, with a model behind it.

    Args:
        model: Sees frames.
        options: Its budget of a question, and the most frames.
    """

    kind, stored = "long-video", True

    def __init__(self, model: Model, options: ModelOptions) -> None:
        self.model, self.options = model, options
        self.name = f"long-video:{model.name.removeprefix('transformers:')}"
        self.revision, self.host, self.price = model.revision, model.host, model.price
        self.parameters = {**model.parameters, "timeout_s": options.timeout_s}
        self.can = Can(images=True, video=True, spans=True, most_frames=options.most_frames)
        self._engine: LongVideo | None = None

    def close(self) -> None:
        """Let go of weights and prefixes."""
        self._engine = None
        self.model.close()

    def ask(self, prompts: Iterable[Prompt], done: Done) -> None:
        """Ask as many prompts at once as the model behind takes; those about one video go through it together."""
        waiting = iter(enumerate(prompts))
        while batch := list(islice(waiting, self.options.batch)):
            for numbers in _groups([prompt for _, prompt in batch]):
                begin = time.monotonic()
                outcomes = self._outcomes([batch[number][1] for number in numbers])
                seconds = (time.monotonic() - begin) / len(numbers)
                for number, outcome in zip(numbers, outcomes, strict=True):
                    done(batch[number][0], replace(outcome, seconds=seconds))

    def _outcomes(self, prompts: Sequence[Prompt]) -> list[Outcome]:
        try:
            engine, film = self._open(), _film(prompts[0])
            asked = [_asked(prompt, film) for prompt in prompts]
            return [_outcome(answer) for answer in engine.answers(film, asked, self.options.timeout_s)]
        except NoAnswer as error:
            return [error.outcome] * len(prompts)
        except (SurgvalidError, OSError, RuntimeError) as error:
            return [Outcome(Status.FAILED, trouble=ModelTrouble.PERMANENT, reason=str(error)) for _ in prompts]
        except (MemoryError, ValueError) as error:
            return [Outcome(Status.FAILED, trouble=ModelTrouble.OVERFLOW, reason=str(error)) for _ in prompts]

    def _open(self) -> LongVideo:
        if self._engine is None:
            self._engine = planner_of(self.model, most_frames=self.options.most_frames)
        return self._engine


def _outcome(answer: VideoAnswered) -> Outcome:
    finish, trouble = ("deadline", ModelTrouble.CUT) if answer.is_cut else ("stop", None)
    return Outcome(Status.ANSWERED, answer.text, tokens_in=answer.tokens, finish=finish, trouble=trouble)


def planner_of(
    model: Model | str | Path,
    *,
    state: str = "per_video",
    most_frames: int | None = None,
    classes: Sequence[str] = CLASS_NAMES,
    **options: Any,
) -> LongVideo:
    """The planner in front of a model, warmed up where that runs on a GPU.

    Args:
        model: Opened, or the folder or specification of one.
        state: per_question, per_video or free.
        most_frames: Of a prefix; 768 by default.
        classes: Names that a question may ask for.
        **options: Of the model, where it is opened here, such as `device` and `dtype`.

    Raises:
        InputInvalid: It cannot be loaded.
        Misuse: It takes no images.
    """
    behind = _behind(str(model), **options) if isinstance(model, str | Path) else model
    engine = KeptEngine(behind, SYSTEM) if isinstance(behind, TransformersModel) else AskedEngine(behind, SYSTEM)
    planner = LongVideo(engine, classes=classes, state=state, most_frames=most_frames or _MOST_FRAMES)
    if isinstance(engine, KeptEngine) and engine.device.startswith("cuda"):
        planner.warm_up()
    return planner


def _groups(prompts: Sequence[Prompt]) -> Iterator[list[int]]:
    """Positions of prompts that show the same."""
    groups: dict[tuple[Any, ...], list[int]] = {}
    for number, prompt in enumerate(prompts):
        media = tuple(
            piece.path if isinstance(piece, Clip) else piece.digest
            for piece in prompt.parts
            if not isinstance(piece, str)
        )
        groups.setdefault(media, []).append(number)
    yield from groups.values()


def _film(prompt: Prompt) -> VideoFrames | ImageFrames:
    clip = next((piece for piece in prompt.parts if isinstance(piece, Clip)), None)
    if clip is not None:
        return VideoFrames(clip.path, name=clip.digest)
    if not prompt.frames:
        raise ValueError("there is no frame to look at: this kind answers questions about videos and images")
    return ImageFrames(prompt)


def _asked(prompt: Prompt, film: VideoFrames | ImageFrames) -> VideoQuestion:
    text = "\n".join(piece for piece in prompt.parts if isinstance(piece, str))
    clip = next((piece for piece in prompt.parts if isinstance(piece, Clip)), None)
    start, end = (clip.start_s, clip.end_s) if clip is not None else (film.start_s, None)
    form = None
    if prompt.labels:
        labels = list(prompt.labels)
        form = some_of(labels, len(labels), alone=["none"]) if prompt.several else one_of(labels)
    return VideoQuestion(text, start, film.end_s if end is None else end, form)
