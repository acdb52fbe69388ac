"""Impossible annotations are named, all of them."""

from dataclasses import replace

import numpy as np
import pytest

from procedures import random_procedure, tiny_procedure
from surgvalid.errors import ProcedureInvalid
from surgvalid.schema.procedures.foreign_objects import CLASS_NAMES
from surgvalid.schema.procedures.procedure_problems import check_procedure, contradictions, procedure_problems
from surgvalid.schema.procedures.tracks import (
    AttributeChange,
    Event,
    EventKind,
    Phase,
    Procedure,
    Span,
    Track,
    track_from_points,
)


def with_track(track: Track) -> Procedure:
    return Procedure("v", "p", "c", 60, 640, 360, (track,))


def with_events(*events: Event) -> Procedure:
    return replace(tiny_procedure(), events=tuple(events))


def test_sound_procedures_have_no_problems():
    for procedure in (tiny_procedure(), *(random_procedure(seed) for seed in range(60))):
        assert check_procedure(procedure) is procedure
        assert procedure_problems(procedure, class_names=CLASS_NAMES) == []
        assert contradictions(procedure) == []


BOX = (1.0, 1.0, 5.0, 5.0)


@pytest.mark.parametrize(
    ("procedure", "expected"),
    [
        (Procedure("", "p", "c", 10, 5, 5), "video is empty"),
        (Procedure("v", "p", "c", 0, 5, 5), "duration_s must be at least 1, got 0"),
        (with_track(track_from_points("a", "", [])), "has no class"),
        (with_track(track_from_points("a", "Clp", [])), "did you mean 'Clip'?"),
        (with_track(track_from_points("a", "Clip", [(60, BOX)])), "outside the 60 s of the video (first: second 60)"),
        (with_track(track_from_points("a", "Clip", [(3, BOX), (3, BOX)])), "second 3 comes twice"),
        (with_track(Track("a", "Clip", np.array([3, 2]), [BOX, BOX], np.zeros(2))), "out of order"),
        (with_track(Track("a", "Clip", np.array([3]), [BOX], np.array([9]))), "unknown visibility code 9"),
        (with_track(track_from_points("a", "Clip", [(3, (1, 1, 0, 5))])), "no positive size"),
        (with_track(track_from_points("a", "Clip", [(3, (1, 1, -4, 5))])), "no positive size"),
        (with_track(track_from_points("a", "Clip", [(3, (1, 1, float("nan"), 5))])), "not finite"),
        (with_track(track_from_points("a", "Clip", [(3, (640, 1, 4, 5))])), "wholly outside the frame"),
        (with_track(track_from_points("a", "Clip", [], changes=[AttributeChange(60, "c", "x")])), "outside the video"),
        (with_events(Event(EventKind.PLACED, 3, "sponge1")), "did you mean 'sponge 1'?"),
        (with_events(Event(EventKind.PLACED, 60, "sponge 1")), "outside the video"),
        (Procedure("v", "p", "c", 60, 9, 9, phases=(Phase("x", 5, 5),)), "not after its start"),
        (Procedure("v", "p", "c", 60, 9, 9, phases=(Phase("x", 5, 61),)), "reaches outside"),
        (Procedure("v", "p", "c", 60, 9, 9, phases=(Phase("x", 0, 9), Phase("y", 8, 12))), "before x ends at 9 s"),
        (Procedure("v", "p", "c", 60, 9, 9, masked=(Span(4, 3),)), "masked stretch"),
    ],
)
def test_each_problem_is_named(procedure, expected):
    problems = procedure_problems(procedure, class_names=CLASS_NAMES)
    assert len(problems) == 1, problems
    assert expected in problems[0]


def test_an_instance_id_belongs_to_one_object():
    tracks = (track_from_points("a", "Clip", []), track_from_points("a", "Mesh", []))
    with pytest.raises(ProcedureInvalid, match="appears 2 times"):
        check_procedure(Procedure("v", "p", "c", 60, 9, 9, tracks))


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([(EventKind.INSERTED, 6)], "seen at second 5, before it was inserted at 6"),
        ([(EventKind.INSERTED, 4), (EventKind.GRASPED, 3)], "grasped at second 3, before it was inserted"),
        ([(EventKind.RETRIEVED, 29)], "seen at second 30, though it was retrieved at 29"),
        ([(EventKind.RETRIEVED, 30), (EventKind.PLACED, 31)], "placed at second 31, though it was retrieved"),
        ([(EventKind.RETRIEVED, 30), (EventKind.LEFT_IN_SITU, 30)], "both retrieved and left in situ"),
        ([(EventKind.INSERTED, 1), (EventKind.INSERTED, 2)], "2 events inserted"),
        ([(EventKind.LEFT_VIEW, 15)], "left_view at second 15, but the track still shows it"),
        ([(EventKind.REAPPEARED, 24)], "reappeared at second 24, but the track does not show it"),
        ([(EventKind.FIRST_SEEN, 6)], "first shows it at 5"),
    ],
)
def test_each_contradiction_is_named(events, expected):
    procedure = with_events(*(Event(kind, second, "sponge 1") for kind, second in events))
    assert procedure_problems(procedure) == []
    found = contradictions(procedure)
    assert len(found) == 1, found
    assert expected in found[0]


@pytest.mark.parametrize(("bag", "what"), [("bag 7", "unknown"), ("clip 1", "a Clip")])
def test_only_a_bag_receives_a_stone(bag, what):
    procedure = with_events(Event(EventKind.BAGGED, 41, "stone 1", {"bag": bag}))
    assert contradictions(procedure) == [f"stone 1: put at second 41 into the bag {bag!r}, which is {what}"]
