"""From procedures to files, the same way every time, with every promise checked."""

import gc
import json
from collections import Counter
from dataclasses import fields, replace

import polars as pl
import pytest

from brute_force_answers import ANSWERS
from brute_force_ledger import PlainReading
from procedures import random_procedure, tiny_procedure
from small_truth import small_truth
from surgvalid import make_questions
from surgvalid.cli import main
from surgvalid.errors import FileUnreadable, Misuse, ProcedureInvalid, QuestionsInvalid, UnknownName
from surgvalid.questions.balancing import Selection, select
from surgvalid.questions.benchmark import Benchmark, table_of
from surgvalid.questions.drafts import Draft
from surgvalid.questions.make import BenchmarkOptions, _facts_of, broken_promises
from surgvalid.questions.splits import Splits
from surgvalid.schema.procedures.foreign_objects import FOREIGN_OBJECTS, ForeignObject
from surgvalid.schema.procedures.ledger import Ledger
from surgvalid.schema.procedures.procedure_files import write_procedure
from surgvalid.schema.procedures.spans import Window
from surgvalid.schema.procedures.tracks import EVERYTHING, Event, EventKind, Procedure, track_from_points
from surgvalid.schema.questions.question_files import load_questions
from surgvalid.schema.questions.questions import DATA_SET_COLUMNS, DIALS


@pytest.fixture(scope="module")
def procedures() -> list[Procedure]:
    return [random_procedure(seed, most_objects=10, longest_s=600) for seed in range(12)]


@pytest.fixture(scope="module")
def made(procedures) -> Benchmark:
    return make_questions(procedures, per_video=25, seed=1, ood_procedures=["Appendectomy"], ood_templates=["left-of"])


def test_every_track_split_and_capability_is_there(made):
    assert {(q.split, q.track) for q in made.questions} == {
        (split, track) for split in ("train", "test") for track in ("frame", "segment", "procedure")
    }
    assert len({q.reference.capability for q in made.questions}) == 15


def test_windows_follow_the_track(made, procedures):
    length = {p.video: p.duration_s for p in procedures}
    for question in made.questions:
        request = question.request
        assert 0 <= request.start_s <= request.end_s < length[request.video]
        if question.track == "frame":
            assert request.start_s == request.end_s
        elif question.track == "segment":
            assert request.window_s <= 300
        else:
            assert request.start_s == 0


def test_masked_frames_are_never_asked_about(made, procedures):
    masked = {(p.video, s) for p in procedures for span in p.masked for s in range(*span)}
    frames = {(q.request.video, q.request.end_s) for q in made.questions if q.track == "frame"}
    assert masked
    assert not frames & masked


def test_out_of_distribution_is_what_was_declared(made):
    for question in made.questions:
        held_out = question.request.procedure == "Appendectomy" or question.draft.template.name == "left-of"
        assert question.reference.ood == held_out
        assert not held_out or question.split == "test"
    assert any(question.reference.ood for question in made.questions)


def test_equal_seeds_give_equal_questions_and_others_do_not(procedures):
    one, two, three = (make_questions(procedures[:4], per_video=6, seed=seed).requests for seed in (5, 5, 6))
    assert one == two
    assert one != three


def test_a_further_track_changes_nothing_in_the_others(procedures):
    alone = make_questions(procedures[:4], tracks=["segment"], per_video=6).requests
    among = make_questions(procedures[:4], tracks=["frame", "segment"], per_video=6).requests
    assert alone == [request for request in among if request.case.startswith("s")]


def test_files_come_back_through_the_official_reader(made, tmp_path):
    made.to_dir(tmp_path)
    place = tmp_path / "test" / "procedure"
    part = [q for q in made.questions if (q.split, q.track) == ("test", "procedure")]
    read = load_questions(place / "requests.json", place / "references.json")
    assert list(read.requests.values()) == [q.request for q in part]
    assert [f for f in read.findings if f.severity.value != "note"] == []
    for question in part:
        again = read.references[question.request.case]
        assert (again.answer, again.capability, again.ood) == (
            question.reference.answer, question.reference.capability, question.reference.ood,
        )  # fmt: skip
        assert again.parameters == question.reference.parameters


def test_the_table_has_the_fourteen_columns_and_reads_like_the_json(made, tmp_path):
    made.to_dir(tmp_path)
    place = tmp_path / "train" / "segment"
    table = pl.read_parquet(place / "questions.parquet")
    assert tuple(table.columns) == DATA_SET_COLUMNS
    one = load_questions(place / "questions.parquet", place / "questions.parquet")
    other = load_questions(place / "requests.json", place / "references.json")
    assert one.requests == other.requests
    for case, reference in other.references.items():
        twin = one.references[case]
        assert replace(twin, strata={}) == replace(reference, strata={})
        assert twin.strata["track"] == "segment"
        assert twin.strata["generation"] == "automatic"


def test_a_finished_benchmark_holds_only_the_drafts_of_its_questions():
    procedures = [replace(random_procedure(seed), video=f"alone {seed}") for seed in range(4)]
    made = make_questions(procedures, tracks=["frame"], per_video=10)
    gc.collect()
    held = [one for one in gc.get_objects() if type(one) is Draft and one.video.startswith("alone")]
    assert len(held) == len(made.questions) > 0


def test_every_question_has_its_proof_beside_it(made, tmp_path):
    made.to_dir(tmp_path)
    rows = [json.loads(line) for line in (tmp_path / "train" / "frame" / "proofs.jsonl").read_text().splitlines()]
    cases = {q.request.case for q in made.questions if (q.split, q.track) == ("train", "frame")}
    assert {row["qID"] for row in rows} == cases
    always = {"window_s", "instances", "classes"}
    assert all(always <= set(row["facts"]) <= {*always, *DIALS} for row in rows)


def test_an_earlier_run_leaves_no_questions_behind(made, procedures, tmp_path):
    made.to_dir(tmp_path)
    make_questions(procedures[:2], tracks=["frame"], per_video=5, test_share=0).to_dir(tmp_path, force=True)
    assert sorted(p.parent.name for p in tmp_path.rglob("requests.json")) == ["frame"]


def test_files_and_objects_give_the_same(procedures, tmp_path):
    for procedure in procedures[:3]:
        write_procedure(procedure, tmp_path / f"{procedure.video}.json")
    steps = []
    from_files = make_questions(tmp_path, per_video=6, progress=steps.append)
    assert steps == [1, 1, 1]
    by_name = sorted(procedures[:3], key=lambda p: p.video)
    assert from_files.requests == make_questions(by_name, per_video=6).requests
    assert len(from_files.manifest()["inputs"]) == 3


def test_further_classes_come_from_the_definitions():
    tack = track_from_points("t", "Tack", [(s, (9, 9, 9, 9)) for s in range(100)])
    clip = track_from_points("c", "Clip", [(s, (40, 9, 9, 9)) for s in range(60, 200)])
    procedure = Procedure("v", "p", "c", 300, 64, 48, (tack, clip), declared=EVERYTHING)
    with pytest.raises(ProcedureInvalid, match="'Tack' is no known class"):
        make_questions(procedure)
    objects = (*FOREIGN_OBJECTS, ForeignObject("Tack", ""))
    made = make_questions(procedure, objects=objects, tracks=["frame"], per_video=40, test_share=0)
    assert any("Tack" in reference.answer for reference in made.references)
    table = table_of([question for question in made.questions if question.reference.format == "fo_class"])
    assert all("Tack" in told for told in table["format_kwargs"])


def test_impossible_annotations_are_refused_with_every_problem():
    bad = replace(tiny_procedure(), events=(Event(EventKind.RETRIEVED, 10, "sponge 1"),))
    with pytest.raises(ProcedureInvalid) as caught:
        make_questions([bad, tiny_procedure(), replace(bad, video="w")])
    assert len(caught.value.problems) == 2
    with pytest.raises(ProcedureInvalid, match="appears more than once"):
        make_questions([tiny_procedure(), tiny_procedure()])


@pytest.mark.parametrize(
    "options",
    [{"per_video": 0}, {"test_share": 1.2}, {"most_common_share": 1.0}, {"duplicate_share": -1}, {"tracks": ["film"]},
     {"ood_templates": ["left"]}],
)  # fmt: skip
def test_options_that_cannot_mean_anything_are_refused(options):
    with pytest.raises(Misuse):
        make_questions(tiny_procedure(), **options)


def test_every_number_that_cannot_be_is_named_with_its_option():
    with pytest.raises(Misuse) as refused:
        make_questions(
            tiny_procedure(), per_video=0, test_share=2, most_common_share=1, blind_share=0, duplicate_share=1
        )
    for option in ("--per-video", "--test-share", "--max answer", "--max blind", "--max duplicates"):
        assert option in str(refused.value)


def test_unknown_names_carry_the_nearest_and_missing_files_their_name(tmp_path):
    with pytest.raises(UnknownName, match="did you mean 'segment'"):
        make_questions(tiny_procedure(), tracks=["segmnt"])
    with pytest.raises(FileUnreadable, match="nowhere"):
        make_questions(tmp_path / "nowhere")


def test_a_procedure_that_shows_nothing_is_a_defect_not_a_crash(procedures):
    empty = Procedure("v", procedures[0].procedure_type, "c", 50, 64, 48)
    made = make_questions([*procedures[:3], empty], per_video=5)
    [unasked] = [text for text in made.card.defects if "of 4 videos have no question" in text]
    assert "(first: v)" in unasked or "(first: v0)" in unasked
    assert "1 of 4 videos never show a foreign object (first: v)" in made.card.defects
    assert all(question.request.video != "v" for question in made.questions)


def test_a_set_without_a_question_is_refused_with_the_reasons(tmp_path, capsys, monkeypatch):
    empty = Procedure("v", "p", "c", 50, 64, 48)
    with pytest.raises(QuestionsInvalid) as refused:
        make_questions(empty, per_video=5)
    told = str(refused.value)
    assert "not one question could be made from 1 videos" in told
    assert "--annotated" in told
    assert refused.value.problems[0].endswith("no foreign object is in view")
    assert "templates withheld, by reason: " in told
    assert "phases were not annotated" in told
    write_procedure(empty, tmp_path / "v.json")
    monkeypatch.setattr(
        "sys.argv", ["surgvalid", "data", "questions", str(tmp_path / "v.json"), "--out", str(tmp_path / "out")]
    )
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert "not one question could be made" in capsys.readouterr().err
    assert not (tmp_path / "out" / "data_card.json").exists()


def test_wanted_tracks_and_a_test_set_that_are_not_there_are_defects(procedures, monkeypatch):
    for share, told in ((0.3, True), (0, False)):
        alone = make_questions(procedures[0], per_video=25, tracks=["frame"], test_share=share)
        assert ("split test has no question" in alone.card.defects) is told

    def without_segments(drafts, wanted, draw, **options):
        return select([draft for draft in drafts if draft.track != "segment"], wanted, draw, **options)

    monkeypatch.setattr("surgvalid.questions.make.select", without_segments)
    short = make_questions(procedures[0], per_video=25, test_share=0)
    assert [d for d in short.card.defects if d.startswith("track")] == ["track segment has no question"]


def test_the_card_counts_what_is_there(made):
    card = made.card
    assert card.counts["questions"].sum() == card.templates["questions"].sum() == len(made.questions)
    assert card.videos["questions"].sum() == len(made.questions)
    assert card.templates["answers"].min() > 1
    assert card.as_dict()["questions"] == len(made.questions)
    for row in card.templates.iter_rows(named=True):
        part = [q for q in made.questions if (q.split, q.track, q.draft.template.name)
                == (row["split"], row["track"], row["template"])]  # fmt: skip
        right = sum(q.reference.answer == row["top_answer"] for q in part)
        assert row["constant_floor"] == right / len(part)


def test_the_card_can_be_read(made):
    text = made.card.as_markdown()
    for part in ("# Data card", "## Templates", "clip-once-placed", "best of each template"):
        assert part in text


def options(**changes) -> BenchmarkOptions:
    base = BenchmarkOptions(("frame",), 5, 0.3, (), (), ("left-of",), 0.5, 0.02, 0)
    return replace(base, **changes)


def changed(draft, **changes) -> Draft:
    return Draft(**{field.name: getattr(draft, field.name) for field in fields(Draft)} | changes)


def lopsided(questions):
    """The questions of one template, with one answer in all but one of them."""
    group = [q for q in questions if q.draft.template.name == questions[0].draft.template.name and q.split == "train"]
    return [replace(q, draft=changed(q.draft, answer="one" if at else "something else")) for at, q in enumerate(group)]


def doubled(questions):
    """The same questions a few seconds later."""
    later = [changed(q.draft, window=Window(*(s + 2 for s in q.draft.window))) for q in questions]
    return [
        replace(q, draft=draft, request=replace(q.request, case=draft.case))
        for q, draft in zip(questions, later, strict=True)
    ]


def test_leaks_break_a_promise_and_two_questions_of_one_id_do(procedures, made):
    videos = [_facts_of(Ledger(procedure)) for procedure in procedures]
    splits = Splits({v.video: "train" if n % 2 else "test" for n, v in enumerate(videos)}, {})
    assert broken_promises((), videos, splits, options()) == []
    kin = [replace(video, patient="p") for video in videos]
    assert "patient 'p' is in train and test" in broken_promises((), kin, splits, options())
    busy = max(range(len(videos)), key=lambda n: videos[n].signatures.size)
    twin = replace(videos[busy], video="twin", patient="twin")
    split = Splits({**splits.of_video, "twin": "train" if busy % 2 == 0 else "test"}, {})
    assert any("'twin' share" in text for text in broken_promises((), [*videos, twin], split, options()))


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        ("surgvalid.questions.make.select", "one possible answer"),
        ("surgvalid.questions.make.split_videos", "is in train and test"),
    ],
)
def test_a_set_that_breaks_its_promises_is_never_returned(broken, words, procedures, monkeypatch):
    """Balancing and splitting are broken on purpose; the card's assertions must notice."""

    def unbalanced(drafts, wanted, draw, **_):
        return Selection([draft for draft in drafts if draft.answer == "no"])

    def careless(videos, **_):
        return Splits(
            {v.video: "train" if n % 2 else "test" for n, v in enumerate(videos)},
            dict.fromkeys((v.video for v in videos), False),
        )

    monkeypatch.setattr(broken, unbalanced if broken.endswith("select") else careless)
    kin = [replace(procedure, patient=f"p{n // 2}") for n, procedure in enumerate(procedures)]
    with pytest.raises(QuestionsInvalid, match=words):
        make_questions(kin, tracks=["frame"], per_video=10)


def test_broken_promises_are_found(made):
    splits = Splits({q.request.video: q.split for q in made.questions}, {})
    frames = [q for q in made.questions if q.track == "frame"]
    assert broken_promises(frames, (), splits, options()) == []
    train = next(q for q in frames if q.split == "train")
    unreadable = replace(train, reference=replace(train.reference, format="number", answer="many"))
    held_out = replace(next(q for q in frames if q.draft.template.name == "left-of"), split="train")
    ahead = replace(train, reference=replace(train.reference, ood=True))
    for broken, words in (
        ([train, train], "more than once"),
        ([unreadable], "expected digits alone"),
        ([held_out], "asked in training"),
        ([ahead], "out of distribution, but for training"),
        ([train], "one possible answer"),
        (lopsided(frames), "one answer makes up"),
        (lopsided(frames), "times"),
        ([*frames, *doubled(frames)], "are near-duplicates"),
    ):
        assert words in "; ".join(broken_promises(broken, (), splits, options()))


@pytest.mark.long
def test_every_written_reference_is_what_a_plain_reading_of_the_tracks_says(tmp_path):
    """Not the templates alone: the files as they are handed over, on procedures of a usual length."""
    truths = [small_truth(909, number, (5, 6)) for number in range(6)]
    plain = {truth.video: PlainReading(truth) for truth in truths}
    make_questions(truths, per_video=40, test_share=0.34, seed=3).to_dir(tmp_path)
    checked = Counter()
    for place in sorted(path.parent for path in tmp_path.rglob("proofs.jsonl")):
        questions = load_questions(place / "requests.json", place / "references.json")
        for line in (place / "proofs.jsonl").read_text(encoding="utf-8").splitlines():
            told = json.loads(line)
            asked, known = questions.requests[told["qID"]], questions.references[told["qID"]]
            answer = ANSWERS[told["template"]](plain[asked.video], int(asked.start_s), int(asked.end_s), told["slots"])
            assert known.answer == answer, (asked.question, told)
            assert all(second <= asked.end_s for second in told["proof"]["seconds"])
            checked[known.capability] += 1
    assert sum(checked.values()) > 500
    assert len(checked) == 15
