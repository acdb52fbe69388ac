"""A question is dropped when somebody a little less careful would answer differently."""

from dataclasses import replace

import pytest

from procedures import tiny_procedure
from surgvalid.questions.catalogue import template_named
from surgvalid.questions.drafts import ambiguity_of
from surgvalid.questions.template import FRAME, PROCEDURE, SEGMENT, QuestionScene
from surgvalid.schema.procedures.ledger import Ledger
from surgvalid.schema.procedures.spans import Window
from surgvalid.schema.procedures.tracks import Event, EventKind, Procedure, Span, track_from_points

BOX = (10, 10, 20, 20)


def procedure_of(*seconds: int, duration_s: int = 400, **more) -> Procedure:
    """A sponge that is in view in exactly these seconds."""
    sponge = track_from_points("s", "Sponge", [(s, BOX) for s in seconds])
    return Procedure("v", "p", "c", duration_s, 640, 360, (sponge,), **more)


def doubt(name: str, procedure: Procedure, window: tuple[int, int], track, **slots) -> str | None:
    template, scene = template_named(name), QuestionScene(Ledger(procedure), Window(*window), track)
    answer = template.answer(scene, slots)
    assert answer is not None
    return ambiguity_of(template, scene, slots, answer)


def test_a_count_that_hangs_on_one_second_is_in_doubt():
    steady, glimpse = procedure_of(*range(50, 90)), procedure_of(*range(50, 90), 200)
    assert doubt("absence-count", steady, (0, 399), PROCEDURE, object="Sponge", gap_s=5) is None
    reason = doubt("absence-count", glimpse, (0, 399), PROCEDURE, object="Sponge", gap_s=5)
    assert reason == "it depends on a glimpse of one second"


def test_a_frame_with_a_glimpse_is_in_doubt_and_any_other_is_exact():
    assert "glimpse" in doubt("visible-classes", procedure_of(7, 20, 21), (7, 7), FRAME)
    assert doubt("visible-classes", procedure_of(7, 8), (8, 8), FRAME) is None


def test_what_is_known_at_one_second_only_is_no_glimpse():
    """A still image, or a box that nobody linked to others: there is no more of the object to be overlooked."""
    assert doubt("visible-classes", procedure_of(7), (7, 7), FRAME) is None
    assert doubt("visible-classes", procedure_of(0, duration_s=1), (0, 0), FRAME) is None
    told = (Event(EventKind.INSERTED, 3, "s"),)
    assert "glimpse" in doubt("visible-classes", procedure_of(7, events=told), (7, 7), FRAME)


@pytest.mark.parametrize(("end", "clear"), [(90, True), (120, True), (101, False), (99, False)])
def test_an_event_near_the_end_of_the_window_is_in_doubt(end, clear):
    events = (Event(EventKind.INSERTED, 40, "s"), Event(EventKind.RETRIEVED, 100, "s"))
    procedure = procedure_of(*range(50, 90), events=events)
    reason = doubt("all-retrieved", procedure, (0, end), PROCEDURE)
    assert (reason is None) == clear


def test_a_time_may_move_within_its_tolerance():
    procedure = procedure_of(*range(50, 60), *range(62, 200))
    assert doubt("last-visible", procedure, (0, 300), PROCEDURE, object="Sponge") is None
    assert doubt("first-visible", procedure, (40, 300), SEGMENT, object="Sponge") is None


@pytest.mark.parametrize(
    ("name", "window", "more"),
    [
        ("first-visible", (60, 300), {}),
        ("first-visible", (48, 300), {}),
        ("last-visible", (10, 150), {}),
        ("last-visible", (10, 201), {}),
        ("appearances", (60, 300), {"gap_s": 5}),
    ],
)
def test_a_sighting_at_the_border_of_the_window_is_no_coming_or_going(name, window, more):
    """`When is it first visible?` of what is in view from the start: the start of the clip, without a look."""
    reason = doubt(name, procedure_of(*range(50, 200)), window, SEGMENT, object="Sponge", **more)
    assert reason == "it is in view at the border of the window"


@pytest.mark.parametrize(
    ("name", "track", "slots"),
    [
        ("must-leave", FRAME, {}),
        ("may-remain", FRAME, {}),
        ("harm-if-left", FRAME, {}),
        ("retained-if-closed", PROCEDURE, {}),
        ("all-retrieved", PROCEDURE, {}),
        ("missing-count", PROCEDURE, {}),
        ("missing-last-seen", PROCEDURE, {}),
        ("count-effect", PROCEDURE, {"event": "inserted", "event_s": 40}),
    ],
)
def test_a_drain_that_will_stay_on_purpose_is_in_doubt_until_it_is_declared(name, track, slots):
    drain = track_from_points("d", "External Drain", [(s, BOX) for s in range(50, 90)])
    events = (Event(EventKind.INSERTED, 40, "d"), Event(EventKind.LEFT_IN_SITU, 300, "d"))
    second = 70 if track is FRAME else 200
    window = (second if track is FRAME else 0, second)
    kept = Procedure("v", "p", "c", 400, 640, 360, (drain,), events)
    assert doubt(name, kept, window, track, **slots) == "it is left in the body on purpose later"
    assert doubt(name, replace(kept, events=events[:1]), window, track, **slots) is None


def test_a_drain_that_was_declared_to_stay_does_not_have_to_leave():
    drain = track_from_points("d", "External Drain", [(s, BOX) for s in range(50, 90)])
    events = (Event(EventKind.INSERTED, 40, "d"), Event(EventKind.LEFT_IN_SITU, 60, "d"))
    scene = QuestionScene(Ledger(Procedure("v", "p", "c", 400, 640, 360, (drain,), events)), Window(80, 80), FRAME)
    assert template_named("must-leave").answer(scene, {}).text == "None"
    assert template_named("may-remain").answer(scene, {}).text == "yes"
    assert template_named("harm-if-left").answer(scene, {}) is None


@pytest.mark.parametrize("name", ["event-count", "nth-inserted"])
def test_insertions_cannot_be_counted_when_one_was_not_annotated(name):
    other = track_from_points("s2", "Sponge", [(s, BOX) for s in range(60, 70)])
    told = (Event(EventKind.INSERTED, 40, "s"), Event(EventKind.INSERTED, 58, "s2"))
    procedure = replace(procedure_of(*range(50, 60)), tracks=(*procedure_of(*range(50, 60)).tracks, other), events=told)
    slots = {"object": "Sponge", "nth": 1, "event": "inserted"}
    assert doubt(name, procedure, (0, 300), PROCEDURE, **slots) is None
    untold = replace(procedure, events=told[:1])
    assert doubt(name, untold, (0, 300), PROCEDURE, **slots) == "some came without an annotated insertion"


def test_the_last_place_is_in_doubt_once_the_object_was_taken_up():
    placed = Event(EventKind.PLACED, 52, "s", {"place": "pelvis"})
    taken = Event(EventKind.GRASPED, 80, "s")
    assert (
        doubt("last-place", procedure_of(*range(50, 90), events=(placed,)), (0, 300), PROCEDURE, object="Sponge")
        is None
    )
    moved = procedure_of(*range(50, 90), events=(placed, taken))
    assert doubt("last-place", moved, (0, 300), PROCEDURE, object="Sponge") == "it was taken up since"


def test_the_first_sighting_is_in_doubt_when_it_is_a_glimpse_long_before_the_next():
    assert doubt("first-visible", procedure_of(3, *range(50, 90)), (0, 399), PROCEDURE, object="Sponge")
    assert doubt("first-visible", procedure_of(48, *range(50, 90)), (0, 399), PROCEDURE, object="Sponge") is None


def test_a_quoted_time_may_be_off_by_a_second():
    other = track_from_points("s2", "Sponge", [(s, BOX) for s in range(60, 70)])
    procedure = replace(procedure_of(*range(50, 60)), tracks=(*procedure_of(*range(50, 60)).tracks, other))
    slots = {"object": "Sponge", "then_s": 65}
    assert doubt("same-object", procedure, (40, 80), SEGMENT, at_s=55, **slots) is None
    assert "quoted time" in doubt("same-object", procedure, (40, 80), SEGMENT, at_s=59, **slots)


def test_an_absence_of_just_the_quoted_length_is_in_doubt():
    procedure = procedure_of(*range(50, 60), *range(65, 90))
    assert "duration" in doubt("absence-count", procedure, (0, 399), PROCEDURE, object="Sponge", gap_s=5)
    assert doubt("absence-count", procedure, (0, 399), PROCEDURE, object="Sponge", gap_s=3) is None


def test_an_absence_that_is_partly_masked_is_in_doubt():
    procedure = procedure_of(*range(50, 60), *range(80, 90), masked=(Span(62, 64),))
    assert "masked" in doubt("longest-absence", procedure, (0, 399), PROCEDURE, object="Sponge")


def test_what_lies_on_a_middle_line_has_no_quadrant():
    options = ("upper left", "upper right", "lower left", "lower right")
    slots = {"object": "Clip", "at_s": 20, "options": options}
    assert "middle line" in doubt("quadrant-of", tiny_procedure(), (20, 20), FRAME, **slots)
    slots = {"object": "Sponge", "at_s": 8, "options": options}
    assert doubt("quadrant-of", tiny_procedure(), (8, 8), FRAME, **slots) is None


def test_two_events_close_by_cannot_be_told_apart():
    events = tuple(
        Event(EventKind.PLACED, second, "s", {"place": place}) for second, place in ((50, "pelvis"), (52, "liver"))
    )
    slots = {"object": "Sponge", "event": "placed", "event_s": 50}
    assert "close by" in doubt("place-of", procedure_of(*range(40, 90), events=events), (0, 99), SEGMENT, **slots)
    assert doubt("place-of", procedure_of(*range(40, 90), events=events[:1]), (0, 99), SEGMENT, **slots) is None
