"""A form of questions by hand is read only when nothing is wrong, and what contradicts is found."""

import csv
import json
from dataclasses import replace
from functools import cache

import numpy as np
import polars as pl
import pytest

from small_truth import small_truth
from surgvalid.errors import FileUnreadable, Misuse, QuestionsInvalid, TableInvalid
from surgvalid.questions.benchmark import table_of
from surgvalid.questions.catalogue import template_named, templates_for
from surgvalid.questions.drafts import DraftTally, drafts_of
from surgvalid.questions.stages.expert_questions import (
    FORM_COLUMNS,
    confirmed,
    ledger_findings,
    proposed,
    read_form,
    repetitions,
)
from surgvalid.questions.stages.history import Action, ReviewState
from surgvalid.questions.stages.tolerance import tolerance_from_spread
from surgvalid.questions.template import PROCEDURE, QuestionScene, QuestionTrack
from surgvalid.schema.procedures.ledger import Ledger
from surgvalid.schema.procedures.spans import Window
from surgvalid.schema.procedures.tracks import Procedure, track_from_points
from surgvalid.schema.questions.question_files import load_questions


@cache
def ledger() -> Ledger:
    return Ledger(small_truth(77, 0, (7, 8)))


@cache
def lines() -> tuple[dict, ...]:
    """A sound form: clear questions with a closed answer, as an expert could have written them."""
    rows, rng = [], np.random.default_rng(1)
    for track in QuestionTrack:
        for draft in drafts_of(ledger(), track, templates_for(track), 30, rng, DraftTally()):
            if draft.template.format not in ("binary", "number", "time", "percentage"):
                continue
            rows.append(
                {
                    "id": draft.case,
                    "video": draft.video,
                    "procedure_type": "Cholecystectomy",
                    "question": draft.text,
                    "answer": draft.answer,
                    "answer_format": draft.template.format,
                    "track": track.value,
                    "clinical_relevance": "true",
                    "timestamp_start": draft.window.start_s,
                    "timestamp_end": draft.window.end_s,
                    "primary_capability": draft.template.capability.value,
                    "author": "ann",
                    "template": draft.template.name,
                    "slots": json.dumps(dict(draft.slots)),
                }
            )
    return tuple({row["id"]: row for row in rows}.values())


def form(tmp_path, rows):
    path = tmp_path / "form.csv"
    with open(path, "w", newline="", encoding="utf-8") as handle:
        writer = csv.DictWriter(handle, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return read_form(path, durations_s={ledger().procedure.video: ledger().procedure.duration_s})


def another(row: dict) -> str:
    """A wrong answer in the right format."""
    answer = row["answer"]
    if row["answer_format"] == "binary":
        return {"yes": "no", "no": "yes"}[answer.lower()]
    if row["answer_format"] == "number":
        return str(int(answer) + 1)
    if row["answer_format"] == "percentage":
        return f"{(int(answer.rstrip('%')) + 50) % 101}%"
    return "09:59:59"


def test_a_sound_form_is_read_and_agrees_with_the_ledger(tmp_path):
    questions = form(tmp_path, lines())
    assert len(questions) == len(lines()) > 30
    assert [finding for question in questions for finding in ledger_findings(question, ledger())] == []


def test_every_wrong_answer_is_found_and_no_right_one_is_blamed(tmp_path):
    wrong = set(range(0, len(lines()), 3))
    rows = [row | {"answer": another(row)} if i in wrong else row for i, row in enumerate(lines())]
    blamed = {
        i
        for i, question in enumerate(form(tmp_path, rows))
        for f in ledger_findings(question, ledger())
        if f.code == "ledger-disagrees"
    }
    assert blamed == wrong


def test_duplicates_and_contradictions_are_told_apart(tmp_path):
    rows, copies = list(lines()), {}
    sound = {finding.message for finding in repetitions(form(tmp_path, rows))}
    for i, row in enumerate(lines()[::4]):
        new = row | {"id": f"copy{i}", "author": "bob", "question": "  " + row["question"].upper()}
        copies[row["id"]] = "contradiction" if i % 2 else "duplicate-question"
        rows.append(new | ({"answer": another(row)} if i % 2 else {}))
    found = [finding for finding in repetitions(form(tmp_path, rows)) if finding.message not in sound]
    assert {finding.case: finding.code for finding in found if "copy" in finding.message} == copies


def test_a_count_that_hangs_on_a_glimpse_is_ambiguous(tmp_path):
    slots = {"object": "Sponge", "gap_s": 5}
    row = lines()[0] | {"question": "How often?", "answer_format": "number", "track": "procedure"}
    row |= {"timestamp_start": 0, "timestamp_end": 399, "template": "absence-count", "slots": json.dumps(slots)}
    for seconds, codes in (((*range(50, 90), 200), ["ambiguous"]), (range(50, 90), [])):
        sponge = track_from_points("s", "Sponge", [(s, (10, 10, 20, 20)) for s in seconds])
        own = Ledger(Procedure("v", "p", "c", 400, 640, 360, (sponge,)))
        answer = template_named("absence-count").answer(QuestionScene(own, Window(0, 399), PROCEDURE), slots)
        (question,) = form(tmp_path, [row | {"answer": answer.text}])
        assert [finding.code for finding in ledger_findings(question, own)] == codes


BROKEN = {
    "id": ("", "no usable qID"),
    "video": ("elsewhere", "unknown video 'elsewhere'"),
    "question": ("", "the question has no text"),
    "answer": ("perhaps", "is no legal"),
    "answer_format": ("numbr", "did you mean 'number'"),
    "track": ("film", "unknown track 'film'"),
    "clinical_relevance": ("maybe", "must be true or false"),
    "timestamp_end": (10**6, "leaves the video"),
    "timestamp_start": ("soon", "expected seconds"),
    "primary_capability": ("aggregation", "is a group"),
    "author": ("", "no author"),
    "template": ("no-such", "unknown question template"),
    "slots": ("{", "no JSON"),
}


def test_every_kind_of_error_in_a_form_is_listed_with_its_row(tmp_path):
    rows = [row | {key: value} for row, (key, (value, _)) in zip(lines(), BROKEN.items(), strict=False)]
    with pytest.raises(QuestionsInvalid) as caught:
        form(tmp_path, [*rows, lines()[20], lines()[20]])
    for line, (_, text) in enumerate(BROKEN.values(), start=2):
        assert any(p.startswith(f"row {line}: ") and text in p for p in caught.value.problems), text
    last = len(BROKEN) + 3
    assert any(
        p == f"row {last}: the id {lines()[20]['id']!r} was used in row {last - 1} already"
        for p in caught.value.problems
    )
    assert not any(p.startswith(f"row {last - 1}: ") for p in caught.value.problems)


def test_windows_must_fit_their_track(tmp_path):
    row = lines()[0] | {"timestamp_start": 5, "timestamp_end": 400}
    for track, text in (
        ("frame", "a frame starts where it ends"),
        ("segment", "at most 300 s"),
        ("procedure", "starts at 0 s"),
    ):
        with pytest.raises(QuestionsInvalid, match=text):
            form(tmp_path, [row | {"track": track}])


def test_a_form_without_columns_or_questions_is_refused(tmp_path):
    with pytest.raises(QuestionsInvalid) as caught:
        form(tmp_path, [{"id": "1"}])
    assert len(caught.value.problems) == len(FORM_COLUMNS) - 1
    with pytest.raises(FileUnreadable):
        read_form(tmp_path / "none.csv", durations_s={})


def test_questions_are_reviewed_by_two_others(tmp_path):
    questions = form(tmp_path, lines()[:2])
    history = proposed(questions, at="2026-05-01")
    for who in ("ann", "bob", "eve"):
        history = history.add(questions[0].case, Action.APPROVED, who, at="2026-05-02")
    assert list(history.states().values()) == [ReviewState.CONFIRMED, ReviewState.PROPOSED]


@pytest.mark.parametrize("spread_s", [0.5, 2.0])
def test_the_tolerance_is_that_of_the_spread_the_raters_were_given(spread_s):
    rng = np.random.default_rng(3)
    rows = [
        {"question": f"q{q}", "rater": f"r{r}", "seconds": 60 * q + rng.normal(0, spread_s)}
        for q in range(1500)
        for r in range(2 + q % 3)
    ]
    found = tolerance_from_spread(rows)
    assert found.sd_s == pytest.approx(spread_s, rel=0.05)
    assert found.tolerance_s == pytest.approx(1.96 * np.sqrt(2) * spread_s, rel=0.06)
    assert found.questions == 1500


def test_ratings_that_say_nothing_about_spread_are_refused():
    row = {"question": "q", "rater": "a", "seconds": 1.0}
    with pytest.raises(TableInvalid, match="two raters"):
        tolerance_from_spread([row])
    with pytest.raises(TableInvalid, match="answered 'q' 2 times"):
        tolerance_from_spread(pl.DataFrame([row, row]))
    with pytest.raises(Misuse, match="chance"):
        tolerance_from_spread([row], chance=1)


def test_questions_by_hand_go_into_the_tables_of_the_public_data_sets(tmp_path):
    questions = form(tmp_path, lines())
    table_of(questions, "manual").write_parquet(tmp_path / "q.parquet")
    read = load_questions(tmp_path / "q.parquet", tmp_path / "q.parquet")
    assert list(read.requests.values()) == [question.request for question in questions]
    for question in questions:
        twin = read.references[question.case]
        assert (twin.answer, twin.format, twin.capability) == (
            question.reference.answer, question.reference.format, question.reference.capability,
        )  # fmt: skip
        assert twin.strata["generation"] == "manual"
        assert read.format_of(twin) == question.format


def test_what_a_format_has_to_know_travels_in_a_column_of_its_own(tmp_path):
    (first, *_) = form(tmp_path, lines())
    known = replace(first.reference, format="matching", answer="a: b", parameters={"pattern": "a: [bc]"})
    table = table_of([first, replace(first, reference=known)], "manual")
    assert json.loads(table["format_kwargs"][1]) == {"pattern": "a: [bc]"}
    assert "format_kwargs" not in table_of([first], "manual").columns
    strict = replace(first.reference, format="time", answer="00:00:01", parameters={"threshold_seconds": 0.25})
    assert json.loads(table_of([replace(first, reference=strict)], "manual")["format_kwargs"][0]) == strict.parameters


def test_confirmed_are_those_that_two_others_approved(tmp_path):
    questions = form(tmp_path, lines()[:3])
    history = proposed(questions, at="1")
    for case, who in ((0, "bob"), (0, "eve"), (1, "bob"), (2, "ann"), (2, "bob")):
        history = history.add(questions[case].case, Action.APPROVED, who, at="2")
    assert confirmed(questions, history) == questions[:1]
