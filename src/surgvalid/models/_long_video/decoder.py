"""The language half of Qwen2.5-VL over one prefix that many questions share.

What a question adds attends to the prefix and to itself, as two calls whose results are weighed by their sums of
exponents; that is the same softmax over both. So the prefix is read where it lies: a fork copies nothing, questions in
a batch read it once together, and a question leaves no trace in it.

Attention to the prefix goes to the flash kernel, which gives those sums and, for the few rows of a decoding step, cuts
the prefix into pieces that fill a GPU. Elsewhere the sums are computed plainly.

Tokens have places in time, height and width. Text counts up, the same on all three axes. A video starts where text
stopped; its slices stand apart by their seconds times the model's tokens per second, so that a video file sampled
coarsely and one sampled finely agree on how long a minute is. Text goes on after the largest place so far. (Some
releases of `transformers` go on after the width of a frame instead, which for a long video lies inside it.)
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ._torch import torch
from .pointwise import PLAIN, Pointwise


def text_positions(count: int, start: int, device: Any = None) -> Any:
    """Places of `count` tokens of text, `(3, count)`."""
    return (torch.arange(count, device=device) + start).expand(3, -1)


def video_positions(
    slices: int, down: int, across: int, start: int, *, per_slice: float = 1.0, device: Any = None
) -> Any:
    """Places of the merged patches of a video, `(3, slices x down x across)`.

    Args:
        slices: Of two frames each.
        down: Merged patches of a frame from top to bottom.
        across: From left to right.
        start: Place of the first.
        per_slice: Seconds between slices times the model's tokens per second; 1 for an image.
        device: Where they lie.
    """
    time = (torch.arange(slices, device=device) * per_slice).long() + start
    rows, columns = (torch.arange(side, device=device) + start for side in (down, across))
    return torch.stack(torch.meshgrid(time, rows, columns, indexing="ij")).flatten(1)


_ROOM = 64
"""Tokens of questions are rounded up to so many, so that recorded steps are met again."""
_MANY = 1024
"""Rows from which the kernel of cuDNN is faster."""
Attend = Callable[[int, Any, Any, Any], Any]
"""Number of the layer, queries, keys, values of new tokens; gives what they saw."""


@dataclass(slots=True)
class Prefix:
    """Keys and values of what all questions of a video share."""

    keys: list[Any]
    """For each layer `(key heads, room, size of a head)`."""
    values: list[Any]
    length: int = 0
    next_position: int = 0
    """Where text that follows begins to count."""
    recorded: dict[tuple[int, int, int], Fork] = field(default_factory=dict, repr=False)
    """Forks whose steps were recorded, by length of the prefix, questions and room: later questions use them again.

    They hold the prefix, so whoever is done with it clears them: a circle would keep gigabytes until somebody looks.
    """

    def until(self, length: int, next_position: int) -> Prefix:
        """Its first tokens, without a copy."""
        return Prefix(self.keys, self.values, length, next_position, self.recorded)

    @property
    def room(self) -> int:
        """Tokens that fit."""
        return int(self.keys[0].shape[1])

    @property
    def bytes(self) -> int:
        """Memory of keys and values."""
        return sum(tensor.numel() * tensor.element_size() for tensor in (*self.keys, *self.values))


@dataclass(slots=True)
class Fork:
    """Questions under way: keys and values of their own tokens, beside a prefix that is only read."""

    prefix: Prefix
    keys: list[Any]
    """For each layer `(questions, key heads, room, size of a head)`."""
    values: list[Any]
    mask: Any
    """`(questions, room)`: 0 where there is a token, minus infinity elsewhere."""
    slot: Any
    """Where the next token goes, the same for all questions."""
    positions: Any
    """Of the next token of each question."""
    logits: Any = None
    """Of the token that comes next, `(questions, words)`."""
    graph: Any = field(default=None, repr=False)
    tokens: Any = None


@dataclass(frozen=True, slots=True)
class _Layer:
    norm1: Any
    qkv: tuple[Any, Any]
    out: Any
    norm2: Any
    gate_up: Any
    down: Any


class Decoder:
    """Prefill, fork and decode by the weights of a Qwen2.5-VL.

    Products that belong together are fused in place: the model's own tensors become views of the fused ones, so its
    forward pass still works and memory stays the same.

    Args:
        model: Of `transformers`, with `model.language_model` and `lm_head`.
        steps: Norm, rotation and gate.
    """

    def __init__(self, model: Any, *, steps: Pointwise = PLAIN) -> None:
        text = model.model.language_model
        config, self.steps = text.config, steps
        self.heads, self.key_heads = int(config.num_attention_heads), int(config.num_key_value_heads)
        self.size = int(config.hidden_size) // self.heads
        self.eps, self.longest = float(config.rms_norm_eps), int(config.max_position_embeddings)
        self.embedding, self.head = text.embed_tokens.weight, model.lm_head.weight
        self.device, self.dtype = self.embedding.device, self.embedding.dtype
        self._layers = [_layer(layer) for layer in text.layers]
        self._norm = text.norm.weight
        rope = config.rope_parameters
        powers = torch.arange(0, self.size, 2, dtype=torch.float32, device=self.device) / self.size
        self._frequencies = 1.0 / (float(rope["rope_theta"]) ** powers)
        axes = [axis for axis, width in enumerate(rope["mrope_section"]) for _ in range(width)]
        self._axes = torch.tensor(axes, device=self.device)
        self.is_warming = False
        """Whether the kernel of cuDNN may meet new lengths. It is a quarter faster for long looks behind a prefix, and
        slower by most of a second for every length that is new: otherwise it serves only those it has met."""
        self._met = threading.local()  # as the kernel's own memory is
        self._is_flash = self.device.type == "cuda" and self.dtype in (torch.bfloat16, torch.float16)

    def embedded(self, tokens: Sequence[int]) -> Any:
        """Rows for tokens of text."""
        return self.embedding[torch.tensor(tokens, device=self.device, dtype=torch.long)]

    def bytes_per_token(self) -> int:
        """Memory of keys and values of one token."""
        return 2 * len(self._layers) * self.key_heads * self.size * int(self.embedding.element_size())

    def prefix(self, room: int) -> Prefix:
        """An empty prefix with room for so many tokens."""
        shape = (self.key_heads, room, self.size)
        keys, values = (
            [torch.empty(shape, device=self.device, dtype=self.dtype) for _ in self._layers] for _ in range(2)
        )
        return Prefix(keys, values)

    def extend(self, prefix: Prefix, rows: Any, positions: Any) -> Any:
        """The last hidden state after tokens were added to a prefix.

        Args:
            prefix: What there is.
            rows: `(tokens, width)`.
            positions: `(3, tokens)`: time, row, column.

        Raises:
            ValueError: They do not fit.
        """
        count, length = len(rows), prefix.length
        if length + count > prefix.room:
            raise ValueError(f"a prefix of {prefix.room} tokens has no room for {length + count}")

        def attend(number: int, q: Any, k: Any, v: Any) -> Any:
            keys, values = prefix.keys[number], prefix.values[number]
            keys[:, length : length + count] = k[0]
            values[:, length : length + count] = v[0]
            if not length:
                return self._causal_alone(q, k, v)
            before = self._shared(q, keys[:, :length], values[:, :length])
            return self._merged(before, self._causal(q, k, v))

        with torch.inference_mode():
            hidden = self._through(rows[None], positions[:, None], attend, last_only=True)
        prefix.length = length + count
        prefix.next_position = max(prefix.next_position, int(positions.max()) + 1)
        return hidden[0, -1]

    def fork(self, prefix: Prefix, suffixes: Sequence[tuple[Any, Any]], *, steps: int) -> Fork:
        """Questions after the prefix, with the logits of their first answer token.

        Args:
            prefix: Read, not changed.
            suffixes: For each question its rows `(tokens, width)` and positions `(3, tokens)`.
            steps: Answer tokens that there will be room for.
        """
        lengths = [len(rows) for rows, _ in suffixes]
        longest, count = max(lengths), len(suffixes)
        pad = torch.nn.functional.pad
        with torch.inference_mode():
            rows = torch.stack([pad(rows, (0, 0, 0, longest - len(rows))) for rows, _ in suffixes])
            positions = torch.stack([pad(at, (0, longest - at.shape[1])) for _, at in suffixes], dim=1)
            fork = self._blank(prefix, count, -(-(longest + steps) // _ROOM) * _ROOM)
            fork.mask.fill_(-torch.inf)
            for number, length in enumerate(lengths):
                fork.mask[number, :length] = 0.0
            fork.slot.fill_(longest)
            fork.positions.copy_(torch.stack([at.max() + 1 for _, at in suffixes]))

            def attend(number: int, q: Any, k: Any, v: Any) -> Any:
                fork.keys[number][:, :, :longest], fork.values[number][:, :, :longest] = k, v
                # Padding stands at the end, so a causal look never meets it.
                return self._with_prefix(fork, number, q, self._causal(q, k, v))

            hidden = self._through(rows, positions, attend)
            last = hidden[torch.arange(count, device=self.device), torch.tensor(lengths, device=self.device) - 1]
            logits = torch.nn.functional.linear(last, self.head)
            fork.logits = logits if fork.graph is None else fork.logits.copy_(logits)
        return fork

    def _blank(self, prefix: Prefix, count: int, room: int) -> Fork:
        """A fork without tokens; one whose steps are recorded where there is one."""
        if (fork := prefix.recorded.get((prefix.length, count, room))) is not None:
            return fork
        shape = (count, self.key_heads, room, self.size)
        keys, values = (
            [torch.zeros(shape, device=self.device, dtype=self.dtype) for _ in self._layers] for _ in range(2)
        )
        return Fork(
            prefix,
            keys,
            values,
            torch.empty(count, room, device=self.device),
            torch.empty(1, dtype=torch.long, device=self.device),
            torch.empty(count, dtype=torch.long, device=self.device),
        )

    def step(self, fork: Fork, tokens: Any) -> Any:
        """The logits after one more token of each question, `(questions, words)`."""
        with torch.inference_mode():
            if fork.graph is not None:
                fork.tokens.copy_(tokens)
                fork.graph.replay()
            else:
                fork.logits = self._stepped(fork, tokens)
        return fork.logits

    def record(self, fork: Fork) -> None:
        """Let the steps of a fork run as one recorded graph; on a CPU nothing happens.

        It takes about as long as three steps, pays off from the fifth, and serves later questions of the same number
        and room. Those take over the memory of this fork, so one fork of a kind is under way at a time.
        """
        if self.device.type != "cuda" or fork.graph is not None:
            return
        with torch.inference_mode():
            fork.tokens = torch.zeros(len(fork.mask), dtype=torch.long, device=self.device)
            kept = [tensor.clone() for tensor in (fork.mask, fork.slot, fork.positions)]
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                self._stepped(fork, fork.tokens)
            torch.cuda.current_stream().wait_stream(side)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                logits = self._stepped(fork, fork.tokens)
            for tensor, before in zip((fork.mask, fork.slot, fork.positions), kept, strict=True):
                tensor.copy_(before)
            logits.copy_(fork.logits)
            fork.graph, fork.logits = graph, logits
            fork.prefix.recorded[fork.prefix.length, len(fork.mask), fork.mask.shape[1]] = fork

    def _stepped(self, fork: Fork, tokens: Any) -> Any:
        rows = self.embedding[tokens][:, None]
        positions = fork.positions[None, :, None].expand(3, -1, -1)
        fork.mask.index_fill_(1, fork.slot, 0.0)
        mask = fork.mask.repeat_interleave(self.heads, dim=0)[:, None]

        def attend(number: int, q: Any, k: Any, v: Any) -> Any:
            fork.keys[number].index_copy_(2, fork.slot, k)
            fork.values[number].index_copy_(2, fork.slot, v)
            beside = _plain(q, fork.keys[number], fork.values[number], mask, self.steps.weighed)
            return self._with_prefix(fork, number, q, beside)

        hidden = self._through(rows, positions, attend)
        fork.slot.add_(1)
        fork.positions.add_(1)
        return torch.nn.functional.linear(hidden[:, -1], self.head)

    def _with_prefix(self, fork: Fork, number: int, q: Any, beside: tuple[Any, Any]) -> Any:
        length = fork.prefix.length
        if not length:
            return beside[0]
        keys, values = fork.prefix.keys[number][:, :length], fork.prefix.values[number][:, :length]
        return self._merged(self._shared(q, keys, values), beside)

    def _merged(self, *parts: tuple[Any, Any]) -> Any:
        """One softmax over two sets of keys, from what was seen of each and the logarithms of their sums."""
        rows = [piece for seen, sums in parts for piece in (seen.reshape(-1, self.size), sums.reshape(-1, 1))]
        return self.steps.merged(*rows).view(parts[0][0].shape)

    def _through(self, x: Any, positions: Any, attend: Attend, *, last_only: bool = False) -> Any:
        """Normalised hidden states of `(batch, tokens, width)`."""
        linear, batch, count = torch.nn.functional.linear, x.shape[0], x.shape[1]
        angles = (positions[self._axes].permute(1, 2, 0).float() * self._frequencies).flatten(0, 1)[:, None]
        cos, sin, x = angles.cos(), angles.sin(), x.flatten(0, 1)
        for number, layer in enumerate(self._layers):
            qkv = linear(self.steps.normed(x, layer.norm1, self.eps), *layer.qkv).view(len(x), -1, self.size)
            turned = self.steps.rotated(qkv[:, : -self.key_heads], cos, sin)
            q, k, v = (
                heads.unflatten(0, (batch, count)).transpose(1, 2)
                for heads in (turned[:, : self.heads], turned[:, self.heads :], qkv[:, -self.key_heads :])
            )
            seen = attend(number, q, k, v)
            x = x + linear(seen.transpose(1, 2).reshape(len(x), -1).to(x.dtype), layer.out)
            hidden = linear(self.steps.normed(x, layer.norm2, self.eps), layer.gate_up)
            x = x + linear(self.steps.gated(hidden), layer.down)
        x = x.unflatten(0, (batch, count))
        return self.steps.normed(x[:, -1] if last_only else x.flatten(0, 1), self._norm, self.eps).unflatten(
            0, (batch, -1)
        )

    def _shared(self, q: Any, keys: Any, values: Any) -> tuple[Any, Any]:
        """What all queries see of keys `(key heads, length, size)`, and the logarithms of their sums."""
        batch, heads, count, size = q.shape
        group = heads // self.key_heads
        rows = q.view(batch, self.key_heads, group, count, size).transpose(0, 1).reshape(1, self.key_heads, -1, size)
        if self._is_flash:
            seen, sums = self._summed(rows, keys[None], values[None], is_causal=False)
        else:
            seen, sums = _plain(rows, keys[None], values[None])
        seen = seen.reshape(self.key_heads, batch, group, count, size).transpose(0, 1).reshape(q.shape)
        sums = sums.reshape(self.key_heads, batch, group, count).transpose(0, 1).reshape(q.shape[:3])
        return seen, sums

    def _causal(self, q: Any, k: Any, v: Any) -> tuple[Any, Any]:
        """What new tokens see of themselves and of those before them among the new ones, and the sums."""
        if self._is_flash:
            return self._summed(q, k, v, is_causal=True)
        count = q.shape[2]
        mask = torch.full((count, count), -torch.inf, device=q.device).triu(1)
        return _plain(q, k, v, mask)

    def _summed(self, q: Any, k: Any, v: Any, *, is_causal: bool) -> tuple[Any, Any]:
        """Attention with the logarithms of its sums by the faster of two kernels."""
        met = self._met.__dict__.setdefault("lengths", set())
        lengths = (len(q), q.shape[2], k.shape[2], is_causal)
        if q.shape[2] >= _MANY and (self.is_warming or lengths in met):
            try:
                kernel = torch.ops.aten._scaled_dot_product_cudnn_attention
                seen, sums = kernel(q, k, v, None, True, 0.0, is_causal, False)[:2]
                met.add(lengths)
                return seen, sums.reshape(q.shape[:3])
            except RuntimeError:
                met.discard(lengths)  # another version, another card: flash does it too
        seen, sums = torch.ops.aten._scaled_dot_product_flash_attention(q, k, v, 0.0, is_causal)[:2]
        return seen, sums

    def _causal_alone(self, q: Any, k: Any, v: Any) -> Any:
        attend = torch.nn.functional.scaled_dot_product_attention
        if not self._is_flash:
            return attend(q, k, v, is_causal=True, enable_gqa=True)
        backend = torch.nn.attention.SDPBackend
        # The kernel of cuDNN is the fastest for one long causal look; where it cannot, flash does.
        with torch.nn.attention.sdpa_kernel([backend.CUDNN_ATTENTION, backend.FLASH_ATTENTION], set_priority=True):
            return attend(q, k, v, is_causal=True, enable_gqa=True)


def _plain(q: Any, k: Any, v: Any, mask: Any = 0.0, weighed: Callable[..., Any] = PLAIN.weighed) -> tuple[Any, Any]:
    """Attention with the logarithms of its sums, written out; queries may have more heads than keys.

    Heads that share keys are rows of one product: nothing is copied for each of them.
    """
    batch, heads, count, size = q.shape
    rows = q.reshape(batch, k.shape[1], -1, size)
    scores = torch.matmul(rows, k.transpose(-1, -2)).view(batch * heads, count, -1)
    shares, sums = weighed(scores, mask, size**-0.5)
    seen = torch.matmul(shares.view(*rows.shape[:3], -1), v)
    return seen.view(q.shape), sums.view(q.shape[:3])


def _fused(modules: Sequence[Any], name: str) -> Any:
    """One tensor of several modules' tensors of a name; theirs become views of it."""
    whole = torch.cat([getattr(module, name).detach() for module in modules])
    at = 0
    for module in modules:
        rows = len(getattr(module, name))
        getattr(module, name).data = whole[at : at + rows]
        at += rows
    return whole


def _layer(layer: Any) -> _Layer:
    attention, mlp = layer.self_attn, layer.mlp
    three = (attention.q_proj, attention.k_proj, attention.v_proj)
    return _Layer(
        layer.input_layernorm.weight.detach(),
        (_fused(three, "weight"), _fused(three, "bias")),
        attention.o_proj.weight.detach(),
        layer.post_attention_layernorm.weight.detach(),
        _fused((mlp.gate_proj, mlp.up_proj), "weight"),
        mlp.down_proj.weight.detach(),
    )
