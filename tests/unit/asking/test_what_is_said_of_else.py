"""What is said of another time, of such things in general, of something else or on a condition is no answer."""

from __future__ import annotations

from typing import Any

import pytest

from surgvalid.asking.reading import read_reply

PHASES: dict[str, Any] = {
    "form": "choice",
    "classes": ["Preparation", "Calot Triangle Dissection", "Clipping Cutting", "Gallbladder Dissection"],
    "numbered_from": 0,
    "key": "phase",
}
ERRORS: dict[str, Any] = {"form": "choice", "classes": ["Bleeding", "Thermal injury"], "numbered_from": 1}
TOOLS: dict[str, Any] = {"form": "labels", "classes": ["Grasper", "Hook", "Clipper"]}
CRITERIA: dict[str, Any] = {"form": "labels", "classes": ["C1", "C2", "C3"]}
ANATOMY: dict[str, Any] = {"form": "labels", "classes": ["colon", "small intestine", "liver"]}
SKILL: dict[str, Any] = {"form": "choice", "classes": ["1", "2", "3", "4", "5"], "ordered": True}
COUNT: dict[str, Any] = {"form": "number", "asked": "How many clips are visible?"}
SHARE: dict[str, Any] = {"form": "percentage", "asked": "For what share of the procedure is a sponge in view?"}
TIME: dict[str, Any] = {"form": "time", "window_s": [0, 5400], "asked": "When does the first clip come into view?"}
SPAN: dict[str, Any] = {"form": "span", "duration_s": 180.0}
HOOK: dict[str, Any] = {"form": "yes_no", "asked": "Is there a hook in this image?"}
VERBS: dict[str, Any] = {"form": "lists", "key": "instrument", "classes": ["grasper", "hook"]}
NO_ANSWERS = [
    (PHASES, "This is an image of a surgery, and the phase is one of 0 to 6."),
    (PHASES, "It has nothing to do with Clipping Cutting."),
    (PHASES, "Prior to this frame the surgeon performed Calot Triangle Dissection."),
    (PHASES, "The video began with Preparation."),
    (PHASES, 'Output format: {"phase": 0}. I can\'t see the image though.'),
    (PHASES, '{"error": "image not found", "phase": 0}'),
    (PHASES, "The phase after Clipping Cutting is Gallbladder Dissection."),
    (PHASES, "Compare with Clipping Cutting."),
    (PHASES, "Suppose it is Preparation; then trocars should be visible."),
    (PHASES, "The user says it is Preparation."),
    (PHASES, "The surgeon is done with Calot Triangle Dissection."),
    (PHASES, "Confidence in the phase: 2"),
    (PHASES, "It is not the start of it: Preparation?"),
    (ERRORS, "The bleeding from earlier has already stopped."),
    (CRITERIA, "C2 is met when the triangle is free of fat."),
    (CRITERIA, "I'd want another view before calling C1 met."),
    (TOOLS, "The tools are:\n- Grasper: 1\n- Hook: 2\n- Clipper: 3"),
    (TOOLS, "Laparoscopic cholecystectomy uses a grasper, a hook and a clipper."),
    (TOOLS, "The three tools are Grasper, Hook, Clipper."),
    (TOOLS, "Tools used in cholecystectomy: Grasper, Hook."),
    (TOOLS, "A grasper is needed to retract the gallbladder."),
    (TOOLS, "Something like a hook."),
    (CRITERIA, "C1, C2 and C3 have to be met for a critical view."),
    ({"form": "labels", "classes": ["hold", "cut"]}, "Hold on, let me look."),
    ({"form": "labels", "classes": ["clip", "cut"]}, "A clip of ten seconds."),
    (COUNT, "The clips were counted 3 times."),
    (COUNT, "One clip is bent, another is open."),
    (COUNT, "Confidence: 90"),
    (SHARE, "The sponge covers 30% of the frame."),
    (SHARE, "The zoom is at 50%."),
    (SHARE, "10% of the sponges are blue."),
    (TIME, "The frame was taken at 00:10:00 and shows no clip."),
    (SPAN, "Between 00:10 and 00:20 nothing goes wrong."),
    (SPAN, "00:10 is the first frame and 02:50 the last one."),
    (SPAN, "The error happens for 5 to 10 seconds."),
    (HOOK, "There should be a hook."),
    (HOOK, "Yes, if the left instrument counts."),
    (HOOK, "The next frame shows a hook."),
    (VERBS, "Grasper and hook are on the list."),
]
ANSWERS = [
    (PHASES, "Clipping Cutting", "The duct is divided, which means we are in Clipping Cutting."),
    (PHASES, "Gallbladder Dissection", "Given the smoke and the absence of clips, phase 3 fits best."),
    (PHASES, "Calot Triangle Dissection", "My first impression was phase 3. However, this has to be phase 1."),
    (ERRORS, "Thermal injury", "A thermal injury occurs at the liver surface."),
    (PHASES, "Calot Triangle Dissection", "The duct is being exposed with the hook: 1"),
    (ERRORS, "Bleeding", "Blood spurts from the artery -> bleeding"),
    (TOOLS, {"Grasper": True, "Hook": True, "Clipper": False}, "Only two tools are in view: the grasper and the hook."),
    (TOOLS, {"Grasper": False, "Hook": True, "Clipper": False}, "Hook: present; everything else: absent"),
    (TOOLS, {"Grasper": False, "Hook": False, "Clipper": False}, "There isn't a single instrument in this frame."),
    (CRITERIA, {"C1": True, "C2": True, "C3": True}, "All three are met."),
    (SKILL, "4", "I would rate the surgical skill at 4 out of 5. The movements are smooth."),
    (COUNT, 3, "Three: two on the duct, one on the artery."),
    (COUNT, 0, "Not a single clip is visible."),
    (ANATOMY, {"colon": True, "small intestine": True, "liver": None}, "I see the colon and loops of small intestine."),
    (COUNT, 2, "I see one clip proximally and another one distally. In total, 2 clips are visible."),
    (SPAN, (35.0, 52.0), "**Start:** 00:35\n**End:** 00:52"),
    (VERBS, ["grasper", "hook"], "Instruments: grasper, hook. Verbs: retract, dissect. Targets: liver."),
    (HOOK, True, "Yes, there is a hook."),
]


@pytest.mark.parametrize(("schema", "reply"), NO_ANSWERS)
def test_what_is_said_of_something_else_is_no_answer(schema: dict[str, Any], reply: str) -> None:
    assert not read_reply(reply, schema).usable


@pytest.mark.parametrize(("schema", "value", "reply"), ANSWERS)
def test_what_is_said_of_what_was_asked_is_one(schema: dict[str, Any], value: Any, reply: str) -> None:
    assert read_reply(reply, schema).value == value
