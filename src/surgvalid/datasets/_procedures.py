"""The videos of a data set as annotated procedures, from which questions are made.

What is asked of a data set stands in its file, in the table `questions`. Labels of whole images say that a class is in
view, and neither how many there are nor where; boxes of single images say that, and not which is which in the next one.
Frames become seconds: the frame at the start of a second stands for it. What nobody labelled stays unknown.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from surgvalid.datasets._data_set import DataSet, QuestionColumns
from surgvalid.errors import Misuse
from surgvalid.schema.procedures.foreign_objects import Declaration, ForeignObject
from surgvalid.schema.procedures.tracks import (
    CRITERION,
    STAGE,
    THING,
    UNTOLD,
    AttributeChange,
    Box,
    Phase,
    Procedure,
    Track,
    TrackPoint,
    Visibility,
    track_from_points,
)

_SIDE_PX = 100
_WHOLE = Box(0, 0, _SIDE_PX, _SIDE_PX)
"""Of an image of which nobody tells the size; what lies somewhere in it."""
_BOX = ("x_px", "y_px", "width_px", "height_px")
_APART = re.compile(r"[_-]+|(?<=[a-z])(?=[A-Z])")
Row = Mapping[str, Any]


class LabelledVideos(NamedTuple):
    """The videos of a data set, and the classes that can be in view."""

    procedures: list[Procedure]
    classes: tuple[ForeignObject, ...]


def labelled_videos(known: DataSet, root: str | Path) -> LabelledVideos:
    """The videos in a folder of a data set.

    Raises:
        Misuse: No questions are made from this data set.
        InputInvalid: Something in the files makes references unusable; every problem is listed.
    """
    if (asked := known.questions) is None:
        raise Misuse(f"no questions are made from {known.name}; its file says nothing of what to ask")
    seen, phases, rated = (_by_video(known, root, task) for task in (asked.seen, asked.phases, asked.rated))
    table = known.splits(root).filter(scheme=asked.scheme)
    split = {video: "test" if side == "test" else "train" for _, side, video in table.iter_rows()}
    names = sorted(asked.classes or {name for rows in seen.values() for row in rows for name in _seen(known, row)})
    how = f"scheme {asked.scheme}; its validation videos count as training" if asked.scheme else "none; dealt here"
    source = f"{known.title} ({known.citation}). Licence: {known.licence or known.licence_note}. Split: {how}."
    facts = {THING: asked.thing, STAGE: asked.stage, "source": source}
    procedures = [
        _procedure(known, asked, video, (seen[video], phases[video], rated[video]), facts | _split_of(split, video))
        for video in sorted({*seen, *phases})
    ]
    return LabelledVideos(procedures, tuple(ForeignObject(spelled(name), "") for name in names))


def _split_of(split: Mapping[str, str], video: str) -> dict[str, str]:
    return {"split": split[video]} if video in split else {}


def spelled(name: str) -> str:
    """A label as people write it.

    Example:
        >>> spelled("SpecimenBag"), spelled("cystic_plate")
        ('Specimen Bag', 'cystic plate')
    """
    return _APART.sub(" ", name)


def _by_video(known: DataSet, root: str | Path, task: str) -> dict[str, list[dict[str, Any]]]:
    """The rows of a task by video, in order, each with its `second`; of frames within a second only the first."""
    rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
    if task:
        table = known.references(root, task=task).table
        rate = pl.col("fps") if "fps" in table.columns else pl.lit(known.questions.fps if known.questions else 1)
        table = table.filter(pl.col("frame") % rate == 0).with_columns(second=pl.col("frame") // rate)
        for row in table.sort("video", "frame", maintain_order=True).iter_rows(named=True):
            rows[row["video"]].append(row)
    return rows


def _seen(known: DataSet, row: Row) -> list[str]:
    """The classes that a row says are in view."""
    asked = known.questions
    if asked and (column := asked.column):
        return [] if row[column] is None else [_named(asked, column, row[column])]
    compared = known.tasks[asked.seen].compared if asked else None
    return [name for flag, name in compared.members.items() if row[flag] == 1] if compared else []


def _named(asked: QuestionColumns, column: str, label: str | int | None) -> str:
    """What a label stands for; empty for what is no right answer to anything."""
    names = asked.names.get(column)
    return "" if label is None else spelled(names[int(label)] if names else str(label))


def _procedure(
    known: DataSet, asked: QuestionColumns, video: str, rows: Sequence[Sequence[Row]], facts: Mapping[str, str]
) -> Procedure:
    seen, phases, rated = rows
    parted = known.tasks[asked.phases].compared if asked.phases else None
    looked = sorted({row["second"] for row in seen or phases})
    last_s = max(row["second"] for one in rows for row in one)
    sizes = [(row["image_width_px"], row["image_height_px"]) for row in seen if row.get("image_width_px")]
    spans = tuple((stretch[0], stretch[-1] + 1) for stretch in _stretches(looked))
    return Procedure(
        video=video,
        procedure_type=str((seen or phases)[0].get(asked.type_column, asked.procedure_type)),
        center=known.title,
        duration_s=last_s + 1,
        width_px=sizes[0][0] if sizes else _SIDE_PX,
        height_px=sizes[0][1] if sizes else _SIDE_PX,
        tracks=tuple(_tracks(known, asked, seen)),
        phases=tuple(_phases(asked, parted.label, phases)) if parted else (),
        instruments=tuple(_criteria(asked, rated)),
        facts=facts,
        declared=Declaration(
            classes=None if seen else (), phases=bool(phases), attributes=bool(asked.attributes), spans=spans
        ),
        assumed=("visibility",) if sizes else ("width_px", "height_px", *UNTOLD),
    )


def _stretches(seconds: Iterable[int]) -> Iterator[list[int]]:
    """Seconds that follow on each other."""
    for _, group in groupby(enumerate(seconds), lambda pair: pair[1] - pair[0]):
        yield [second for _, second in group]


def _tracks(known: DataSet, asked: QuestionColumns, rows: Sequence[Row]) -> Iterator[Track]:
    """A track for the first, second, ... of a class in an image; for every box one of its own."""
    points: dict[tuple[str, str], list[TrackPoint]] = defaultdict(list)
    changes: dict[tuple[str, str], list[AttributeChange]] = defaultdict(list)
    ranks: Counter[tuple[int, str]] = Counter()
    for row in rows:
        second = row["second"]
        for name in map(spelled, _seen(known, row)):
            ranks[second, name] += 1
            boxed = row.get(_BOX[0]) is not None
            key = f"{name} {f'{second} s, ' if boxed else ''}{ranks[second, name]}", name
            box = Box(*(row[column] for column in _BOX)) if boxed else _WHOLE
            points[key].append(TrackPoint(second, box))
            values = {what: _named(asked, column, row[column]) for what, column in asked.attributes.items()}
            changes[key] += [AttributeChange(second, what, value) for what, value in values.items()]
    for (instance, name), listed in points.items():
        yield track_from_points(
            instance, name, listed, attributes=dict.fromkeys(asked.attributes, ""), changes=changes[instance, name]
        )


def _phases(asked: QuestionColumns, label: str, rows: Sequence[Row]) -> Iterator[Phase]:
    """Stretches of seconds with the same label."""
    name_at = {row["second"]: _named(asked, label, row[label]) for row in rows}
    for name, group in groupby(sorted(name_at), name_at.__getitem__):
        for stretch in _stretches(group) if name else ():
            yield Phase(name, stretch[0], stretch[-1] + 1)


def _criteria(asked: QuestionColumns, rows: Sequence[Row]) -> Iterator[Track]:
    """By criterion, the images on which all raters agree: seen where it is met, outside where it is not."""
    for column, name in asked.criteria.items():
        codes = {1: Visibility.VISIBLE, 0: Visibility.OUTSIDE}
        agreed = [TrackPoint(row["second"], _WHOLE, codes[row[column]]) for row in rows if row[column] in codes]
        yield track_from_points(name, CRITERION, agreed)
