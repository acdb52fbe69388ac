"""A name counts for what the words around it say, and words that nobody thought of say nothing."""

from __future__ import annotations

from typing import Any

import pytest

from surgvalid.asking.reading import read_reply

PHASES = {"form": "choice", "classes": ["Preparation", "Clipping Cutting", "Gallbladder Packaging"], "key": "phase"}
TOOLS = {"form": "labels", "classes": ["Grasper", "Hook", "Scissors"]}
MOVES = {"form": "choice", "classes": ["Up", "Left", "Right", "Static"]}


@pytest.mark.parametrize(
    ("reply", "schema", "value"),
    [
        ("The frame belongs to the Gallbladder Packaging phase.", PHASES, "Gallbladder Packaging"),
        ("Wir befinden uns in der Phase Preparation.", PHASES, "Preparation"),
        ("Estamos en la fase Clipping Cutting.", PHASES, "Clipping Cutting"),
        ("My pick: Preparation", PHASES, "Preparation"),
        ("The endoscope pans to the left.", MOVES, "Left"),
        ("Two graspers retract the liver while the hook dissects.", TOOLS, ["Grasper", "Hook"]),
        ("Using scissors, the surgeon divides the duct.", TOOLS, ["Scissors"]),
        ("A slightly bent hook lies on the liver.", TOOLS, ["Hook"]),
    ],
)
def test_what_a_frame_states_is_read(reply: str, schema: dict[str, Any], value: Any) -> None:
    read = read_reply(reply, schema).value
    assert ([name for name, held in read.items() if held] if isinstance(read, dict) else read) == value


@pytest.mark.parametrize(
    ("reply", "schema"),
    [
        ("Preparation lasts ten minutes in most centres.", PHASES),
        ("Every textbook describes Clipping Cutting.", PHASES),
        ("The patient lay in the Preparation room.", PHASES),
        ("Gallbladder Packaging is the phase in which a bag is used.", PHASES),
        ("Left lobe and right lobe look healthy.", MOVES),
        ("The left screen flickers.", MOVES),
        ("Hooks dissect tissue.", TOOLS),
        ("Graspers are used to hold tissue.", TOOLS),
        ("Buy scissors.", TOOLS),
    ],
)
def test_a_name_in_any_other_frame_is_no_answer(reply: str, schema: dict[str, Any]) -> None:
    assert not read_reply(reply, schema).usable


def test_half_of_the_things_that_are_named_is_no_answer() -> None:
    reading = read_reply("I see a grasper. Hook tips wear out.", TOOLS)
    assert not reading.usable
    assert "Hook" in reading.problem
