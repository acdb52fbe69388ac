"""Stage 4, instance assignment: which boxes are one object, by motion and, where it is known, appearance.

The affinity of two boxes is `exp(-distance / size) * size_ratio`: centres measured in the geometric mean of
the two diagonals, and the root of the ratio of areas. Unlike overlap it does not vanish when a small object
moves by more than its own size within a second, which at 1 fps it often does.

The camera moves all objects at once, often farther than they lie from each other. So before boxes are linked,
that common shift is found: of all shifts that would bring some chain onto some box of its class, the one after
which chains and boxes fit best. Chains out of view move along with it.

With descriptors of how each box looks (see `appearance`), what fits is motion times likeness, when the camera's shift
is found and when boxes compete. Across a gap a link must be clear by motion alone and hold with likeness too; from
second to second the place decides whether a link is possible, likeness only which. So appearance never breaks a chain
that a flash of light changed for a second.

A proposal prefers to break one object in two over joining two in one: people mend the first with one click and hardly
notice the second. Breaks that might be mended are listed, the likeliest first.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from scipy.optimize import linear_sum_assignment

from surgvalid.errors import Misuse
from surgvalid.questions.stages.appearance import checked_looks, likeness
from surgvalid.questions.stages.box_tables import SIDES, Floats, frames_of, placed_boxes

_COST = 0.03
"""What a shift by one diagonal costs, in affinity."""
_MOST_AT_ONCE = 4_000_000
"""Numbers that are held at once while shifts are compared."""
_ALIKE = 0.5
"""Smallest motion times likeness across a gap."""
_NEWER = 0.3
"""Weight of the latest second in a chain's mean appearance."""


class Link(NamedTuple):
    """A chain that goes on after a gap, or might."""

    chain: int
    """The chain that was there before."""
    row: int
    """The box that comes after the gap."""
    gap_s: int
    affinity: float
    taken: bool
    """Whether the box was added to the chain; if not, it began a chain of its own."""


class Chains(NamedTuple):
    """The chain of every box, and the gaps that were or might be bridged."""

    chain: np.ndarray
    links: list[Link]


@dataclass(slots=True)
class _Open:
    number: int
    video: str
    class_name: str
    box: Floats
    second: int
    look: Floats | None = None
    """Mean appearance so far, recent seconds counting more."""


def affinity(first: Floats, second: Floats) -> Floats:
    """How well each box of one list fits each of the other, from 0 to 1.

    Example:
        >>> affinity(np.array([[0.0, 0, 3, 4]]), np.array([[0.0, 0, 3, 4], [5, 0, 3, 4]])).round(3).tolist()
        [[1.0, 0.368]]
    """
    apart, size, ratio = _compared(first, second)
    return np.asarray(np.exp(-np.hypot(apart[..., 0], apart[..., 1]) / size) * ratio)


def _compared(first: Floats, second: Floats) -> tuple[Floats, Floats, Floats]:
    """How far every box of the second list lies from each of the first, their common size and ratio of sizes."""
    apart = (second[:, :2] + second[:, 2:] / 2)[None] - (first[:, :2] + first[:, 2:] / 2)[:, None]
    size = np.hypot(first[:, 2], first[:, 3])[:, None] * np.hypot(second[:, 2], second[:, 3])[None]
    areas = first[:, 2:].prod(axis=1)[:, None] / second[:, 2:].prod(axis=1)[None]
    return apart, np.sqrt(size), np.sqrt(np.minimum(areas, 1 / areas))


def link(
    frame: pl.DataFrame, *, longest_gap_s: int, least: float = 0.4, clear: float = 0.7, looks: Floats | None = None
) -> Chains:
    """Chains of boxes of one class, through gaps of at most `longest_gap_s` seconds without a box.

    A gap is bridged only where it is clear who comes back: with an affinity of at least `clear`. Weaker fits
    are reported as links that were not taken.

    Args:
        frame: Boxes as `checked_boxes` returns them.
        longest_gap_s: Seconds without a box after which a chain ends.
        least: Smallest affinity of neighbouring seconds.
        clear: Smallest affinity across a gap.
        looks: Appearance of every box, one row each, as `appearance.colour_histogram` describes it.
    """
    boxes, names = frame.select(SIDES).to_numpy(), frame["class_name"].to_list()
    chain, links = np.full(len(boxes), -1), list[Link]()
    live: list[_Open] = []
    count = 0
    for (video, second), span in frames_of(frame):
        live = [one for one in live if one.video == video and second - one.second <= longest_gap_s + 1]
        rows = range(span.start, span.stop)
        seen = None if looks is None else looks[span]
        _follow_camera(live, [names[i] for i in rows], boxes[span], second, seen)
        matched = _matched(live, [names[i] for i in rows], boxes[span], second, least, clear, seen)
        for at, row in enumerate(rows):
            one, worth, taken = matched[at]
            if one is not None and second - one.second > 1:
                links.append(Link(one.number, row, second - one.second - 1, worth, taken))
            if one is None or not taken:
                one = _Open(count, video, names[row], boxes[row], second)
                live.append(one)
                count += 1
            one.box, one.second, chain[row] = boxes[row], second, one.number
            if looks is not None:
                one.look = looks[row] if one.look is None else (1 - _NEWER) * one.look + _NEWER * looks[row]
    return Chains(chain, links)


def _follow_camera(live: list[_Open], names: list[str], boxes: Floats, second: int, looks: Floats | None) -> None:
    """Move all chains by the shift after which they fit the boxes best; a large shift must earn its length."""
    fresh = [one for one in live if second - one.second == 1] or live
    if not fresh:
        return
    last = np.array([one.box for one in fresh])
    same = np.array([one.class_name for one in fresh])[:, None] == np.array(names)[None, :]
    alike = same if looks is None else same * _likeness(fresh, looks)
    apart, size, ratio = _compared(last, boxes)
    shifts = np.concatenate([np.zeros((1, 2)), apart[same]])
    cost = _COST * np.hypot(shifts[:, 0], shifts[:, 1]) / np.median(np.hypot(last[:, 2], last[:, 3]))
    worth = np.concatenate(
        [
            _fit(apart, some, size, ratio * alike)
            for some in np.array_split(shifts, 1 + shifts.shape[0] * apart.size // _MOST_AT_ONCE)
        ]
    )
    best = shifts[int((worth - cost).argmax())]
    for one in live:
        one.box = one.box + np.concatenate([best, [0, 0]])


def _fit(apart: Floats, shifts: Floats, size: Floats, weight: Floats) -> Floats:
    """For each shift, how well chains and boxes fit after it."""
    left = apart[None] - shifts[:, None, None]
    fit = np.exp(-np.hypot(left[..., 0], left[..., 1]) / size) * weight
    return np.asarray(np.minimum(fit.max(axis=1).sum(axis=1), fit.max(axis=2).sum(axis=1)))


def _likeness(live: list[_Open], looks: Floats) -> Floats:
    """How alike every chain is to every box."""
    return likeness(np.array([looks[0] if one.look is None else one.look for one in live]), looks)


def _matched(
    live: list[_Open],
    names: list[str],
    boxes: Floats,
    second: int,
    least: float,
    clear: float,
    looks: Floats | None,
) -> list[tuple[_Open | None, float, bool]]:
    """For each box, the chain it belongs to or might, the affinity, and whether it is clear."""
    matched: list[tuple[_Open | None, float, bool]] = [(None, 0.0, False)] * len(boxes)
    if not live:
        return matched
    last = np.array([one.box for one in live])
    worth = affinity(last, boxes)
    worth *= np.array([one.class_name for one in live])[:, None] == np.array(names)[None, :]
    fresh = np.array([second - one.second == 1 for one in live])
    sure = worth >= np.where(fresh, least, clear)[:, None]
    if looks is not None:
        worth = worth * _likeness(live, looks)
        sure &= fresh[:, None] | (worth >= _ALIKE)
    for i, j in zip(*linear_sum_assignment(np.where(sure, worth + fresh[:, None], 0), maximize=True), strict=True):
        if sure[i, j]:
            matched[j] = live[i], float(worth[i, j]), True
    free = [i for i in range(len(live)) if not any(one is live[i] for one, _, _ in matched)]
    for j, (one, _, _) in enumerate(matched):
        if one is None and free and worth[free, j].max() > 0:
            best = max(free, key=lambda i: worth[i, j])
            matched[j] = live[best], float(worth[best, j]), False
    return matched


_LINKS: dict[str, Any] = {
    "video": pl.String,
    "class_name": pl.String,
    "before": pl.String,
    "after": pl.String,
    "from_s": pl.Int64,
    "to_s": pl.Int64,
    "gap_s": pl.Int64,
    "affinity": pl.Float64,
    "taken": pl.Boolean,
}


@dataclass(frozen=True)
class Proposals:
    """Boxes with proposed instances, and the gaps that were bridged or might be."""

    boxes: pl.DataFrame
    """video, second, class_name, x, y, width, height, instance."""
    links: pl.DataFrame
    """video, class_name, before, after (instances), from_s, to_s, gap_s, affinity, taken."""

    @property
    def suggestions(self) -> pl.DataFrame:
        """Pairs of instances that may be one object, the likeliest first."""
        return self.links.filter(~pl.col("taken")).sort("affinity", "video", "to_s", descending=[True, False, False])


def propose_instances(table: Any, *, longest_gap_s: int = 60, looks: Any = None) -> Proposals:
    """Proposed instances for boxes that have none.

    Args:
        table: One row per box: video, second, class_name, x, y, width, height.
        longest_gap_s: Seconds without a box after which an object always gets a new instance.
        looks: Appearance of every box, one vector per row of the table, such as
            `appearance.colour_histogram` gives; without it, boxes are linked by motion alone.

    Raises:
        TableInvalid: With every problem of the table, or descriptors that do not fit it.
        Misuse: The gap is negative.
    """
    if longest_gap_s < 0:
        raise Misuse(f"the longest gap must not be negative, got {longest_gap_s}")
    frame, rows = placed_boxes(table, "boxes")
    shown = None if looks is None else checked_looks(looks, len(rows))[rows]
    chains = link(frame, longest_gap_s=longest_gap_s, looks=shown)
    names = _names(frame, chains.chain)
    boxes = frame.with_columns(instance=pl.Series([names[one] for one in chains.chain.tolist()], dtype=pl.String))
    bridged = [
        {
            "video": frame["video"][one.row],
            "class_name": frame["class_name"][one.row],
            "before": names[one.chain],
            "after": names[int(chains.chain[one.row])],
            "from_s": int(frame["second"][one.row]) - one.gap_s - 1,
            "to_s": frame["second"][one.row],
            "gap_s": one.gap_s,
            "affinity": one.affinity,
            "taken": one.taken,
        }
        for one in chains.links
    ]
    return Proposals(boxes, pl.DataFrame(bridged, schema=_LINKS))


def _names(frame: pl.DataFrame, chain: np.ndarray) -> dict[int, str]:
    """A name for every chain: its class and a number, counted within the video from the first seen on."""
    numbers: Counter[tuple[str, str]] = Counter()
    names: dict[int, str] = {}
    for video, class_name, one in zip(frame["video"], frame["class_name"], chain.tolist(), strict=True):
        if one not in names:
            numbers[video, class_name] += 1
            names[one] = f"{class_name} {numbers[video, class_name]}"
    return names
