"""From simulated truth through people who err and the five stages to questions, held against the simulator's answers.

The error rate of every stage is printed (`pytest -s`): boxes that are missing, too many or of another class among all
boxes of either side, objects whose boxes are mixed up, moments that are wrong, answers that differ.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from examples.erring_annotators import BoxAnnotator, CrowdWorker, Detector, annotate, detect, screen_presence

from surgvalid.questions.catalogue import template_named
from surgvalid.questions.make import make_questions
from surgvalid.questions.stages.box_tables import BOX_COLUMNS, SIDES, boxes_of, frames_of, matched
from surgvalid.questions.stages.corrections import corrected_boxes
from surgvalid.questions.stages.cross_check import cross_check
from surgvalid.questions.stages.history import Action, first_proposals
from surgvalid.questions.stages.linking import propose_instances
from surgvalid.questions.stages.localization import fuse
from surgvalid.questions.stages.moments import KINDS, moment_form, settle_moments, with_moments
from surgvalid.questions.stages.screening import screen
from surgvalid.questions.template import QuestionScene, QuestionTrack
from surgvalid.schema.procedures.foreign_objects import Declaration
from surgvalid.schema.procedures.ledger import Ledger
from surgvalid.schema.procedures.tracks import EVERYTHING, Procedure, Track
from surgvalid.schema.questions.formats import build_format
from surgvalid.simulation import draw_scene, true_procedure

pytestmark = pytest.mark.slow
SEED = 5
CROWD = [CrowdWorker("w1", 0.97), CrowdWorker("w2", 0.95), CrowdWorker("w3", 0.93), CrowdWorker("w4", spam=1.0)]
PEOPLE = [BoxAnnotator(name, jitter=0.05, missed=0.08, spurious_per_minute=0.6) for name in ("ann", "bob", "eve")]
RATERS = ("dora", "emil")


def box_errors(drawn: pl.DataFrame, truth: Procedure) -> float:
    """Boxes of either side without a partner of their class, among all."""
    ours, theirs = dict(frames_of(drawn)), boxes_of(truth).sort("video", "second")
    lonely, total = 0, drawn.height + theirs.height
    parts = dict(frames_of(theirs))
    for key in {*ours, *parts}:
        one, other = drawn[ours.get(key, slice(0, 0))], theirs[parts.get(key, slice(0, 0))]
        pairs = matched(one.select(SIDES).to_numpy(), other.select(SIDES).to_numpy(), least=0.3)
        good = sum(one["class_name"][p.first] == other["class_name"][p.second] for p in pairs)
        lonely += one.height + other.height - 2 * good
    return lonely / total


def reviewed(drawn: pl.DataFrame, flags: pl.DataFrame, truth: Procedure) -> pl.DataFrame:
    """The boxes after a reviewer who looked at every flagged second drew what is there."""
    right = flags.with_columns(review=pl.lit("right"))
    seconds = right.select("video", "second").unique(maintain_order=True)
    seen = boxes_of(truth).join(seconds, on=("video", "second"), how="semi")
    return corrected_boxes(drawn, right, seen.select(BOX_COLUMNS), seconds).boxes


def owners(boxes: pl.DataFrame, truth: Procedure) -> list[str | None]:
    """By box, the true instance that it lies on."""
    theirs = boxes_of(truth).sort("video", "second")
    parts, found = dict(frames_of(theirs)), [None] * boxes.height
    names: list[str | None] = list(found)
    for key, rows in frames_of(boxes):
        other = parts.get(key, slice(0, 0))
        for pair in matched(boxes[rows].select(SIDES).to_numpy(), theirs[other].select(SIDES).to_numpy(), least=0.3):
            names[rows.start + pair.first] = theirs["instance"][other][pair.second]
    return names


def with_tracks(truth: Procedure, boxes: pl.DataFrame) -> Procedure:
    tracks = []
    for (name,), rows in boxes.sort("instance", "second").group_by("instance", maintain_order=True):
        rows = rows.unique("second", keep="first", maintain_order=True)
        seen = np.zeros(rows.height, np.uint8)
        kind = str(rows["class_name"].mode().sort()[0])
        tracks.append(Track(str(name), kind, rows["second"].to_numpy(), rows.select(SIDES).to_numpy(), seen))
    looked = Declaration(classes=None, phases=True)
    return replace(truth, tracks=tuple(tracks), events=(), instruments=(), declared=looked)


def said(procedure: Procedure, truth: Procedure) -> pl.DataFrame:
    """Two raters who are up to two seconds late."""
    happened = {(event.instance, event.kind.value): event.second for event in truth.events}
    draw, rows = np.random.default_rng(SEED), []
    for video, instance, event in moment_form([procedure]).select("video", "instance", "event").rows():
        second = happened.get((instance, event))
        for rater in RATERS:
            late = None if second is None else min(second + int(draw.integers(0, 3)), truth.duration_s - 1)
            rows.append((video, instance, event, rater, "no" if late is None else "yes", late))
    kinds = {"video": pl.String, "instance": pl.String, "event": pl.String, "rater": pl.String, "happened": pl.String}
    return pl.DataFrame(rows, schema={**kinds, "second": pl.Int64}, orient="row")


def test_from_noisy_people_to_questions_the_error_falls_and_answers_hold() -> None:
    truth = replace(true_procedure(draw_scene(SEED, 0, minutes=(4, 5)), instruments=False), declared=EVERYTHING)
    rates: dict[str, float] = {}

    answers = screen_presence(truth, CROWD, seed=SEED)
    known = answers.select("video", "clip", "class_name", "truth").unique()
    clips = screen(answers.drop("truth")).clips.join(known, on=("video", "clip", "class_name"))
    rates["1 presence on clips"] = (clips["present"] != clips["truth"]).sum() / clips.height
    first = answers.filter(pl.col("worker") == "w3")
    rates["1 before: one worker"] = (first["present"] != first["truth"]).sum() / first.height

    drawn = pl.concat([boxes_of(annotate(truth, one, seed=SEED).procedure, annotator=one.name) for one in PEOPLE])
    rates["2 before: one annotator"] = box_errors(drawn.filter(pl.col("annotator") == "ann").sort("second"), truth)
    fused = fuse(drawn, replicates=20).kept.sort("video", "second")
    rates["2 fused boxes"] = box_errors(fused, truth)

    flags = cross_check(fused, detect(truth, Detector(recall=0.95), seed=SEED).drop("real"))
    mended = reviewed(fused, flags, truth).sort("video", "second")
    rates["3 reviewed boxes"] = box_errors(mended, truth)

    proposals = propose_instances(mended).boxes
    names = pl.Series(owners(proposals, truth), dtype=pl.String)
    of_most = pl.DataFrame({"instance": proposals["instance"], "owner": names}).group_by("instance").agg(
        share=(pl.col("owner") == pl.col("owner").mode().first()).mean().fill_null(0.0), boxes=pl.len()
    )  # fmt: skip
    rates["4 before: boxes in a mixed instance"] = 1 - float(
        (of_most["share"] * of_most["boxes"]).sum() / of_most["boxes"].sum()
    )
    named = proposals.with_columns(instance=names).drop_nulls("instance")
    history = first_proposals(named, "linker", at="2026-01-01")
    for item in dict.fromkeys(entry.item for entry in history.entries):
        for who in RATERS:
            history = history.add(item, Action.APPROVED, who, at="2026-01-02")
    proposed = with_tracks(truth, named)
    proposed = replace(proposed, proposed=tuple(track.instance for track in proposed.tracks))

    settled = settle_moments(said(proposed, truth), tolerance_s=5)
    enriched = with_moments(proposed, settled)
    events = {(e.instance, e.kind): e.second for e in truth.events if e.kind in KINDS}
    wrong = [e for e in enriched.procedure.events if abs(events.get((e.instance, e.kind), -99) - e.second) > 2]
    rates["5 moments"] = len(wrong) / len(enriched.procedure.events)

    made = make_questions(
        enriched.procedure, per_video=60, test_share=0, history=history.table(), tracks=["frame", "segment"], seed=SEED
    )
    ledger = Ledger(truth)
    differing = []
    for question in made.questions:
        scene = QuestionScene(ledger, question.draft.window, QuestionTrack(question.track))
        answer = template_named(question.draft.template.name).answer(scene, question.draft.slots)
        kind = build_format(question.reference.format, question.reference.parameters)
        given = question.reference.answer
        if answer is None or not kind.compare(kind.parse(answer.text), kind.parse(given)):
            differing.append((question.request.question, given, answer and answer.text))
    rates["questions that differ from the simulator's answers"] = len(differing) / len(made.questions)

    print("\n" + "\n".join(f"{name}: {rate:.3f}" for name, rate in sorted(rates.items())))
    assert rates["1 presence on clips"] < rates["1 before: one worker"]
    assert rates["3 reviewed boxes"] < rates["2 fused boxes"] < rates["2 before: one annotator"]
    assert len(enriched.procedure.events) > 5
    assert rates["5 moments"] == 0, "both raters are at most two seconds late, so what they settle on is too"
    assert len(made.questions) > 40
    # Boxes that stay wrong are one in two hundred, and an answer rests on several.
    assert rates["questions that differ from the simulator's answers"] < 6 * rates["3 reviewed boxes"], differing[:10]
