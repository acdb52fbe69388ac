from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from examples.erring_annotators import BoxAnnotator, CrowdWorker, Detector, annotate, detect, screen_presence

from surgvalid.schema.procedures.procedure_problems import procedure_problems
from surgvalid.simulation import simulate
from surgvalid.simulation import true_procedure as truth_of


@pytest.fixture(scope="module")
def procedures():
    """Without what is doubtful, which no annotator draws."""
    drawn = simulate(4, seed=17, minutes=(8, 9), types=["Sigmoid Resection"], width_px=160, height_px=90).scenes()
    told = [truth_of(scene, instruments=False) for scene in drawn]
    return [replace(one, tracks=tuple(t.at_points(t.in_view) for t in one.tracks)) for one in told]


def rates(frame: pl.DataFrame) -> tuple[float, float]:
    hit = frame.filter("truth")["present"].mean()
    quiet = 1 - frame.filter(~pl.col("truth"))["present"].mean()
    return float(hit), float(quiet)


def test_a_perfect_worker_names_what_is_there_and_nothing_else(procedures):
    frame = screen_presence(procedures[0], [CrowdWorker("ideal", 1.0, 1.0)], seed=1)
    easy = frame.filter("truth")["present"].mean()
    assert frame.filter(~pl.col("truth"))["present"].sum() == 0
    assert easy > 0.6  # small and fleeting objects escape anybody


def test_the_truth_of_a_clip_is_what_a_plain_reading_of_the_tracks_says(procedures):
    procedure = procedures[0]
    frame = screen_presence(procedure, [CrowdWorker("a")], seed=1)
    shown = {
        (track.class_name, int(second) // 5)
        for track in procedure.tracks
        for second, seen in zip(track.seconds, track.in_view, strict=True)
        if seen
    }
    assert shown == {(row["class_name"], row["clip"]) for row in frame.filter("truth").to_dicts()}


def test_workers_err_as_their_numbers_say(procedures):
    workers = [CrowdWorker("good", 0.97, 0.99), CrowdWorker("poor", 0.6, 0.9), CrowdWorker("spammer", spam=1.0)]
    frame = pl.concat([screen_presence(procedure, workers, seed=2) for procedure in procedures])
    by = {name: rates(frame.filter(pl.col("worker") == name)) for name in ("good", "poor", "spammer")}
    assert by["good"][0] > by["poor"][0] + 0.15
    assert by["poor"][1] == pytest.approx(0.9, abs=0.02)
    assert by["spammer"] == (pytest.approx(0.5, abs=0.05), pytest.approx(0.5, abs=0.05))


def test_tired_workers_overlook_more_towards_the_end(procedures):
    fresh, tired = CrowdWorker("w", 0.95), CrowdWorker("w", 0.95, fatigue=6.0)
    late = pl.col("clip") > 50
    frames = [screen_presence(procedures[0], [worker], seed=3).filter("truth") for worker in (fresh, tired)]
    early = [frame.filter(~late)["present"].mean() for frame in frames]
    end = [frame.filter(late)["present"].mean() for frame in frames]
    assert end[0] - end[1] > early[0] - early[1]


def test_an_annotator_without_faults_writes_the_truth(procedures):
    done = annotate(procedures[0], BoxAnnotator("ideal", jitter=0.0, missed=0.0), seed=0)
    assert done.errors == ()
    for track in procedures[0].tracks:
        np.testing.assert_allclose(done.procedure.track(track.instance).boxes, track.boxes, atol=1.01)
        assert done.procedure.track(track.instance).seconds.tolist() == track.seconds.tolist()


FAULTY = BoxAnnotator(
    "student", jitter=0.05, missed=0.05, lag=0.04, confusion=0.3, spurious_per_minute=0.5, identity_switch=0.3
)


def test_every_error_is_written_down_and_the_annotation_keeps_its_shape(procedures):
    kinds: Counter[str] = Counter()
    for procedure in procedures:
        done = annotate(procedure, FAULTY, seed=4)
        assert procedure_problems(done.procedure) == []
        kinds.update(error.kind for error in done.errors)
        missed = {(e.instance, e.second) for e in done.errors if e.kind == "missed"}
        points = sum(len(track) for track in procedure.tracks)
        kept = sum(len(t) for t in done.procedure.tracks if not t.instance.startswith("spurious_"))
        assert kept == points - len(missed)
        wrong = {error.instance for error in done.errors if error.kind == "class"}
        changed = {t.instance for t in procedure.tracks if done.procedure.track(t.instance).class_name != t.class_name}
        assert changed == wrong
    assert set(kinds) == {"missed", "lag", "class", "spurious", "identity"}


def test_an_identity_switch_swaps_two_objects_of_a_class_from_that_second_on(procedures):
    switcher = BoxAnnotator("s", jitter=0.0, missed=0.0, identity_switch=1.0)
    for procedure in procedures:
        done = annotate(procedure, switcher, seed=5)
        first = [error for error in done.errors if error.kind == "identity"]
        if not first:
            continue
        pair = {first[0].instance, first[0].detail}
        assert len({procedure.track(name).class_name for name in pair}) == 1
        before = [procedure.track(name).seconds[procedure.track(name).seconds < first[0].second] for name in pair]
        after = [
            done.procedure.track(name).seconds[done.procedure.track(name).seconds < first[0].second] for name in pair
        ]
        assert [len(x) for x in before] == [len(x) for x in after]


def test_the_same_seed_and_name_make_the_same_errors(procedures):
    first, again, other = (annotate(procedures[0], FAULTY, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first.errors != other.errors


def test_jitter_is_as_large_as_stated(procedures):
    done = annotate(procedures[0], BoxAnnotator("j", jitter=0.1, missed=0.0), seed=6)
    offs = []
    for track in procedures[0].tracks:
        drawn = done.procedure.track(track.instance).boxes
        inner = (track.boxes[:, 0] > 60) & (track.boxes[:, 2] > 20)
        offs += ((drawn[inner, 0] - track.boxes[inner, 0]) / track.boxes[inner, 2]).tolist()
    assert np.std(offs) == pytest.approx(0.1, abs=0.01)


def test_a_detector_finds_its_share_and_scores_real_boxes_higher(procedures):
    found = detect(procedures[0], Detector(recall=0.7, false_per_minute=4), seed=1)
    points = sum(len(track) for track in procedures[0].tracks)
    assert found.filter("real").height / points == pytest.approx(0.7, abs=0.03)
    assert found.filter(~pl.col("real")).height > 20
    assert found.filter("real")["score"].mean() > found.filter(~pl.col("real"))["score"].mean() + 0.2
    assert found["second"].is_sorted()
