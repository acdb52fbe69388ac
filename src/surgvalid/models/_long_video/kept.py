"""A model of transformers in this process as an engine: its keys and values of what was seen are kept.

Whatever is computed is computed by the model's own `forward`, from what its own processor gives; nothing here knows how
a family sees. Frames go in with the layout of `transformers:`, so both give the same tokens for the same frames.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surgvalid.errors import InputInvalid
from surgvalid.models._local import needed
from surgvalid.models._long_video.attention import attend_in_few_calls
from surgvalid.models._long_video.forms import LONGEST, AnswerForm, States
from surgvalid.models._long_video.watching import Spoken
from surgvalid.models._long_video.words import Words
from surgvalid.models.transformers import TransformersModel, stops_of, templated
from surgvalid.video.clips import clock_text

ANSWER_TOKENS = 96
_FRAMES, _REST = "[[frames]]", "[[question]]"
_PLAIN = {"smolvlm": {"do_image_splitting": False}, "internvl": {"crop_to_patches": False}}
"""Settings of processors that cut single images into pieces: a frame of a video is shown in one."""
_NOT_GIVEN = ("attention_mask", "position_ids")


@dataclass(frozen=True, slots=True)
class _Prefix:
    layers: tuple[tuple[Any, Any], ...]
    """Keys and values of every layer."""
    marks: tuple[tuple[int, int], ...]
    """Tokens, and the next place, after the opening and after every frame."""


class KeptEngine:
    """Frames and questions through a model that runs here.

    Args:
        model: Opened by `transformers:`.
        system: What it is told first.
        clock: Seconds that only grow.

    Raises:
        InputInvalid: The model sees nothing, or its chat template does not leave images where they stand.
    """

    owes = False

    def __init__(self, model: TransformersModel, system: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.torch, self.clock, self.device = model.torch, clock, model.device
        ready = model.load()
        self.model, self.processor, self.tokenizer = ready.model, ready.processor, ready.tokenizer
        if self.device.startswith("cuda"):
            attend_in_few_calls(self.model)
        rows = self.model.get_output_embeddings().weight.shape[0]
        self.context = ready.longest or 1 << 30
        self._stops = sorted(token for token in stops_of(ready) if token < rows)
        self._settings = _PLAIN.get(self.model.config.model_type, {})
        self._cache = needed("transformers", "long-video").DynamicCache
        self._rope = getattr(self.model.model, "get_rope_index", None)
        self._picture = needed("PIL.Image", "long-video")
        texts = (_FRAMES, _REST)
        blocks: list[dict[str, Any]] = [{"type": "text", "text": text} for text in texts]
        blocks.insert(1, {"type": "image"})
        instruction = [{"role": "system", "content": [{"type": "text", "text": system}]}]
        whole = templated(self.processor, [*instruction, {"role": "user", "content": blocks}])
        self._opening, _, behind = whole.partition(_FRAMES)
        self._image, _, self._closing = behind.partition(_REST)
        if not self._image or not self._closing:
            raise InputInvalid(
                str(model.weights), ["its chat template does not keep images among the words around them"]
            )
        self.words = Words.of(self.tokenizer, rows)
        self._free = self.torch.tensor(self.words.printable, device=self.device)
        self._sizes: dict[tuple[int, int], int] = {}

    def tokens(self, height_px: int, width_px: int) -> int:
        """Of a frame of that size, with the words before it, as the processor counts."""
        size = (height_px, width_px)
        if size not in self._sizes:
            inputs = self._inputs([0.0], np.zeros((1, *size, 3), np.uint8))
            self._sizes[size] = int(inputs["input_ids"].shape[1])
        return self._sizes[size]

    def begin(self) -> _Prefix:
        """What stands before the frames."""
        tokens = self._text(self._opening)
        layers, _ = self._forward((), 0, self._ids(tokens), self._along(0, len(tokens)))
        return _Prefix(layers, ((len(tokens), len(tokens)),))

    def extend(
        self, prefix: _Prefix, times_s: Sequence[float], frames: NDArray[np.uint8], *, after: int | None = None
    ) -> tuple[_Prefix, int]:
        """A prefix with frames behind the first `after` of its own, and all of its tokens.

        Raises:
            MemoryError: They do not fit.
        """
        marks = prefix.marks if after is None else prefix.marks[: after + 1]
        length, place = marks[-1]
        inputs = self._inputs(times_s, frames)
        places = self._places(inputs, place)
        layers, _ = self._forward(prefix.layers, length, inputs, places)
        labels = [len(self._text(_label(second))) for second in times_s]
        each, odd = divmod(inputs["input_ids"].shape[1] - sum(labels), len(labels))
        if odd:
            raise ValueError("frames of one size became different numbers of tokens")
        ends = np.cumsum([label + each for label in labels]).tolist()
        more = tuple((length + end, int(places[..., :end].max()) + 1) for end in ends)
        return _Prefix(layers, (*marks, *more)), length + ends[-1]

    def reply(self, prefix: _Prefix, frames: int, text: str, form: AnswerForm, deadline: float) -> Spoken:
        """The likeliest answer, token by token, among those that the form admits.

        Where only one token can follow, nobody asks the model for it.

        Raises:
            MemoryError: It does not fit.
        """
        length, place = prefix.marks[frames]
        spoken = text.replace("<|", "< |")  # nobody's question opens or closes a turn
        waiting = self._text(f"{spoken}{self._closing}")
        layers, states, answer, count = prefix.layers, form.start, "", 0
        begin, read_s, steps = self.clock(), 0.0, 0
        while True:
            places = self._along(place, len(waiting))
            layers, logits = self._forward(layers, length, self._ids(waiting), places)
            length, place = length + len(waiting), place + len(waiting)
            if not steps:
                read_s, begin = self.clock() - begin, self.clock()
            token, waiting = self._likeliest(logits, form, states, answer), []
            while token not in self._stops:
                states, answer = form.after(states, self.words.texts[token]), answer + self.words.texts[token]
                waiting.append(token)
                options = {} if form.is_free else self.words.allowed(form, states)
                if len(options) != 1 or form.may_end(states):
                    break
                (token,) = options
            count += len(waiting)
            is_whole = not waiting or (not form.is_free and not form.letters(states)) or not states
            now = self.clock()
            if is_whole or count >= ANSWER_TOKENS or now + 1.2 * (now - begin) / max(1, steps) > deadline:
                break
            steps += 1
        is_cut = not is_whole and not (form.is_free and count >= ANSWER_TOKENS)
        rest = form.finished(states) if is_cut else ""
        return Spoken((answer + rest).strip()[:LONGEST], is_cut, read_s, steps, self.clock() - begin)

    def _likeliest(self, logits: Any, form: AnswerForm, states: States, answer: str) -> int:
        ends = self._stops if form.may_end(states) and answer else []
        if form.is_free:
            options = self.torch.cat([self._free, self._ids(ends)["input_ids"][0]])
        else:
            options = self._ids([*self.words.allowed(form, states), *ends])["input_ids"][0]
        return int(options[logits[options].argmax()])

    # --- the model ---------------------------------------------------------------------------------------------------

    def _forward(self, layers: Sequence[Any], length: int, inputs: Any, places: Any) -> tuple[tuple[Any, ...], Any]:
        """Keys and values behind the first `length` tokens of others, and the logits of the last token."""
        try:
            with self.torch.inference_mode():
                cache = self._cache([(keys[:, :, :length], values[:, :, :length]) for keys, values in layers])
                given = {name: tensor for name, tensor in inputs.items() if name not in _NOT_GIVEN}
                out = self.model(**given, position_ids=places, past_key_values=cache, use_cache=True, logits_to_keep=1)
                if self.device.startswith("cuda"):
                    self.torch.cuda.synchronize()
        except self.torch.cuda.OutOfMemoryError:
            self.torch.cuda.empty_cache()
            raise MemoryError("the memory of the GPU does not hold it; show fewer frames (most_frames)") from None
        return tuple((layer.keys, layer.values) for layer in out.past_key_values.layers), out.logits[0, -1]

    def _inputs(self, times_s: Sequence[float], frames: NDArray[np.uint8]) -> Any:
        text = "".join(f"{_label(second)}{self._image}" for second in times_s)
        shown = [self._picture.fromarray(frame) for frame in frames]
        settings = {"return_tensors": "pt", "add_special_tokens": False, **self._settings}
        return self.processor(text=[text], images=[shown], **settings).to(self.device, self.model.dtype)

    def _places(self, inputs: Any, start: int) -> Any:
        """Of text and images, by the family's own rule where it has one."""
        if self._rope is None:
            return self._along(start, inputs["input_ids"].shape[1])
        known = inspect.signature(self._rope).parameters
        return self._rope(**{name: inputs[name] for name in known if name in inputs})[0] + start

    def _along(self, start: int, count: int) -> Any:
        places = self.torch.arange(start, start + count, device=self.device)
        return places[None] if self._rope is None else places.expand(3, 1, -1)

    def _ids(self, tokens: Sequence[int]) -> dict[str, Any]:
        return {"input_ids": self.torch.tensor([list(tokens)], dtype=self.torch.long, device=self.device)}

    def _text(self, text: str) -> list[int]:
        return list(self.tokenizer(text, add_special_tokens=False)["input_ids"])


def _label(second: float) -> str:
    return f"Frame at {clock_text(second)}:"
