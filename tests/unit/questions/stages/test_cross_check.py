"""The cross-check finds the errors that annotators were made to commit, and little else."""

from functools import cache

import numpy as np
import polars as pl
import pytest
from examples.erring_annotators import BoxAnnotator, Detector, annotate, detect

from small_truth import small_truth
from surgvalid.errors import InputInvalid, Misuse
from surgvalid.questions.stages.box_tables import SIDES, boxes_of, checked_boxes, overlap_matrix
from surgvalid.questions.stages.cross_check import KINDS, Thresholds, cross_check, predictions_from_coco

STUDENT = BoxAnnotator("student", jitter=0.04, missed=0.04, lag=0.04, confusion=0.15, spurious_per_minute=0.7)


@cache
def study():
    """Truths, annotations with their errors, and the flags."""
    truths = {t.video: t for t in (small_truth(21, n, (5, 6)) for n in range(6))}
    done = {video: annotate(truth, STUDENT, seed=4) for video, truth in truths.items()}
    seen = pl.concat([detect(truth, Detector(), seed=9) for truth in truths.values()]).drop("real")
    drawn = pl.concat([boxes_of(one.procedure) for one in done.values()])
    return truths, done, drawn, cross_check(drawn.drop("instance"), seen)


def iou(first, second) -> float:
    return float(overlap_matrix(np.array([first], float), np.array([second], float))[0, 0])


def side(row) -> list[float]:
    return [row[name] for name in SIDES]


def flagged(kind: str, least: float = 0.0) -> list[dict]:
    return study()[3].filter((pl.col("kind") == kind) & (pl.col("strength") >= least)).to_dicts()


def instance_of(flag: dict) -> str:
    """The annotated track that a flagged box belongs to."""
    own = study()[2].filter((pl.col("video") == flag["video"]) & (pl.col("second") == flag["second"]))
    return next(row["instance"] for row in own.to_dicts() if side(row) == side(flag))


def errors(kind: str):
    truths, done, _, _ = study()
    for video, one in done.items():
        for error in one.errors:
            if error.kind == kind:
                yield video, truths[video], error


@pytest.mark.long
def test_missing_boxes_are_found():
    wanted = [(v, e.second, list(t.track(e.instance).point_at(e.second).box)) for v, t, e in errors("missed")]
    flags = [(f["video"], f["second"], side(f)) for f in flagged("missing")]

    def meets(one, other):
        return one[:2] == other[:2] and iou(one[2], other[2]) > 0.3

    recall = np.mean([any(meets(w, f) for f in flags) for w in wanted])
    strong = [(f["video"], f["second"], side(f)) for f in flagged("missing", least=0.8)]
    precision, strong_precision = (
        np.mean([any(meets(w, f) for w in wanted) for f in some]) for some in (flags, strong)
    )
    assert len(wanted) > 80
    assert recall > 0.6, "the detector itself sees 85 % of them, not all with confidence"
    assert precision > 0.6
    assert strong_precision > 0.9
    assert len(strong) > 0.5 * len(flags)


def test_spurious_runs_are_found():
    wanted = {(v, e.instance) for v, _, e in errors("spurious")}
    flags = flagged("spurious", least=0.9)
    found = {(f["video"], instance_of(f)) for f in flags}
    anything = {(f["video"], instance_of(f)) for f in flagged("spurious")}
    assert len(wanted) > 10
    assert len(anything & wanted) / len(wanted) > 0.85
    assert len(found & wanted) / len(found) > 0.8


def test_tracks_of_the_wrong_class_are_found_with_the_right_one():
    wanted = {
        (v, e.instance): t.track(e.instance).class_name for v, t, e in errors("class") if len(t.track(e.instance))
    }
    flags = [((f["video"], instance_of(f)), f["predicted_class"]) for f in flagged("wrong_class", least=0.7)]
    assert len(wanted) >= 3
    assert {key for key, _ in flags} == set(wanted)
    assert all(wanted[key] == name for key, name in flags)


def test_boxes_left_behind_are_found():
    _, done, _, _ = study()
    wrong = {(v, e.instance) for v, _, e in errors("class")}
    wanted = set()
    for video, truth, error in errors("lag"):
        point = done[video].procedure.track(error.instance).point_at(error.second)
        real = truth.track(error.instance).point_at(error.second).box
        if (video, error.instance) not in wrong and iou(point.box, real) < 0.35:
            wanted.add((video, error.second, error.instance))
    found = {(f["video"], f["second"], instance_of(f)) for f in flagged("drifted")}
    assert len(wanted) > 20
    assert len(found & wanted) / len(wanted) > 0.5
    assert len(found & {(v, e.second, e.instance) for v, _, e in errors("lag")}) / len(found) > 0.75


def test_an_annotation_that_the_detector_repeats_has_no_flag():
    drawn = study()[2]
    assert cross_check(drawn, drawn.with_columns(score=pl.lit(0.9))).is_empty()


def test_flags_are_a_plain_table_with_evidence(tmp_path):
    flags = study()[3]
    assert set(flags["kind"]) == set(KINDS)
    assert flags["evidence"].null_count() == 0
    assert flags["strength"].is_between(0, 1).all()
    flags.write_csv(tmp_path / "flags.csv")
    assert pl.read_csv(tmp_path / "flags.csv").height == flags.height


def box(second=1, x=0.0, name="Clip", **more):
    return {"video": "v", "second": second, "class_name": name, "x": x, "y": 0.0, "width": 10.0, "height": 10.0} | more


def test_one_weak_detection_accuses_nobody():
    drawn = [box(second) for second in range(10)]
    seen = [box(second, score=0.9) for second in range(10)]
    assert cross_check(drawn, [*seen, box(3, x=200.0, score=0.3)]).is_empty()
    assert cross_check(drawn, [*seen, box(3, x=200.0, score=0.8)])["kind"].to_list() == ["missing"]
    assert cross_check(drawn, [*seen[:-1], box(9, name="Needle", score=0.9)]).is_empty()


def drawn_and_seen(drawn_x: dict[int, float], seen_x: dict[int, float]):
    return [box(s, x=x) for s, x in drawn_x.items()], [box(s, x=x, score=0.9) for s, x in seen_x.items()]


def test_a_box_left_behind_is_drifted_even_when_nobody_annotated_the_next_second():
    drawn, seen = drawn_and_seen(dict.fromkeys(range(6), 0.0), {**dict.fromkeys(range(5), 0.0), 5: 40.0})
    flags = cross_check(drawn, seen)
    assert [(f["kind"], f["second"], f["x"]) for f in flags.to_dicts()] == [("drifted", 5, 0.0)]


def test_a_detection_where_another_object_was_annotated_is_that_object():
    still, other = [box(s) for s in range(6)], [box(s, x=300.0) for s in (2, 3, 4)]
    seen = [box(s, score=0.9) for s in range(5)] + [box(s, x=300.0, score=0.9) for s in (2, 3, 4, 5)]
    flags = cross_check([*still, *other], seen)
    assert [(f["kind"], f["second"], f["x"]) for f in flags.to_dicts()] == [("missing", 5, 300.0)]


def test_of_two_unmet_boxes_nobody_can_say_which_one_drifted():
    pair = [box(s, x=x) for s in range(6) for x in (0.0, 400.0)]
    seen = [box(s, x=x, score=0.9) for s in range(5) for x in (0.0, 400.0)] + [box(5, x=200.0, score=0.9)]
    assert cross_check(pair, seen)["kind"].to_list() == ["missing"]


def test_nothing_against_nothing_is_no_flag():
    none = checked_boxes([box(score=0.5)], "boxes", extra=("score",)).clear()
    assert cross_check(none, none).is_empty()
    assert cross_check([box()], none).is_empty() or cross_check([box()], none)["kind"].to_list() == ["spurious"]


IMAGES = [{"id": 7, "video": "v", "second": 1}, {"id": 8, "video": "v", "second": 2}]
CATEGORIES = [{"id": 1, "name": "Clip"}]


def test_coco_results_become_boxes_with_their_video_and_second():
    results = [{"image_id": 8, "category_id": 1, "bbox": [1, 2, 3, 4], "score": 0.5}]
    table = predictions_from_coco(IMAGES, CATEGORIES, results)
    assert table.rows() == [("v", 2, "Clip", 1.0, 2.0, 3.0, 4.0, 0.5)]
    assert predictions_from_coco(IMAGES, CATEGORIES, []).is_empty()


def test_coco_records_without_a_place_or_with_unknown_ids_are_refused():
    with pytest.raises(InputInvalid, match=r"image 9 names no video.*category 2 has no name"):
        predictions_from_coco([*IMAGES, {"id": 9}], [*CATEGORIES, {"id": 2}], [])
    with pytest.raises(InputInvalid, match="99"):
        predictions_from_coco(
            IMAGES, CATEGORIES, [{"image_id": 99, "category_id": 1, "bbox": [1, 2, 3, 4], "score": 1}]
        )
    with pytest.raises(Misuse, match="thresholds"):
        Thresholds(touch=0.9)
