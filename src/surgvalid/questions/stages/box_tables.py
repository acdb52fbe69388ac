"""Tables of boxes, the common coin of the stages: one row per box, with every problem named on reading."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from surgvalid.errors import TableInvalid
from surgvalid.schema.procedures.tracks import Procedure
from surgvalid.schema.tables.tabular import as_frame

Floats = NDArray[np.float64]
SIDES = ("x", "y", "width", "height")
FRAME_KEY = ("video", "second")
BOX_COLUMNS = (*FRAME_KEY, "class_name", *SIDES)
_PLACE = "row of the table"
_NUMBERS = frozenset((*SIDES, "score"))


class Pair(NamedTuple):
    """A box of one side with its partner on the other."""

    first: int
    second: int
    overlap: float


def needed_columns(table: Any, columns: Sequence[str], where: str) -> pl.DataFrame:
    """The named columns of a table, none of them empty.

    Raises:
        TableInvalid: Columns are missing or have empty fields; all are listed.
    """
    frame = as_frame(table)
    problems = [f"column {name!r} is missing" for name in columns if name not in frame.columns]
    problems += [
        f"column {name!r} is empty in {count} rows"
        for name in columns
        if name in frame.columns and (count := frame[name].null_count())
    ]
    if problems:
        raise TableInvalid(where, problems)
    return frame.select(columns)


def checked_boxes(table: Any, where: str, *, extra: Sequence[str] = ()) -> pl.DataFrame:
    """The boxes of a table, in order of video and second, with the `extra` columns.

    Raises:
        TableInvalid: With every problem: missing columns, text for numbers, boxes without a size, odd seconds.
    """
    frame = needed_columns(table, (*BOX_COLUMNS, *extra), where)
    kinds = {name: pl.Float64 if name in _NUMBERS else pl.String for name in frame.columns} | {"second": pl.Float64}
    cast = frame.select(pl.col(name).cast(kind, strict=False) for name, kind in kinds.items())
    problems = [
        f"column {name!r} has {count} entries that are no finite number"
        for name, kind in kinds.items()
        if kind == pl.Float64 and (count := int((~cast[name].is_finite()).fill_null(True).sum()))
    ]
    if not problems:
        flat = cast.with_row_index("row", offset=1).filter((pl.col("width") <= 0) | (pl.col("height") <= 0))
        if flat.height:
            problems.append(f"{flat.height} boxes have no positive size (first: row {flat['row'][0]})")
        odd = cast.with_row_index("row", offset=1).filter((pl.col("second") < 0) | (pl.col("second") % 1 != 0))
        if odd.height:
            first = odd.row(0, named=True)
            problems.append(
                f"{odd.height} seconds are no whole number from 0 on (first: row {first['row']}, {first['second']})"
            )
    if problems:
        raise TableInvalid(where, problems)
    return cast.with_columns(pl.col("second").cast(pl.Int64)).sort(FRAME_KEY, maintain_order=True)


def placed_boxes(table: Any, where: str, *, extra: Sequence[str] = ()) -> tuple[pl.DataFrame, NDArray[np.int64]]:
    """The boxes of a table in order of video and second, and the row of the table that each came from.

    Raises:
        TableInvalid: As `checked_boxes`.
    """
    frame = checked_boxes(as_frame(table).with_row_index(_PLACE), where, extra=(*extra, _PLACE))
    return frame.drop(_PLACE), frame[_PLACE].cast(pl.Int64).to_numpy()


def boxes_of(procedure: Procedure, **columns: str) -> pl.DataFrame:
    """The boxes in view of an annotated procedure, with their instance and any constant `columns`.

    Example:
        >>> from surgvalid.schema.procedures.tracks import track_from_points
        >>> track = track_from_points("s1", "Sponge", [(3, (1, 2, 10, 20))])
        >>> boxes_of(Procedure("v", "p", "c", 9, 64, 48, (track,)), annotator="A").row(0)
        ('v', 3, 'Sponge', 1.0, 2.0, 10.0, 20.0, 's1', 'A')
    """
    frames = [
        pl.DataFrame(
            {"video": [procedure.video] * seen, "second": track.seconds[track.in_view]}
            | {"class_name": [track.class_name] * seen}
            | dict(zip(SIDES, track.boxes[track.in_view].T, strict=True))
            | {"instance": [track.instance] * seen},
            schema=dict.fromkeys(("video", "second", "class_name", *SIDES, "instance"), pl.String)
            | {"second": pl.Int64}
            | dict.fromkeys(SIDES, pl.Float64),
        )
        for track in procedure.tracks
        if (seen := int(track.in_view.sum()))
    ]
    frame = pl.concat(frames) if frames else pl.DataFrame(schema=dict.fromkeys((*BOX_COLUMNS, "instance"), pl.String))
    return frame.with_columns(pl.lit(value).alias(name) for name, value in columns.items())


def frames_of(frame: pl.DataFrame) -> Iterator[tuple[tuple[str, int], slice]]:
    """Each video and second of a sorted table, with its rows."""
    if frame.is_empty():
        return
    groups = frame.group_by(FRAME_KEY, maintain_order=True).len()
    start = 0
    for video, second, count in groups.rows():
        yield (video, second), slice(start, start + count)
        start += count


def overlap_matrix(first: Floats, second: Floats) -> Floats:
    """Intersection over union of every box of one list with every box of the other.

    Example:
        >>> overlap_matrix(np.array([[0.0, 0, 2, 2]]), np.array([[1.0, 0, 2, 2], [5, 5, 1, 1]])).round(3).tolist()
        [[0.333, 0.0]]
    """
    low = np.maximum(first[:, None, :2], second[None, :, :2])
    high = np.minimum((first[:, :2] + first[:, 2:])[:, None], (second[:, :2] + second[:, 2:])[None])
    shared = np.clip(high - low, 0, None).prod(axis=2)
    areas = first[:, 2:].prod(axis=1)[:, None] + second[:, 2:].prod(axis=1)[None]
    return np.asarray(shared / (areas - shared))


def matched(first: Floats, second: Floats, *, least: float, bonus: Floats | None = None) -> list[Pair]:
    """The one-to-one pairs of boxes that overlap by at least `least`, with the largest sum of overlaps.

    Args:
        first: Boxes of one side.
        second: Boxes of the other.
        least: Smallest overlap of a pair.
        bonus: Added to the overlap of each pair when pairs compete, such as 1 for the same class.
    """
    if not len(first) or not len(second):
        return []
    overlap = overlap_matrix(first, second)
    worth = np.where(overlap >= least, overlap + (0 if bonus is None else bonus), 0.0)
    rows, columns = linear_sum_assignment(worth, maximize=True)
    return [
        Pair(int(i), int(j), float(overlap[i, j])) for i, j in zip(rows, columns, strict=True) if overlap[i, j] >= least
    ]
