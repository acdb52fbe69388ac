"""Stage 4, consistency checks: what about assigned instances cannot be right, or hardly.

    identity_switch   an object lies where another of its class was a second before
    class_flip        one instance has two classes
    teleport          an instance jumps within a second, and not because the camera did
    overlap           two instances of a class lie on each other: one object drawn twice
    before_insertion  seen before the second it was inserted
    after_retrieval   seen after the second it was retrieved
The last two and the class flip are certain. The others are judged by affinity (see `linking`); movement that
all other objects in view share is the camera's and counts for nothing. An exchange that both objects confirm is
stronger than any that only one does. Objects that swapped names while out of view cannot be told by motion; with
descriptors of how boxes look, returns that look like another object are identity switches too: at every return after
an absence, the mean look of the first boxes is compared with that of the last boxes before it, and with the last boxes
of every other object of the class. The more alike, the stronger the flag.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from surgvalid.errors import TableInvalid
from surgvalid.questions.stages.appearance import checked_looks, likeness
from surgvalid.questions.stages.box_tables import SIDES, Floats, frames_of, overlap_matrix, placed_boxes
from surgvalid.questions.stages.linking import affinity
from surgvalid.schema.procedures.ledger import first_of
from surgvalid.schema.procedures.tracks import Event, EventKind

ABSENCE_S = 5
"""Shorter absences are no returns; motion tells who comes back."""
BEFORE, AFTER = 10, 6
"""Boxes before and after the absence whose looks are averaged."""
GAIN = 0.2
"""By how much a return must be more like another object than like itself."""


class StrangeReturn(NamedTuple):
    """An object that comes back with the look of another."""

    video: str
    second: int
    instance: str
    other: str
    gap_s: int
    gain: float

    @property
    def strength(self) -> float:
        """From 0.5 at the threshold towards 1."""
        return self.gain / (self.gain + GAIN)


def strange_returns(frame: pl.DataFrame, looks: Floats) -> Iterator[StrangeReturn]:
    """Every return that looks more like another object of its class.

    Args:
        frame: Boxes with an instance, in order of video and second.
        looks: Appearance of every box.
    """
    rows = frame.with_row_index("at").group_by("video", "class_name", maintain_order=True)
    for (video, _), boxes in rows:
        seconds = frame["second"].to_numpy()
        paths = {
            str(name): boxes["at"].cast(pl.Int64).to_numpy()
            for (name,), boxes in boxes.group_by("instance", maintain_order=True)
        }
        for name, path in paths.items():
            for gap in np.flatnonzero(np.diff(seconds[path]) > ABSENCE_S).tolist():
                now = int(seconds[path[gap + 1]])
                after = looks[path[gap + 1 : gap + 1 + AFTER]].mean(axis=0)[None]
                others = {key: rest[seconds[rest] < now] for key, rest in paths.items() if key != name}
                best, other = max(
                    ((_alike(after, looks[rest]), key) for key, rest in others.items() if rest.size),
                    default=(0.0, ""),
                )
                gain = best - _alike(after, looks[path[: gap + 1]])
                if gain >= GAIN:
                    yield StrangeReturn(str(video), now, name, other, now - int(seconds[path[gap]]) - 1, gain)


def _alike(after: Floats, before: Floats) -> float:
    """How like the last looks of an object another look is."""
    return float(likeness(after, before[-BEFORE:].mean(axis=0)[None])[0, 0])


KINDS = ("identity_switch", "class_flip", "teleport", "overlap", "before_insertion", "after_retrieval")
SWITCH_FIT = 0.6
"""Affinity from which on a box of the next second is the same object."""
SWITCH_GAIN = 0.4
"""By how much it must exceed the affinity of either object with its own box."""
MUTUAL_GAIN = 0.2
"""The same where both objects lie where the other was."""
REACH = 6.0
"""Farthest an object moves within a second, in its own diagonals."""
SAME = 0.7
"""Overlap from which on two boxes of a class are one object."""
_COLUMNS: dict[str, Any] = {
    "kind": pl.String,
    "video": pl.String,
    "second": pl.Int64,
    "instance": pl.String,
    "other": pl.String,
    "strength": pl.Float64,
    "evidence": pl.String,
}


@dataclass(frozen=True)
class _Path:
    """One instance of one video, in order of time."""

    video: str
    instance: str
    class_names: NDArray[np.str_]
    seconds: NDArray[np.int64]
    boxes: Floats


def consistency_flags(
    table: Any, *, events: Mapping[str, Sequence[Event]] | None = None, looks: Any = None
) -> pl.DataFrame:
    """Everything inconsistent: kind, video, second, instance, other, strength (0 to 1), evidence in words.

    Args:
        table: Boxes with an `instance`: video, second, class_name, x, y, width, height, instance.
        events: The events of each video; without them, insertion and retrieval are not checked.
        looks: Appearance of every box, one vector per row of the table (see `appearance`); without it, names that
            were exchanged out of view are not found.

    Raises:
        TableInvalid: With every problem; an instance with two boxes in a second is one.
    """
    frame, order = placed_boxes(table, "instances", extra=("instance",))
    twice = frame.group_by("video", "second", "instance").len().filter(pl.col("len") > 1).sort("video", "second")
    if twice.height:
        problems = [
            f"instance {r['instance']!r} has {r['len']} boxes in second {r['second']} of {r['video']!r}"
            for r in twice.to_dicts()
        ]
        raise TableInvalid("instances", problems)
    paths = [_path(boxes) for _, boxes in frame.group_by("video", "instance", maintain_order=True)]
    rows: list[dict[str, Any]] = [*_overlaps(frame), *_teleports(paths)]
    for path in paths:
        rows += [*_flips(path), *_outside_the_body(path, (events or {}).get(path.video, ()))]
    rows += _switches(frame)
    if looks is not None:
        rows += _returns(frame, checked_looks(looks, len(order))[order])
    flags = pl.DataFrame(rows, schema=_COLUMNS)
    return flags.sort("kind", "strength", "video", "second", "instance", descending=[False, True, False, False, False])


def _path(boxes: pl.DataFrame) -> _Path:
    return _Path(
        boxes["video"][0],
        boxes["instance"][0],
        boxes["class_name"].to_numpy().astype(str),
        boxes["second"].to_numpy(),
        boxes.select(SIDES).to_numpy(),
    )


def _flag(
    kind: str, video: str, second: int, instance: str, other: str | None, strength: float, evidence: str
) -> dict[str, Any]:
    values = (kind, video, int(second), instance, other, float(strength), evidence)
    return dict(zip(_COLUMNS, values, strict=True))


def _flips(path: _Path) -> Iterator[dict[str, Any]]:
    for at in np.flatnonzero(path.class_names[1:] != path.class_names[:-1]) + 1:
        before, after = path.class_names[at - 1], path.class_names[at]
        yield _flag("class_flip", path.video, path.seconds[at], path.instance, None, 1.0, f"{before} becomes {after}")


def _outside_the_body(path: _Path, events: Sequence[Event]) -> Iterator[dict[str, Any]]:
    story = sorted((event for event in events if event.instance == path.instance), key=lambda event: event.second)
    inserted, retrieved = first_of(EventKind.INSERTED, story), first_of(EventKind.RETRIEVED, story)
    if inserted is not None and (early := path.seconds[path.seconds < inserted.second]).size:
        text = f"seen in {early.size} seconds before it was inserted at second {inserted.second}"
        yield _flag("before_insertion", path.video, early[0], path.instance, None, 1.0, text)
    if retrieved is not None and (late := path.seconds[path.seconds > retrieved.second]).size:
        text = f"seen in {late.size} seconds after it was retrieved at second {retrieved.second}"
        yield _flag("after_retrieval", path.video, late[0], path.instance, None, 1.0, text)


def _overlaps(frame: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """Pairs that lie on each other, once each, at the first second."""
    boxes, names, who = frame.select(SIDES).to_numpy(), frame["class_name"].to_numpy(), frame["instance"].to_list()
    overlapping: dict[tuple[str, str, str], list[tuple[int, float]]] = {}
    for (video, second), rows in frames_of(frame):
        shared = overlap_matrix(boxes[rows], boxes[rows])
        shared *= names[rows][:, None] == names[rows][None, :]
        for i, j in np.argwhere(np.triu(shared >= SAME, 1)).tolist():
            one, other = sorted((who[rows.start + i], who[rows.start + j]))
            overlapping.setdefault((video, one, other), []).append((second, float(shared[i, j])))
    for (video, one, other), hits in overlapping.items():
        most = max(value for _, value in hits)
        text = f"overlap by up to {most:.2f} in {len(hits)} seconds"
        yield _flag("overlap", video, hits[0][0], one, other, most, text)


def _teleports(paths: Sequence[_Path]) -> Iterator[dict[str, Any]]:
    moves: dict[tuple[str, int], list[tuple[str, Floats, float]]] = {}
    for path in paths:
        centers = path.boxes[:, :2] + path.boxes[:, 2:] / 2
        sizes = np.hypot(path.boxes[:, 2], path.boxes[:, 3])
        for at in (np.flatnonzero(np.diff(path.seconds) == 1) + 1).tolist():
            size = float(max(sizes[at], sizes[at - 1]))
            moves.setdefault((path.video, int(path.seconds[at])), []).append(
                (path.instance, centers[at] - centers[at - 1], size)
            )
    for (video, second), moved in moves.items():
        for instance, move, size in moved:
            rest = [other for name, other, _ in moved if name != instance]
            camera = np.median(rest, axis=0) if rest else np.zeros(2)
            far = min(float(np.hypot(*(move - camera))), float(np.hypot(*move))) / size
            if far > REACH:
                text = f"moves by {far:.1f} of its own diagonals within a second"
                yield _flag("teleport", video, second, instance, None, 1 - REACH / far / 2, text)


def _returns(frame: pl.DataFrame, looks: Floats) -> Iterator[dict[str, Any]]:
    """Objects that come back with the look of another."""
    for one in strange_returns(frame, looks):
        text = f"after {one.gap_s} s out of view it looks more like {one.other} (likeness higher by {one.gain:.2f})"
        yield _flag("identity_switch", one.video, one.second, one.instance, one.other, one.strength, text)


def _switches(frame: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """Boxes that lie where another object of the class was a second ago, and that one does not any more."""
    boxes, names, who = frame.select(SIDES).to_numpy(), frame["class_name"].to_numpy(), frame["instance"].to_list()
    parts = dict(frames_of(frame))
    for (video, second), now in parts.items():
        then = parts.get((video, second - 1))
        if then is None:
            continue
        fit = affinity(boxes[then], boxes[now]) * (names[then][:, None] == names[now][None, :])
        same = np.array([[one == other for other in who[now]] for one in who[then]])
        same_fit = np.where(same, fit, 0.0)
        gain = np.where(same, 0.0, fit - np.maximum(same_fit.max(axis=1)[:, None], same_fit.max(axis=0)[None, :]))
        swaps = {
            (who[then.start + i], who[now.start + j]): float(gain[i, j])
            for i, j in np.argwhere((fit >= SWITCH_FIT) & (gain >= MUTUAL_GAIN)).tolist()
        }
        for (before, after), won in swaps.items():
            mutual = (after, before) in swaps
            if not mutual and won < SWITCH_GAIN:
                continue
            text = f"lies where {before} was a second before{', and the other way round' if mutual else ''}"
            text += f"; their own paths fit worse by {won:.2f}"
            yield _flag("identity_switch", video, second, after, before, (0.5 if mutual else 0.0) + won / 2, text)
