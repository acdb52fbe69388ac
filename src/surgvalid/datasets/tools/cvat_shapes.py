"""What a CVAT 1.1 file holds beyond upright boxes: every shape, tags of images, and the tasks of a project.

Procedures hold upright boxes, which is all that questions need. Where a file has more, `read_shapes` reads it. Frames
are those of the file. A tag on
an image says that the image has that property; an image without it does not. A checkbox attribute of a shape is a
property of that instance.

Current exports number the frames of a project through: those of a task begin after `start_frame + step * size` of every
task before it, in the order of the file. Older ones count each task from its own start. Which of the two a file does
follows from its numbers: a frame beyond the end of its task is numbered through, one below its offset is not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple
from xml.etree.ElementTree import Element

import polars as pl

from surgvalid.datasets.tools._about import whole
from surgvalid.datasets.tools._cvat_shapes import CvatShape, shapes_of
from surgvalid.datasets.tools._xml import elements
from surgvalid.errors import FileUnreadable, ProcedureInvalid


def read_shapes(path: str | Path) -> list[CvatShape]:
    """Every shape of the file with all that is said of it, rotation and masks included.

    Raises:
        FileUnreadable: Not such XML.
        ProcedureInvalid: Shapes that cannot be read; all are listed.
    """
    problems: list[str] = []
    shapes = [shape for element in elements(path, ("track", "image")) for shape in shapes_of(element, problems)]
    if problems:
        raise ProcedureInvalid(str(path), problems)
    return shapes


class ProjectTask(NamedTuple):
    """One task of a project."""

    number: str
    meta: Element
    """A `<meta>` that holds this task alone, as an export of the task has it."""
    offset: int
    """What its frame numbers begin with where they are numbered through."""
    last: int
    """The last frame number of its own."""
    subset: str = ""


def tasks_of(meta: Element) -> list[ProjectTask]:
    """The tasks of a project, in the order of the file."""
    tasks, offset = [], 0
    for task in meta.iterfind("project/tasks/task"):
        alone = Element("meta")
        alone.append(task)
        start, size = whole(task.findtext("start_frame")) or 0, whole(task.findtext("size")) or 0
        step = re.search(r"step=(\d{1,9})", task.findtext("frame_filter") or "")
        length = start + (int(step[1]) if step else 1) * size
        stop = whole(task.findtext("stop_frame"))
        last = stop if stop is not None else length - 1
        tasks.append(
            ProjectTask(
                (task.findtext("id") or "").strip(), alone, offset, last, (task.findtext("subset") or "").strip()
            )
        )
        offset += length
    return tasks


def task_elements(path: str | Path, tasks: Iterable[ProjectTask]) -> Iterator[tuple[str, Element]]:
    """Every track and image with the number of its task, frames counted as its task does."""
    known = list(tasks)
    through = _numbered_through(path, known)
    for element in elements(path, ("track", "image")):
        task = _task_of(element, known)
        if task is not None and through:
            _shift(element, task.offset)
        yield element.get("task_id", "") if task is None else task.number, element


def _task_of(element: Element, tasks: Iterable[ProjectTask]) -> ProjectTask | None:
    """The task of an element: by its number, or by its subset where the task of that number is of another one."""
    subset = element.get("subset") or ""
    numbered = next((task for task in tasks if task.number == element.get("task_id", "")), None)
    if numbered is None or not subset or numbered.subset == subset:
        return numbered
    same = [task for task in tasks if task.subset == subset]
    return same[0] if len(same) == 1 else numbered


def _numbered_through(path: str | Path, tasks: list[ProjectTask]) -> bool:
    """Whether the frames of all tasks are numbered through."""
    for element in elements(path, ("track", "image")):
        task = _task_of(element, tasks)
        for frame in _frames(element) if task else ():
            if task is not None and frame > task.last:
                return True
            if task is not None and frame < task.offset:
                return False
    return True


def _frames(element: Element) -> list[int]:
    texts = [element.get("id")] if element.tag == "image" else [shape.get("frame") for shape in element]
    return [frame for text in texts if (frame := whole(text)) is not None]


def _shift(element: Element, offset: int) -> None:
    holders = [(element, "id")] if element.tag == "image" else [(shape, "frame") for shape in element]
    for holder, key in holders:
        frame = whole(holder.get(key))
        if frame is not None:
            holder.set(key, str(frame - offset))


def read_image_tags(path: str | Path, *, tags: Iterable[str] | None = None) -> pl.DataFrame:
    """One row per image: `case` (its name without folder and ending) and a 0/1 column per tag.

    Args:
        path: The XML file.
        tags: Tags to make columns of; by default every tag that occurs.

    Raises:
        FileUnreadable: The file is no such XML.
    """
    images = [
        (Path(image.get("name", "")).stem, {one.get("label", "") for one in image if one.tag == "tag"})
        for image in elements(path, ("image",))
    ]
    if not images:
        raise FileUnreadable(str(path), ["holds no <image>; export as 'CVAT for images 1.1'"])
    names = sorted(set[str]().union(*(given for _, given in images))) if tags is None else list(tags)
    columns: dict[str, list[object]] = {"case": [case for case, _ in images]}
    for name in names:
        columns[name] = [int(name in given) for _, given in images]
    return pl.DataFrame(columns, schema_overrides={"case": pl.String})
