"""Fusing the boxes of several annotators comes closer to the truth than any of them, and says who agrees."""

from itertools import combinations

import numpy as np
import polars as pl
import pytest
from examples.erring_annotators import BoxAnnotator, annotate

from small_truth import small_truth
from surgvalid.errors import Misuse, TableInvalid
from surgvalid.questions.stages.box_tables import SIDES, boxes_of, frames_of, matched
from surgvalid.questions.stages.localization import fuse, gatherings, gold_check

ANNOTATORS = [
    BoxAnnotator("careful", jitter=0.05, missed=0.08, spurious_per_minute=0.3),
    BoxAnnotator("hasty", jitter=0.08, missed=0.15, spurious_per_minute=1.0, confusion=0.1),
    BoxAnnotator("tired", jitter=0.06, missed=0.05, fatigue=0.2, lag=0.1, spurious_per_minute=0.5),
]
BAD = BoxAnnotator("bad", jitter=0.15, missed=0.4, confusion=0.6, spurious_per_minute=3)


@pytest.fixture(scope="module")
def truths():
    return [small_truth(8, number, (4, 5)) for number in range(3)]


def drawn(truths, annotators):
    return pl.concat(
        [boxes_of(annotate(t, a, seed=3).procedure, annotator=a.name) for t in truths for a in annotators]
    ).drop("instance")


def against(truth: pl.DataFrame, boxes: pl.DataFrame) -> dict[str, float]:
    """Recall, precision and mean overlap of boxes of the right class."""
    truth, boxes = truth.sort("video", "second"), boxes.sort("video", "second")
    parts, overlaps = dict(frames_of(boxes)), []
    for key, part in frames_of(truth):
        at = parts.get(key, slice(0, 0))
        same = truth["class_name"][part].to_numpy()[:, None] == boxes["class_name"][at].to_numpy()[None, :]
        pairs = matched(
            truth.select(SIDES)[part].to_numpy(), boxes.select(SIDES)[at].to_numpy(), least=0.5, bonus=same * 1.0
        )
        overlaps += [pair.overlap for pair in pairs if same[pair.first, pair.second]]
    return {
        "recall": len(overlaps) / truth.height,
        "precision": len(overlaps) / boxes.height,
        "overlap": np.mean(overlaps),
    }


def test_the_fused_boxes_are_better_than_those_of_every_single_annotator(truths):
    truth, table = pl.concat(map(boxes_of, truths)), drawn(truths, ANNOTATORS)
    fused = against(truth, fuse(table, replicates=50).kept)
    single = [against(truth, table.filter(pl.col("annotator") == a.name)) for a in ANNOTATORS]
    f1 = [2 / (1 / found["recall"] + 1 / found["precision"]) for found in (fused, *single)]
    assert f1[0] > max(f1[1:])
    assert fused["overlap"] > np.mean([s["overlap"] for s in single])
    assert fused["precision"] > 0.97
    assert fused["recall"] > 0.93


def test_spurious_boxes_of_one_annotator_are_voted_down(truths):
    found = fuse(drawn(truths, ANNOTATORS), replicates=50)
    spurious = [
        (t.video, e.second, e.detail)
        for t in truths
        for a in ANNOTATORS
        for e in annotate(t, a, seed=3).errors
        if e.kind == "spurious"
    ]
    alone = found.boxes.filter(pl.col("votes") == 1)
    listed = set(alone.select("video", "second", "class_name").rows())
    assert len(spurious) > 10
    assert np.mean([s in listed for s in spurious]) > 0.9
    assert not alone["kept"].any()


def test_agreement_falls_with_the_quality_of_the_annotators(truths):
    good = fuse(drawn(truths, [ANNOTATORS[0], BoxAnnotator("other", jitter=0.03)]), replicates=50).agreement
    poor = fuse(drawn(truths, [ANNOTATORS[0], BAD]), replicates=50).agreement
    both = good.join(poor, on="class_name", suffix="_poor")
    real = both.filter(pl.col("class_name").is_in([track.class_name for truth in truths for track in truth.tracks]))
    imagined = both.join(real, on="class_name", how="anti")
    assert imagined["alpha"].max() < 0.01
    assert real["alpha"].min() > 0.6
    assert real["alpha"].mean() > real["alpha_poor"].mean() + 0.2
    assert real["overlap"].mean() > real["overlap_poor"].mean()


def test_gold_questions_find_the_bad_annotator(truths):
    gold = pl.concat(map(boxes_of, truths)).filter(pl.col("second") % 10 == 0)
    result = gold_check(drawn(truths, [*ANNOTATORS, BAD]), gold)
    passed = dict(result.select("annotator", "passed").rows())
    assert passed["careful"]
    assert not passed["bad"]
    ideal = gold_check(gold.with_columns(annotator=pl.lit("ideal")), gold).row(0, named=True)
    assert (ideal["recall"], ideal["precision"], ideal["class_share"], ideal["f1"]) == (1, 1, 1, 1)


@pytest.mark.parametrize("seed", range(20))
def test_a_gathering_never_holds_two_boxes_of_one_annotator(seed):
    rng = np.random.default_rng(seed)
    boxes = np.column_stack([rng.uniform(0, 8, (12, 2)), rng.uniform(5, 10, (12, 2))])
    who = [f"a{i}" for i in rng.integers(0, 4, 12)]
    found = gatherings(boxes, ["Clip"] * 12, who, least=0.3)
    assert sorted(i for members in found for i in members) == list(range(12))
    assert all(who[i] != who[j] for members in found for i, j in combinations(members, 2))


def box(annotator, class_name="Clip", x=0.0, second=1):
    return {
        "video": "v",
        "second": second,
        "class_name": class_name,
        "x": x,
        "y": 0,
        "width": 10,
        "height": 10,
        "annotator": annotator,
    }


def test_a_box_that_half_drew_and_a_class_without_a_majority_are_queued():
    half = fuse([box("a"), box("b", second=2)], replicates=10).boxes
    assert half["queued"].all()
    assert not half["kept"].any()
    split = fuse([box("a"), box("b", "Needle")], replicates=10).boxes
    assert split.select("kept", "queued", "class_name").row(0) == (True, True, "Clip")


def test_who_was_not_shown_a_second_does_not_vote_on_it():
    shown = [{"video": "v", "second": s, "annotator": a} for s, a in ((1, "a"), (2, "a"), (2, "b"), (2, "c"))]
    boxes = fuse([box("a"), box("a", second=2)], shown=shown, replicates=10).boxes
    assert boxes.select("second", "shown_to", "kept").rows() == [(1, 1, True), (2, 3, False)]
    with pytest.raises(TableInvalid, match="1 boxes lie in seconds that their annotator was not shown"):
        fuse([box("b")], shown=shown)


def test_every_problem_of_a_box_table_is_listed():
    bad = [box("a") | {"x": "left"}, box("b") | {"height": float("nan")}]
    with pytest.raises(TableInvalid) as caught:
        fuse(bad)
    assert len(caught.value.problems) == 2
    with pytest.raises(TableInvalid, match=r"no positive size.*no whole number"):
        fuse([box("a") | {"width": 0}, box("b") | {"second": 1.5}])
    with pytest.raises(Misuse, match="least overlap"):
        fuse([box("a")], least=0)
