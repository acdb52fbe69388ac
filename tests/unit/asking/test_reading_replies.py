"""Replies that were read wrongly or lost before there was one reader, and the stages that read them now."""

from __future__ import annotations

from typing import Any

import pytest

from surgvalid.asking.reading import ReadingPolicy, ReplyRead, read_reply
from surgvalid.errors import InputInvalid

PHASES: dict[str, Any] = {
    "form": "choice",
    "classes": ["Preparation", "Calot Triangle Dissection", "Clipping Cutting", "Gallbladder Dissection"],
    "numbered_from": 0,
    "key": "phase",
}
ERRORS: dict[str, Any] = {
    "form": "choice",
    "classes": ["Bleeding", "Bile spillage"],
    "numbered_from": 1,
    "key": "error_type",
}
CLIP: dict[str, Any] = {"form": "choice", "classes": ["clip", "nothing"]}
GESTURES: dict[str, Any] = {
    "form": "choice",
    "classes": ["G1", "G3", "G4", "G10"],
    "asked": "Only output the gesture, eg: G1.",
}
RATING: dict[str, Any] = {"form": "choice", "classes": ["1", "2", "3", "4", "5"], "ordered": True}
TOOLS: dict[str, Any] = {"form": "labels", "classes": ["Grasper", "Hook"]}
CRITERIA: dict[str, Any] = {"form": "labels", "classes": ["C1", "C2"]}
SPAN: dict[str, Any] = {"form": "span", "duration_s": 180.0}
BOXES: dict[str, Any] = {"form": "boxes", "classes": ["tool"], "boxes": "xyxy-1000", "size_px": (1000, 1000)}
NUMBER, SHARE, YES_NO = {"form": "number"}, {"form": "percentage"}, {"form": "yes_no"}
TIME: dict[str, Any] = {"form": "time", "window_s": [0, 5400]}
OBJECTS: dict[str, Any] = {"form": "fo_class", "classes": ["Sponge", "Clip", "Needle"]}
OPTIONS: dict[str, Any] = {"form": "multiple_choice", "options": {"A": "Pelvis", "B": "Right upper quadrant"}}

LOST = [
    ('"phase": 3', PHASES, "Gallbladder Dissection"),
    ("{“phase”: 3}", PHASES, "Gallbladder Dissection"),
    ("{phase: 3}", PHASES, "Gallbladder Dissection"),
    (r"\boxed{1}", PHASES, "Calot Triangle Dissection"),
    ("<answer>1</answer>", PHASES, "Calot Triangle Dissection"),
    ("<|begin_of_box|>1<|end_of_box|>", PHASES, "Calot Triangle Dissection"),
    ("It is not phase 3 but phase 2.", PHASES, "Clipping Cutting"),
    ("G4... no, G3", GESTURES, "G3"),
    ('{"C1": {"met": true}, "C2": {"met": false}}', CRITERIA, {"C1": True, "C2": False}),
    ("C1 and C2: no", CRITERIA, {"C1": False, "C2": False}),
    ("Grasper: 1, Hook: 0", TOOLS, {"Grasper": True, "Hook": False}),
    ("Grasper is visible; the hook is not.", TOOLS, {"Grasper": True, "Hook": False}),
    ("There are no tools.", TOOLS, {"Grasper": False, "Hook": False}),
    ("<ref>tool</ref><box>(100,200),(300,400)</box>", BOXES, [("tool", 100, 200, 200, 200)]),
    ("<|box_start|>(100,200),(300,400)<|box_end|> tool", BOXES, [("tool", 100, 200, 200, 200)]),
    ("There are no tools.", BOXES, []),
    ("**Start time:** 00:10\n**End time:** 00:20", SPAN, (10, 20)),
    ("No grasper is visible.", YES_NO, False),
    ("I count three.", NUMBER, 3),
    ("about 40 percent", SHARE, 40),
    ("Not 00:11:00 but 00:12:30.", TIME, [750]),
    ("No foreign objects are visible.", OBJECTS, ["None"]),
    ("Final answer: (B) Right upper quadrant", OPTIONS, "B"),
    ("Visible: Grasper\nMissing: Hook", TOOLS, {"Grasper": True, "Hook": False}),
    ("**Yes**, next to the liver, which is not a hook.", YES_NO, True),
    ("No, I can't see a grasper.", YES_NO, False),
    ("4 in total, 2 on the duct and 2 on the artery", NUMBER, 4),
    ("By 00:10:00 there are 3 clips.", NUMBER, 3),
    ("My first guess was phase 2, but it is phase 1.", PHASES, "Calot Triangle Dissection"),
    ("La fase es la número 1.", PHASES, "Calot Triangle Dissection"),
    ("<phase>1</phase>", PHASES, "Calot Triangle Dissection"),
    ("Calot's triangle dissection", PHASES, "Calot Triangle Dissection"),
    ("错误类型：2", ERRORS, "Bile spillage"),
    ("可以看到4个夹子。", NUMBER, 4),
    ("00:14:00, no, 00:15:00", TIME, [900]),
    ("- 00:15:00", TIME, [900]),
    ("Urteil: INCORRECT", {"form": "verdict"}, False),
]
NONE = [
    ("I cannot tell whether a clip is visible", CLIP),
    ("Nothing can be said about it.", CLIP),
    ("Preparation can be ruled out", PHASES),
    ("I do not think this is Preparation.", PHASES),
    ("Preparation?", PHASES),
    ("Phase 1/2", PHASES),
    ("Phase: 1 or 2", PHASES),
    ("phase: -1", PHASES),
    ('{"phase": 1} or {"phase": 2}', PHASES),
    ('{"phase": 1, "phase_name": "Preparation"}', PHASES),
    ("2. Bleeding", ERRORS),
    ("Only output the gesture, eg: G1.", GESTURES),
    ("-2", RATING),
    ("The surgeon made 2 errors.", RATING),
    ("A grasper or a hook is visible.", TOOLS),
    ('{"Grasper": 1, "Hook": ', TOOLS),
    ("-00:10", SPAN),
    ('{"start_time": "-00:10", "end_time": "00:20"}', SPAN),
    ('{"start_time": "00:10", "end_time": "00:75"}', SPAN),
    ('{"start_time": "00:10", "end_time": "09:00"}', SPAN),
    ("As a text model I cannot give coordinates such as [96, 416, 406, 616].", BOXES),
    ("Sorry, no idea.", YES_NO),
    ("Yes. No.", YES_NO),
    ("2-3", NUMBER),
    ("90% confident", SHARE),
    ("There is no sponge.", OBJECTS),
    ("C) Outside", OPTIONS),
    ("A) Right upper quadrant", OPTIONS),
    ("A), B)", OPTIONS),
    ("Needle or sponge", OBJECTS),
    ("No, I am not able to process pictures.", YES_NO),
    ("No and yes.", YES_NO),
    ("1, 2, 3", NUMBER),
    ("at 12:20 pm", TIME),
    ("It took 12 minutes.", TIME),
    ("I can see nothing because no image was sent.", CLIP),
    ("0 images were provided.", NUMBER),
    ("Clips are visible with a confidence of 90%.", NUMBER),
    ("Without the video I am 0% able to answer.", SHARE),
    ("On a scale from 1 to 5, 1 is the lowest and 5 the highest skill.", RATING),
    ('{"error_type": 2, "description": "Bleeding"}', ERRORS),
    ("yes/no", YES_NO),
    ("- A: no\n- B: yes", OPTIONS),
    ('{\n  "verdict": "CORRECT"', {"form": "verdict"}),
]


@pytest.mark.parametrize(("reply", "schema", "value"), LOST, ids=[reply for reply, _, _ in LOST])
def test_what_a_reply_commits_itself_to_is_read(reply: str, schema: dict[str, Any], value: object) -> None:
    reading = read_reply(reply, schema)
    assert reading.value == value
    assert reading.usable
    assert reading.path


@pytest.mark.parametrize(("reply", "schema"), NONE, ids=[reply for reply, _ in NONE])
def test_what_commits_itself_to_nothing_is_none_and_says_why(reply: str, schema: dict[str, Any]) -> None:
    reading = read_reply(reply, schema)
    assert reading.value is None
    assert not reading.usable
    assert reading.problem


def test_a_reply_that_was_cut_counts_only_where_an_object_was_closed() -> None:
    assert read_reply("The image shows a clip", CLIP, finish="length").status is ReplyRead.CUT
    assert read_reply('{"phase": 1', PHASES, finish="length").status is ReplyRead.CUT
    assert read_reply("<think>clip", CLIP).status is ReplyRead.CUT
    closed = read_reply('{"phase": 1} because', PHASES, finish="length")
    assert (closed.value, closed.path) == ("Calot Triangle Dissection", "closed before the cut")
    assert read_reply('{"verdict": "CORRECT"}', {"form": "verdict"}, finish="length").status is ReplyRead.CUT


def test_policies_differ_in_what_they_take() -> None:
    def values(reply: str, schema: dict[str, Any]) -> list[object]:
        return [read_reply(reply, schema, policy=policy).value for policy in ReadingPolicy]

    assert values('{"phase": 0}', PHASES) == ["Preparation"] * 3
    assert values("The phase is Preparation.", PHASES) == [None, "Preparation", "Preparation"]
    assert values("Perhaps Preparation.", PHASES) == [None, None, "Preparation"]
    assert values('{"phase": 0', PHASES) == [None, None, "Preparation"]
    assert values("I cannot tell whether it is Preparation.", PHASES) == [None] * 3
    assert values("Preparation or Clipping Cutting", PHASES) == [None] * 3
    assert read_reply("Perhaps Preparation.", PHASES, policy="lenient").path.startswith("guess: ")


def test_every_problem_of_a_schema_is_named() -> None:
    with pytest.raises(InputInvalid) as error:
        read_reply("", {"form": "song", "classes": "A", "keys": 1, "missing_keys": "guess"})
    assert len(error.value.problems) == 4
