"""A model of transformers in this process as an engine: its keys and values of what was seen are kept.

Whatever is computed is computed by the model's own `forward`, from what its own processor gives; nothing here knows how
a family sees. Frames go in with the layout of `transformers:`, so both give the same tokens for the same frames.
"""

from __future__ import annotations

import functools
import inspect
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surgvalid.errors import InputInvalid
from surgvalid.models._local import needed
from surgvalid.models._long_video.attention import NAME, attend_in_few_calls
from surgvalid.models._long_video.forms import LONGEST, AnswerForm, States
from surgvalid.models._long_video.watching import Spoken
from surgvalid.models._long_video.words import Words
from surgvalid.models.transformers import TransformersModel, stops_of, templated
from surgvalid.video.clips import clock_text

ANSWER_TOKENS = 96
_FRAMES, _REST = "[[frames]]", "[[question]]"
_PLAIN = {"smolvlm": {"do_image_splitting": False}, "internvl": {"crop_to_patches": False}}
"""Settings of processors that cut single images into pieces: a frame of a video is shown in one."""
_NOT_GIVEN = ("position_ids",)
_EAGER = 2
"""Passes before the next one is recorded on a GPU: many answers are no longer."""


@dataclass(frozen=True, slots=True)
class _Prefix:
    layers: tuple[tuple[Any, Any], ...]
    """Keys and values of every layer."""
    marks: tuple[tuple[int, int], ...]
    """Tokens, and the next place, after the opening and after every frame."""


@dataclass(slots=True, eq=False)
class _Saying:
    """An answer under way; two of the same question are two."""

    form: AnswerForm
    waiting: list[int]
    """Tokens that the model has not read yet."""
    place: int
    states: States = frozenset()
    answer: str = ""
    count: int = 0
    steps: int = 0
    steps_s: float = 0.0
    is_whole: bool = False
    is_over: bool = False

    def __post_init__(self) -> None:
        self.states = self.form.start

    def spoken(self, read_s: float) -> Spoken:
        """The answer, finished where there was no time to."""
        is_cut = not self.is_whole and not (self.form.is_free and self.count >= ANSWER_TOKENS)
        rest = self.form.finished(self.states) if is_cut else ""
        return Spoken((self.answer + rest).strip()[:LONGEST], is_cut, read_s, self.steps, self.steps_s)


def _growing(layer: Any) -> Any:
    """A layer of a cache, made from one of transformers, that never writes into what it begins with."""

    class Growing(layer):  # type: ignore[misc]
        def __init__(self, keys: Any, values: Any, length: int, spare: int) -> None:
            super().__init__()
            self.lazy_initialization(keys, values)
            self.pair, self.length, self.spare = (keys[:, :, :length], values[:, :, :length]), length, spare
            self.slots: Any = None  # where the next tokens stand, once that is all that changes

        def get_seq_length(self) -> int:
            return self.length

        def update(self, *new: Any, **_: Any) -> Any:
            if self.slots is not None:
                for wide, tensor in zip(self.pair, new, strict=False):
                    wide.index_copy_(2, self.slots, tensor)
                return self.pair
            begin, self.length = self.length, self.length + new[0].shape[2]
            if self.length > self.pair[0].shape[2]:
                room = (*new[0].shape[:2], self.length + self.spare, new[0].shape[3])
                larger = tuple(tensor.new_zeros(room) for tensor in self.pair)
                for wide, tensor in zip(larger, self.pair, strict=True):
                    wide[:, :, :begin] = tensor[:, :, :begin]
                self.pair = larger
            for wide, tensor in zip(self.pair, new, strict=False):
                wide[:, :, begin : self.length] = tensor
            return tuple(wide[:, :, : self.length] for wide in self.pair)

    return Growing


def _layers(cache: Any) -> tuple[tuple[Any, Any], ...]:
    return tuple(getattr(layer, "pair", None) or (layer.keys, layer.values) for layer in cache.layers)


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
        self._may_repeat = self.model.config.get_text_config()._attn_implementation == NAME
        rows = self.model.get_output_embeddings().weight.shape[0]
        self.context = ready.longest or 1 << 30
        self._stops = sorted(token for token in stops_of(ready) if token < rows)
        self._settings = _PLAIN.get(self.model.config.model_type, {})
        self._caches = needed("transformers.cache_utils", "long-video")
        self._growing = _growing(self._caches.DynamicLayer)
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
        cache = self._kept((), 0)
        self._forward(cache, self._ids(tokens), self._along(0, len(tokens)))
        return _Prefix(_layers(cache), ((len(tokens), len(tokens)),))

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
        cache = self._kept(prefix.layers, length)
        self._forward(cache, inputs, places)
        labels = [len(self._text(_label(second))) for second in times_s]
        each, odd = divmod(inputs["input_ids"].shape[1] - sum(labels), len(labels))
        if odd:
            raise ValueError("frames of one size became different numbers of tokens")
        ends = np.cumsum([label + each for label in labels]).tolist()
        more = tuple((length + end, int(places[..., :end].max()) + 1) for end in ends)
        return _Prefix(_layers(cache), (*marks, *more)), length + ends[-1]

    def replies(
        self, prefix: _Prefix, frames: int, asked: Sequence[tuple[str, AnswerForm]], deadline: float
    ) -> list[Spoken]:
        """The likeliest answers, token by token, among those that the forms admit; no question sees another.

        Where only one token can follow, nobody asks the model for it.

        Raises:
            MemoryError: It does not fit.
        """
        length, place = prefix.marks[frames]
        cache, sets = (
            self._kept(prefix.layers, length, 2 * len(asked) * ANSWER_TOKENS),
            self.torch.tensor([], dtype=int),
        )
        begin, read_s, joint, again = self.clock(), 0.0, 0, None
        saying = [_Saying(form, self._text(f"{_harmless(text)}{self._closing}"), place) for text, form in asked]
        while active := [one for one in saying if not one.is_over]:
            if joint == _EAGER and self._may_repeat:
                again, group = self._repeated(cache, length, len(active)), active
            speaking = active if again is None else group
            read = [one.waiting if again is None else (one.waiting or [0])[:1] for one in speaking]
            counts = self.torch.tensor([len(tokens) for tokens in read])
            rows = self.torch.tensor([saying.index(one) for one in speaking]).repeat_interleave(counts)
            sets = self.torch.cat([sets, rows])
            inputs = self._ids([token for tokens in read for token in tokens])
            inputs["attention_mask"] = self._mask((sets[None] == rows[:, None]).tril(len(sets) - len(rows)), length)
            places = [self._along(one.place, len(tokens)) for one, tokens in zip(speaking, read, strict=True)]
            given = cache, inputs, self.torch.cat(places, -1), counts.cumsum(0) - 1
            logits = self._forward(*given) if again is None else again(inputs, given[2], length + len(sets) - len(rows))
            if not joint:
                read_s, begin = self.clock() - begin, self.clock()
            for one, tokens, row in zip(speaking, read, logits, strict=True):
                one.place, one.waiting = one.place + len(tokens), one.waiting[len(tokens) :]
                if not one.waiting and not one.is_over:
                    self._go_on(one, row)
            taken = self.clock() - begin
            for one in active:
                one.steps, one.steps_s = joint, taken
                one.is_over |= begin + taken + 1.2 * taken / max(1, joint) > deadline
            joint += 1
        return [one.spoken(read_s) for one in saying]

    def _repeated(self, cache: Any, length: int, count: int) -> Callable[..., Any]:
        """A pass for one more token of each answer, recorded: a GPU repeats it faster than a CPU starts its parts."""
        torch = self.torch
        end = cache.layers[0].pair[0].shape[2]
        slots = torch.arange(end - count, end, device=self.device)  # which nobody sees
        still = self._ids([0] * count) | {
            "attention_mask": torch.zeros(1, 1, count, end - length, device=self.device),
            "position_ids": self._along(0, count).clone(),
        }
        for layer in cache.layers:
            layer.slots, layer.length = slots, end
        step = functools.partial(self.model, past_key_values=cache, use_cache=True, logits_to_keep=0, **still)
        graph = torch.cuda.CUDAGraph()
        with torch.inference_mode():
            step()  # what is compiled or loaded for so many answers cannot be so while it is recorded
            with torch.cuda.graph(graph):
                out = step()

        def again(inputs: Any, places: Any, begin: int) -> Any:
            still["input_ids"].copy_(inputs["input_ids"])
            still["position_ids"].copy_(places)
            mask = inputs["attention_mask"]
            still["attention_mask"].fill_(float("-inf"))[..., : mask.shape[-1]].copy_(mask)
            slots.copy_(torch.arange(begin, begin + count))
            graph.replay()
            return out.logits[0]

        return again

    def _go_on(self, one: _Saying, logits: Any) -> None:
        """The next token of an answer, and all that must follow it."""
        form, texts = one.form, self.words.texts
        token, one.waiting = self._likeliest(logits, one), []
        while token not in self._stops:
            one.states, one.answer = form.after(one.states, texts[token]), one.answer + texts[token]
            one.waiting.append(token)
            options = {} if form.is_free else self.words.allowed(form, one.states)
            if len(options) != 1 or form.may_end(one.states):
                break
            (token,) = options
        one.count += len(one.waiting)
        one.is_whole = not one.waiting or (not form.is_free and not form.letters(one.states)) or not one.states
        one.is_over = one.is_whole or one.count >= ANSWER_TOKENS

    def _likeliest(self, logits: Any, one: _Saying) -> int:
        ends = self._stops if one.form.may_end(one.states) and one.answer else []
        if one.form.is_free:
            options = self.torch.cat([self._free, self._ids(ends)["input_ids"][0]])
        else:
            options = self._ids([*self.words.allowed(one.form, one.states), *ends])["input_ids"][0]
        return int(options[logits[options].argmax()])

    # --- the model ---------------------------------------------------------------------------------------------------

    def _kept(self, layers: Sequence[Any], length: int, spare: int = 0) -> Any:
        """A cache of the first `length` tokens of others."""
        if not layers:
            return self._caches.DynamicCache()
        return self._caches.Cache([self._growing(keys, values, length, spare) for keys, values in layers])

    def _forward(self, cache: Any, inputs: Any, places: Any, last: Any = 1) -> Any:
        """Logits of the last token or of several, with keys and values added to the cache."""
        try:
            with self.torch.inference_mode():
                given = {name: tensor for name, tensor in inputs.items() if name not in _NOT_GIVEN}
                kept = {"past_key_values": cache, "use_cache": True}
                keep = last if isinstance(last, int) else last.to(self.device)
                out = self.model(**given, **kept, position_ids=places, logits_to_keep=keep)
                if self.device.startswith("cuda"):
                    self.torch.cuda.synchronize()
        except self.torch.cuda.OutOfMemoryError:
            self.torch.cuda.empty_cache()
            raise MemoryError("the memory of the GPU does not hold it; show fewer frames (most_frames)") from None
        return out.logits[0]

    def _mask(self, seen: Any, length: int) -> Any:
        """What each token sees of those behind the prefix, in the words of the attention that is used."""
        if self._may_repeat:
            return self.torch.zeros(seen.shape).masked_fill(~seen, float("-inf"))[None, None].to(self.device)
        return self.torch.nn.functional.pad(seen, (length, 0), value=True)[None, None].to(self.device)

    def _inputs(self, times_s: Sequence[float], frames: NDArray[np.uint8]) -> Any:
        text = "".join(f"{_label(second)}{self._image}" for second in times_s)
        if getattr(self.processor.image_processor, "backend", "") == "torchvision":  # which works where the frames lie
            shown = list(self.torch.from_numpy(frames).to(self.device).permute(0, 3, 1, 2))
        else:
            shown = [self._picture.fromarray(frame) for frame in frames]
        settings = {"return_tensors": "pt", "add_special_tokens": False, **self._settings}
        inputs = self.processor(text=[text], images=[shown], **settings).to(self.device, self.model.dtype)
        inputs.pop("attention_mask", None)
        return inputs

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


def _harmless(text: str) -> str:
    """Nobody's question opens or closes a turn."""
    return text.replace("<|", "< |")
