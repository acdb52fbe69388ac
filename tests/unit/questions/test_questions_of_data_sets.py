"""Questions of public data sets: in one command, as the label files say, and of nothing that nobody labelled."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from typer.testing import CliRunner

from brute_force_answers import ANSWERS
from brute_force_ledger import PlainReading
from labelled_sets import LABELLED
from surgvalid.cli import build_app
from surgvalid.datasets import DATA_SETS, labelled_videos, open_data_set
from surgvalid.errors import Misuse
from surgvalid.questions.blind_guesses import WHOLE_LIMIT
from surgvalid.questions.make import make_questions

KINDS = {
    "cholec80": {"visible-classes", "class-visible", "together", "first-visible", "share-visible", "which-first",
                 "classes-count", "absence-count", "phase-now", "phase-begins", "phase-length", "phase-next"},
    "cholect50": {"visible-classes", "attribute-of", "which-first", "phase-begins", "classes-count"},
    "endoscapes2023": {"visible-classes", "instances-seen", "objects-visible", "left-of", "criterion-met"},
    "sar_rarp50": {"phase-begins", "phase-length", "phase-next"},
    "heico": {"phase-begins", "phase-length"},
}  # fmt: skip
"""Presence, counting, relation, order and criteria, as far as a data set tells of them."""


@pytest.fixture(scope="module", params=LABELLED)
def made(request, tmp_path_factory):
    """The name of a data set, what its labels say, and the questions of its folder."""
    root = tmp_path_factory.mktemp(request.param)
    truth = LABELLED[request.param](root)
    procedures, classes = labelled_videos(open_data_set(request.param), root)
    return request.param, truth, make_questions(procedures, objects=classes, per_video=30, seed=3)


def test_every_reference_is_what_the_labels_say(made):
    name, truth, benchmark = made
    readings = {video: PlainReading(procedure) for video, procedure in truth.items()}
    asked = Counter()
    for question in benchmark.questions:
        draft = question.draft
        expected = ANSWERS[draft.template.name](readings[draft.video], *draft.window, dict(draft.slots))
        assert draft.answer == expected, (draft.video, draft.window, draft.text)
        asked[draft.template.name] += 1
    assert set(asked) >= KINDS[name], asked
    assert asked.total() >= 60


def test_nothing_is_asked_that_nobody_labelled(made):
    name, _, benchmark = made
    unknown = {"retrieved", "inserted", "foreign object", "placed"}
    for question in benchmark.questions:
        draft, text = question.draft, question.request.question
        assert not any(word in text for word in unknown), text
        assert "null" not in question.reference.answer
        if name == "cholect50" and draft.video == "VID01":
            assert not set(range(90, 100)) & set(range(draft.window.start_s, draft.window.end_s + 1)), draft.window
        if name == "endoscapes2023":
            assert draft.track == "frame"
            assert draft.window.start_s % 5 == 0
        else:
            assert draft.template.name not in {"instances-seen", "only-class", "same-object", "quadrant-of", "left-of"}


def test_the_split_the_licence_and_the_citation_are_those_of_the_data_set(made):
    name, _, benchmark = made
    known = open_data_set(name)
    assert known.citation in benchmark.card.as_markdown()
    assert str(known.licence or known.licence_note) in benchmark.card.as_markdown()
    if scheme := known.questions.scheme:
        where = {q.request.video: q.split for q in benchmark.questions}
        tested = {"cholec80": {"video41", "video42"}, "cholect50": {"VID06", "VID51"}, "endoscapes2023": {"162", "163"},
                  "sar_rarp50": {"video_41", "video_42"}}[name]  # fmt: skip
        assert {video for video, split in where.items() if split == "test"} == tested, scheme


def test_who_never_looks_is_held_to_the_limits(made):
    _, _, benchmark = made
    for leak in benchmark.card.leaks.filter(split="train").iter_rows(named=True):
        assert leak["accuracy"] <= leak["limit"] + 0.5 / leak["questions"] ** 0.5
    tested = benchmark.card.leaks.filter(split="test")
    assert tested.height > 0
    assert (tested["accuracy"] <= tested["limit"]).all()
    assert all(share <= WHOLE_LIMIT for name, share in benchmark.card.floors.items() if name.startswith("test"))


def test_one_command_makes_them(tmp_path):
    LABELLED["sar_rarp50"](tmp_path / "set")
    arguments = ["data", "questions", str(tmp_path / "set"), "--data-set", "sar_rarp50", "--out", str(tmp_path / "out")]
    result = CliRunner().invoke(build_app(), [*arguments, "--per-video", "20"])
    assert result.exit_code == 0, result.output
    requests = json.loads((tmp_path / "out" / "test" / "segment" / "requests.json").read_text())
    assert {row["videoID"] for row in requests} <= {"video_41", "video_42"}
    assert any('action "' in row["question"] for row in requests)


def test_a_data_set_that_says_nothing_of_questions_is_refused(tmp_path):
    with pytest.raises(Misuse, match="no questions are made from jigsaws"):
        labelled_videos(open_data_set("jigsaws"), tmp_path)
    assert sum(DATA_SETS[name].questions is not None for name in DATA_SETS) >= len(LABELLED)
