"""The annotation stages on a simulated three-hour procedure, and copies among 200 procedures."""

from __future__ import annotations

import polars as pl
from examples.erring_annotators import BoxAnnotator, CrowdWorker, Detector, annotate, detect, screen_presence

from bench.harness import Row, cpu_seconds
from surgvalid.questions.near_duplicates import landmarks_of, near_copies
from surgvalid.questions.stages.box_tables import boxes_of
from surgvalid.questions.stages.consistency import consistency_flags
from surgvalid.questions.stages.cross_check import cross_check
from surgvalid.questions.stages.linking import propose_instances
from surgvalid.questions.stages.localization import fuse
from surgvalid.questions.stages.screening import screen
from surgvalid.simulation import draw_scene, simulate, true_procedure


def rows() -> list[Row]:
    """One row per stage; there is no peer to compare with."""
    truth = true_procedure(draw_scene(3, 0, procedure="Sigmoid Resection", minutes=(170, 180)), instruments=False)
    boxes = boxes_of(truth)
    answers = screen_presence(truth, [CrowdWorker(f"w{n}") for n in range(5)], seed=1).drop("truth")
    drawn = pl.concat(
        [boxes_of(annotate(truth, BoxAnnotator(n), seed=1).procedure, annotator=n) for n in ("a", "b", "c")]
    )
    seen = detect(truth, Detector(), seed=1).drop("real")
    bare, counted = boxes.drop("instance"), f"{boxes.height:,} boxes in {truth.duration_s / 3600:.1f} h"
    work = [
        (f"stage 1, {answers.height:,} answers of five crowd workers", lambda: screen(answers), ""),
        ("stage 2, boxes of three annotators fused, 200 resamples", lambda: fuse(drawn, replicates=200), counted),
        ("stage 3, cross-check with a detector", lambda: cross_check(bare, seen), counted),
        ("stage 4, instances proposed by motion", lambda: propose_instances(bare), counted),
        ("stage 4, consistency of instances", lambda: consistency_flags(boxes), counted),
    ]
    found = [Row(name, cpu_seconds(task, repeat=1, warm_up=False), "-", None, note=note) for name, task, note in work]
    landmarks = [landmarks_of(procedure) for procedure in simulate(200, seed=5).procedures()]
    copies_s = cpu_seconds(lambda: near_copies(landmarks), repeat=1, warm_up=False)
    return [*found, Row("near-identical videos among 200 (19,900 pairs)", copies_s, "-", None)]
