"""Stage 3, afterwards: what reviewers changed, brought back into the boxes.

A review holds all boxes of the seconds that its flags are about, so those seconds are replaced as a whole; every other
second stays as it was. What changed is listed box by box. A flag that was called right although nothing changed in its
seconds is listed too: somebody saw the error and nobody mended it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from surgvalid.errors import Misuse
from surgvalid.questions.stages.box_tables import BOX_COLUMNS, FRAME_KEY, SIDES, checked_boxes, matched
from surgvalid.schema.tables.tabular import as_frame

RIGHT = "right"
"""The review of a flag that is an error of the annotation."""
_SAME_PLACE = 0.05
"""Boxes of one second that overlap less are two objects."""
_STILL_PX = 0.01
_CHANGES: dict[str, Any] = {
    "video": pl.String,
    "second": pl.Int64,
    "change": pl.String,
    "before": pl.String,
    "after": pl.String,
}


@dataclass(frozen=True)
class Corrections:
    """Boxes after the review."""

    boxes: pl.DataFrame
    """As they were given, with the seconds under review replaced."""
    changes: pl.DataFrame
    """video, second, change (added, removed, moved or renamed), before, after."""
    unmended: pl.DataFrame
    """The flags that were called right and in whose seconds nothing changed."""


def corrected_boxes(table: Any, flags: pl.DataFrame, reviewed: pl.DataFrame, seconds: pl.DataFrame) -> Corrections:
    """The boxes with the corrections of a review.

    Args:
        table: The boxes that were reviewed: video, second, class_name, x, y, width, height, and instance where known.
        flags: The flags with their reviews.
        reviewed: The boxes of the seconds under review, as the reviewers left them.
        seconds: These seconds: video, second.

    Raises:
        TableInvalid: With every problem of a table.
        Misuse: The review came back without a single box although there were some: it never held them.
    """
    given = as_frame(table)
    named = ("instance",) if "instance" in given.columns else ()
    before = checked_boxes(given, "boxes", extra=named).join(seconds, on=FRAME_KEY, how="semi")
    if before.height and reviewed.is_empty():
        raise Misuse("the review holds no boxes, only flags; write its task with the current boxes, then apply it")
    after = checked_boxes(reviewed.select(*BOX_COLUMNS), "reviewed boxes")
    if named:
        names = reviewed.sort(FRAME_KEY, maintain_order=True)["instance"]
        after = after.with_columns(instance=names)
    changes = pl.DataFrame(_changes(before, after), schema=_CHANGES, orient="row")
    kept = given.with_columns(pl.col("second").cast(pl.Int64)).join(seconds, on=FRAME_KEY, how="anti")
    boxes = pl.concat([kept, after], how="diagonal_relaxed").sort(FRAME_KEY, maintain_order=True)
    return Corrections(boxes, changes, _unmended(flags, changes))


def _changes(before: pl.DataFrame, after: pl.DataFrame) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
    old, new = (frame.partition_by(FRAME_KEY, as_dict=True) for frame in (before, after))
    for key in sorted({*old, *new}):
        one, other = old.get(key, before.clear()), new.get(key, after.clear())
        pairs = matched(one.select(SIDES).to_numpy(), other.select(SIDES).to_numpy(), least=_SAME_PLACE)
        gone = set(range(one.height)) - {pair.first for pair in pairs}
        come = set(range(other.height)) - {pair.second for pair in pairs}
        rows += [(*key, "removed", _words(one, at), None) for at in sorted(gone)]
        rows += [(*key, "added", None, _words(other, at)) for at in sorted(come)]
        for pair in pairs:
            rows += [
                (*key, what, _words(one, pair.first), _words(other, pair.second))
                for what in _what(one, other, *pair[:2])
            ]
    return rows


def _what(one: pl.DataFrame, other: pl.DataFrame, first: int, second: int) -> list[str]:
    moved = max(abs(one[side][first] - other[side][second]) for side in SIDES) > _STILL_PX
    names = [name for name in ("class_name", "instance") if name in one.columns and name in other.columns]
    renamed = any(one[name][first] != other[name][second] for name in names)
    return [*(["moved"] if moved else []), *(["renamed"] if renamed else [])]


def _words(frame: pl.DataFrame, at: int) -> str:
    row = frame.row(at, named=True)
    sides = " ".join(f"{row[side]:g}" for side in SIDES)
    return f"{row.get('instance') or row['class_name']} ({row['class_name']}) at {sides}"


def _unmended(flags: pl.DataFrame, changes: pl.DataFrame) -> pl.DataFrame:
    touched = {(video, second) for video, second in changes.select(FRAME_KEY).iter_rows()}
    idle = [row["review"] == RIGHT and not touched & _seconds(row) for row in flags.iter_rows(named=True)]
    return flags.filter(pl.Series(idle, dtype=pl.Boolean))


def _seconds(flag: Mapping[str, Any]) -> set[tuple[str, int]]:
    last = flag["second"] if flag["until_s"] is None else flag["until_s"]
    return {(flag["video"], second) for second in range(flag["second"], last + 1)}
