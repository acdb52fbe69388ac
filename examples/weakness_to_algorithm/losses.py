"""What each kind of network is taught, from label maps: no other file holds targets."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

MOST_INSTANCES = 16
HEAT_PX = 3.0
"""Width of the heat around a centre."""
_SMALL_PX = 400.0
"""Instances of this many pixels weigh 1 per pixel where small ones weigh more."""


def instance_masks(labels: Tensor) -> Tensor:
    """Batch x instances x height x width, 1 where the pixel is of that instance; instances may be empty."""
    numbers = torch.arange(1, MOST_INSTANCES + 1, device=labels.device)
    return (labels[:, None] == numbers[None, :, None, None]).float()


def pixel_weights(masks: Tensor) -> Tensor:
    """More for pixels of small instances: the root of how much smaller they are, at most 6."""
    area = masks.sum((2, 3)).clamp(min=1)
    each = (_SMALL_PX / area).sqrt().clamp(1, 6)
    return 1 + ((each - 1)[:, :, None, None] * masks).sum(1)


def loss_of(kind: str, made: dict[str, Tensor], labels: Tensor, *, small_weigh_more: bool) -> Tensor:
    """The loss of a batch."""
    masks = instance_masks(labels)
    weights = pixel_weights(masks) if small_weigh_more else torch.ones_like(labels, dtype=torch.float32)
    if kind == "queries":
        return _of_queries(made, masks, weights)
    foreground = (labels > 0).float()
    loss = _overlap(made["foreground"][:, None], foreground[:, None], weights[:, None]).mean()
    return loss if kind == "components" else loss + _of_centres(made, masks)


def _overlap(logits: Tensor, target: Tensor, weights: Tensor) -> Tensor:
    """Cross-entropy plus one minus the Dice, per mask (the second axis)."""
    entropy = F.binary_cross_entropy_with_logits(logits, target, reduction="none") * weights
    shown = logits.sigmoid()
    shared, total = (weights * shown * target).sum((2, 3)), (weights * (shown + target)).sum((2, 3))
    return entropy.mean((2, 3)) * 4 + 1 - (2 * shared + 1) / (total + 1)


def centres_of(masks: Tensor) -> Tensor:
    """Row and column of the middle of every instance; far away where it is empty."""
    area = masks.sum((2, 3))
    rows = torch.arange(masks.shape[2], device=masks.device, dtype=torch.float32)
    columns = torch.arange(masks.shape[3], device=masks.device, dtype=torch.float32)
    middle = torch.stack([(masks.sum(3) * rows).sum(2), (masks.sum(2) * columns).sum(2)], dim=2)
    return torch.where(area[..., None] > 0, middle / area.clamp(min=1)[..., None], torch.full_like(middle, -1e4))


def _of_centres(made: dict[str, Tensor], masks: Tensor) -> Tensor:
    middle = centres_of(masks)
    rows = torch.arange(masks.shape[2], device=masks.device, dtype=torch.float32)[:, None]
    columns = torch.arange(masks.shape[3], device=masks.device, dtype=torch.float32)[None, :]
    far = (rows - middle[..., 0, None, None]) ** 2 + (columns - middle[..., 1, None, None]) ** 2
    heat = torch.exp(-far / (2 * HEAT_PX**2)).amax(1)
    shown = made["heat"].sigmoid()
    # The few pixels of a centre count as much as the many around it.
    warm = ((1 + 20 * heat) * (shown - heat) ** 2).mean() * 10
    wanted = torch.stack(
        [(masks * (middle[..., axis, None, None] - place)).sum(1) for axis, place in ((0, rows), (1, columns))], dim=1
    )
    # Every instance counts alike, however many pixels it has.
    each = (masks / masks.sum((2, 3), keepdim=True).clamp(min=1)).sum(1, keepdim=True)
    count = (masks.sum((2, 3)) > 0).sum().clamp(min=1)
    lost = (F.smooth_l1_loss(made["offset"], wanted, reduction="none", beta=2.0) * each).sum() / count
    return warm + 0.05 * lost


def _of_queries(made: dict[str, Tensor], masks: Tensor, weights: Tensor) -> Tensor:
    with torch.no_grad():
        place = _matched(made, masks)
    there = masks.sum((2, 3)) > 0
    chosen = made["masks"].gather(1, place[:, :, None, None].expand(-1, -1, *masks.shape[2:]))
    each = _overlap(chosen, masks, weights[:, None].expand_as(masks))
    wanted = torch.zeros_like(made["there"]).scatter(1, place, there.float())
    balance = torch.where(wanted > 0, 1.0, 0.3)
    present = F.binary_cross_entropy_with_logits(made["there"], wanted, weight=balance)
    return (each * there).sum() / there.sum().clamp(min=1) + present


def _matched(made: dict[str, Tensor], masks: Tensor) -> Tensor:
    """The query of every instance, cheapest pair first; empty instances take what is left."""
    shown, there = made["masks"].sigmoid(), masks.sum((2, 3)) > 0
    shared = torch.einsum("bqhw,bkhw->bkq", shown, masks)
    total = shown.sum((2, 3))[:, None] + masks.sum((2, 3))[:, :, None]
    cost = 1 - (2 * shared + 1) / (total + 1) - 0.5 * made["there"].sigmoid()[:, None]
    cost = cost + 10.0 * (~there)[:, :, None]
    batch, instances, queries = cost.shape
    place = torch.zeros(batch, instances, dtype=torch.long, device=cost.device)
    each = torch.arange(batch, device=cost.device)
    for _ in range(instances):
        best = cost.flatten(1).argmin(1)
        row, column = best // queries, best % queries
        place[each, row] = column
        cost[each, row] = 1e6
        cost[each, :, column] = 1e6
    return place
