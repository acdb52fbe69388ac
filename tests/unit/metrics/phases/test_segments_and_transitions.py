from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surgvalid.errors import Misuse, UnknownName
from surgvalid.metrics.metric import value_of
from surgvalid.metrics.phases.segmental import (
    EditScore,
    SegmentF1,
    ShortSegments,
    edit_score,
    label_changes,
    segment_counts,
    spurious_switches,
)
from surgvalid.metrics.phases.transitions import TransitionDelay, TransitionDetection, match_transitions
from surgvalid.metrics.phases.videos import PhaseVideo, segments

labels = st.lists(st.integers(0, 3), min_size=1, max_size=20)


@given(labels)
def test_segments_tile_the_sequence(sequence: list[int]) -> None:
    runs = segments(sequence)
    assert np.repeat(runs.labels, runs.stops - runs.starts).tolist() == sequence
    assert (runs.labels[1:] != runs.labels[:-1]).all()


@given(labels, labels)
def test_the_edit_score_is_symmetric_and_blind_to_durations(left: list[int], right: list[int]) -> None:
    assert edit_score(left, right) == edit_score(right, left)
    assert edit_score(np.repeat(left, 3), right) == edit_score(left, right)


def test_corpus_and_per_video_f1_are_two_numbers() -> None:
    good = PhaseVideo([1] * 8 + [2] * 8, [1] * 8 + [2] * 8)
    bad = PhaseVideo([1] * 8, [2] * 8)
    assert value_of(SegmentF1(overlap=0.1), [good, bad]) == pytest.approx(4 / 6)
    assert value_of(SegmentF1(overlap=0.1, average="videos"), [good, bad]) == pytest.approx(0.5)


def test_a_reference_segment_is_taken_once() -> None:
    assert segment_counts([1] * 10, [1] * 4 + [2] + [1] * 5, overlap=0.1) == (1, 2, 0)


def test_ignored_labels_are_dropped_before_anything_is_compared() -> None:
    assert segment_counts([0, 1, 1, 0], [0, 0, 0, 0], overlap=0.5, ignore=[0]) == (0, 0, 1)
    assert segment_counts([0, 0], [1, 1], overlap=0.5, ignore=[0]) == (0, 1, 0)
    nothing = PhaseVideo([0, 0], [0, 0])
    assert math.isnan(value_of(EditScore(ignore=[0]), [nothing]))
    assert math.isnan(value_of(SegmentF1(overlap=0.5, average="videos", ignore=[0]), [nothing]))
    names = PhaseVideo(["bg", "cut"], ["cut", "cut"])
    assert value_of(EditScore(ignore=["bg"]), [names]) == 1


def test_most_transitions_are_matched_before_delays_are_made_small() -> None:
    """The nearest pair would leave the other two alone."""
    reference = [1] * 10 + [2] * 3 + [1] * 3 + [2] * 10
    prediction = [1] * 15 + [2] * 2 + [1] * 3 + [2] * 6
    found = match_transitions(reference, prediction, tolerance_s=5, kind="pair")
    assert len(found.matched) == 3
    assert found.delays_s.tolist() == [5.0, 4.0, 4.0]


def test_what_counts_as_the_same_transition_is_an_option() -> None:
    reference, prediction = [1, 1, 2, 2], [3, 3, 2, 2]
    assert not match_transitions(reference, prediction, tolerance_s=1).matched
    assert len(match_transitions(reference, prediction, tolerance_s=1, kind="entry").matched) == 1
    assert len(match_transitions([1, 2], [3, 4], tolerance_s=1, kind="any").matched) == 1


def test_missed_and_invented_transitions_are_listed() -> None:
    found = match_transitions([1] * 5 + [2] * 5, [1] * 2 + [3] * 8, tolerance_s=1, fps=2)
    assert [item.time_s for item in found.missed] == [2.5]
    assert [item.entered for item in found.invented] == [3]
    assert math.isnan(value_of(TransitionDelay(), [PhaseVideo([1, 1], [1, 2])]))


def test_flicker_is_punished_by_transitions_though_frames_hardly_notice() -> None:
    reference = [1] * 300 + [2] * 300
    prediction = [2 if i % 100 == 50 else label for i, label in enumerate(reference)]
    video = PhaseVideo(reference, prediction)
    assert np.mean(np.array(reference) == prediction) > 0.99
    assert value_of(TransitionDetection(measure="precision", tolerance_s=5), [video]) < 0.2
    changes = label_changes(reference, prediction)
    assert (changes.predicted - changes.reference) / changes.minutes == pytest.approx(6 / 10)
    assert value_of(ShortSegments(), [video]) == pytest.approx(3 / 8)


def test_a_switch_is_spurious_only_where_the_reference_does_not_change() -> None:
    assert spurious_switches([0, 0, 1, 0, 0], [0, 0, 1, 0, 0], shorter_s=3) == 0
    assert spurious_switches([0, 0, 0, 0, 0], [0, 0, 1, 0, 0], shorter_s=3) == 1
    assert spurious_switches([0, 0, 0, 0, 0], [0, 0, 1, 0, 0], shorter_s=1) == 0
    assert spurious_switches([0, 0, 0, 0, 0], [0, 0, 1, 0, 0], shorter_s=1, fps=2) == 1


def test_bad_videos_and_options_are_refused() -> None:
    uneven = [PhaseVideo([1, 1], [1], name="VID09")]
    for metric in (EditScore(), SegmentF1(overlap=0.1), TransitionDetection(), ShortSegments()):
        with pytest.raises(Misuse, match="VID09"):
            metric.prepare(uneven)
    for wrong in (0, 10, math.nan):
        with pytest.raises(Misuse, match="overlap"):
            SegmentF1(overlap=wrong)
    with pytest.raises(UnknownName):
        SegmentF1(overlap=0.1, average="video")
    with pytest.raises(UnknownName):
        TransitionDetection(kind="entries")
    with pytest.raises(UnknownName):
        TransitionDetection(measure="f2")
    with pytest.raises(Misuse, match="tolerance_s"):
        TransitionDetection(tolerance_s=math.inf)
    with pytest.raises(Misuse, match="quantile"):
        TransitionDelay(quantile=95)
