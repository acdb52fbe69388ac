"""What training is made of: changed images, and how far the model is from the truth."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from .model import COUNTS, KINDS, Heads, Sight
from .store import KINDS_OF_ANSWER, Targets

ROUND = 0.2
"""Share of the training images that are shown round, with black around."""


def normal(pictures: Tensor) -> Tensor:
    """Bytes as numbers around 0."""
    return pictures.float() / 64 - 2


def recoloured(pictures: Tensor) -> Tensor:
    """Images (around 0) in other light, with other noise, some of them soft, some round as narrow optics show them."""
    n, device = len(pictures), pictures.device

    def draw(low: float, high: float, channels: int = 1) -> Tensor:
        return torch.empty(n, channels, 1, 1, device=device).uniform_(low, high)

    x = (pictures + 2) * draw(0.75, 1.3) * draw(0.86, 1.14, 3)
    grey = x.mean(1, keepdim=True)
    x = grey + (x - grey) * draw(0.55, 1.3)
    soft = F.avg_pool2d(x, 3, 1, 1, count_include_pad=False)
    softer = F.avg_pool2d(soft, 3, 1, 1, count_include_pad=False)
    x = torch.lerp(x, torch.where(draw(0, 1) < 0.5, soft, softer), draw(-0.6, 1).clamp(min=0))
    high, wide = pictures.shape[2:]
    down = (torch.arange(high, device=device)[:, None] + 0.5) / high - 0.5
    across = ((torch.arange(wide, device=device) + 0.5) - wide / 2) / high
    x = x * ((down**2 + across**2 < draw(0.58, 0.68) ** 2) | (draw(0, 1) > ROUND))
    return x + torch.randn_like(x) * draw(0, 0.12) - 2


def mirrored(pictures: Tensor, objects: Tensor, mirror: Tensor) -> tuple[Tensor, Tensor]:
    """Images and their objects, mirrored left-right (bit 1) and upside down (bit 2)."""
    objects = objects.clone()
    for bit, axis, column in ((1, 3, 1), (2, 2, 2)):
        turn = (mirror & bit) > 0
        pictures = torch.where(turn[:, None, None, None], pictures.flip(axis), pictures)
        objects[..., column] = torch.where(turn[:, None], 1 - objects[..., column], objects[..., column])
    return pictures, objects


def moved_about(pictures: Tensor, objects: Tensor) -> tuple[Tensor, Tensor]:
    """Images seen from nearer, further or beside; of objects at the border, what is left of their boxes."""
    n, device = len(pictures), pictures.device
    zoom = torch.empty(n, 1, 1, device=device).uniform_(math.log(0.75), math.log(1.4)).exp()
    shift = torch.empty(n, 1, 2, device=device).uniform_(-0.3, 0.3)
    theta = torch.cat((torch.eye(2, device=device) / zoom, shift.transpose(1, 2)), 2)
    grid = F.affine_grid(theta, list(pictures.shape), align_corners=False)
    pictures = F.grid_sample(pictures + 2, grid, mode="bilinear", padding_mode="zeros", align_corners=False) - 2
    middle = ((objects[..., 1:3] * 2 - 1 - shift) * zoom + 1) / 2
    size = objects[..., 3:5] * zoom
    low, high = (middle - size / 2).clamp(0, 1), (middle + size / 2).clamp(0, 1)
    left = high - low
    there = (objects[..., 0] >= 0) & (left.prod(-1) >= 0.25 * size.prod(-1))
    kind = torch.where(there, objects[..., 0], -1.0)[..., None]
    return pictures, torch.cat((kind, (low + high) / 2, left, objects[..., 5:]), -1)


def heat_maps(objects: Tensor, high: int, wide: int) -> Tensor:
    """Per class a map that is 1 at the middle of each object and falls off with its size."""
    n, device = len(objects), objects.device
    rows = torch.arange(high, device=device) + 0.5
    columns = torch.arange(wide, device=device) + 0.5
    there = objects[..., 0] >= 0
    cell_x = (objects[..., 1].clamp(0, 0.9999) * wide).floor() + 0.5
    cell_y = (objects[..., 2].clamp(0, 0.9999) * high).floor() + 0.5
    spread_x = (objects[..., 3] * wide / 7).clamp(0.6, 4)
    spread_y = (objects[..., 4] * high / 7).clamp(0.6, 4)
    across = torch.exp(-((columns - cell_x[..., None]) ** 2) / (2 * spread_x[..., None] ** 2))
    down = torch.exp(-((rows - cell_y[..., None]) ** 2) / (2 * spread_y[..., None] ** 2))
    heat = torch.zeros(n, KINDS, high, wide, device=device)
    kind = objects[..., 0].clamp(min=0).long()
    most = int((there * torch.arange(1, there.shape[1] + 1, device=device)).max())
    for at in range(most):  # one after the other: the largest counts where two objects meet
        one = down[:, at, :, None] * across[:, at, None, :] * there[:, at, None, None]
        place = kind[:, at, None, None, None].expand(-1, 1, high, wide)
        heat.scatter_(1, place, torch.maximum(heat.gather(1, place), one[:, None]))
    return heat


def sight_loss(sight: Sight, objects: Tensor) -> dict[str, Tensor]:
    """How far the eye is from the labels: centres, sizes, occlusion, colour, counts."""
    high, wide = sight.heat.shape[2:]
    truth = heat_maps(objects, high, wide)
    chance = sight.heat.sigmoid().clamp(1e-5, 1 - 1e-5)
    is_middle = truth >= 0.999
    near = -((1 - chance) ** 2) * chance.log() * is_middle
    far = -((1 - truth) ** 4) * chance**2 * (1 - chance).log() * ~is_middle
    there = objects[..., 0] >= 0
    count = there.sum().clamp(min=1)
    cell = (objects[..., 2].clamp(0, 0.9999) * high).long() * wide + (objects[..., 1].clamp(0, 0.9999) * wide).long()

    def here(maps: Tensor) -> Tensor:
        return maps.flatten(2).gather(2, cell[:, None].expand(-1, maps.shape[1], -1)).transpose(1, 2)

    shape = F.l1_loss(here(sight.shape), objects[..., 3:5].clamp(0, 1), reduction="none").sum(-1)
    occluded = F.binary_cross_entropy_with_logits(
        here(sight.occluded)[..., 0], objects[..., 5].clamp(0, 1), reduction="none"
    )
    colour = objects[..., 6].long().where(there, -1)
    shade = F.cross_entropy(here(sight.colour).transpose(1, 2), colour, ignore_index=-1, reduction="sum")
    numbers = F.one_hot(objects[..., 0].long().clamp(min=0), KINDS) * there[..., None]
    counts = F.cross_entropy(sight.counts.transpose(1, 2), numbers.sum(1).clamp(max=COUNTS - 1))
    return {
        "centres": (near.sum() + far.sum()) / count,
        "sizes": 2 * (shape * there).sum() / count,
        "occluded": 0.5 * (occluded * there).sum() / count,
        "colour": 0.5 * shade / count,
        "counts": 2 * counts,
    }


def answer_loss(heads: Heads, right: Targets, one: Tensor, times: Tensor | None, there: Tensor) -> Tensor:
    """How far the answers are from the references, each by the head of its format; mean over questions."""
    total = torch.zeros(len(one), device=one.device)

    def of(*kinds: str) -> Tensor:
        return torch.stack([right.kind == KINDS_OF_ANSWER.index(kind) for kind in kinds]).any(0)

    for kind, logits in (("binary", heads.binary), ("number", heads.number), ("class", heads.one_class),
                         ("choice", heads.choice), ("open", heads.answer)):  # fmt: skip
        rows = of(kind)
        target = one.where(rows, 0)
        total = total + F.cross_entropy(logits, target, reduction="none") * rows
    several = F.binary_cross_entropy_with_logits(heads.classes, right.many, reduction="none").sum(1)
    total = total + several * of("classes")
    total = total + 12 * (heads.share - right.share).abs() * of("percentage", "duration")
    if times is not None:
        apart = (times[:, None] - right.seconds[..., None]).abs()
        wanted = torch.exp(-((apart / 4) ** 2)) * (right.seconds >= 0)[..., None] * there[:, None]
        wanted = (wanted + 1e-9).sum(1) * there
        wanted = wanted / wanted.sum(1, keepdim=True).clamp(min=1e-9)
        total = total - (wanted * heads.pointed.log_softmax(-1)).sum(1) * of("time", "times")
    return total.sum() / (right.kind >= 0).sum().clamp(min=1)
