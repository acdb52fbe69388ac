"""Tracks in MOT form: `frame, id, x, y, width, height[, mark, class, visibility]`, one text file per video.

References lie in `VIDEO.txt` or `VIDEO/gt/gt.txt`, predictions in `VIDEO.txt`. Frames count from 1. A reference whose
mark is 0 is to be ignored and is left out, and how many there were is said; the same column is the confidence of
predictions, which these metrics do not use.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from surgvalid.errors import FileUnreadable, InputInvalid, Misuse
from surgvalid.evaluation.alignment.boxes import BoxStudy, LocatedBoxes, box_alignment, lags_of
from surgvalid.evaluation.measure import ClassJob, EvaluationMaterial, OneByOne, jobs_on, material_of, open_chosen
from surgvalid.evaluation.records import with_properties
from surgvalid.evaluation.sanity.sanity_finding import Looked
from surgvalid.evaluation.shards import Cut, Gathered, stacked
from surgvalid.evaluation.video_names import same_videos
from surgvalid.metrics import TRACKING
from surgvalid.metrics.tracking.sequences import Overlaps, TrackSequence, overlaps
from surgvalid.schema.documents import read_text
from surgvalid.schema.left_behind import put_there
from surgvalid.schema.metric_facts import Metric

DEFAULT = ("hota", "deta", "assa", "mota", "idf1", "id_switches")


LARGEST = 1e12
"""No frame, identity or pixel is farther out."""
LARGEST_SHARE = 2.0
"""A box that reaches no farther is a share of the image and not in pixels."""
FEWEST_TO_TELL = 10
"""From so many reference frames on, a common step is how they were sampled and not chance."""


class Tracks(NamedTuple):
    """The boxes of one video and side."""

    frame: np.ndarray
    identity: np.ndarray
    box: np.ndarray
    label: np.ndarray
    ignored: int = 0
    size_px: tuple[int, int] | None = None
    """Width and height of the images, where that is known."""
    normalised: bool = False
    """Whether boxes are shares of the image instead of pixels."""


def material(
    predictions: Any,
    references: Any = None,
    *,
    metrics: Sequence[str] = (),
    use_classes: bool = False,
    properties: Any = None,
    by: Sequence[str] = (),
    lag: str | None = None,
    no_predictions: Sequence[str] = (),
    cut: Cut | None = None,
) -> EvaluationMaterial:
    """What MOT files of references and predictions offer for measuring.

    Args:
        predictions: A folder of text files, or one file.
        references: The same, or the boxes of every video by its name.
        metrics: Names of tracking metrics.
        use_classes: Boxes of different classes (eighth column) never match.
        properties: Table with `video` and the columns of `by`; MOT files name no strata.
        by: Columns whose values are reported one by one.
        lag: By how many frames predictions are moved: `1`, or `VIDEO:1+VIDEO:-2`.
        no_predictions: Videos in which nothing was tracked, as is meant.
        cut: Which videos; all if left out.

    Raises:
        InputInvalid: Rows that are no boxes, repeated identities, videos on one side only; all are named.
    """
    if references is None:
        raise Misuse("tracking needs --references, a folder of MOT files or one file")
    theirs = _files(Path(predictions), "predictions")
    ours = references if isinstance(references, Mapping) else _files(Path(references), "references")
    if len(ours) == len(theirs) == 1:
        theirs = dict.fromkeys(ours, next(iter(theirs.values())))
    if cut is not None:
        ours, theirs = ({video: one for video, one in side.items() if cut.holds(video)} for side in (ours, theirs))
        cut.check(len(ours) + len(theirs))
    pairs, ignored, frames = _pairs(ours, theirs, use_classes, lag)
    rows = pl.DataFrame({"video": list(pairs)}, schema={"video": pl.String})
    rows = with_properties(rows, properties, by, key="video") if by else rows
    facts: dict[str, Any] = {
        "use_classes": use_classes,
        "ignored": ignored,
        "frames": frames,
        "silent": list(no_predictions),
        "lag": lag,
    }
    gathered = None if cut is None else _gathered(pairs, rows, cut, facts)
    return replace(_material(pairs, rows, metrics, by, facts), gathered=gathered)


_SIDES = ("references", "predictions")
Pairs = Mapping[str, tuple[Tracks, Tracks]]
"""References and predictions of every video."""


def _gathered(pairs: Pairs, rows: pl.DataFrame, cut: Cut, facts: Mapping[str, Any]) -> Gathered:
    """The boxes of every video, and its strata."""
    tables = {"videos": rows}
    for name, sides in zip(_SIDES, zip(*pairs.values(), strict=True), strict=True):
        tables[name] = pl.concat(
            [_boxes_of(*one, classes=facts["use_classes"]) for one in zip(pairs, sides, strict=True)]
        )
    return Gathered(facts, tables, tuple(cut.seen))


def _boxes_of(video: str, tracks: Tracks, *, classes: bool) -> pl.DataFrame:
    columns = dict(zip("xywh", np.asarray(tracks.box, np.float64).reshape(-1, 4).T, strict=True))
    whole = {"frame": tracks.frame, "id": tracks.identity, **columns, "class": tracks.label if classes else 0}
    return pl.DataFrame(whole).with_columns(pl.col("frame", "id", "class").cast(pl.Int64), video=pl.lit(video))


def rejoined(parts: Sequence[Gathered], metrics: Sequence[str], by: Sequence[str]) -> EvaluationMaterial:
    """The same of all shards."""
    rows = stacked(parts, "videos").sort("video")
    sides = [stacked(parts, name).partition_by("video", as_dict=True, maintain_order=True) for name in _SIDES]
    pairs = {video: (_tracks_of(sides[0], video), _tracks_of(sides[1], video)) for video in rows["video"]}
    summed = {name: sum(int(one.facts[name]) for one in parts) for name in ("ignored", "frames")}
    return _material(pairs, rows, metrics, by, {**parts[0].facts, **summed})


def _tracks_of(side: Mapping[tuple[Any, ...], pl.DataFrame], video: str) -> Tracks:
    rows = side.get((video,), next(iter(side.values())).clear())
    frame, identity, label = (rows[name].to_numpy() for name in ("frame", "id", "class"))
    return Tracks(frame, identity, rows.select("x", "y", "w", "h").to_numpy(), label)


def _material(
    pairs: Pairs,
    rows: pl.DataFrame,
    metrics: Sequence[str],
    by: Sequence[str],
    facts: Mapping[str, Any],
) -> EvaluationMaterial:
    opened = open_chosen(metrics, DEFAULT, TRACKING, ("tracks",))
    use_classes = bool(facts["use_classes"])
    cases = {video: _overlaps(video, pair, use_classes) for video, pair in pairs.items()}
    made = material_of(rows, by, lambda here: jobs_on(opened, [cases[video] for video in here["video"]]))
    held = sum(len(theirs.frame) > 0 for _, theirs in pairs.values())
    moved = f"; moved by {facts['lag']} frames" if facts["lag"] else ""
    notes = [f"Predictions were read as MOT text; {held:,} of {len(cases):,} videos have predictions{moved}."]
    notes += [f"{facts['ignored']} references marked 0 were left out."] if facts["ignored"] else []
    return replace(
        made,
        cases=int(facts["frames"]),
        sizes={},
        class_jobs=_per_class(pairs, opened) if use_classes else (),
        notes=tuple(notes),
        looked=_looked(pairs, facts["silent"]),
    )


def _looked(pairs: Pairs, silent: Sequence[str]) -> Looked:
    """The checks of boxes, each frame of each video an image."""
    sides = list(zip(*pairs.values(), strict=True))
    moments = [[(n, frame) for n, one in enumerate(side) for frame in one.frame.tolist()] for side in sides]
    order = sorted({moment for listed in moments for moment in listed})
    at = {moment: image for image, moment in enumerate(order)}
    ours, theirs = (
        LocatedBoxes(
            np.array([at[one] for one in listed], np.intp),
            np.concatenate([np.asarray(one.box, np.float64).reshape(-1, 4) for one in side]),
            np.zeros(len(listed), np.intp),
        )
        for listed, side in zip(moments, sides, strict=True)
    )
    video = np.array([number for number, _ in order], np.intp)
    place = np.arange(len(order)) - np.searchsorted(video, video)
    study = BoxStudy(ours, theirs, video, place, np.full((len(order), 2), np.nan), (), list(pairs), moment="frame")
    return box_alignment(study, scored=False, silent=silent)


def _files(source: Path, where: str) -> dict[str, Path]:
    """The file of every video."""
    if source.is_file():
        return {source.parent.parent.name if source.name == "gt.txt" else source.stem: source}
    if not source.is_dir():
        raise FileUnreadable(str(source), ["no such file or folder"])
    paths = {path.stem: path for path in put_there(source.glob("*.txt"), source)}
    paths |= {path.parent.parent.name: path for path in put_there(source.glob("*/gt/gt.txt"), source)}
    if not paths:
        raise InputInvalid(where, [f"{source} holds neither VIDEO.txt nor VIDEO/gt/gt.txt"])
    return paths


def _pairs(
    ours: Mapping[str, Path | Tracks], theirs: Mapping[str, Path], use_classes: bool, lag: str | None
) -> tuple[Pairs, int, int]:
    renamed = same_videos(ours, theirs)
    theirs = {renamed.get(video, video): path for video, path in theirs.items()}
    problems = [f"video {video!r} has references but no predictions" for video in ours if video not in theirs]
    problems += [f"video {video!r} has predictions but no references" for video in theirs if video not in ours]
    ignored, frames = 0, 0
    pairs = {}
    for video in sorted(set(ours) & set(theirs)):
        left = _references(ours[video], f"references of {video!r}", use_classes, problems)
        right = _read(theirs[video], f"predictions of {video!r}", use_classes, problems)
        pairs[video] = left, _on_one_scale(video, left, right, problems)
    if lag is None:
        _ask_about_zero([pair for pair in pairs.values() if all(side.frame.size for side in pair)])
    for (video, (left, right)), step in zip(pairs.items(), lags_of(lag or "0", list(pairs)), strict=True):
        pairs[video] = left, right._replace(frame=right.frame + step * _step(left))
        _same_clock(video, *pairs[video], problems)
        ignored, frames = ignored + left.ignored, frames + len(np.union1d(left.frame, pairs[video][1].frame))
    if problems:
        raise InputInvalid("tracks", problems)
    return pairs, ignored, frames


def _step(tracks: Tracks) -> int:
    """How many frame numbers lie between two frames of the references."""
    return max(1, int(np.gcd.reduce(np.diff(np.unique(tracks.frame)), initial=0)))


def _ask_about_zero(pairs: Sequence[tuple[Tracks, Tracks]]) -> None:
    """A frame 0 where all references begin at 1 is a question and not a false positive.

    Raises:
        Misuse: There is one.
    """
    if not pairs or min(int(ours.frame.min()) for ours, _ in pairs) != 1:
        return
    first = [theirs for _, theirs in pairs if theirs.frame.min() == 0]
    if first:
        raise Misuse(
            f"predictions begin at frame 0 in {len(first)} of {len(pairs)} videos, references at frame 1; say --format "
            "lag=1 where predictions count from 0, or --format lag=0 where there is a frame 0"
        )


def _references(source: Path | Tracks, where: str, use_classes: bool, problems: list[str]) -> Tracks:
    if isinstance(source, Path):
        return _read(source, where, use_classes, problems, reference=True)
    _once_per_frame(np.stack([source.frame, source.identity], axis=1), where, problems)
    return source


def _on_one_scale(video: str, left: Tracks, right: Tracks, problems: list[str]) -> Tracks:
    """Predictions as shares of the image where the references are; pixels need the size of the image."""
    if not left.normalised or (right.box[:, :2] + right.box[:, 2:]).max(initial=0.0) <= LARGEST_SHARE:
        return right
    if left.size_px is None:
        problems.append(
            f"predictions of {video!r}: boxes are in pixels, but the data set states no size of the images; "
            "divide x and width by the width, y and height by the height"
        )
        return right
    return right._replace(box=right.box / np.tile(left.size_px, 2))


def _once_per_frame(moments: np.ndarray, where: str, problems: list[str]) -> None:
    """Refuse an identity that a frame holds twice; rows are frame and identity."""
    keys, counts = np.unique(moments, axis=0, return_counts=True)
    if (twice := np.flatnonzero(counts > 1)).size:
        frame, identity = keys[twice[0]]
        problems.append(f"{where}: {twice.size} identities twice in a frame (first: {identity:g} in frame {frame:g})")


def _read(path: Path, where: str, use_classes: bool, problems: list[str], *, reference: bool = False) -> Tracks:
    table = _numbers(path, where, problems)
    if table.shape[1] < 6 or (use_classes and len(table) and table.shape[1] < 8):
        needed = 8 if use_classes else 6
        problems.append(f"{where}: rows need {needed} columns (frame, id, x, y, width, height, mark, class)")
        table = np.zeros((0, 9))
    if (bad := np.flatnonzero((np.abs(table) > LARGEST).any(axis=1))).size:
        problems.append(f"{where}: {bad.size} rows with numbers beyond {LARGEST:g} (first: row {bad[0] + 1})")
        table = np.delete(table, bad, axis=0)
    whole = (table[:, :2] == np.round(table[:, :2])).all(axis=1) & (table[:, 0] >= 0)
    if (bad := np.flatnonzero(~whole)).size:
        problems.append(f"{where}: {bad.size} rows whose frame or id is no whole number (first: row {bad[0] + 1})")
    if (bad := np.flatnonzero((table[:, 4:6] <= 0).any(axis=1))).size:
        problems.append(f"{where}: {bad.size} boxes without positive size (first: row {bad[0] + 1})")
    kept = table[table[:, 6] != 0] if reference and table.shape[1] > 6 else table
    _once_per_frame(kept[:, :2], where, problems)
    label = kept[:, 7].astype(np.int64) if kept.shape[1] > 7 else np.zeros(len(kept), np.int64)
    moment, identity = kept[:, 0].astype(np.int64), kept[:, 1].astype(np.int64)
    return Tracks(moment, identity, kept[:, 2:6], label, len(table) - len(kept))


def _numbers(path: Path, where: str, problems: list[str]) -> np.ndarray:
    """The finite numbers of a comma-separated file; what is none is listed and becomes nothing."""
    try:
        lines = [line for line in read_text(path).splitlines() if line.strip()]
    except FileUnreadable as error:
        problems.append(f"{where}: {error}")
        lines = []
    if not lines:
        return np.zeros((0, 9))
    with suppress(ValueError):  # the usual file, all at once; any other is looked at line by line
        table = np.loadtxt(lines, delimiter="," if "," in lines[0] else None, comments=None, ndmin=2)
        if np.isfinite(table).all():
            return table
    return _line_by_line(lines, where, problems)


def _line_by_line(lines: Sequence[str], where: str, problems: list[str]) -> np.ndarray:
    rows, wrong = [], []
    for place, line in enumerate(lines, start=1):
        try:
            rows.append([float(cell) for cell in re.split(r"\s*,\s*|\s+", line.strip(", \t"))])
        except ValueError:
            wrong.append(place)
    uneven = len({len(row) for row in rows}) > 1
    if wrong or uneven or not all(np.isfinite(row).all() for row in rows):
        what = (
            f"{len(wrong)} lines are no numbers (first: line {wrong[0]})" if wrong else "lines are uneven or infinite"
        )
        problems.append(f"{where}: {what}")
        return np.zeros((0, 9))
    return np.array(rows)


def _same_clock(video: str, left: Tracks, right: Tracks, problems: list[str]) -> None:
    """Refuse predictions that count frames otherwise than the references."""
    if not left.frame.size or not right.frame.size:
        return
    shared = np.isin(np.unique(right.frame), np.unique(left.frame)).mean()
    span = [int(np.ptp(side.frame)) + 1 for side in (left, right)]
    if shared < 0.5 and max(span) > 5 * min(span):
        problems.append(
            f"video {video!r}: references span {span[0]} frames and predictions {span[1]}, and few frames are shared; "
            "they count frames at different rates (25 fps against 1 fps?)"
        )
        return
    step = int(np.gcd.reduce(np.diff(frames := np.unique(left.frame)), initial=0))
    predicted = np.unique(right.frame)
    between = int(((predicted - frames[0]) % max(step, 1) != 0).sum())
    if frames.size >= FEWEST_TO_TELL and between:
        problems.append(
            f"video {video!r}: references are given on every {step}th frame, and {between} of {predicted.size} "
            "predicted frames lie between, where every box would count as false; "
            f"keep those at {frames[0]}, {frames[0] + step}, ..."
        )


def _overlaps(video: str, pair: tuple[Tracks, Tracks], use_classes: bool) -> Overlaps:
    ours, theirs = (side.label if use_classes else None for side in pair)
    return overlaps(TrackSequence(*pair[0][:3], *pair[1][:3], ours, theirs, video))


def _per_class(pairs: Pairs, opened: Mapping[str, Metric]) -> tuple[ClassJob, ...]:
    """The metrics of every class on its own boxes."""
    labels = np.unique(np.concatenate([side.label for pair in pairs.values() for side in pair])).tolist()
    parts = [{video: (_of_class(a, label), _of_class(b, label)) for video, (a, b) in pairs.items()} for label in labels]
    counts = [sum(len(ours.frame) for ours, _ in of_class.values()) for of_class in parts]
    names = [str(label) for label in labels]
    cases = [[_overlaps(video, pair, False) for video, pair in of_class.items()] for of_class in parts]
    if not names:
        return ()
    return tuple(ClassJob(name, OneByOne(metric), cases, names, counts) for name, metric in opened.items())


def _of_class(tracks: Tracks, label: int) -> Tracks:
    return Tracks(*(column[tracks.label == label] for column in tracks[:4]))
