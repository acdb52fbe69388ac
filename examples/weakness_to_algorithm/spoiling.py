"""Changes to training images on the device: those that every recipe uses, and one per property that hurts.

Frames are batch x neighbours x 3 x height x width in [0, 1]; labels are batch x height x width. The spoilers imitate
what a property does to an image without the simulator's painters: a recipe must not win by knowing how the test was
painted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

Spoiler = Callable[[Tensor, Tensor], Tensor]
SHARE = 0.15
"""Of the images that each spoiler is applied to."""


def moved(frames: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Frames and labels, mirrored, scaled and shifted at random, all neighbours alike."""
    batch, device = len(frames), frames.device
    scale = torch.empty(batch, device=device).uniform_(0.8, 1.25)
    mirrored = torch.where(torch.rand(batch, device=device) < 0.5, -1.0, 1.0)
    shift = torch.empty(batch, 2, device=device).uniform_(-0.15, 0.15)
    turn = torch.zeros(batch, 2, 3, device=device)
    turn[:, 0, 0], turn[:, 1, 1], turn[:, :, 2] = mirrored / scale, 1 / scale, shift
    grid = F.affine_grid(turn, [batch, 1, *labels.shape[1:]], align_corners=False)
    stacked = frames.flatten(1, 2)
    shown = F.grid_sample(stacked, grid, align_corners=False)
    where = F.grid_sample(labels[:, None].float(), grid, mode="nearest", align_corners=False)
    return shown.view_as(frames), where[:, 0].round().long()


def coloured(frames: Tensor) -> Tensor:
    """Frames with slightly other brightness, contrast and colour."""
    batch = len(frames)
    gain = _spread(batch, frames, 0.8, 1.2) * torch.empty(batch, 1, 3, 1, 1, device=frames.device).uniform_(0.9, 1.1)
    mean = frames.mean((2, 3, 4), keepdim=True)
    return ((frames - mean) * _spread(batch, frames, 0.8, 1.2) + mean * gain).clamp(0, 1)


def spoiled(frames: Tensor, labels: Tensor, names: Sequence[str]) -> Tensor:
    """Frames of which a share, drawn anew for each, is spoiled by each of the named spoilers."""
    for name in names:
        hit = torch.rand(len(frames), device=frames.device) < SHARE
        frames = torch.where(hit[:, None, None, None, None], SPOILERS[name](frames, labels).clamp(0, 1), frames)
    return frames


def pasted(frames: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Half of the images get an instance of another image laid over them, so that things touch and overlap."""
    other = torch.randperm(len(frames), device=frames.device)
    most = labels.flatten(1).amax(1)[other]
    one = (torch.rand(len(frames), device=frames.device) * most).floor().long() + 1
    fits = (labels.flatten(1).amax(1) < 15) & (most > 0) & (torch.rand(len(frames), device=frames.device) < 0.5)
    mask = (labels[other] == one[:, None, None]) & fits[:, None, None]
    new = labels.flatten(1).amax(1)[:, None, None] + 1
    return torch.where(mask[:, None, None], frames[other], frames), torch.where(mask, new, labels)


def _spread(batch: int, like: Tensor, low: float, high: float) -> Tensor:
    return torch.empty(batch, 1, 1, 1, 1, device=like.device).uniform_(low, high)


def _clouds(frames: Tensor, cells: int) -> Tensor:
    """Smooth noise between 0 and 1, the same for all neighbours of an image."""
    height, width = frames.shape[-2:]
    coarse = torch.rand(len(frames), 1, cells, 2 * cells, device=frames.device)
    return F.interpolate(coarse, (height, width), mode="bicubic", align_corners=False).clamp(0, 1)[:, None]


def _smoke(frames: Tensor, _: Tensor) -> Tensor:
    veil = _spread(len(frames), frames, 0.3, 0.9) * (0.4 + 0.6 * _clouds(frames, 4))
    return frames * (1 - veil) + 0.8 * veil


def _dark(frames: Tensor, _: Tensor) -> Tensor:
    return frames * _spread(len(frames), frames, 0.15, 0.7)


def _bright(frames: Tensor, _: Tensor) -> Tensor:
    level = _spread(len(frames), frames, 0.3, 1.0)
    return frames * (1 + 1.5 * level) + 0.2 * level


def _reddened(frames: Tensor, where: Tensor) -> Tensor:
    share = where.float() * _spread(len(frames), frames, 0.4, 0.95)
    red = torch.tensor([0.45, 0.05, 0.05], device=frames.device).view(1, 1, 3, 1, 1)
    return frames * (1 - share) + share * red


def _blood(frames: Tensor, labels: Tensor) -> Tensor:
    pools = ((_clouds(frames, 4) > 0.62) & (labels == 0)[:, None, None]).float() * _spread(
        len(frames), frames, 0.5, 0.95
    )
    return frames * (1 - pools) + pools * torch.tensor([0.45, 0.05, 0.05], device=frames.device).view(1, 1, 3, 1, 1)


def _stained(frames: Tensor, labels: Tensor) -> Tensor:
    return _reddened(frames, (_clouds(frames, 12) > 0.5) & (labels > 0)[:, None, None])


def _spots(frames: Tensor, _: Tensor) -> Tensor:
    return frames + (8 * (_clouds(frames, 14) - 0.85)).clamp(0, 1)


def _dirt(frames: Tensor, _: Tensor) -> Tensor:
    film = (3 * (_clouds(frames, 3) - 0.5)).clamp(0, 1) * _spread(len(frames), frames, 0.3, 0.9)
    return frames * (1 - film) + 0.52 * film


def _blur(frames: Tensor, _: Tensor) -> Tensor:
    flat = frames.flatten(0, 1)
    across = F.avg_pool2d(flat, (1, 9), 1, (0, 4), count_include_pad=False)
    down = F.avg_pool2d(flat, (7, 1), 1, (3, 0), count_include_pad=False)
    sideways = torch.rand(len(frames), 1, 1, 1, 1, device=frames.device) < 0.7
    return torch.where(sideways, across.view_as(frames), down.view_as(frames))


def _shaded(low: float, high: float) -> Spoiler:
    def shade(frames: Tensor, labels: Tensor) -> Tensor:
        factor = _spread(len(frames), frames, low, high)
        return torch.where((labels > 0)[:, None, None], frames * factor, frames)

    return shade


SPOILERS: dict[str, Spoiler] = {
    "smoke": _smoke,
    "dark": _dark,
    "bright": _bright,
    "blood": _blood,
    "stains": _stained,
    "spots": _spots,
    "dirt": _dirt,
    "blur": _blur,
    "dark things": _shaded(0.25, 0.7),
    "bright things": _shaded(1.3, 2.2),
}
