"""Answers in words: read by key and by whole words, and never turned into a class that nobody named."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest

from surgvalid.asking.reading import ReplyRead, ReplyReading, read_reply
from surgvalid.asking.reading.names import ClassNames
from surgvalid.asking.reading.objects import embedded_objects
from surgvalid.tasks.reading import TASKS, open_task
from surgvalid.tasks.responses import reply_schema
from surgvalid.tasks.task import TaskAnswerForm, TaskForm

TOOLS = open_task("tool-c80").answer
PHASES = open_task("phase-c80").answer
GESTURES = open_task("suture-ges-js").answer
RATING = open_task("skill-hc").answer
ERRORS = open_task("e-clf-im").answer
SPAN = open_task("e-det-im").answer
VERBS = open_task("verb-c45").answer
BOXES = open_task("tool-es").answer


def read(text: str, form: TaskAnswerForm, **known: Any) -> ReplyReading:
    return read_reply(text, replace(reply_schema(form), **known))


def present(reading: ReplyReading) -> set[str]:
    return set(reading.value) if isinstance(reading.value, list) else {n for n, held in reading.value.items() if held}


def test_every_order_of_the_keys_gives_the_same_labels() -> None:
    held = {"Grasper": 1, "Hook": True, "Clipper": 0, "Scissors": False}
    rest = {"Bipolar": 0, "Irrigator": 0, "SpecimenBag": 0}
    for order in permutations(held):
        answer = json.dumps({**{key: held[key] for key in order}, **rest})
        reading = read(answer, TOOLS)
        assert (reading.status, present(reading)) == (ReplyRead.OK, {"Grasper", "Hook"})


def test_a_class_that_is_not_mentioned_has_no_answer_and_is_not_absent() -> None:
    reading = read('{"Grasper": true, "Hook": false}', TOOLS)
    assert reading.status is ReplyRead.REPAIRED
    assert reading.value["Grasper"] is True
    assert reading.value["Hook"] is False
    assert reading.value["Scissors"] is None
    assert read('{"Grasper": true}', TOOLS, missing_keys="negative").value["Scissors"] is False
    assert read('{"Grasper": true}', TOOLS, missing_keys="fail").status is ReplyRead.FAILED


@pytest.mark.parametrize(
    "text",
    [
        "{'Grasper': True, 'Bipolar': False, 'Hook': 0, 'Scissors': 0, 'Clipper': 0, 'Irrigator': 0, "
        "'SpecimenBag': 0,}",
        '```json\n{"grasper": "yes", "bipolar": "no", "hook": "absent", "scissors": 0, "clipper": 0, "irrigator": "0",'
        ' "specimen bag": "false"}\n```',
        '<think>{"Hook": true}</think>{"Graspers": 1, "Bipolar": 0, "Hooks": 0, "Scissor": 0, "Clippers": 0, '
        '"Irrigators": 0, "Specimen_Bag": 0}',
        '{"Grasper": true, "Bipolar": false, "Hook": false, "Scissors": false, "Clipper": false, "Irrigator": no, '
        '"SpecimenBag": false}',
        'First I thought {"Hook": 1}. {"tools": {"Grasper": 1, "Bipolar": 0, "Hook": 0, "Scissors": 0, "Clipper": 0, '
        '"Irrigator": 0, "SpecimenBag": 0}}',
    ],
)
def test_the_usual_slips_of_spelling_are_read(text: str) -> None:
    reading = read(text, TOOLS)
    assert reading.usable
    assert present(reading) == {"Grasper"}
    assert None not in reading.value.values()


def test_probabilities_are_kept_as_scores() -> None:
    reading = read(json.dumps(dict.fromkeys(TOOLS.classes, 0.2) | {"Hook": 0.9}), TOOLS)
    assert reading.scores["Hook"] == 0.9
    assert present(reading) == {"Hook"}


def test_a_key_that_says_two_things_says_nothing() -> None:
    assert read('{"Grasper": true, "grasper": false, "Hook": true}', TOOLS).value["Grasper"] is None


def test_unknown_keys_are_noted_and_alone_are_no_answer() -> None:
    assert "laser" in read('{"laser": true, "Hook": true}', TOOLS).notes[0]
    assert read('{"laser": true}', TOOLS).status is ReplyRead.FAILED
    assert read("{}", TOOLS).status is ReplyRead.FAILED
    assert not present(read("There are no tools.", TOOLS))
    assert None not in read("There are no tools.", TOOLS).value.values()


@pytest.mark.parametrize("name", [f"G{n}" for n in range(1, 16)])
def test_no_gesture_is_read_out_of_a_longer_one(name: str) -> None:
    for text in (name, f"{name}.", f"The gesture is {name}", f"I see {name} here", f'{{"gesture": "{name}"}}'):
        assert read(text, GESTURES).value == name


def test_two_classes_are_no_answer() -> None:
    for text in ("G1 or G10", "First G3, then G4", "The answer is G1. The answer is G2."):
        assert read(text, GESTURES).status is ReplyRead.FAILED
    assert "several classes" in read("Preparation or Clipping Cutting", PHASES).problem


@pytest.mark.parametrize(
    ("text", "phase"),
    [
        ('{"phase": 3}', "Gallbladder Dissection"),
        ('{"phase": "3"}', "Gallbladder Dissection"),
        ("{phase: 3}", "Gallbladder Dissection"),
        ('{"Phase": "gallbladder dissection"}', "Gallbladder Dissection"),
        ('{"phase": "3: Gallbladder Dissection"}', "Gallbladder Dissection"),
        ('{"phase": "3: Preparation"}', None),
        ("3", "Gallbladder Dissection"),
        ("GallbladderDissection", "Gallbladder Dissection"),
        ("The phase is Gallbladder Dissection, since the hook is on the liver bed", "Gallbladder Dissection"),
        ('{"phase": 7}', None),
        ('{"phase": -1}', None),
        ('{"phase": 2.5}', None),
        ('{"phase": true}', None),
        ('{"phase": [1, 2]}', None),
        ('{"phase": null}', None),
        ("This is not Preparation", None),
        ("It isn't Preparation.", None),
        ("", None),
        ("<think>Preparation", None),
    ],
)
def test_one_class_or_none(text: str, phase: str | None) -> None:
    reading = read(text, PHASES)
    assert reading.value == phase
    assert reading.usable == (phase is not None)


def test_no_unread_answer_is_ever_the_first_class() -> None:
    for task in (TASKS[name] for name in TASKS):
        for text in ("", "{}", "Exception: 500", "Blocked: safety", "I am sorry, I cannot assist with that.", "maybe"):
            reading = read(text, task.answer, size_px=(10, 10), boxes="xyxy-pixels")
            empty = task.answer.form in (TaskForm.BOXES, TaskForm.MASKS) and text == "{}"
            assert reading.usable == (empty or (task.answer.form is TaskForm.TEXT and bool(text)))


def test_a_refusal_is_told_from_an_answer_that_cannot_be_read() -> None:
    assert read("I'm sorry, but I can't assist with that.", PHASES).status is ReplyRead.REFUSED
    assert read("Hard to tell.", PHASES).status is ReplyRead.FAILED
    assert read("I'm sorry for the delay. Preparation", PHASES).value == "Preparation"


@pytest.mark.parametrize(
    ("text", "rating"),
    [("4", "4"), ("3/5", "3"), ("I rate this 2 out of 5.", "2"), ("On a scale from 1 to 5: 4", "4"),
     ('{"score": 5}', "5"), ("4.0", "4"), ("3 or 4", None), ("6", None), ("0", None), ("3.5", None)],
)  # fmt: skip
def test_ratings(text: str, rating: str | None) -> None:
    assert read(text, RATING).value == rating


def test_numbers_of_errors_begin_at_one_and_zero_is_no_class() -> None:
    assert read('{"error_type": 1}', ERRORS).value == "Bleeding"
    assert read("{'error.type': 4}", ERRORS).value == "Perforation"
    assert read('{"error_type": 0}', ERRORS).status is ReplyRead.FAILED


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ('{"start_time": "00:10", "end_time": "01:30"}', (10, 90)),
        ("{'start_time': 00:10, 'end_time': 01:30}", (10, 90)),
        ('{"start": 12.5, "end": "30 s"}', (12.5, 30)),
        ("From 00:10 to 00:20", (10, 20)),
        ('{"start_time": "00:00:05", "end_time": "00:04:00"}', None),
        ('{"start_time": "-00:10", "end_time": "00:20"}', None),
        ('{"start_time": "00:10", "end_time": "00:75"}', None),
        ('{"start_time": "02:00", "end_time": "01:00"}', None),
        ('{"start_time": "00:10"}', None),
        ("at 00:10", None),
        ("00:10, 00:20 and 00:30", None),
    ],
)
def test_spans_are_in_seconds_of_the_clip(text: str, span: tuple[float, float] | None) -> None:
    assert read(text, SPAN, duration_s=180.0).value == span


def test_frame_numbers_are_times_only_where_the_prompt_asked_for_them() -> None:
    frames = (0.0, 5.2, 10.4)
    by_number = TaskAnswerForm(form=TaskForm.SPAN, start="a", end="b", frames_prompted=True)
    assert read('{"start": 1, "end": 2}', by_number, frames_s=frames).value == (5.2, 10.4)
    assert read('{"start": 1, "end": 2}', SPAN).value == (1, 2)
    assert read('{"start": "frame 1", "end": "frame 2"}', SPAN).status is ReplyRead.FAILED


def test_lists_of_names_under_a_key() -> None:
    text = '{"instrument": ["hook", "grasper"], "verb": ["dissect", "null_verb", "grasp"], "target": ["liver"]}'
    assert present(read(text, VERBS)) == {"dissect", "null", "grasp"}
    nothing = read('{"instrument": ["null"], "verb": [], "target": ["null"]}', VERBS)
    assert nothing.status is ReplyRead.OK
    assert not present(nothing)
    assert read('{"instrument": ["hook"]}', VERBS).status is ReplyRead.FAILED
    by_name = dict.fromkeys(VERBS.classes, False) | {"cut": True}
    assert present(read(json.dumps(by_name), VERBS)) == {"cut"}
    assert read('{"verb": ["lasering"]}', VERBS).status is ReplyRead.FAILED


@pytest.mark.parametrize(
    ("convention", "text"),
    [
        ("yxyx-1000", '{"tool1": [250, 100, 500, 300]}'),
        ("xyxy-1000", '[{"bbox_2d": [100, 250, 300, 500], "label": "tool"}]'),
        ("loc-1024", "<loc0256><loc0102><loc0512><loc0307> tool"),
        ("xyxy-pixels", '{"tool": [[80, 100, 240, 200]]}'),
        ("xyxy-shown", '{"tool": [40, 50, 120, 100]}'),
        ("xyxy-unit", '{"tool": [0.1, 0.25, 0.3, 0.5]}'),
    ],
)
def test_one_box_in_every_convention(convention: str, text: str) -> None:
    reading = read(text, BOXES, boxes=convention, size_px=(800, 400), shown_px=(400, 200))
    box = reading.value[0]
    assert box.name == "tool"
    assert (box.x_px, box.y_px, box.width_px, box.height_px) == pytest.approx((80, 100, 160, 100), abs=0.6)


def test_boxes_are_cut_to_the_picture_and_need_an_area_and_a_convention() -> None:
    text = '{"tool1": [-5, -5, 11, 11], "tool2": [7, 7, 7, 9], "liver": [1, 1, 2, 2], "tool3": [1, 2]}'
    reading = read(text, BOXES, boxes="xyxy-pixels", size_px=(10, 10))
    assert [tuple(box) for box in reading.value] == [("tool", 0, 0, 10, 10)]
    assert len(reading.notes) == 3
    assert read("{}", BOXES, boxes="xyxy-pixels", size_px=(10, 10)).value == []
    assert read(text, BOXES, boxes=None, size_px=(10, 10)).status is ReplyRead.FAILED
    assert read(text, BOXES, boxes="xyxy-shown", size_px=(10, 10)).status is ReplyRead.FAILED
    assert read("There are no tools.", BOXES, boxes="xyxy-pixels", size_px=(10, 10)).value == []
    assert read("a tool, upper left", BOXES, boxes="xyxy-pixels", size_px=(10, 10)).status is ReplyRead.FAILED


def test_outlines_are_fractions_of_the_picture() -> None:
    form = open_task("anat-al").answer
    reading = read('{"uterus": [[[0, 0], [500, 0], [500, 1000]]]}', form)
    assert reading.value == {"uterus": [[(0.0, 0.0), (0.5, 0.0), (0.5, 1.0)]]}
    assert read('{"uterus": [[0, 0], [500, 0], [500, 1000]]}', form).value == reading.value
    assert "decoder" in read("<loc0001><loc0002><loc0003><loc0004><seg001>", form).problem


def test_words_inside_texts_stay_as_they_are() -> None:
    for spelt in ('{"note": "true, false", "x": true}', '{"note": "true, false", "x": True}'):
        assert objects(spelt) == [[("note", "true, false"), ("x", True)]]
    assert objects("{'a': {'b': [1, 2]}} trailing } text") == [[("a", [("b", [1, 2])])]]
    assert objects('{"a": "brace } in text"}') == [[("a", "brace } in text")]]
    assert objects("{'a': 'it's'} {b: 00:10} {'c': 1 // why\n}") == [[("a", "it's")], [("b", "00:10")], [("c", 1)]]
    assert objects("{" * 5000) == []


def objects(text: str) -> list[Any]:
    return [one.value for one in embedded_objects(text)]


def test_names_meet_in_the_plural_and_by_synonyms_only_where_that_is_one_class() -> None:
    names = ClassNames(["clip", "clips"], {"staple": "clip"})
    assert names.exact("Clips") == "clips"
    assert names.exact("staple") == "clip"
    assert names.exact("clipper") is None


@pytest.mark.parametrize("form", [TOOLS, PHASES, RATING, SPAN, BOXES], ids=lambda form: form.form)
@pytest.mark.parametrize(
    "piece", ["{", '{"a": ', '{"\\"', "[[{", "<think>", "</think>", "Preparation ", "1 ", "no 3 out of 5 ", "00:01 "]
)
def test_a_model_that_repeats_itself_to_no_end_is_read_all_the_same(piece: str, form: TaskAnswerForm) -> None:
    """Whoever began anew at every piece of it would not be back today."""
    assert read(piece * (39_000 // len(piece)), form).status in ReplyRead
