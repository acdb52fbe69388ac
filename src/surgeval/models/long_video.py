"""Qwen2.5-VL from a folder, for many questions about long videos: a video is seen once and its prefix kept.

Frames as many and as large as context, memory and time allow; questions about a video in any number from one prefill;
answers held to the form that the question asks for; a second look close around a time that a question quotes or an
answer names. `timeout_s` is the budget of a question, reading the video included, and is kept to.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from surgeval.errors import InputInvalid, Misuse, SurgevalError
from surgeval.models._films import PictureFilm
from surgeval.models._films import VideoFilm as VideoFilm
from surgeval.models._local import LocalModel, folder_of, loaded, needed, precision_name
from surgeval.models._long_video.engine import Asked as Asked
from surgeval.models._long_video.engine import LongVideo as LongVideo
from surgeval.models._long_video.forms import form_of as form_of
from surgeval.models._long_video.forms import one_of, some_of
from surgeval.models._model import Can, Clip, Outcome, Picture, Prompt, Trouble
from surgeval.models._open import ModelOptions
from surgeval.schema.foreign_objects import CLASS_NAMES
from surgeval.schema.outcomes import Status

USAGE = "long-video:PATH"
_FAMILY = "qwen2_5_vl"
_MOST_FRAMES = 768


def build(argument: str, options: ModelOptions) -> LongVideoModel:
    """The model from the folder at `argument`.

    Raises:
        InputInvalid: There is no saved model, or it is of another family.
        Misuse: It is to run on a GPU and there is none.
    """
    return LongVideoModel(folder_of(argument, "long-video"), options)


class LongVideoModel(LocalModel):
    """The engine, with weights from a folder."""

    def __init__(self, folder: Path, options: ModelOptions) -> None:
        super().__init__("long-video", folder, options)
        self._transformers = needed("transformers", self.kind)
        if self.device.startswith("cuda") and not self.torch.cuda.is_available():
            raise Misuse(
                f"model 'long-video' is to run on {self.device}, and torch sees no GPU; say device=cpu to wait"
            )
        config = loaded(self._transformers.AutoConfig.from_pretrained, folder)
        if config.model_type != _FAMILY:
            problem = f"is of the family {config.model_type!r}; this kind takes {_FAMILY!r}, transformers: others"
            raise InputInvalid(str(folder), [problem])
        self.can = Can(images=True, video=True, spans=True, most_frames=options.most_frames)
        self._engine: LongVideo | None = None

    def close(self) -> None:
        """Let go of weights and prefixes."""
        if self._engine is not None:
            self._engine.close()
        self._engine = None

    def answers(self, prompts: Sequence[Prompt]) -> list[Outcome]:
        """What the engine says to the prompts; those about one stretch of a video go through it together."""
        outcomes: dict[int, Outcome] = {}
        for numbers in _groups(prompts):
            for number, outcome in zip(numbers, self._outcomes([prompts[n] for n in numbers]), strict=True):
                outcomes[number] = outcome
        return [outcomes[number] for number in range(len(prompts))]

    def _outcomes(self, prompts: Sequence[Prompt]) -> list[Outcome]:
        engine = self._open()
        begin = time.monotonic()
        try:
            film = _film(prompts[0])
            asked = [_asked(prompt, film) for prompt in prompts]
            deadline = begin + self.options.timeout_s * len(prompts)
            given = engine.answers(film, asked, deadline)
        except SurgevalError as error:
            return [Outcome(Status.FAILED, trouble=Trouble.PERMANENT, reason=str(error)) for _ in prompts]
        except (MemoryError, ValueError) as error:
            return [Outcome(Status.FAILED, trouble=Trouble.OVERFLOW, reason=str(error)) for _ in prompts]
        return [
            Outcome(
                Status.ANSWERED, answer.text, tokens_in=answer.tokens, finish="deadline" if answer.is_cut else "stop",
                trouble=Trouble.CUT if answer.is_cut else None,
            )
            for answer in given
        ]  # fmt: skip

    def _open(self) -> LongVideo:
        if self._engine is None:
            self._engine = opened_engine(
                self.weights, self.device, dtype=self.options.dtype, most_frames=self.options.most_frames
            )
            if self.device.startswith("cuda"):  # kernels are compiled before the first budget begins
                self._engine.warm_up()
        return self._engine


def opened_engine(
    folder: str | Path, device: str, *, dtype: str = "auto", state: str = "per_video", most_frames: int | None = None,
    classes: Sequence[str] = CLASS_NAMES, compiled: bool | None = None,
) -> LongVideo:  # fmt: skip
    """The engine with the weights of a folder.

    Args:
        folder: Of a saved Qwen2.5-VL.
        device: cpu, cuda, cuda:1.
        dtype: Precision of the weights, such as bfloat16.
        state: per_question, per_video or free.
        most_frames: Of a video; 768 by default.
        classes: Names that a question may ask for.
        compiled: Whether small steps are compiled; by default on a GPU.

    Raises:
        InputInvalid: It cannot be loaded.
    """
    from surgeval.models._long_video.decoder import Decoder
    from surgeval.models._long_video.pointwise import PLAIN
    from surgeval.models._long_video.pointwise import compiled as compiled_steps
    from surgeval.models._long_video.vision import VisionTower

    transformers = needed("transformers", "long-video")
    precision = {precision_name(transformers): dtype}
    auto = transformers.AutoModelForImageTextToText
    model = loaded(auto.from_pretrained, Path(folder), **precision).eval().requires_grad_(False)
    try:
        model = model.to(device)
    except needed("torch", "long-video").cuda.OutOfMemoryError:
        problem = f"its weights do not fit the memory of {device}; take dtype=bfloat16, a smaller model or device=cpu"
        raise InputInvalid(str(folder), [problem]) from None
    tokenizer = loaded(transformers.AutoTokenizer.from_pretrained, Path(folder))
    steps = compiled_steps() if (device.startswith("cuda") if compiled is None else compiled) else PLAIN
    return LongVideo(
        VisionTower(model.model.visual, steps=steps), Decoder(model, steps=steps), tokenizer, classes=classes,
        state=state, most_frames=most_frames or _MOST_FRAMES, stops=_stops(model, tokenizer),
        tokens_per_second=float(getattr(model.config.vision_config, "tokens_per_second", 2)),
    )  # fmt: skip


def _stops(model: Any, tokenizer: Any) -> set[int]:
    configured = model.generation_config.eos_token_id
    listed = configured if isinstance(configured, list) else [configured]
    return {int(token) for token in [*listed, tokenizer.eos_token_id] if token is not None}


def _groups(prompts: Sequence[Prompt]) -> Iterator[list[int]]:
    """Positions of prompts that show the same."""
    groups: dict[tuple[Any, ...], list[int]] = {}
    for number, prompt in enumerate(prompts):
        media = tuple(
            (piece.path, piece.start_s) if isinstance(piece, Clip) else piece.digest
            for piece in prompt.parts
            if not isinstance(piece, str)
        )
        groups.setdefault(media, []).append(number)
    yield from groups.values()


def _film(prompt: Prompt) -> VideoFilm | PictureFilm:
    clips = [piece for piece in prompt.parts if isinstance(piece, Clip)]
    pictures = [piece for piece in prompt.parts if isinstance(piece, Picture)]
    if clips:
        return VideoFilm(clips[0].path, name=clips[0].digest)
    if not pictures:
        raise ValueError("there is no frame to look at: this kind answers questions about videos and pictures")
    return PictureFilm(pictures)


def _asked(prompt: Prompt, film: VideoFilm | PictureFilm) -> Asked:
    text = "\n".join(piece for piece in prompt.parts if isinstance(piece, str))
    clip = next((piece for piece in prompt.parts if isinstance(piece, Clip)), None)
    start, end = (clip.start_s, clip.end_s) if clip is not None else (film.start_s, None)
    form = None
    if prompt.labels:
        labels = list(prompt.labels)
        form = some_of(labels, len(labels), alone=["none"]) if prompt.several else one_of(labels)
    return Asked(text, start, film.end_s if end is None else end, form)
