"""What shows too little to be sure of is not in view, is kept, and no question rests on it."""

from dataclasses import replace

import numpy as np
import pytest

from surgvalid.datasets.tools._losses import losses
from surgvalid.questions.catalogue import template_named
from surgvalid.questions.drafts import ambiguity_of
from surgvalid.questions.template import FRAME, PROCEDURE, SEGMENT, QuestionScene
from surgvalid.schema.procedures.ledger import Ledger
from surgvalid.schema.procedures.procedure_files import procedure_from_dict, procedure_to_dict
from surgvalid.schema.procedures.procedure_problems import procedure_problems
from surgvalid.schema.procedures.spans import Window
from surgvalid.schema.procedures.tracks import EVERYTHING, Procedure, Track, Visibility

HARDLY = "it depends on what can hardly be made out"
BOX = (10.0, 10.0, 20.0, 20.0)


def track(name: str, class_name: str, seen: range, doubtful: range = range(0)) -> Track:
    seconds = sorted([*seen, *doubtful])
    doubts = np.isin(seconds, list(doubtful))
    codes = np.where(doubts, Visibility.OUTSIDE, Visibility.VISIBLE)
    return Track(name, class_name, np.array(seconds), np.array([BOX] * len(seconds)), codes, {}, (), doubts)


def procedure(*tracks: Track) -> Procedure:
    return Procedure("v", "p", "c", 100, 64, 48, tracks, declared=EVERYTHING)


WORLD = procedure(
    track("a", "Sponge", range(10, 30)), track("b", "Sponge", range(40, 60), range(15, 25)),
    track("c", "Clip", range(10, 60)), track("d", "Needle", range(0), range(20, 22)),
)  # fmt: skip


def test_a_doubtful_point_is_not_in_view_and_comes_back_from_a_file():
    assert procedure_problems(WORLD) == []
    assert procedure_from_dict(procedure_to_dict(WORLD)) == WORLD
    assert "doubtful" not in procedure_to_dict(WORLD)["tracks"][0]
    assert [entry.instance for entry in Ledger(WORLD).in_view(20)] == ["a", "c"]
    assert replace(WORLD, tracks=tuple(replace(t, doubtful=np.zeros(len(t), bool)) for t in WORLD.tracks)) != WORLD


def test_a_point_cannot_be_in_view_and_doubtful():
    both = replace(track("a", "Sponge", range(3)), doubtful=np.ones(3, dtype=bool))
    assert procedure_problems(procedure(both)) == [
        "track 'a': 3 points are in view and doubtful (first: second 0)"
    ]  # fmt: skip


def test_whoever_takes_doubtful_points_for_seen_sees_more_all_at_once_or_one_object():
    readings = Ledger(WORLD).generous(Window(0, 99))
    assert [[entry.instance for entry in one.in_view(20)] for one in readings] == [
        ["a", "b", "c", "d"], ["a", "b", "c"], ["a", "c", "d"],
    ]  # fmt: skip
    assert Ledger(WORLD).generous(Window(30, 99)) == ()
    assert [len(one.in_view(20)) for one in Ledger(WORLD).generous(Window(23, 24))] == [3]


@pytest.mark.parametrize(
    ("name", "track", "window", "slots", "reason"),
    [
        ("objects-visible", FRAME, (20, 20), {}, HARDLY),
        ("objects-visible", FRAME, (50, 50), {}, None),
        ("objects-visible", FRAME, (12, 12), {}, None),
        ("class-visible", FRAME, (20, 20), {"object": "Needle"}, HARDLY),
        ("class-visible", FRAME, (20, 20), {"object": "Sponge"}, None),
    ],
)
def test_a_question_whose_answer_would_change_is_withheld(name, track, window, slots, reason):
    scene = QuestionScene(Ledger(WORLD), Window(*window), track)
    template = template_named(name)
    answer = template.answer(scene, slots)
    assert answer is not None
    assert ambiguity_of(template, scene, slots, answer) == reason


@pytest.mark.parametrize("track", [SEGMENT, PROCEDURE])
def test_doubtful_seconds_anywhere_in_the_window_count(track):
    assert track in (SEGMENT, PROCEDURE)
    assert len(Ledger(WORLD).generous(Window(0, 20))) == 3


def test_a_file_without_words_for_doubt_says_that_it_is_lost():
    told = replace(WORLD, tracks=tuple(t.at_points(t.in_view) for t in WORLD.tracks))
    found = [finding.message for finding in losses(WORLD, told, tool="x") if finding.code == "lost-doubts"]
    assert found == [
        "track 'b': at 10 points it is not in the file that nobody can be sure of them",
        "track 'd': at 2 points it is not in the file that nobody can be sure of them",
    ]
