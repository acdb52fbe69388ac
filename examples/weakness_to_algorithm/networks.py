"""Small networks of three kinds: foreground alone, centres and offsets, queries. They differ in how instances arise."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

KINDS = ("components", "centres", "queries")
_CHANNELS = {"components": 1, "centres": 4}
GRID = 4, 6
"""Queries start at so many places down and across."""


def _block(inputs: int, outputs: int) -> nn.Sequential:
    def half(channels: int) -> list[nn.Module]:
        return [nn.Conv2d(channels, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True)]

    return nn.Sequential(*half(inputs), *half(outputs))


class UNet(nn.Module):
    """Features of every pixel, and those of the coarsest level (a sixteenth of the size)."""

    def __init__(self, inputs: int, width: int) -> None:
        super().__init__()
        sizes = [width, 2 * width, 4 * width, 6 * width, 8 * width]
        self.down = nn.ModuleList(_block(a, b) for a, b in zip([inputs, *sizes], sizes, strict=False))
        pairs = list(zip(sizes[:0:-1], sizes[-2::-1], strict=True))
        self.up = nn.ModuleList(_block(deep + flat, flat) for deep, flat in pairs)

    def forward(self, frames: Tensor) -> tuple[Tensor, Tensor]:
        """Both for a batch of frames whose sides divide by sixteen."""
        kept: list[Tensor] = []
        for level, block in enumerate(self.down):
            frames = block(frames if level == 0 else F.max_pool2d(frames, 2))
            kept.append(frames)
        coarse = kept.pop()
        for block in self.up:
            frames = block(torch.cat([F.interpolate(frames, scale_factor=2), kept.pop()], dim=1))
        return frames, coarse


class DensePredictor(nn.Module):
    """One or four numbers per pixel: foreground, and for centres also their heat and the way to them."""

    def __init__(self, kind: str, inputs: int, width: int) -> None:
        super().__init__()
        self.body, self.head = UNet(inputs, width), nn.Conv2d(width, _CHANNELS[kind], 1)

    def forward(self, frames: Tensor) -> dict[str, Tensor]:
        """Foreground and heat as logits, offsets in pixels (down, right)."""
        made = self.head(self.body(frames)[0]).float()
        named = {"foreground": made[:, 0]}
        if made.shape[1] > 1:
            named |= {"heat": made[:, 1], "offset": 32 * made[:, 2:4]}
        return named


class QueryPredictor(nn.Module):
    """Queries that start from places of a grid, look at the image and at each other; each is one instance or none."""

    def __init__(self, inputs: int, width: int) -> None:
        super().__init__()
        self.body = UNet(inputs, width)
        size = 4 * width
        self.into, self.pixels = nn.Conv2d(8 * width, size, 1), nn.Conv2d(width, size, 1)
        self.place = nn.Linear(2, size)
        self.queries = nn.Parameter(torch.randn(GRID[0] * GRID[1], size))
        layer = nn.TransformerDecoderLayer(size, 4, 2 * size, dropout=0.0, batch_first=True, norm_first=True)
        self.decoder = nn.TransformerDecoder(layer, 3, norm=nn.LayerNorm(size))
        self.mask, self.there = nn.Linear(size, size), nn.Linear(size, 1)

    def forward(self, frames: Tensor) -> dict[str, Tensor]:
        """`masks` per query and pixel and `there` per query, as logits."""
        fine, coarse = self.body(frames)
        memory = self.into(coarse)
        rows, columns = memory.shape[-2:]
        grid = torch.stack(
            torch.meshgrid(
                torch.linspace(-1, 1, rows, device=frames.device),
                torch.linspace(-1, 1, columns, device=frames.device),
                indexing="ij",
            ),
            dim=-1,
        ).reshape(1, -1, 2)
        start = F.adaptive_avg_pool2d(memory, GRID).flatten(2).transpose(1, 2) + self.queries
        asked = self.decoder(start, memory.flatten(2).transpose(1, 2) + self.place(3 * grid))
        masks = torch.einsum("bqc,bchw->bqhw", self.mask(asked), self.pixels(fine)) * self.mask.out_features**-0.5
        return {"masks": masks.float(), "there": self.there(asked)[..., 0].float()}


def network(kind: str, *, inputs: int, width: int) -> Any:
    """The network of a kind.

    Raises:
        ValueError: No such kind.
    """
    if kind not in KINDS:
        raise ValueError(f"unknown kind of network {kind!r}; there are {', '.join(KINDS)}")
    return QueryPredictor(inputs, width) if kind == "queries" else DensePredictor(kind, inputs, width)
