"""From what a network made to numbered instances, and a way to find them without learning."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

LEAST_PX = 6
HEAT_FROM = 0.3
APART_PX = 7
"""Only the warmest pixel within a square of this size is a centre."""
ONE_CLOUD = 3.5
"""Votes for two centres are one cloud when their means lie less than so many deviations apart."""
CLOSE = 0.25
"""Share of the length of two groups together below which they are close."""
LEAST_SPREAD_PX = 0.7
"""Votes are not known more finely."""


def connected(mask: np.ndarray) -> np.ndarray:
    """Connected components (eight neighbours), numbered from 1."""
    try:
        import cv2
    except ModuleNotFoundError:
        from scipy.ndimage import label

        return np.asarray(label(mask, np.ones((3, 3)))[0], dtype=np.int32)
    return np.asarray(cv2.connectedComponents(mask.astype(np.uint8), connectivity=8)[1], dtype=np.int32)


def numbered(labels: np.ndarray) -> np.ndarray:
    """Without instances that are too small, numbered from 1."""
    sizes = np.bincount(labels.reshape(-1))
    sizes[0] = 0
    kept = np.flatnonzero(sizes >= LEAST_PX)[:255]
    new = np.zeros(len(sizes), dtype=np.uint8)
    new[kept] = np.arange(1, len(kept) + 1)
    return new[labels]


def instances_of(kind: str, made: dict[str, Tensor], *, merge: str = "none") -> list[np.ndarray]:
    """The label map of every image of a batch; `merge` as in a recipe."""
    if kind == "queries":
        shown = made["masks"].sigmoid() * (made["there"].sigmoid() > 0.5)[..., None, None]
        best, which = shown.max(1)
        labels = torch.where(best > 0.5, which + 1, 0).cpu().numpy()
        return [numbered(one) for one in labels]
    foreground = (made["foreground"] > 0).cpu().numpy()
    if kind == "components":
        return [numbered(connected(one)) for one in foreground]
    heat = made["heat"].sigmoid()
    top = (heat == F.max_pool2d(heat[:, None], APART_PX, 1, APART_PX // 2)[:, 0]) & (heat > HEAT_FROM)
    offset, top = made["offset"].cpu().numpy(), top.cpu().numpy()
    return [numbered(_by_centre(*one, merge)) for one in zip(foreground, top, offset, strict=True)]


def _by_centre(foreground: np.ndarray, top: np.ndarray, offset: np.ndarray, merge: str) -> np.ndarray:
    """Every pixel goes to the centre nearest to where its offset points."""
    centres = np.argwhere(top)
    if not len(centres):
        return connected(foreground)
    votes = np.argwhere(foreground) + offset[:, foreground].T
    chosen = ((votes[:, None] - centres[None]) ** 2).sum(2).argmin(1)
    labels = np.zeros(foreground.shape, dtype=np.int32)
    if merge != "none":
        chosen = _merged(np.argwhere(foreground), votes, chosen, CLOSE if merge == "close" else np.inf)
    labels[foreground] = chosen + 1
    return labels


def _merged(pixels: np.ndarray, votes: np.ndarray, chosen: np.ndarray, close: float) -> np.ndarray:
    """The centres that pixels chose, those joined whose votes are one cloud: the nearest pair first.

    A cloud that is cut in two has halves whose means lie 2.7 (normal) to 3.5 (even) of their deviations apart; two
    clouds lie further. Small things side by side may look so too, hence the means may also have to lie `close`: less
    than that share of the length of what would be joined.
    """
    names, member = np.unique(chosen, return_inverse=True)
    clouds = _Clouds(pixels, votes, member, len(names))
    ratios = np.full((len(names), len(names)), np.inf)
    for place in range(1, len(names)):
        ratios[:place, place] = clouds.apart(place, np.arange(place), close)
    into = np.arange(len(names))
    while len(names) > 1:
        kept, joined = np.unravel_index(ratios.argmin(), ratios.shape)
        if ratios[kept, joined] >= ONE_CLOUD:
            break
        clouds.join(kept, joined)
        into[into == joined] = kept
        ratios[joined] = ratios[:, joined] = np.inf
        others = np.setdiff1d(into, kept)
        ratios[np.minimum(kept, others), np.maximum(kept, others)] = clouds.apart(kept, others, close)
    return np.asarray(names[into[member]])


class _Clouds:
    """What is needed to know of every group of votes: how many, where, how spread, and the box of their pixels."""

    def __init__(self, pixels: np.ndarray, votes: np.ndarray, member: np.ndarray, groups: int) -> None:
        rows = [member == one for one in range(groups)]
        self.count = np.array([one.sum() for one in rows], dtype=float)
        self.mean = np.array([votes[one].mean(0) for one in rows])
        self.scatter = np.array([np.cov(votes[one].T, bias=True) * one.sum() for one in rows])
        self.low = np.array([pixels[one].min(0) for one in rows])
        self.high = np.array([pixels[one].max(0) for one in rows])

    def apart(self, one: int, others: np.ndarray, close: float) -> np.ndarray:
        """The distance of a group to others in deviations within them, along the line between their means."""
        between = self.mean[others] - self.mean[one]
        far = np.hypot(*between.T)
        box = np.maximum(self.high[others], self.high[one]) - np.minimum(self.low[others], self.low[one]) + 1
        along = between / np.maximum(far, 1e-9)[:, None]
        within = np.einsum("ni,nij,nj->n", along, self.scatter[others] + self.scatter[one], along)
        spread = np.sqrt(within / (self.count[others] + self.count[one]))
        ratio = far / np.maximum(spread, LEAST_SPREAD_PX)
        return np.where(far > close * np.hypot(*box.T), np.inf, ratio)

    def join(self, kept: int, joined: int) -> None:
        """Put one group into another."""
        between, total = self.mean[joined] - self.mean[kept], self.count[kept] + self.count[joined]
        shift = self.count[kept] * self.count[joined] / total * np.outer(between, between)
        self.scatter[kept] += self.scatter[joined] + shift
        self.mean[kept] += between * self.count[joined] / total
        self.count[kept] = total
        self.low[kept] = np.minimum(self.low[kept], self.low[joined])
        self.high[kept] = np.maximum(self.high[kept], self.high[joined])


def without_learning(rgb: np.ndarray) -> np.ndarray:
    """Instances as connected greyish regions: tissue is red, most instruments and objects are not."""
    pixels = rgb.astype(np.float32)
    brightest, darkest = pixels.max(2), pixels.min(2)
    grey = 1 - (brightest - darkest) / np.maximum(brightest, 1)
    seen = brightest > 12
    cut = _otsu(grey[seen]) if seen.any() else 1.0
    mask = (grey > cut) & seen
    inner = mask.copy()
    for axis in (0, 1):
        inner &= np.roll(mask, 1, axis) | np.roll(mask, -1, axis)
    labels = connected(inner)
    sizes = np.bincount(labels.reshape(-1))
    labels[(sizes < 5 * LEAST_PX)[labels]] = 0
    return numbered(labels)


def _otsu(values: np.ndarray) -> float:
    """The cut that parts values into two groups with the largest variance between them."""
    counts, edges = np.histogram(values, 64, (0, 1))
    middle = (edges[1:] + edges[:-1]) / 2
    below, total = np.cumsum(counts), counts.sum()
    sums = np.cumsum(counts * middle)
    with np.errstate(divide="ignore", invalid="ignore"):
        between = (sums[-1] * below / total - sums) ** 2 / (below * (total - below))
    return float(middle[np.nanargmax(np.where(np.isfinite(between), between, -1))])
