"""Replies that name some classes and say what becomes of the others, and answers among other things."""

from __future__ import annotations

from typing import Any

import pytest

from surgvalid.asking.reading import ReplyRead, read_reply

TOOLS: dict[str, Any] = {"form": "labels", "classes": ["Grasper", "Hook", "Clipper"]}
OBJECTS: dict[str, Any] = {"form": "fo_class", "classes": ["Sponge", "Clip", "Mesh"]}
MOVES: dict[str, Any] = {"form": "choice", "classes": ["Left", "Right", "Up", "Down"]}
PHASES: dict[str, Any] = {
    "form": "choice", "classes": ["Preparation", "Dissection", "Clipping"], "numbered_from": 0, "key": "phase",
}  # fmt: skip
OPTIONS: dict[str, Any] = {"form": "multiple_choice", "options": {"A": "Pelvis", "B": "Liver bed"}}
CLIPS: dict[str, Any] = {"form": "number", "asked": "How many clips are visible?"}
WHEN: dict[str, Any] = {"form": "time", "window_s": [0, 5400], "asked": "When does the first clip come into view?"}
HOOK_ALONE = {"Grasper": False, "Hook": True, "Clipper": False}


@pytest.mark.parametrize(
    "reply",
    [
        "| Grasper | Hook | Clipper |\n|---|---|---|\n| ✗ | ✓ | ✗ |",
        "| frame | Grasper | Hook | Clipper |\n|---|---|---|---|\n| 1 | no | yes | no |",
        "- [ ] Grasper\n- [x] Hook\n- [ ] Clipper", "Only the hook is visible.", "Nur der Hook ist zu sehen.",
        "Seul le Hook est visible.", "On ne voit que le Hook.", "Solo aparece el Hook.", "只有Hook可见。",
        "No instrument other than the hook is visible.", "I see nothing but a hook.", "Hook, sonst nichts.",
        "Hook: present. The others are absent.", "The hook is the only instrument that is visible.",
        '{"present": ["Hook"], "absent": ["Grasper", "Clipper"]}',
        '{"Grasper": false}\n{"Hook": true}\n{"Clipper": false}',
    ],
)  # fmt: skip
def test_what_is_said_of_the_rest_counts(reply: str) -> None:
    assert read_reply(reply, TOOLS).value == HOOK_ALONE


@pytest.mark.parametrize(
    ("reply", "grasper", "clipper"),
    [
        ("All except the hook are visible.", True, True),
        ("Alle außer Hook sind vorhanden.", True, True),
        ("None of Grasper, Hook and Clipper is visible.", False, False),
        ("On the other hand, the hook is not visible.", None, None),
    ],
)
def test_a_hook_that_is_denied(reply: str, grasper: bool | None, clipper: bool | None) -> None:
    assert read_reply(reply, TOOLS).value == {"Grasper": grasper, "Hook": False, "Clipper": clipper}


@pytest.mark.parametrize(
    "reply", ["Parece que el Hook está visible.", "Only a part of the hook is visible.", "Just below is the hook."]
)
def test_the_rest_is_not_told_by_a_word_that_looks_like_only(reply: str) -> None:
    assert read_reply(reply, TOOLS).value == {"Grasper": None, "Hook": True, "Clipper": None}


@pytest.mark.parametrize(
    ("reply", "schema", "value"),
    [
        ('{"phase": {"id": 1, "name": "Dissection"}}', PHASES, "Dissection"),
        ('{"tool": "answer", "arguments": {"phase": 2}}', PHASES, "Clipping"),
        ('{"output": {"phase": 0}, "model": "m-7"}', PHASES, "Preparation"),
        ("I first took it for phase 1. I change my answer to 2.", PHASES, "Clipping"),
        ("La réponse est la 2.", PHASES, "Clipping"),
        ("Opción B", OPTIONS, "B"),
        ("Richtig ist A.", OPTIONS, "A"),
        ("选A，因为在盆腔。", OPTIONS, "A"),
        ("The view goes left.", MOVES, "Left"),
        ("- [x] Sponge\n- [ ] Clip", OBJECTS, ["Sponge"]),
        ("Visible objects: Sponge, Mesh", OBJECTS, ["Sponge", "Mesh"]),
        ("1 grasper and 5 clips", CLIPS, 5),
        ("The clip comes at 00:10:00, after the applier came at 00:09:30.", WHEN, [600.0]),
        ("thirty-five percent", {"form": "percentage"}, 35.0),
        ("A trocar is all there is, so no.", {"form": "yes_no"}, False),
        ("判定：CORRECT", {"form": "verdict"}, True),
    ],
)
def test_an_answer_is_found_among_other_things(reply: str, schema: dict[str, Any], value: object) -> None:
    assert read_reply(reply, schema).value == value


@pytest.mark.parametrize(
    ("reply", "schema"),
    [
        ('Clearly Dissection. {"phase": 2}', PHASES),
        ('{"phase": 2, "nombre": "Dissection"}', PHASES),
        ("Between 2 and 3", {"form": "choice", "classes": ["1", "2", "3"], "ordered": True}),
        ("That's right, and the left ovary is seen.", MOVES),
        ("Graspers are used to hold tissue.", TOOLS),
        ("Grasper: n/a, Hook: n/a, Clipper: n/a", TOOLS),
        ("No images were provided to me.", TOOLS),
        ("No. I cannot open the video.", {"form": "yes_no"}),
        ("Nein, ich kann das Video nicht öffnen.", {"form": "yes_no"}),
        ("Yes, I'd be happy to help with the image.", {"form": "yes_no"}),
        ("Sponge 或 Mesh", OBJECTS),
        ("Sponge, Gauze", OBJECTS),
    ],
)
def test_what_says_two_things_or_declines_is_none(reply: str, schema: dict[str, Any]) -> None:
    assert not read_reply(reply, schema).usable


def test_a_refusal_in_another_language_is_a_refusal() -> None:
    replies = ["Als Sprachmodell kann ich das nicht beurteilen.", "No estoy capacitado para evaluar imágenes."]
    assert {read_reply(reply, TOOLS).status for reply in replies} == {ReplyRead.REFUSED}
