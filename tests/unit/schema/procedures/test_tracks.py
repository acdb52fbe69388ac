"""Tracks and procedures hold data exactly as given."""

import numpy as np
import pytest

from procedures import tiny_procedure
from surgvalid.errors import ProcedureInvalid
from surgvalid.schema.procedures.tracks import (
    AttributeChange,
    Event,
    EventKind,
    Procedure,
    Track,
    Visibility,
    track_from_points,
)


def test_points_come_back_in_order_of_time():
    track = track_from_points("a", "Clip", [(4, (1, 2, 3, 4)), (2, (5, 6, 7, 8), Visibility.OCCLUDED)])
    assert track.seconds.tolist() == [2, 4]
    assert track.point_at(2) == (2, (5, 6, 7, 8), Visibility.OCCLUDED)
    assert track.point_at(3) is None
    assert track.point_at(5) is None


def test_columns_cannot_be_changed_afterwards():
    track = track_from_points("a", "Clip", [(4, (1, 2, 3, 4))])
    with pytest.raises(ValueError, match="read-only"):
        track.seconds[0] = 5


def test_a_track_copies_what_it_is_given():
    seconds = np.array([1, 2])
    track = Track("a", "Clip", seconds, np.ones((2, 4)), np.zeros(2))
    seconds[0] = 9
    assert track.seconds[0] == 1


@pytest.mark.parametrize("boxes", [np.ones((3, 4)), np.ones((2, 3)), np.ones(8)])
def test_columns_that_do_not_fit_are_refused(boxes):
    with pytest.raises(ProcedureInvalid, match="track 'a'"):
        Track("a", "Clip", np.array([1, 2]), boxes, np.zeros(2))


def test_an_attribute_keeps_its_value_until_it_changes():
    track = track_from_points(
        "a", "Sponge", [], attributes={"colour": "white"}, changes=[AttributeChange(7, "colour", "red")]
    )
    assert [track.attribute_at("colour", second) for second in (0, 6, 7, 99)] == ["white", "white", "red", "red"]
    assert track.attribute_at("size", 7) is None


def test_events_are_kept_in_order_of_time_and_the_video_stands_for_the_patient():
    events = (Event(EventKind.RETRIEVED, 9, "a"), Event(EventKind.INSERTED, 1, "a"))
    procedure = Procedure("v", "p", "c", 10, 5, 5, events=events)
    assert [event.second for event in procedure.events] == [1, 9]
    assert procedure.patient == "v"


def test_a_phase_ends_before_its_end():
    procedure = tiny_procedure()
    assert [procedure.phase_at(second) for second in (0, 9, 10, 59, 60)] == [
        "preparation", "preparation", "dissection", "retraction", None,
    ]  # fmt: skip


def test_equality_looks_at_every_column():
    one, other = tiny_procedure(), tiny_procedure()
    assert one == other
    moved = track_from_points("a", "Clip", [(1, (1, 2, 3, 4))])
    assert moved != track_from_points("a", "Clip", [(1, (1, 2, 3, 5))])
    assert moved != track_from_points("a", "Clip", [(1, (1, 2, 3, 4), Visibility.OCCLUDED)])
    assert hash(one) == hash(other)


def test_an_unknown_instance_is_a_key_error():
    with pytest.raises(KeyError):
        tiny_procedure().track("nobody")
