"""Every shipped prompt has its obedient answer: what its words ask for is read, with and without braces."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from surgvalid.asking.reading import ReplyReading, read_reply
from surgvalid.tasks.prompts import Asks, prompts_of
from surgvalid.tasks.reading import TASKS
from surgvalid.tasks.responses import reply_schema
from surgvalid.tasks.task import Layout, TaskForm, TaskInstance

TEXTS = [
    pytest.param(TASKS[name], prompt.text_by.get(key, words), id=f"{name}-{prompt.family}-{prompt.version}-{place}")
    for name in TASKS
    if TASKS[name].data.layout is not Layout.QUESTIONS and TASKS[name].prompts
    for prompt in prompts_of(TASKS[name])
    if prompt.asks is Asks.ONCE
    for place, (key, words) in enumerate(
        [("", prompt.text), ("", prompt.after_shots), *((key, "") for key in prompt.text_by)]
    )
    if words or key
]
CURLY = str.maketrans({'"': "”"})


def read(task: TaskInstance, reply: str) -> ReplyReading:
    known = {"duration_s": 180.0, "boxes": "xyxy-1000", "size_px": (854, 480)}
    return read_reply(reply, replace(reply_schema(task.answer), **known))  # type: ignore[arg-type]


def obedient(task: TaskInstance, words: str) -> list[tuple[str, object]]:
    """Literal answers and their values."""
    answer = task.answer
    first, last = answer.classes[0] if answer.classes else "", answer.classes[-1] if answer.classes else ""
    if answer.form is TaskForm.CHOICE:
        number = answer.classes.index(last) + (answer.numbered_from or 0)
        given = [last] if answer.numbered_from is None else [number, last]
        keyed = [
            (json.dumps({answer.key: int(one) if str(one).isdigit() else one}), last) for one in given if answer.key
        ]
        return [*keyed, *((str(one), last) for one in given)]
    if answer.form is TaskForm.LABELS and answer.lists:
        return [(json.dumps({answer.key: [first]}), [first]), (json.dumps({answer.key: []}), [])]
    if answer.form is TaskForm.LABELS:
        value = {name: name == first for name in answer.classes}
        return [(json.dumps(value), value), (json.dumps({name: int(held) for name, held in value.items()}), value)]
    if answer.form is TaskForm.SPAN:
        return [(json.dumps({"start_time": "00:10", "end_time": "01:05"}), (10.0, 65.0))]
    if answer.form is TaskForm.BOXES:
        return [(json.dumps({first: [100, 100, 500, 500]}), [(first, 85.4, 48.0, 341.6, 192.0)]), ("{}", [])]
    return [(json.dumps({first: [[[0, 0], [500, 0], [500, 1000]]]}), {first: [[(0.0, 0.0), (0.5, 0.0), (0.5, 1.0)]]})]


@pytest.mark.parametrize(("task", "words"), TEXTS)
def test_the_literal_answer_of_a_prompt_is_read(task: TaskInstance, words: str) -> None:
    for reply, value in obedient(task, words):
        spelt = [reply, reply.replace('"', "'"), reply.translate(CURLY), f"```json\n{reply}\n```"]
        if reply.startswith("{") and len(reply) > 2 and task.answer.form is not TaskForm.MASKS:
            spelt += [one[1:-1] for one in spelt[:3]]
        for form in spelt:
            reading = read(task, form)
            assert reading.usable, (form, reading.problem)
            read_value = [tuple(box) for box in reading.value] if task.answer.form is TaskForm.BOXES else reading.value
            assert (
                read_value == pytest.approx(value)
                if task.answer.form is TaskForm.SPAN
                else str(read_value) == str(value)
            )


def test_every_task_that_asks_in_words_is_among_them() -> None:
    asked = {param.values[0].name for param in TEXTS}  # type: ignore[union-attr]
    spoken = {
        name
        for name in TASKS
        if TASKS[name].data.layout is not Layout.QUESTIONS
        and TASKS[name].prompts
        and any(prompt.asks is Asks.ONCE for prompt in prompts_of(TASKS[name]))
    }
    assert asked == spoken
