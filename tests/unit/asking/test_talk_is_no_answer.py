"""Replies that speak of the conversation, the picture or the rules, and of nothing that was asked for."""

from __future__ import annotations

from typing import Any

import pytest

from surgvalid.asking.reading import read_reply

PHASES = ["Preparation", "Calot Triangle Dissection", "Clipping Cutting", "Gallbladder Dissection"]
FORMS: dict[str, dict[str, Any]] = {
    "phase": {"form": "choice", "classes": PHASES, "numbered_from": 0, "key": "phase"},
    "error": {"form": "choice", "classes": ["Bleeding", "Bile spillage", "Perforation"], "numbered_from": 1},
    "grade": {"form": "choice", "classes": ["1", "2", "3", "4", "5"], "ordered": True},
    "clip": {"form": "choice", "classes": ["clip", "nothing"]},
    "tools": {"form": "labels", "classes": ["Grasper", "Bipolar", "Hook"]},
    "criteria": {"form": "labels", "classes": ["C1", "C2", "C3"]},
    "yes": {"form": "yes_no"},
    "number": {"form": "number"},
    "share": {"form": "percentage"},
    "time": {"form": "time", "window_s": [0, 5400]},
    "objects": {"form": "fo_class", "classes": ["Sponge", "Clip", "Needle", "Mesh"]},
    "span": {"form": "span", "duration_s": 180.0},
    "instrument": {"form": "lists", "classes": ["grasper", "hook"], "key": "instrument"},
}
NOTHING = {
    "phase": [
        "Based on the image alone, distinguishing Clipping Cutting from Gallbladder Dissection is not feasible.",
        "The surgeon is about to begin Clipping Cutting.", "Hardly Preparation.", "Preparation seems improbable.",
        "Preparation is defined by trocar placement.", "Preparation scheidet aus.", "Descarto Preparation.",
        "Preparation is out of the question.", "Assuming the image shows the liver bed, the phase is 3.",
        'Example output: {"phase": 3}', 'The expected format is {"phase": 3}.', "You listed Preparation first.",
        'You should return {"phase": 3} when the liver bed is seen.', "Step 1: look at the tools. Step 2: decide.",
        "I'd need the frames before to tell Preparation from Clipping Cutting.",
    ],
    "error": ["The risk of Perforation is high.", "To avoid Perforation, the surgeon retracts.",
              "Bleeding risk is low.", "Bleeding was prevented.", "Bleeding is denied."],
    "grade": ["4 out of 10", "I'm 4/5 confident.", "Confidence 4/5", "4/10 in my view."],
    "clip": ["I can see nothing because the image is black.", "There is nothing to see in a blank image.",
             "The clip is 10 seconds long.", "This video clip shows a liver.", "Nothing further to add.",
             "In this clip, the surgeon retracts the liver."],
    "tools": ["Common tools are Grasper and Hook.", "Tools to look for: Grasper, Hook", "The Grasper or the Hook",
              "The Hook will be used next.", "Looking for the Grasper...", "Had there been a hook, I'd say so."],
    "criteria": ['{"C1": 2, "C2": 0, "C3": 1}'],
    "yes": ["No image was found.", "No problem! Please send the image.", "Yes, I can help with that.", "No response",
            "Yes, please provide the image.", "Yes, I understand the question.", "No further comment",
            "No file arrived.",
            "Nein, ich kann keine Bilder sehen.", "Kein Kommentar", "Non, je n'ai pas accès à l'image.", "Aucune idée",
            "Ninguna imagen", "没有提供视频", "没有答案", "There is a question mark over it.", "I see the question.",
            "There is one image attached.", "There is a chance that the clip is present.", "No one can say."],
    "number": ["I see no number.", "Not 3", "The answer is not 3.", "1st", "One can see the liver.", "No one knows",
               "One of the instruments is a hook.", "This one is hard.", "One moment please.", "Phase 3",
               "Image 1: a liver", "3+", "Es sind mindestens 3.", "Nothing was shown to me.", "A 5 mm clip is visible.",
               "It has been 5 minutes.", "COVID-19", "I counted 3 but there may be 4.", "It's a 5-clip technique",
               "If the shadows count, 4; otherwise 3.", "Three quarters of the duct are clipped."],
    "share": ["Not 40%", "There is a 70% chance that it is visible.", "Probability: 70%", "With a certainty of 90%",
              "à 90 % sûr", "我有90%的把握", "The image is 100% black."],
    "time": ["The clip is 00:12:30 long.", "Total duration: 00:12:30", "Format: 00:00:00",
             "The format is hh:mm:ss, e.g. 00:12:30."],
    "objects": ["In this video clip no object stands out.", "The clip is too short.", "The needle driver is visible."],
    "span": ["No error between 10 s and 20 s.", "The clip runs from 0 s to 180 s."],
    "instrument": ['{"instrument": ["grasper or hook"]}'],
}  # fmt: skip


@pytest.mark.parametrize("form", NOTHING)
def test_what_is_no_answer_is_read_as_none(form: str) -> None:
    readings = {reply: read_reply(reply, FORMS[form]) for reply in NOTHING[form]}
    assert {reply: one.value for reply, one in readings.items() if one.usable} == {}


@pytest.mark.parametrize(
    ("form", "reply", "value"),
    [
        ("phase", "Typically, clips are applied here; this is Clipping Cutting.", "Clipping Cutting"),
        ("error", "No sign of Perforation, rather Bleeding.", "Bleeding"),
        ("grade", "I give 4 out of 5.", "4"),
        ("clip", "The clip appears on the cystic duct.", "clip"),
        ("yes", "Yes, I can see a clip.", True),
        ("yes", "No clip is visible in the image.", False),
        ("yes", "No, the image does not show a clip.", False),
        ("number", "In frame 12 there are 3 clips.", 3),
        ("number", "One clip.", 1),
        ("number", "Two clips, both 5 mm wide.", 2),
        ("share", "The sponge is visible for 25% of the time.", 25.0),
        ("time", "In the 00:40:00 of video, it happens at 00:12:30.", [750.0]),
        ("objects", "The needle holder grips a needle.", ["Needle"]),
        ("span", "It begins at 10 s and ends at 20 s.", (10.0, 20.0)),
    ],
)
def test_answers_beside_such_talk_are_still_read(form: str, reply: str, value: Any) -> None:
    assert read_reply(reply, FORMS[form]).value == value
