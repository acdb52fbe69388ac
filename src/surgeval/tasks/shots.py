"""Examples before a question: cases of the training part, named by id, never from a video that is asked about."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import polars as pl

from surgeval.datasets import open_data_set
from surgeval.errors import InputInvalid, Misuse
from surgeval.tasks.cases import Cases, cases_of
from surgeval.tasks.task import Form, Layout, TaskInstance

_SHOWN = 5
_MOST_LOOKED_AT = 500
"""Cases of a class whose media are looked for."""
_NO_EXAMPLES = ("val", "test", "validation", "testing")


def training_cases(task: TaskInstance, root: str | Path, asked: Cases, *, every_frame: bool = False) -> Cases:
    """The cases that examples may be taken from: the training part, as the task samples it or every frame.

    Raises:
        Misuse: There is no such part.
        InputInvalid: Its files cannot be used.
    """
    sampled: dict[str, Any] = {"rate_hz": None, "every_frames": None} if every_frame else {}
    trained = replace(task, data=replace(task.data, **sampled))
    if task.data.layout is Layout.CASES:
        return cases_of(trained, root, split="train")
    if task.data.train:
        return cases_of(trained, root, split=task.data.train)
    if not task.data.split:
        raise Misuse(f"task {task.name!r} states no training part, so there is nothing to take examples from")
    everything = cases_of(replace(trained, data=replace(trained.data, split="")), root)
    stated = open_data_set(task.data.data_set).splits(root)
    scheme = task.data.split.rpartition(":")[0]
    held = stated.filter((pl.col("scheme") == scheme) & pl.col("split").is_in(_NO_EXAMPLES))["video"].to_list()
    left = everything.table.filter(~pl.col("video").is_in([*held, *asked.videos]))
    if left.is_empty():
        raise Misuse(f"task {task.name!r}: no video of the folder is outside {task.data.split} and its val part")
    return replace(everything, table=left, which=f"all but {scheme} val and test")


def chosen_shots(
    task: TaskInstance, pool: Cases, asked: Cases, count: int, *, seed: int = 0,
    has_media: Callable[[Mapping[str, Any]], bool] = lambda _: True,
) -> list[Mapping[str, Any]]:  # fmt: skip
    """The examples: those that the study showed, or so many of every class, drawn.

    Args:
        task: The task.
        pool: Where they may come from.
        asked: The cases that will be asked.
        count: Shots; of every class one image per shot.
        seed: Of the draw.
        has_media: Whether a case can be shown; others are not drawn.

    Raises:
        InputInvalid: An example that is not in the training part, or from a video that is asked about.
        Misuse: A number that cannot be, or a form of answer that examples cannot be given for.
    """
    if count < 1:
        raise Misuse(f"--shots must be 0 or more, got {count}")
    if task.answer.form in (Form.MASKS, Form.TEXT):
        raise Misuse(f"task {task.name!r}: examples cannot be shown for answers of the form {task.answer.form}")
    listed = task.shots.get(str(count))
    rows = _listed(task, pool, listed) if listed else _drawn(task, pool, count, seed, has_media)
    refuse_leakage(rows, asked, clusters={**pool.clusters, **asked.clusters})
    return rows


def refuse_leakage(
    shots: Sequence[Mapping[str, Any]], asked: Cases, *, clusters: Mapping[str, str] | None = None
) -> None:
    """Refuse examples from a video, or a patient or surgeon, that is asked about.

    Raises:
        InputInvalid: With every such example.
    """
    unit = clusters or {}
    tested = {unit.get(video, video) for video in asked.videos}
    names = [f"example {shot['case']!r} is from {unit.get(shot['video'], shot['video'])!r}, which is asked about"
             for shot in shots if unit.get(shot["video"], shot["video"]) in tested]  # fmt: skip
    if names:
        raise InputInvalid("examples", names)


def _listed(task: TaskInstance, pool: Cases, names: Sequence[str]) -> list[Mapping[str, Any]]:
    rows = {str(row["case"]): row for row in pool.table.filter(pl.col("case").is_in(list(names))).iter_rows(named=True)}
    absent = [name for name in names if name not in rows]
    if absent:
        shown = ", ".join(absent[:_SHOWN])
        message = f"{len(absent)} of the {len(names)} examples that the study showed are not in its training part here"
        raise InputInvalid(f"examples of {task.name}", [f"{message} ({shown})"])
    return [rows[name] for name in names]


def _drawn(
    task: TaskInstance, pool: Cases, count: int, seed: int, has_media: Callable[[Mapping[str, Any]], bool]
) -> list[Mapping[str, Any]]:
    """So many cases of every class, drawn by the seed; all answers alike where there are no classes."""
    table, generator = pool.table, random.Random(seed)
    if task.answer.form is Form.LABELS:
        kinds = [table.filter(pl.col(f"reference:{name}") == 1) for name in task.answer.classes]
    elif task.answer.form is Form.CHOICE:
        kinds = [table.filter(pl.col("reference") == name) for name in task.answer.classes]
    else:
        kinds = [table]
    rows: dict[str, Mapping[str, Any]] = {}
    for kind in kinds:
        places = generator.sample(range(kind.height), min(_MOST_LOOKED_AT, kind.height))
        usable = (row for place in places if has_media(row := kind.row(place, named=True)))
        rows |= {str(row["case"]): row for row in islice(usable, count)}
    if not rows:
        raise Misuse(f"task {task.name!r}: the training part holds no case of any class that can be shown")
    return list(rows.values())
