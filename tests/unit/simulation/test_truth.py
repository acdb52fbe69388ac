"""The truth at 1 fps is what the scene shows at any rate, and its events about the view follow from its tracks."""

from functools import cache

import numpy as np
import pytest

from surgvalid.schema.procedures.procedure_problems import contradictions, procedure_problems
from surgvalid.schema.procedures.tracks import EventKind, Visibility
from surgvalid.simulation import PROCEDURE_TYPES, draw_scene, true_procedure
from surgvalid.simulation.sighting import sights
from surgvalid.simulation.truth import LEAST_ABSENCE_S


@cache
def pair(kind: str = "Cholecystectomy", number: int = 0):
    scene = draw_scene(19, number, procedure=kind, minutes=(12, 16))
    return scene, true_procedure(scene)


@pytest.mark.parametrize("kind", PROCEDURE_TYPES)
def test_the_truth_is_sound_and_free_of_contradictions(kind):
    _, procedure = pair(kind)
    assert procedure_problems(procedure) == []
    assert contradictions(procedure) == []
    assert procedure.phases[-1].end_s == procedure.duration_s


@pytest.mark.parametrize("fps", [5, 25])
def test_a_higher_rate_shows_the_same_at_whole_seconds(fps):
    scene, procedure = pair()
    view = scene.look(np.arange(0, 300, 1 / fps))
    seen_at = sights(scene, view.times_s)
    assert len(scene.lives) > 5
    for life in scene.lives:
        sight, part = seen_at[life.instance], view.span_of(life)
        whole = np.isclose(view.times_s[part] % 1, 0, atol=1e-9)
        seen = whole & (sight.visibility != Visibility.OUTSIDE)
        track = procedure.track(life.instance)
        early = track.seconds < 300
        assert np.rint(view.times_s[part][seen]).astype(int).tolist() == track.seconds[early].tolist()
        assert sight.boxes[seen].tolist() == track.boxes[early].tolist()


def test_leaving_and_coming_back_are_told_where_the_track_has_a_long_gap():
    _, procedure = pair()
    for track in procedure.tracks:
        told = [e for e in procedure.events if e.instance == track.instance]
        gaps = np.flatnonzero(np.diff(track.seconds) > LEAST_ABSENCE_S)
        back = [e.second for e in told if e.kind is EventKind.REAPPEARED]
        assert back == track.seconds[gaps + 1].tolist()
        first = [e.second for e in told if e.kind is EventKind.FIRST_SEEN]
        assert first == track.seconds[:1].tolist()


def test_nothing_is_seen_in_a_masked_second():
    masked = 0
    for number in range(4):
        _, procedure = pair(number=number)
        for span in procedure.masked:
            masked += span.length_s
            for track in (*procedure.tracks, *procedure.instruments):
                assert not ((track.seconds >= span.start_s) & (track.seconds < span.end_s)).any()
    assert masked > 0
