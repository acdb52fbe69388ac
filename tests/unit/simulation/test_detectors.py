"""The simulated detector errs by the numbers that it is given."""

from functools import cache

import numpy as np
import polars as pl
import pytest
from examples.erring_annotators import Detector, detect

from surgvalid.schema.procedures.tracks import Procedure
from surgvalid.simulation import draw_scene, true_procedure

SIDES = ("x", "y", "width", "height")


@cache
def truth() -> Procedure:
    return true_procedure(
        draw_scene(23, 0, procedure="Sigmoid Resection", minutes=(8, 9), width_px=96, height_px=54),
        instruments=False,
    )


def points() -> int:
    return sum(int(track.in_view.sum()) for track in truth().tracks)


@pytest.mark.parametrize("recall", [0.5, 0.85, 1.0])
def test_recall_is_the_share_of_boxes_that_are_found(recall):
    found = detect(truth(), Detector(recall=recall, false_per_minute=0), seed=1)
    assert found.height / points() == pytest.approx(recall, abs=0.03)
    assert found["real"].all()


@pytest.mark.parametrize("rate", [0.0, 3.0])
def test_false_boxes_come_at_their_rate_in_runs(rate):
    found = detect(truth(), Detector(false_per_minute=rate), seed=2)
    runs = rate * truth().duration_s / 60
    false = found.filter(~pl.col("real")).height
    assert runs <= false <= 5 * runs if rate else false == 0


def test_confusion_is_the_share_of_wrong_classes():
    exact, unsure = (
        detect(truth(), Detector(recall=1.0, jitter=0.0, false_per_minute=0, confusion=c), seed=3) for c in (0, 0.3)
    )
    names = {}
    for track in truth().tracks:
        for second, box in zip(track.seconds.tolist(), track.boxes.tolist(), strict=True):
            names[second, tuple(np.round(box, 1))] = track.class_name

    def wrong(table):
        return np.mean([
            names.get((r["second"], tuple(round(r[s], 1) for s in SIDES)), r["class_name"]) != r["class_name"]
            for r in table.to_dicts()
        ])  # fmt: skip

    assert wrong(exact) == 0
    assert wrong(unsure) == pytest.approx(0.3 * 0.9, abs=0.04)  # one draw of ten hits the right class


def test_scores_tell_real_from_false_but_not_for_certain():
    found = detect(truth(), Detector(false_per_minute=5), seed=4)
    real, false = (found.filter(pl.col("real") == side)["score"].to_numpy() for side in (True, False))
    better = (real[:, None] > false[None, :]).mean()
    assert 0.85 < better < 0.99
    assert found["score"].is_between(0, 1).all()


def test_the_same_seed_gives_the_same_boxes_and_another_name_others():
    one, again = (detect(truth(), Detector(), seed=5) for _ in range(2))
    assert one.equals(again)
    assert not one.equals(detect(truth(), Detector("other"), seed=5))


def test_a_video_without_objects_has_only_false_boxes():
    empty = Procedure("v", "p", "c", 600, 480, 270)
    assert not detect(empty, Detector(false_per_minute=2), seed=6)["real"].any()
    assert detect(empty, Detector(false_per_minute=0), seed=6).is_empty()
