"""Task instances in words and tables, what a folder holds for one, and what speaks against a printed row.

Printed rows are held against relations that no predictions can break (`doubts_of`):

    one label per case   weighted recall is accuracy: both are the share of cases that are right
    any averages         J <= F1 <= 2J / (1 + J) for the same weights, since F1 = 2J / (1 + J) in each class, which is
                         concave
Printed numbers are rounded, so half of the last digit is allowed on either side.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from surgvalid.models import Can
from surgvalid.results.tables.tasks import TASKS as TABLE
from surgvalid.tasks.cases import cases_of
from surgvalid.tasks.media import FrameCache, MediaFinder, Plan
from surgvalid.tasks.prompts import prompts_of
from surgvalid.tasks.reading import TASKS, open_task
from surgvalid.tasks.task import Layout, TaskForm, TaskInstance, TaskPublishedRow

ROUNDED_BY = 0.005
"""Half of the last digit of two."""
_PAIRS = (("macro_f1", "macro_jaccard"), ("f1_max", "macro_jaccard"), ("weighted_f1", "weighted_jaccard"))


def doubts_of(task: TaskInstance, row: TaskPublishedRow) -> list[str]:
    """Everything that is known against a row: what its file says, and every relation that it breaks."""
    doubts = [row.doubt] if row.doubt else []
    values = row.values
    if task.answer.form is TaskForm.CHOICE and {"accuracy", "weighted_recall"} <= values.keys():
        apart = abs(values["accuracy"] - values["weighted_recall"])
        if apart > 2 * ROUNDED_BY + 1e-9 and not row.doubt:
            doubts.append("accuracy and weighted recall differ, which are one number where a case has one label")
    for f1, jaccard in _PAIRS:
        if {f1, jaccard} <= values.keys() and not agree(values[f1], values[jaccard]):
            doubts.append(f"no classes have the mean {f1} {values[f1]:g} and the mean {jaccard} {values[jaccard]:g}")
    return doubts


def agree(f1: float, jaccard: float) -> bool:
    """Whether a mean F1 and a mean Jaccard of the same classes can stand side by side, rounded as they are.

    Example:
        >>> agree(0.46, 0.34), agree(0.9, 0.5)
        (True, False)
    """
    high = min(1.0, jaccard + ROUNDED_BY)
    most = 2 * high / (1 + high)
    return jaccard - 2 * ROUNDED_BY - 1e-9 <= f1 <= most + ROUNDED_BY + 1e-9


def task_table() -> pl.DataFrame:
    """Every task instance, one row each."""
    return TABLE.frame([_row(TASKS[name]) for name in TASKS])


def _row(task: TaskInstance) -> dict[str, Any]:
    return {
        "task": task.name,
        "title": task.title,
        "study": task.study,
        "level": task.level,
        "demands": task.demands,
        "form": str(task.answer.form),
        "data": task.data.data_set or str(task.data.layout),
        "access": task.access,
        "classes": len(task.answer.classes),
        "samples": task.data.samples,
        "metric": task.scored.headline,
        "published": len(task.published.rows),
        "runnable": task.runnable,
        "summary": task.summary,
    }


def task_lines(task: TaskInstance) -> list[str]:
    """Everything that a task states, in lines."""
    data, media, answer = task.data, task.media, task.answer
    source = f"{data.data_set}, {data.task}" if data.layout is Layout.DATA_SET else f"a folder: {data.layout}"
    lines = [
        f"{task.name}: {task.title}. {task.summary}.",
        f"study: {task.study} ({task.citation})" if task.citation else f"study: {task.study or 'none'}",
        f"data: {source}; part: {data.split or 'all, or those named with --videos'}; access: {task.access}",
        f"media: {media.kind}; {Plan(media).text}; paths: {', '.join((*media.files, *media.videos)) or 'none'}",
        f"answer: {answer.form}; {', '.join(answer.classes) or 'no classes'}",
        f"metrics: {', '.join(task.scored.names)}; primary metric: {task.scored.headline}",
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
    finder = MediaFinder(task, Path(root), Plan(task.media, Can().most_frames), FrameCache(root))
    rows = cases.table.to_dicts()
    if task.media.only_with_files:
        kept = set(finder.with_files(rows))
        rows = [row for row in rows if row["case"] in kept]
    media = finder.find(rows)
    frames = sum(len(one.moments.times_s) if one.moments else len(one.images) for one in media.values())
    facts = {
        "cases": len(rows),
        "of the study": task.data.samples,
        "videos": len({row["video"] for row in rows}),
        "part": cases.which,
        "frames": frames,
        "independent unit": cases.unit,
        "findings": [finding.text for finding in cases.findings] or None,
    }
    return {name: value for name, value in facts.items() if value is not None}
