"""Qwen2.5-VL from a folder, for many questions about long videos: a video is seen once and its prefix kept.

Frames as many and as large as context, memory and time allow; questions about a video in any number from one prefill;
answers held to the form that the question asks for; a second look close around a time that a question quotes or an
answer names. `timeout_s` is the budget of a question, reading the video included, and is kept to.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surgvalid.errors import FileUnreadable, InputInvalid, Misuse, SurgvalidError
from surgvalid.models._local import LocalModel, folder_of, loaded, needed, precision_name
from surgvalid.models._long_video.engine import LongVideo as LongVideo
from surgvalid.models._long_video.engine import VideoQuestion as VideoQuestion
from surgvalid.models._long_video.forms import form_of as form_of
from surgvalid.models._long_video.forms import one_of, some_of
from surgvalid.models._model import Can, Clip, ModelTrouble, Outcome, Prompt, PromptImage
from surgvalid.models._open import ModelOptions
from surgvalid.schema.outcomes import Status
from surgvalid.schema.procedures.foreign_objects import CLASS_NAMES
from surgvalid.video import probe, sample, time_index

_MOST_READERS = 8
_LAST_FRAME_S = 0.05


class VideoFrames:
    """A file of video whose frames are read by several threads at once.

    Args:
        path: The file.
        name: Questions of one name share what was seen; by default the path.
        start_s: The time of its first frame, as questions count.
        readers: Threads; as many as there are cores, up to eight, by default.

    Raises:
        FileUnreadable: It is no video, or holds no frame.
    """

    def __init__(self, path: str | Path, *, name: str = "", start_s: float = 0.0, readers: int | None = None) -> None:
        self.path, self.name, self.start_s = Path(path), name or str(path), start_s
        facts = probe(self.path)
        length_s = facts.duration_s if isfinite(facts.duration_s) else time_index(self.path).duration_s
        if not length_s > 0:
            raise FileUnreadable(str(path), ["holds no frame"])
        self.end_s = start_s + length_s
        self.width_px, self.height_px = facts.size_px
        self._readers = readers or min(_MOST_READERS, os.cpu_count() or 1)

    def frames(self, times_s: Sequence[float], height_px: int, width_px: int) -> NDArray[np.uint8]:
        """The frames on screen at these times."""
        latest = max(0.0, self.end_s - self.start_s - _LAST_FRAME_S)
        inside = [min(max(0.0, time_s - self.start_s), latest) for time_s in times_s]
        size = -(-len(inside) // self._readers)
        pieces = [inside[at : at + size] for at in range(0, len(inside), size)]

        def read(times: list[float]) -> list[NDArray[np.uint8]]:
            return [shot.rgb(width_px=width_px, height_px=height_px) for shot in sample(self.path, times)]

        with ThreadPoolExecutor(max_workers=self._readers) as threads:
            return np.stack([frame for frames in threads.map(read, pieces) for frame in frames])


class ImageFrames:
    """Images in order, as if they were the frames of a video file of two a second.

    Args:
        pictures: At least one.
    """

    start_s = 0.0

    def __init__(self, pictures: Sequence[PromptImage]) -> None:
        from PIL import Image

        self._image, self._pictures = Image, list(pictures)
        self.name = " ".join(picture.digest for picture in pictures)
        self.end_s = (len(pictures) - 1) / 2
        with Image.open(pictures[0].path) as first:
            self.width_px, self.height_px = first.size

    def frames(self, times_s: Sequence[float], height_px: int, width_px: int) -> NDArray[np.uint8]:
        """The images of these times, each scaled to the size."""
        share = len(self._pictures) / self.end_s if self.end_s else 0.0
        numbers = [min(int(time_s * share), len(self._pictures) - 1) for time_s in times_s]
        shown = []
        for number in numbers:
            with self._image.open(self._pictures[number].path) as picture:
                shown.append(np.asarray(picture.convert("RGB").resize((width_px, height_px))))
        return np.stack(shown)


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
        except SurgvalidError as error:
            return [Outcome(Status.FAILED, trouble=ModelTrouble.PERMANENT, reason=str(error)) for _ in prompts]
        except (MemoryError, ValueError) as error:
            return [Outcome(Status.FAILED, trouble=ModelTrouble.OVERFLOW, reason=str(error)) for _ in prompts]
        return [
            Outcome(
                Status.ANSWERED,
                answer.text,
                tokens_in=answer.tokens,
                finish="deadline" if answer.is_cut else "stop",
                trouble=ModelTrouble.CUT if answer.is_cut else None,
            )
            for answer in given
        ]

    def _open(self) -> LongVideo:
        if self._engine is None:
            self._engine = opened_engine(
                self.weights, self.device, dtype=self.options.dtype, most_frames=self.options.most_frames
            )
            if self.device.startswith("cuda"):  # kernels are compiled before the first budget begins
                self._engine.warm_up()
        return self._engine


def opened_engine(
    folder: str | Path,
    device: str,
    *,
    dtype: str = "auto",
    state: str = "per_video",
    most_frames: int | None = None,
    classes: Sequence[str] = CLASS_NAMES,
    compiled: bool | None = None,
) -> LongVideo:
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
    from surgvalid.models._long_video.decoder import Decoder
    from surgvalid.models._long_video.pointwise import PLAIN
    from surgvalid.models._long_video.pointwise import compiled as compiled_steps
    from surgvalid.models._long_video.vision import VisionTower

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
        VisionTower(model.model.visual, steps=steps),
        Decoder(model, steps=steps),
        tokenizer,
        classes=classes,
        state=state,
        most_frames=most_frames or _MOST_FRAMES,
        stops=_stops(model, tokenizer),
        tokens_per_second=float(getattr(model.config.vision_config, "tokens_per_second", 2)),
    )


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


def _film(prompt: Prompt) -> VideoFrames | ImageFrames:
    clips = [piece for piece in prompt.parts if isinstance(piece, Clip)]
    pictures = [piece for piece in prompt.parts if isinstance(piece, PromptImage)]
    if clips:
        return VideoFrames(clips[0].path, name=clips[0].digest)
    if not pictures:
        raise ValueError("there is no frame to look at: this kind answers questions about videos and images")
    return ImageFrames(pictures)


def _asked(prompt: Prompt, film: VideoFrames | ImageFrames) -> VideoQuestion:
    text = "\n".join(piece for piece in prompt.parts if isinstance(piece, str))
    clip = next((piece for piece in prompt.parts if isinstance(piece, Clip)), None)
    start, end = (clip.start_s, clip.end_s) if clip is not None else (film.start_s, None)
    form = None
    if prompt.labels:
        labels = list(prompt.labels)
        form = some_of(labels, len(labels), alone=["none"]) if prompt.several else one_of(labels)
    return VideoQuestion(text, start, film.end_s if end is None else end, form)
