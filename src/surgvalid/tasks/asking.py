"""Prompts of cases: media, text, labels and examples put together, one case at a time."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from surgvalid.asking.reading.places import scale_of
from surgvalid.errors import Misuse
from surgvalid.models import BOXES, Can, Part, Prompt
from surgvalid.tasks.cases import SPAN, Cases
from surgvalid.tasks.media import CaseMedia, MediaFinder
from surgvalid.tasks.prompts import Asks, PromptText, filled
from surgvalid.tasks.task import TaskForm, TaskInstance

BETWEEN = "#"
"""Between the name of a case and the place of the class that is asked about."""
YES_NO = ("yes", "no")
_ASK_AGAIN = "Your last answer could not be read:\n{}\nAnswer again, and only with {}."


@dataclass(frozen=True)
class Asking:
    """Everything that prompts of a task are made of."""

    task: TaskInstance
    cases: Cases
    finder: MediaFinder
    media: Mapping[str, CaseMedia]
    text: PromptText
    can: Can
    shots: Sequence[Mapping[str, Any]] = ()
    shot_media: Mapping[str, CaseMedia] = field(default_factory=dict)
    shot_cases: Cases | None = None
    """Where the examples come from."""
    shares: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """By video: the share of every class where examples may be taken from."""
    typical: str = ""
    structured: bool = False
    seed: int | None = None

    def __post_init__(self) -> None:
        if self.shots and self.text.asks is not Asks.ONCE:
            raise Misuse(f"examples cannot be shown before prompts of the family {self.text.family!r}")

    def prompts(self) -> Iterator[Prompt]:
        """The prompts of all cases, in their order, made as they are taken."""
        first = self.cases.table.row(0, named=True)
        fixed = {name: one for name, one in self._values(first).items() if name in self.text.first_case_only}
        for row in self.cases.table.iter_rows(named=True):
            yield from self._of_case(row, {**self._values(row), **fixed})

    def again(self, row: Mapping[str, Any], reply: str) -> Prompt:
        """The one further question where an answer could not be read."""
        prompt = next(self._of_case(row, self._values(row)))
        wanted = f"JSON of this schema: {json.dumps(self.schema)}" if self.schema else f"one of {self._classes}"
        texts = (*prompt.parts, _ASK_AGAIN.format(reply[:2000], wanted))
        return self._prompt(str(row["case"]), texts, row, schema=self.schema)

    @property
    def schema(self) -> dict[str, Any] | None:
        """The JSON schema of an answer, where the form has one."""
        return answer_schema(self.task)

    @property
    def _classes(self) -> str:
        return ", ".join(self.task.answer.classes)

    def _of_case(self, row: Mapping[str, Any], values: Mapping[str, str]) -> Iterator[Prompt]:
        name = str(row["case"])
        shown = self.finder.shown(self.media[name], native_video=self.text.native_video)
        if self.text.asks is Asks.ONCE:
            text = filled(self.text.of_case(row, shots=bool(self.shots)), values)
            pieces = (*self._examples(), text, *shown) if self.shots else (*shown, text)
            yield self._prompt(name, pieces, row, schema=self.schema if self.structured else None)
        elif self.text.asks is Asks.COMPARES:
            texts = tuple(filled(text, values) for text in self.text.texts)
            yield self._prompt(name, tuple(shown), row, label_texts=texts)
        else:
            yield from self._per_class(name, row, shown, values)

    def _per_class(
        self, name: str, row: Mapping[str, Any], shown: Sequence[Part], values: Mapping[str, str]
    ) -> Iterator[Prompt]:
        shares = self.shares.get(str(row["video"]), {})
        for place, text in enumerate(self.text.texts):
            share = shares.get(self.task.answer.classes[place])
            priors = {} if share is None else {"yes": share, "no": 1 - share}
            yield Prompt(
                f"{name}{BETWEEN}{place}",
                (*shown, filled(text, values)),
                labels=YES_NO,
                max_tokens=16,
                seed=self.seed,
                priors=priors,
            )

    def _prompt(
        self,
        name: str,
        pieces: Sequence[Part],
        row: Mapping[str, Any],
        *,
        label_texts: tuple[str, ...] = (),
        schema: Mapping[str, Any] | None = None,
    ) -> Prompt:
        answer = self.task.answer
        chooses = answer.form in (TaskForm.CHOICE, TaskForm.LABELS)
        return Prompt(
            name,
            tuple(pieces),
            labels=answer.classes if chooses else (),
            label_texts=label_texts,
            several=answer.form is TaskForm.LABELS,
            schema=schema,
            wants_boxes=answer.form is TaskForm.BOXES,
            max_tokens=answer.max_tokens,
            seed=self.seed,
            priors=self.shares.get(str(row["video"]), {}),
            typical=self.typical or self._whole_clip(name),
        )

    def _whole_clip(self, name: str) -> str:
        """All of a clip: the guess of whoever knows nothing of spans."""
        moments = self.media[name].moments
        if self.task.answer.form is not TaskForm.SPAN or moments is None:
            return ""
        return json.dumps({"start_time": "00:00", "end_time": clock_text(moments.duration_s)})

    def _examples(self) -> Iterator[Part]:
        for shot in self.shots:
            media = self.shot_media[str(shot["case"])]
            yield from self.finder.shown(media, native_video=False)
            yield f"output: {written_answer(self.task, shot, media, self.can, self.shot_cases or self.cases)}"

    def _values(self, row: Mapping[str, Any]) -> dict[str, str]:
        """What fills the placeholders of a prompt for one case; made anew for every case."""
        moments = self.media[str(row["case"])].moments
        asked = _asked_class(self.task, row)
        values = {name.upper(): str(value).replace("_", " ") for name, value in row.items() if value is not None}
        values |= {"CLASSES": self._classes, "CLASS": asked, "BOX_CONVENTION": BOXES.get(self.can.boxes or "", "")}
        if moments is not None:
            values |= {
                "FRAMES": str(len(moments.times_s)),
                "DURATION": clock_text(moments.duration_s),
                "TIMESTAMPS": timestamps(moments.of_clip_s),
            }
        return values


def _asked_class(task: TaskInstance, row: Mapping[str, Any]) -> str:
    """The class that a case is asked about, where every case is asked about one of them."""
    answer = task.answer
    if answer.form is TaskForm.MASKS and answer.key in row:
        names = dict(zip(answer.values or answer.classes, answer.classes, strict=True))
        return names.get(str(row[answer.key]), str(row[answer.key]))
    return answer.classes[0] if answer.classes else ""


def clock_text(seconds: float) -> str:
    """A time as MM:SS, with tenths where it has some.

    Example:
        >>> clock_text(65), clock_text(5.25)
        ('01:05', '00:05.2')
    """
    minutes, rest = divmod(round(seconds, 1), 60)
    return f"{int(minutes):02}:{rest:04.1f}".removesuffix(".0")


def timestamps(times_s: Sequence[float]) -> str:
    """The times of frames in words.

    Example:
        >>> timestamps([0, 5.1])
        'Frame 0: 00:00, Frame 1: 00:05.1'
    """
    return ", ".join(f"Frame {place}: {clock_text(time_s)}" for place, time_s in enumerate(times_s))


def written_answer(task: TaskInstance, row: Mapping[str, Any], media: CaseMedia, can: Can, cases: Cases) -> str:
    """The reference of a case as an answer in the form of the task."""
    answer = task.answer
    if answer.form is TaskForm.LABELS and answer.lists:
        listed = [name for name in answer.classes if row[f"reference:{name}"]] or ["null"]
        return json.dumps({answer.key: listed})
    if answer.form is TaskForm.LABELS:
        return json.dumps({name: bool(row[f"reference:{name}"]) for name in answer.classes})
    if answer.form is TaskForm.CHOICE:
        name = str(row["reference"])
        numbered = answer.numbered_from is not None
        value = answer.classes.index(name) + (answer.numbered_from or 0) if numbered else name
        return json.dumps({answer.key: value}) if answer.key else name
    if answer.form is TaskForm.SPAN:
        start, end = (clock_text(float(row[name])) for name in SPAN)
        return json.dumps({"start_time": start, "end_time": end})
    return json.dumps(_written_boxes(row, media, can, cases))


def _written_boxes(row: Mapping[str, Any], media: CaseMedia, can: Can, cases: Cases) -> dict[str, list[int]]:
    """The boxes of a case in the convention of the model, objects of one class numbered."""
    size = media.size_px
    scale = scale_of(can.boxes, size, size) if can.boxes and size else None
    if scale is None or size is None:
        raise Misuse("examples of boxes need to know how the model counts them, and the size of the image")
    names = {one["id"]: one["name"] for one in cases.boxes["categories"]}
    drawn = [one for one in cases.boxes["annotations"] if one["image_id"] == row["image_key"]]
    counts: Counter[str] = Counter()
    boxes = {}
    for one in drawn:
        name = names[one["category_id"]]
        counts[name] += 1
        x, y, width, height = one["bbox"]
        across = [round(value * scale.width / size[0]) for value in (x, x + width)]
        down = [round(value * scale.height / size[1]) for value in (y, y + height)]
        corners = (
            [down[0], across[0], down[1], across[1]] if scale.y_first else [across[0], down[0], across[1], down[1]]
        )
        boxes[f"{name}{counts[name]}"] = corners
    return boxes


def answer_schema(task: TaskInstance) -> dict[str, Any] | None:
    """The JSON schema of an answer, for models that can be held to one."""
    answer = task.answer
    if answer.form is TaskForm.LABELS and answer.lists:
        listed = {"type": "array", "items": {"type": "string", "enum": [*answer.classes, "null"]}}
        return _object({answer.key: listed})
    if answer.form is TaskForm.LABELS:
        return _object({name: {"type": "boolean"} for name in answer.classes})
    if answer.form is TaskForm.CHOICE:
        first = answer.numbered_from
        numbered = {"type": "integer", "minimum": first, "maximum": (first or 0) + len(answer.classes) - 1}
        named = {"type": "string", "enum": list(answer.classes)}
        return _object({answer.key or "answer": named if first is None else numbered})
    if answer.form is TaskForm.SPAN:
        return _object({name: {"type": "string"} for name in ("start_time", "end_time")})
    return None


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": dict(properties), "required": list(properties)}


def class_shares(task: TaskInstance, pool: Cases | None, asked: Cases) -> dict[str, dict[str, float]]:
    """By video: the share of every class in the training part, or in all other videos where there is none."""
    if task.answer.form not in (TaskForm.CHOICE, TaskForm.LABELS):
        return {}
    if pool is not None:
        shares = _shares(task, pool.table)
        return dict.fromkeys(asked.videos, shares)
    unit = {video: asked.clusters.get(video, video) for video in asked.videos}
    table = asked.table.with_columns(pl.col("video").replace(unit).alias("unit"))
    by_unit = {name: _shares(task, table.filter(pl.col("unit") != name)) for name in set(unit.values())}
    return {video: by_unit[name] for video, name in unit.items()}


def _shares(task: TaskInstance, table: pl.DataFrame) -> dict[str, float]:
    classes = task.answer.classes
    if table.is_empty():
        return dict.fromkeys(classes, 1 / len(classes))
    if task.answer.form is TaskForm.LABELS:
        return {name: float(table[f"reference:{name}"].mean() or 0.0) for name in classes}  # type: ignore[arg-type]
    counts = Counter(table["reference"].to_list())
    return {name: counts[name] / table.height for name in classes}


def typical_answer(task: TaskInstance, pool: Cases | None) -> str:
    """The likeliest answer without looking, where there are no classes to choose from."""
    if task.answer.form is TaskForm.SPAN:
        if pool is None:
            return ""
        start, end = (float(pool.table[name].median() or 0.0) for name in SPAN)  # type: ignore[arg-type]
        return json.dumps({"start_time": clock_text(start), "end_time": clock_text(max(end, start + 1))})
    return "{}" if task.answer.form in (TaskForm.BOXES, TaskForm.MASKS) else ""
