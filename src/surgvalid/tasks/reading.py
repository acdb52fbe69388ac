"""Task instances by name or from a user's TOML file: whatever is wrong with one is named at once, with its place."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, fields
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from surgvalid.catalogue import Catalogue, with_attributes
from surgvalid.errors import InputInvalid
from surgvalid.metrics import METRICS
from surgvalid.schema.documents import read_toml
from surgvalid.tasks.task import (
    Data,
    Layout,
    Media,
    Published,
    TaskAnswerForm,
    TaskForm,
    TaskInstance,
    TaskPublishedRow,
    TaskScore,
)

_Made = TypeVar("_Made")
_TABLES: dict[str, type[Any]] = {"data": Data, "media": Media, "answer": TaskAnswerForm}
_MEDIA_KINDS = ("image", "video", "none")
_ABOVE_ZERO = (
    "fps", "uniform", "rate_hz", "every", "window_s", "most_frames", "token_budget", "tokens_per_frame",
    "max_height_px",
)  # fmt: skip
_FAMILIES = {
    TaskForm.CHOICE: "classification",
    TaskForm.LABELS: "classification",
    TaskForm.SPAN: "times",
    TaskForm.BOXES: "detection",
    TaskForm.MASKS: "segmentation",
}
"""The metrics that measure a form of answers; no other of these families does."""
_NEEDS_CLASSES = (TaskForm.CHOICE, TaskForm.LABELS, TaskForm.BOXES, TaskForm.MASKS)


def read_task(path: str | Path) -> TaskInstance:
    """The task instance of a TOML file, named after the file.

    Raises:
        FileUnreadable: No such file, or no TOML.
        InputInvalid: With every problem of its content.
    """
    path = Path(path)
    return task_of(read_toml(path), name=path.stem, file=str(path))


def task_of(content: Mapping[str, Any], *, name: str, file: str = "") -> TaskInstance:
    """The task instance of what a TOML file holds.

    Raises:
        InputInvalid: With every problem.
    """
    problems: list[str] = []
    made: dict[str, Any] = {key: _table(kind, content.get(key), f"[{key}]", problems) for key, kind in _TABLES.items()}
    made["scored"] = _table(TaskScore, content.get("metrics", {}), "[metrics]", problems)
    made["published"] = _published(content.get("published", {}), problems)
    plain = {key: value for key, value in content.items() if key not in (*_TABLES, "metrics", "published")}
    kept = _checked(TaskInstance, plain, "", problems, given=("name", "file", *made))
    if problems:
        raise InputInvalid(file or name, problems)
    task = TaskInstance(name=name, file=file, **kept, **made)
    if problems := list(_contradictions(task)):
        raise InputInvalid(file or name, problems)
    return task


def _table(kind: type[_Made], content: Any, where: str, problems: list[str]) -> _Made | None:
    if not isinstance(content, dict):
        problems.append(f"{where} is missing" if content is None else f"{where} is no table")
        return None
    before = len(problems)
    kept = _checked(kind, content, where, problems)
    return None if len(problems) > before else kind(**kept)


def _published(content: Any, problems: list[str]) -> Published | None:
    if not isinstance(content, dict):
        problems.append("[published] is no table")
        return None
    rows = content.get("rows", [])
    made = []
    for number, row in enumerate(rows if isinstance(rows, list) else [], start=1):
        where = f"[published] row {number}"
        if not isinstance(row, dict) or not isinstance(row.get("model"), str):
            problems.append(f"{where} needs 'model'")
            continue
        values = {key: value for key, value in row.items() if key not in ("model", "doubt")}
        strange = [
            key for key, value in values.items() if isinstance(value, bool) or not isinstance(value, int | float)
        ]
        unknown = [key for key in values if key not in METRICS]
        problems += [f"{where}: {key} is no number" for key in strange]
        problems += [f"{where}: {key!r} is no metric of ours (surgvalid tools list metrics)" for key in unknown]
        made.append(TaskPublishedRow(model=row["model"], values=values, doubt=str(row.get("doubt", ""))))
    rest = {key: value for key, value in content.items() if key != "rows"}
    before = len(problems)
    kept = _checked(Published, rest, "[published]", problems, given=("rows",))
    return None if len(problems) > before else Published(rows=tuple(made), **kept)


def _checked(
    kind: type[Any], content: Mapping[str, Any], where: str, problems: list[str], given: tuple[str, ...] = ()
) -> dict[str, Any]:
    """The entries of a table in the types of a class; what is missing, unknown or of another type is a problem."""
    hints = get_type_hints(kind)
    known = {one.name: one for one in fields(kind) if one.name not in given}
    place = f"{where} " if where else ""
    problems += [f"{place}has no entry {name!r}; known: {', '.join(known)}" for name in content if name not in known]
    lacking = [one.name for one in known.values() if _needed(one) and one.name not in content]
    problems += [f"{place}lacks {name!r}" for name in lacking]
    kept = {}
    for name in known:
        if name in content:
            value, problem = _typed(hints[name], content[name])
            if problem:
                problems.append(f"{place}{name!r} {problem}")
            kept[name] = value
    return kept


def _needed(one: Any) -> bool:
    return one.default is MISSING and one.default_factory is MISSING


def _typed(hint: Any, value: Any) -> tuple[Any, str]:
    """A value in the type that an entry has, or why it is not of it."""
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        return _typed(next(one for one in get_args(hint) if one is not type(None)), value)
    if origin is tuple:
        inner = get_args(hint)[0]
        if not isinstance(value, list):
            return (), f"must be a list, got {value!r}"
        made = [_typed(inner, one) for one in value]
        return tuple(one for one, _ in made), next((problem for _, problem in made if problem), "")
    if origin is not None:
        return _typed_table(hint, value)
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        known = [str(one) for one in hint]
        return (hint(value), "") if value in known else (None, f"must be one of {', '.join(known)}, got {value!r}")
    check = _PLAIN.get(hint)
    if check is None or not check(value):
        return None, f"must be {_WORDS.get(hint, hint)}, got {value!r}"
    return (float(value) if hint is float else value), ""


def _typed_table(hint: Any, value: Any) -> tuple[Any, str]:
    if not isinstance(value, dict):
        return {}, f"must be a table, got {value!r}"
    made = {key: _typed(get_args(hint)[1], one) for key, one in value.items()}
    return {key: one for key, (one, _) in made.items()}, next((p for _, p in made.values() if p), "")


_PLAIN: dict[Any, Callable[[Any], bool]] = {
    str: lambda value: isinstance(value, str),
    bool: lambda value: isinstance(value, bool),
    int: lambda value: isinstance(value, int) and not isinstance(value, bool),
    float: lambda value: isinstance(value, int | float) and not isinstance(value, bool),
}
_WORDS = {str: "text", bool: "true or false", int: "a whole number", float: "a number"}


def _contradictions(task: TaskInstance) -> list[str]:
    """What does not fit together in a task whose entries are each of their type."""
    answer, data, media, problems = task.answer, task.data, task.media, []
    if answer.form in _NEEDS_CLASSES and not answer.classes:
        problems.append(f"[answer] form {str(answer.form)!r} needs 'classes'")
    if len(set(map(str.casefold, answer.classes))) < len(answer.classes):
        problems.append("[answer] two classes have one name")
    if answer.form is TaskForm.CHOICE and not answer.column:
        problems.append("[answer] form 'choice' needs 'column', the column of the references")
    if answer.form is TaskForm.LABELS and len(answer.columns) != len(answer.classes):
        problems.append("[answer] form 'labels' needs 'columns', one per class")
    if answer.form is TaskForm.SPAN and not (answer.start and answer.end):
        problems.append("[answer] form 'span' needs 'start' and 'end', columns of seconds")
    if answer.values and len(answer.values) != len(answer.classes):
        problems.append("[answer] 'values' must name as many as 'classes'")
    problems += [
        f"[answer.synonyms] {word!r} stands for {name!r}, which is no class"
        for word, name in answer.synonyms.items()
        if name not in answer.classes
    ]
    if data.layout is Layout.DATA_SET and not (data.data_set and data.task):
        problems.append("[data] layout 'data set' needs 'data_set' and 'task'")
    if data.rate_hz is not None and data.every_frames is not None:
        problems.append("[data] give 'rate_hz' or 'every_frames', not both")
    problems += [
        f"[data] {key!r} must be larger than 0"
        for key in ("rate_hz", "every_frames")
        if (value := getattr(data, key)) is not None and value <= 0
    ]
    if media.kind not in _MEDIA_KINDS:
        problems.append(f"[media] 'kind' must be one of {', '.join(_MEDIA_KINDS)}, got {media.kind!r}")
    if media.kind != "none" and not (media.files or media.videos) and data.layout is Layout.DATA_SET:
        problems.append("[media] needs 'files' or 'videos', the paths of images or videos below the root")
    ways = [key for key in ("uniform", "rate_hz", "every") if getattr(media, key) is not None]
    if len(ways) > 1:
        problems.append(f"[media] {' and '.join(map(repr, ways))} both say which frames; give one of them")
    problems += [
        f"[media] {key!r} must be larger than 0"
        for key in _ABOVE_ZERO
        if (value := getattr(media, key)) is not None and value <= 0
    ]
    others = set(_FAMILIES.values()) - {_FAMILIES[answer.form]} if answer.form in _FAMILIES else set()
    for name in (*task.scored.names, *task.scored.of_scores):
        if name not in METRICS:
            problems.append(f"[metrics] {name!r} is no metric of ours (surgvalid tools list metrics)")
        elif METRICS[name].family.partition(".")[0] in others:
            problems.append(f"[metrics] {name!r} does not measure answers of the form {answer.form.value!r}")
    if task.scored.headline and task.scored.headline not in task.scored.names:
        problems.append(f"[metrics] the primary metric {task.scored.headline!r} is not among 'names'")
    return problems


INSTANCES = Path(__file__).with_name("instances")
_ENDING = ".toml"


class _TomlFiles(Mapping[str, TaskInstance]):
    """The TOML files of a folder by name, each read when it is asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __iter__(self) -> Iterator[str]:
        return (path.stem for path in sorted(self.folder.glob(f"*{_ENDING}")))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in set(self)

    def __getitem__(self, name: str) -> TaskInstance:
        return _read(self.folder / f"{name}{_ENDING}")


@cache
def _read(path: Path) -> TaskInstance:
    return read_task(path)


TASKS: Catalogue[TaskInstance] = Catalogue(
    "task",
    "tasks",
    _TomlFiles(INSTANCES),
    take=with_attributes(["name", "data", "media", "answer", "scored"]),
)
"""Every task instance by name."""


def open_task(name: str | Path | TaskInstance) -> TaskInstance:
    """The task instance of a name, or of a TOML file anywhere.

    Raises:
        UnknownName: No such task; a path must end in .toml.
        FileUnreadable: No such file, or no TOML.
        InputInvalid: With every problem of the file.

    Example:
        >>> open_task("phase-c80").answer.classes[0]
        'Preparation'
    """
    if isinstance(name, TaskInstance):
        return name
    return read_task(name) if str(name).endswith(_ENDING) else TASKS[str(name)]
