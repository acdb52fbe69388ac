"""Task instances in words and tables, and what a folder holds for one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from surgeval.models import Can
from surgeval.results.tables.tasks import TASKS as TABLE
from surgeval.tasks._catalogue import TASKS, open_task
from surgeval.tasks.cases import cases_of
from surgeval.tasks.media import FrameShelf, MediaFinder, Plan
from surgeval.tasks.prompts import prompts_of
from surgeval.tasks.published import doubts_of
from surgeval.tasks.task import Layout, TaskInstance


def task_table() -> pl.DataFrame:
    """Every task instance, one row each."""
    return TABLE.frame([_row(TASKS[name]) for name in TASKS])


def _row(task: TaskInstance) -> dict[str, Any]:
    return {
        "task": task.name, "title": task.title, "study": task.study, "level": task.level, "demands": task.demands,
        "form": str(task.answer.form), "data": task.data.data_set or str(task.data.layout), "access": task.access,
        "classes": len(task.answer.classes), "samples": task.data.samples, "metric": task.scored.headline,
        "published": len(task.published.rows), "runnable": task.runnable, "summary": task.summary,
    }  # fmt: skip


def task_lines(task: TaskInstance) -> list[str]:
    """Everything that a task states, in lines."""
    data, media, answer = task.data, task.media, task.answer
    source = f"{data.data_set}, {data.task}" if data.layout is Layout.DATA_SET else f"a folder: {data.layout}"
    lines = [
        f"{task.name}: {task.title}. {task.summary}.",
        f"study: {task.study} ({task.citation})" if task.citation else f"study: {task.study or 'none'}",
        f"data: {source}; part: {data.split or 'all, or those named with --videos'}; access: {task.access}",
        f"media: {media.kind}; {Plan(media).text}; places: {', '.join((*media.files, *media.videos)) or 'none'}",
        f"answer: {answer.form}; {', '.join(answer.classes) or 'no classes'}",
        f"metrics: {', '.join(task.scored.names)}; headline: {task.scored.headline}",
    ]
    if task.not_public:
        lines.append(f"cannot be run: {task.not_public}")
    lines += [f"note: {note}" for note in task.notes]
    for one in prompts_of(task) if task.prompts else ():
        what = f"; faults: {'; '.join(one.faults)}" if one.faults else ""
        lines.append(f"prompt {one.id} ({one.asks}{', ours' if one.ours else ''}){what}")
    if task.shots:
        counts = ", ".join(f"{count} ({len(names)} images)" for count, names in task.shots.items())
        lines.append(f"shots of the study: {counts}")
    lines += [f"published, {task.published.source}: {note}" for note in task.published.notes]
    for row in task.published.rows:
        values = ", ".join(f"{name} {value:g}" for name, value in row.values.items())
        doubts = doubts_of(task, row)
        lines.append(f"published, {row.model}: {values}" + (f" [{'; '.join(doubts)}]" if doubts else ""))
    return lines


def checked(
    name: str | Path | TaskInstance, root: str | Path, *, split: str | None = None, videos: Sequence[str] = ()
) -> dict[str, Any]:
    """What a folder holds for a task: cases, videos, what is shown of them; nothing is cut or asked.

    Raises:
        InputInvalid: With everything that is missing or cannot be used.
        Misuse: No such split or video.
    """
    task = open_task(name)
    cases = cases_of(task, root, split=split, videos=videos)
    finder = MediaFinder(task, Path(root), Plan(task.media, Can().most_frames), FrameShelf(root))
    rows = cases.table.to_dicts()
    if task.media.only_with_files:
        kept = set(finder.with_files(rows))
        rows = [row for row in rows if row["case"] in kept]
    media = finder.find(rows)
    frames = sum(len(one.moments.times_s) if one.moments else len(one.images) for one in media.values())
    facts = {
        "cases": len(rows), "of the study": task.data.samples, "videos": len({row["video"] for row in rows}),
        "part": cases.which, "frames": frames, "independent unit": cases.unit,
        "findings": [finding.text for finding in cases.findings] or None,
    }  # fmt: skip
    return {name: value for name, value in facts.items() if value is not None}
