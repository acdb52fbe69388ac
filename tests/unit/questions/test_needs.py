"""Nothing is guessed: what nobody annotated is not asked about, and what nobody confirmed is not used unmarked."""

from dataclasses import replace
from itertools import product

import numpy as np
import polars as pl
import pytest

from procedures import random_procedure, tiny_procedure
from surgvalid.errors import ProcedureInvalid, UnknownName
from surgvalid.questions.catalogue import TEMPLATES
from surgvalid.questions.make import make_questions
from surgvalid.questions.stages.box_tables import boxes_of
from surgvalid.questions.stages.history import Action, first_proposals
from surgvalid.questions.template import IMAGE_SIZE
from surgvalid.schema.procedures.foreign_objects import Declaration
from surgvalid.schema.procedures.procedure_files import procedure_from_dict, procedure_to_dict
from surgvalid.schema.procedures.tracks import EVERYTHING, EventKind

OF_RETURNS = {
    template.name for template in TEMPLATES if {EventKind.RETRIEVED, EventKind.BAGGED} & template.needs.events
}


def asked(benchmark) -> set[str]:
    return {question.draft.template.name for question in benchmark.questions}


def without_events(count: int = 4):
    return [replace(random_procedure(seed, longest_s=160), events=(), declared=None) for seed in range(count)]


def test_a_procedure_without_events_is_never_read_as_one_in_which_nothing_was_retrieved():
    made = make_questions(without_events(), per_video=60, test_share=0)
    assert {"still-inside", "all-retrieved", "missing-count", "retained-if-closed"} <= OF_RETURNS
    assert made.questions
    assert not asked(made) & OF_RETURNS
    reasons = made.card.withheld.filter(pl.col("template") == "still-inside")
    assert reasons["procedures"].sum() == 4
    assert "were not annotated" in reasons["reason"][0]
    assert "do not say what was annotated" in made.card.as_markdown()


def test_the_same_procedures_are_asked_about_returns_once_somebody_says_that_events_were_annotated():
    made = make_questions(
        [random_procedure(seed) for seed in range(8)], tracks=["procedure"], per_video=60, test_share=0
    )
    assert asked(made) & OF_RETURNS
    silent = [replace(random_procedure(seed), declared=None) for seed in range(8)]
    told = make_questions(silent, tracks=["procedure"], per_video=60, test_share=0, annotated=["all"])
    assert [q.request for q in told.questions] == [q.request for q in made.questions]


def test_classes_that_nobody_looked_for_are_not_asked_about():
    only = [
        replace(random_procedure(seed), declared=replace(EVERYTHING, classes=tuple(classes)))
        for seed in range(6)
        if (classes := {track.class_name for track in random_procedure(seed).tracks})
    ]
    made = make_questions(only, per_video=60, test_share=0)
    for question in made.questions:
        annotated = next(p.declared.classes for p in only if p.video == question.request.video)
        assert {question.draft.slots.get(key) for key in ("object", "other")} <= {None, *annotated}
        assert not question.draft.template.needs.all_classes


def test_only_stretches_that_were_annotated_are_asked_about():
    cut = [replace(random_procedure(s), declared=replace(EVERYTHING, spans=((5, 25),))) for s in range(6)]
    made = make_questions(cut, tracks=["frame", "segment"], per_video=40, test_share=0)
    assert made.questions
    assert all(q.request.start_s >= 5 and q.request.end_s < 25 for q in made.questions)
    assert not any(q.draft.template.needs.events for q in made.questions)


def test_a_size_that_nobody_told_keeps_questions_about_places_in_the_image_back():
    guessed = [replace(random_procedure(seed), assumed=("width_px", "height_px")) for seed in range(6)]
    made = make_questions(guessed, tracks=["frame"], per_video=60, test_share=0)
    assert made.questions
    assert not any(q.draft.template.needs.certain == IMAGE_SIZE for q in made.questions)
    assert "nobody told width_px and height_px" in made.card.as_markdown()


def test_proposed_instances_are_refused_and_the_remedy_is_named():
    with pytest.raises(ProcedureInvalid, match=r"1 of 4 instances were proposed .*--history.* --with unverified"):
        make_questions(replace(tiny_procedure(), proposed=("sponge 1",)), test_share=0, tracks=["segment"])


def test_unverified_questions_are_marked_one_by_one():
    doubtful = replace(random_procedure(3), proposed=(random_procedure(3).tracks[0].instance,))
    made = make_questions([doubtful, random_procedure(4)], per_video=30, test_share=0, unverified=True)
    for question in made.questions:
        marked = question.reference.strata.get("instances") == "unverified"
        assert marked == (question.request.video == doubtful.video)
    assert any(question.request.video == doubtful.video for question in made.questions)
    assert "confirmed by nobody" in made.card.as_markdown()


@pytest.mark.parametrize(("approvals", "accepted"), [(("anna",), False), (("anna", "ben"), True)])
def test_two_people_confirm_an_instance(approvals, accepted):
    doubtful = replace(random_procedure(3), proposed=(random_procedure(3).tracks[0].instance,))
    item = f"{doubtful.video}/{doubtful.proposed[0]}"
    rows = [{"item": item, "action": "proposed", "who": "linker", "at": "2026-01-01"}]
    rows += [{"item": item, "action": "approved", "who": who, "at": "2026-01-02"} for who in approvals]
    if accepted:
        assert make_questions(doubtful, per_video=20, test_share=0, history=pl.DataFrame(rows)).questions
    else:
        with pytest.raises(ProcedureInvalid, match="confirmed by nobody"):
            make_questions(doubtful, per_video=20, test_share=0, history=pl.DataFrame(rows), tracks=["procedure"])


def test_approvals_do_not_pass_to_other_boxes_of_the_same_name():
    """Annotations that are imported or linked again after the review bear old names for new objects."""
    seen = random_procedure(0, most_objects=10, longest_s=600)
    seen = replace(seen, proposed=tuple(track.instance for track in seen.tracks))
    history = first_proposals(boxes_of(seen), "linker", at="2026-01-01")
    for item, who in product([f"{seen.video}/{name}" for name in seen.proposed], ("anna", "ben")):
        history = history.add(item, Action.APPROVED, who, at="2026-01-02")
    options = {"per_video": 20, "test_share": 0, "history": history.table()}
    assert make_questions(procedure_from_dict(procedure_to_dict(seen)), **options).questions
    first, *others = seen.tracks
    shifted = replace(first, boxes=first.boxes + np.array([1.0, 0, 0, 0]))
    again = replace(seen, tracks=(shifted, *others), width_px=seen.width_px + 1)
    with pytest.raises(ProcedureInvalid, match=f"1 of {len(seen.tracks)} instances .* confirmed by nobody as they"):
        make_questions(again, **options, tracks=["procedure"])
    moved = history.add(f"{seen.video}/{first.instance}", Action.CHANGED, "anna", at="2026-01-03", field="x", after="1")
    for who in ("ben", "carla"):
        moved = moved.add(f"{seen.video}/{first.instance}", Action.APPROVED, who, at="2026-01-04")
    assert make_questions(again, **{**options, "history": moved.table()}).questions


def test_a_declaration_survives_its_file_and_contradictions_to_it_are_named():
    one = replace(tiny_procedure(), declared=Declaration(("Sponge", "Clip"), ("inserted",), spans=((0, 50),)))
    one = replace(one, proposed=("clip 1",), assumed=("duration_s",))
    with pytest.raises(ProcedureInvalid) as refused:
        procedure_from_dict(procedure_to_dict(one))
    text = str(refused.value)
    assert "placed" in text
    assert "Gallstone" in text
    assert "phases are given" in text
    whole = replace(one, declared=replace(EVERYTHING, spans=((0, 50),), confirmed_by=("anna", "ben")))
    assert procedure_from_dict(procedure_to_dict(whole)) == whole


def test_an_unknown_part_is_named():
    with pytest.raises(UnknownName, match="did you mean 'phases'"):
        make_questions(tiny_procedure(), annotated=["phase"])
