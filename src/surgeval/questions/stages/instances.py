"""Stage 4, instance assignment: proposals for which boxes are one object, for people to correct.

Boxes are linked by motion, and by appearance where descriptors are given, from second to second, and across gaps
only where it is clear who comes back (see `linking`). A proposal prefers to break one object in two over joining
two in one: people mend the first with one click and hardly notice the second. Breaks that might be mended are
listed, the likeliest first.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from surgeval.errors import Misuse
from surgeval.questions.stages.appearance import checked_looks
from surgeval.questions.stages.box_tables import placed_boxes
from surgeval.questions.stages.linking import link

_LINKS: dict[str, Any] = {
    "video": pl.String, "class_name": pl.String, "before": pl.String, "after": pl.String, "from_s": pl.Int64,
    "to_s": pl.Int64, "gap_s": pl.Int64, "affinity": pl.Float64, "taken": pl.Boolean,
}  # fmt: skip


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
            "video": frame["video"][one.row], "class_name": frame["class_name"][one.row], "before": names[one.chain],
            "after": names[int(chains.chain[one.row])], "from_s": int(frame["second"][one.row]) - one.gap_s - 1,
            "to_s": frame["second"][one.row], "gap_s": one.gap_s, "affinity": one.affinity, "taken": one.taken,
        }
        for one in chains.links
    ]  # fmt: skip
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
