"""The vision tower of Qwen2.5-VL, with its windows as a batch dimension.

The reference cuts a frame into windows of 8 x 8 patches and, without a package of its own for attention, calls
attention once for every window: 3,072 times a block for 768 frames of 448 x 252. All windows of one shape are here one
call, since patches are sorted by the shape of their window (at most four: inside, right rim, lower rim, corner) before
the first block. Three more things cost the reference time and change nothing: a convolution whose stride is its kernel
is a matrix product; gate and up are one product; and 3,420 columns, which are no multiple of eight numbers, get zeros
up to the next multiple of 64, for which matrix units have fast ways.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ._torch import torch
from .pointwise import PLAIN, Pointwise

MEAN, STD = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)
"""Of colours, as the family's processors subtract and divide."""
_COLUMNS, _EPS = 64, 1e-6


class Windows:
    """How the merged patches of a frame are sorted, for a grid of `height` x `width` of them.

    Args:
        height: Merged patches from top to bottom.
        width: From left to right.
        side: Of a window.
    """

    def __init__(self, height: int, width: int, side: int) -> None:
        index = torch.arange(height * width).view(height, width)
        shapes: dict[tuple[int, int], list[Any]] = {}
        for top in range(0, height, side):
            for left in range(0, width, side):
                window = index[top : top + side, left : left + side]
                shapes.setdefault(tuple(window.shape), []).append(window.reshape(-1))
        self.groups = [torch.stack(windows) for windows in shapes.values()]
        """For each shape, its windows: which merged patches of a frame belong to each."""

    def order(self, frames: int) -> tuple[Any, list[tuple[int, int, int]]]:
        """Where each sorted merged patch comes from, and for each shape: first, number of windows, size of one."""
        per_frame = sum(group.numel() for group in self.groups)
        starts = torch.arange(frames)[:, None, None] * per_frame
        rows = [(starts + group).reshape(-1) for group in self.groups]
        pieces, first = [], 0
        for group in self.groups:
            pieces.append((first, frames * group.shape[0], group.shape[1]))
            first += frames * group.numel()
        return torch.cat(rows), pieces


@dataclass(frozen=True, slots=True)
class _Block:
    norm1: Any
    qkv: tuple[Any, Any]
    out: tuple[Any, Any]
    norm2: Any
    gate_up: tuple[Any, Any]
    down: tuple[Any, Any]
    is_full: bool


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where the patches of a chunk go, and their angles: sorted by windows, and in their places."""

    order: Any
    back: Any
    pieces: list[tuple[int, int, int]]
    whole: list[tuple[int, int, int]]
    angles: list[Any]
    plain_angles: list[Any]


class VisionTower:
    """Features of frames by the weights of a Qwen2.5-VL tower.

    Args:
        visual: The tower of `transformers`; its weights are used where they lie, except the padded copies.
        steps: Norm, rotation and gate.
    """

    def __init__(self, visual: Any, *, steps: Pointwise = PLAIN) -> None:
        config, self.steps = visual.config, steps
        self.patch_px, self.merge = int(config.patch_size), int(config.spatial_merge_size)
        self.per_slice = int(config.temporal_patch_size)
        """Frames that become one slice of patches."""
        self.heads = int(config.num_heads)
        self.side = int(config.window_size) // self.merge // self.patch_px
        self.device, self.dtype = visual.patch_embed.proj.weight.device, visual.patch_embed.proj.weight.dtype
        self._embed = visual.patch_embed.proj.weight.flatten(1)
        full = set(config.fullatt_block_indexes)
        self._blocks = [_block(block, number in full) for number, block in enumerate(visual.blocks)]
        self._merger = visual.merger
        size = config.hidden_size // self.heads
        self._layouts: dict[tuple[int, int, int], _Layout] = {}
        powers = torch.arange(0, size // 2, 2, dtype=torch.float32, device=self.device) / (size // 2)
        self._frequencies = 1.0 / (float(config.rope_parameters["rope_theta"]) ** powers)

    def grid(self, height_px: int, width_px: int) -> tuple[int, int]:
        """Merged patches of a frame, down and across.

        Raises:
            ValueError: The sides are no multiples of a merged patch.
        """
        unit = self.patch_px * self.merge
        if height_px % unit or width_px % unit or not height_px or not width_px:
            raise ValueError(f"frames must have sides that are multiples of {unit} px, got {width_px} x {height_px}")
        return height_px // unit, width_px // unit

    def features(self, frames: Any, *, slices_at_once: int = 64) -> Any:
        """One row per merged patch, slice by slice, row by row.

        Args:
            frames: `(n, height, width, 3)`, 8 bits; an odd last frame is shown twice, as the family's processors do.
            slices_at_once: How many slices of two frames go through the tower together.
        """
        if len(frames) % self.per_slice:
            frames = torch.cat([frames, frames[-1:].expand(self.per_slice - len(frames) % self.per_slice, -1, -1, -1)])
        step = slices_at_once * self.per_slice
        with torch.inference_mode():
            chunks = [self._chunk(frames[at : at + step]) for at in range(0, len(frames), step)]
            return torch.cat(chunks) if len(chunks) > 1 else chunks[0]

    def _chunk(self, frames: Any) -> Any:
        down, across = self.grid(*frames.shape[1:3])
        at = self._layout(len(frames) // self.per_slice, down, across)
        unit = self.merge**2
        x = torch.nn.functional.linear(self._patches(frames, down, across)[at.order].flatten(0, 1), self._embed)
        for block in self._blocks:
            # A full block sees whole slices: its patches are put into their places, and sorted again after it.
            shown = _moved(x, at.back, unit) if block.is_full else x
            angles, pieces = (at.plain_angles, at.whole) if block.is_full else (at.angles, at.pieces)
            attended = self._attended(block, shown, angles, pieces)
            x = x + (_moved(attended, at.order, unit) if block.is_full else attended)
            hidden = torch.nn.functional.linear(self.steps.normed(x, block.norm2, _EPS), *block.gate_up)
            x = x + torch.nn.functional.linear(self.steps.gated(hidden), *block.down)
        hidden = self.steps.normed(x, self._merger.ln_q.weight, _EPS).view(len(at.order), -1)
        return self._merger.mlp(hidden)[at.back]

    def _layout(self, slices: int, down: int, across: int) -> _Layout:
        key = (slices, down, across)
        if key not in self._layouts:
            order, pieces = Windows(down, across, self.side).order(slices)
            order = order.to(self.device)
            plain = [table.repeat(slices, 1, 1) for table in self._angles(down, across)]
            self._layouts[key] = _Layout(
                order,
                torch.argsort(order),
                pieces,
                [(0, slices, down * across)],
                [table[order].flatten(0, 1)[:, None, None] for table in plain],
                [table.flatten(0, 1)[:, None, None] for table in plain],
            )
        return self._layouts[key]

    def _attended(self, block: _Block, x: Any, angles: list[Any], pieces: list[tuple[int, int, int]]) -> Any:
        qkv = torch.nn.functional.linear(self.steps.normed(x, block.norm1, _EPS), *block.qkv)
        qkv = qkv.view(len(x), 3, self.heads, -1)
        turned = self.steps.rotated(qkv[:, :2], *angles)
        rows = []
        for first, windows, size in pieces:
            first, size = first * self.merge**2, size * self.merge**2
            stretch = slice(first, first + windows * size)
            q, k, v = (
                tensor[stretch].unflatten(0, (windows, size)).transpose(1, 2)
                for tensor in (turned[:, 0], turned[:, 1], qkv[:, 2])
            )
            seen = torch.nn.functional.scaled_dot_product_attention(q, k, v)
            rows.append(seen.transpose(1, 2).reshape(windows * size, -1))
        return torch.nn.functional.linear(torch.cat(rows) if len(rows) > 1 else rows[0], *block.out)

    def _patches(self, frames: Any, down: int, across: int) -> Any:
        """Normalised patches as `(merged patches, patches in one, numbers of one)`."""
        numbers = frames.to(self.device, non_blocking=True).permute(0, 3, 1, 2).float() / 255
        mean, std = (torch.tensor(values, device=self.device).view(3, 1, 1) for values in (MEAN, STD))
        numbers = ((numbers - mean) / std).to(self.dtype)
        px, merge, deep = self.patch_px, self.merge, self.per_slice
        split = numbers.view(-1, deep, 3, down, merge, px, across, merge, px)
        # slice, row, column, row and column within the merged patch, colour, frame, pixels
        return split.permute(0, 3, 6, 4, 7, 2, 1, 5, 8).reshape(-1, merge**2, 3 * deep * px * px)

    def _angles(self, down: int, across: int) -> tuple[Any, Any]:
        """Cosines and sines of the patches of one slice, as `(merged patches, patches in one, half a head)`."""
        rows = torch.arange(down * self.merge, device=self.device)[:, None].expand(-1, across * self.merge)
        columns = torch.arange(across * self.merge, device=self.device).expand(down * self.merge, -1)
        places = torch.stack([rows, columns], dim=-1).view(down, self.merge, across, self.merge, 2)
        places = places.permute(0, 2, 1, 3, 4).reshape(down * across, self.merge**2, 2)
        angles = (places[..., None].float() * self._frequencies).flatten(2)
        return angles.cos(), angles.sin()


def _moved(rows: Any, order: Any, unit: int) -> Any:
    return rows.unflatten(0, (-1, unit))[order].flatten(0, 1)


def _block(block: Any, is_full: bool) -> _Block:
    attention, mlp = block.attn, block.mlp
    missing = -mlp.down_proj.in_features % _COLUMNS
    pad = torch.nn.functional.pad
    with torch.no_grad():
        gate_up = tuple(
            torch.cat([pad(w, (0, 0) * (w.dim() - 1) + (0, missing)) for w in pair])
            for pair in ((mlp.gate_proj.weight, mlp.up_proj.weight), (mlp.gate_proj.bias, mlp.up_proj.bias))
        )
        down = pad(mlp.down_proj.weight, (0, missing))
    return _Block(
        block.norm1.weight,
        (attention.qkv.weight, attention.qkv.bias),
        (attention.proj.weight, attention.proj.bias),
        block.norm2.weight,
        (gate_up[0], gate_up[1]),
        (down, mlp.down_proj.bias),
        is_full,
    )
