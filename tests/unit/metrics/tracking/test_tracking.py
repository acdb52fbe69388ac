from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metric_examples.tracking import iou, random_sequence, sequence_of
from surgvalid.errors import InputInvalid, Misuse, UnknownName
from surgvalid.metrics.metric import value_of
from surgvalid.metrics.tracking.measures import Hota, IdentityF1, IdentitySwitches, Mota
from surgvalid.metrics.tracking.sequences import TrackSequence, best_in_frame, best_pairs, overlaps
from tracking_tables import PERSPECTIVES, PerspectiveSequence, perspective_table, tracking_table

BOX = (0.0, 0.0, 4.0, 4.0)


def one_tool(identities: list[str], predicted: list[str]) -> TrackSequence:
    frames = list(range(len(identities)))
    return TrackSequence(frames, identities, [BOX] * len(frames), frames, predicted, [BOX] * len(frames))


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None)
def test_all_pairs_of_a_frame_are_there_with_their_iou(seed: int) -> None:
    unit = random_sequence(np.random.default_rng(seed))
    found = overlaps(sequence_of(unit))
    listed = [iou(a, b) for ours, theirs in unit for a in ours.values() for b in theirs.values()]
    assert sorted(found.similarity) == pytest.approx(sorted(listed))


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None)
def test_frames_without_a_choice_are_matched_as_the_solver_would(seed: int) -> None:
    found = overlaps(sequence_of(random_sequence(np.random.default_rng(seed))))
    solved = []
    for frame in range(len(found.starts) - 1):
        own = found.similarity[found.starts[frame] : found.starts[frame + 1]]
        if own.size:
            solved += [pair for pair in best_in_frame(found, own, frame).tolist() if found.similarity[pair] > 0]
    assert best_pairs(found, found.similarity).tolist() == sorted(solved)


def test_one_switch_halves_the_association_and_leaves_detection_alone() -> None:
    sequence = one_tool(["a"] * 10, ["x"] * 5 + ["y"] * 5)
    assert value_of(Hota(component="deta"), [sequence]) == pytest.approx(1)
    assert value_of(Hota(component="assa"), [sequence]) == pytest.approx(0.5)
    assert value_of(Hota(), [sequence]) == pytest.approx(math.sqrt(0.5))
    assert value_of(IdentitySwitches(), [sequence]) == 1
    assert value_of(Mota(), [sequence]) == pytest.approx(0.9)
    assert value_of(IdentityF1(), [sequence]) == pytest.approx(0.5)


def test_an_overlap_equal_to_a_threshold_passes_it() -> None:
    sequence = TrackSequence([0], ["a"], [(0, 0, 4, 4)], [0], ["x"], [(0, 0, 4, 2)])
    assert value_of(Hota(), [sequence]) == pytest.approx(10 / 19)
    assert value_of(Mota(), [sequence]) == 1
    assert value_of(IdentityF1(), [sequence]) == 1


def test_a_tool_that_returns_with_another_identity_counts_as_a_switch_after_any_gap() -> None:
    sequence = TrackSequence([0, 9], ["a", "a"], [BOX] * 2, [0, 9], ["x", "y"], [BOX] * 2)
    assert value_of(IdentitySwitches(), [sequence]) == 1


def test_false_boxes_make_mota_negative_and_no_reference_leaves_none() -> None:
    noisy = TrackSequence([0], ["a"], [BOX], [0, 0, 0], ["x", "y", "z"], [(50.0 + k, 0.0, 4.0, 4.0) for k in range(3)])
    assert value_of(Mota(), [noisy]) == -3
    assert math.isnan(value_of(Mota(), [TrackSequence([], [], [], [0], ["x"], [BOX])]))


def test_boxes_of_different_classes_never_overlap() -> None:
    arguments = ([0], ["a"], [BOX], [0], ["x"], [BOX])
    assert value_of(Hota(), [TrackSequence(*arguments, ["hook"], ["hook"])]) == pytest.approx(1)
    assert value_of(Hota(), [TrackSequence(*arguments, ["hook"], ["clipper"])]) == 0


def test_each_perspective_has_its_own_value() -> None:
    frames = list(range(6))
    identities = {
        "visibility": ["v1", "v1", "v2", "v2", "v3", "v3"],
        "intracorporeal": ["b1"] * 4 + ["b2"] * 2,
        "intraoperative": ["o1"] * 6,
    }
    sequence = PerspectiveSequence(frames, identities, [BOX] * 6, frames, ["x"] * 6, [BOX] * 6, name="VID25")
    table = perspective_table([sequence])
    assert table.height == 2 * len(PERSPECTIVES)
    whole = table.filter(sequence="combined").sort("hota")
    assert whole["perspective"].to_list() == list(PERSPECTIVES)
    assert whole["idf1"].to_list() == pytest.approx([2 / 6, 4 / 6, 1])
    with pytest.raises(UnknownName, match="visibility"):
        sequence.seen_as("visible")
    with pytest.raises(UnknownName):
        PerspectiveSequence(frames, identities, [BOX] * 6, frames, {}, [BOX] * 6).seen_as("visibility")


def test_the_table_has_a_row_per_sequence_and_the_total_of_switches() -> None:
    table = tracking_table([one_tool(["a"] * 4, ["x", "y", "x", "x"]), one_tool(["a"] * 2, ["x", "y"])])
    assert table["sequence"].to_list() == ["0", "1", "combined"]
    assert table["id_switches"].to_list() == [2, 1, 3]
    assert table["mota"].to_list() == pytest.approx([0.5, 0.5, 0.5])


def test_every_problem_of_a_sequence_is_named() -> None:
    wrong = TrackSequence([0.5], ["a"], [BOX], [0, 0], ["x", "x"], [BOX, BOX], ["hook"], None, name="VID01")
    with pytest.raises(InputInvalid) as caught:
        overlaps(wrong)
    assert len(caught.value.problems) == 3
    assert "VID01" in str(caught.value)
    for box in ((0, 0, 0, 4), (0, 0, math.inf, 4)):
        with pytest.raises(InputInvalid, match="positive size"):
            overlaps(TrackSequence([0], ["a"], [box], [], [], []))
    with pytest.raises(InputInvalid, match="2 frames, 1 identities"):
        overlaps(TrackSequence([0, 1], ["a"], [BOX, BOX], [], [], []))


def test_options_that_mean_nothing_are_refused() -> None:
    with pytest.raises(UnknownName, match="hota"):
        Hota(component="hotas")
    for metric in (Mota, IdentityF1):
        with pytest.raises(Misuse, match="threshold"):
            metric(threshold=50)
