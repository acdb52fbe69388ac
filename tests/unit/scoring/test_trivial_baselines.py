import json
import math
import random

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import surgvalid
from floor_questions import focus_like, question, split
from surgvalid.errors import Misuse, QuestionsInvalid, TableInvalid
from surgvalid.schema.questions.question_files import load_responses
from surgvalid.schema.rows import write_json_rows
from surgvalid.schema.tables.score_table import ScoreTable
from surgvalid.scoring.trivial_baselines import BASELINES, ORACLES, margins, trivial_baselines

CLIP, MESH = "Is a clip visible at 00:01:00?", "How is the weather?"


def accuracy(result, floor: str, name: str = "overall") -> float:
    return result.table.filter(floor=floor, name=name)["accuracy"].item()


def small() -> tuple:
    """Three videos; `CLIP` is mostly yes, `MESH` is mostly no, and alike over all videos."""
    pairs = []
    for v in "abc":
        pairs += [question(f"{v}{i}", "yes", text=CLIP, video=v) for i in range(3)]
        pairs += [question(f"{v}m{i}", "no", text=MESH, video=v, capability="3a", ood=True) for i in range(2)]
    return split(pairs)


def test_the_public_name_is_the_function() -> None:
    assert surgvalid.trivial_baselines is trivial_baselines


def test_a_constant_per_template_beats_one_per_format_where_templates_differ() -> None:
    result = trivial_baselines(*small())
    assert accuracy(result, "constant-per-format") == 9 / 15
    assert accuracy(result, "constant-per-template") == 1
    assert result.best() == ("constant-per-template", 1.0)


def test_the_headline_is_the_mean_over_populated_buckets() -> None:
    result = trivial_baselines(*small())
    assert accuracy(result, "constant-per-format", "object_recognition_id") == 1
    assert accuracy(result, "constant-per-format", "aggregation_ood") == 0
    assert accuracy(result, "constant-per-format", "headline") == 0.5


def test_a_video_with_its_own_answer_cannot_teach_itself() -> None:
    pairs = [question(f"q{v}", text, video=v, format="open_ended") for v, text in (("a", "left"), ("b", "right"))]
    result = trivial_baselines(*split(pairs))
    assert accuracy(result, "constant-per-format") == 0
    assert accuracy(result, "oracle-constant-per-format") == 0.5
    assert result.answers["constant-per-format"] == {"qa": "right", "qb": "left"}


def test_a_single_video_has_no_floor_and_the_note_says_so() -> None:
    result = trivial_baselines(*split([question("q1", "yes"), question("q2", "yes")]))
    assert accuracy(result, "constant-per-format") == 0
    assert not result.answers["text-prior"]
    assert any("single video" in note for note in result.notes)


def test_training_questions_are_used_where_given_and_finer_groups_fall_back() -> None:
    train = [question("t1", "3", format="number", text="How many clips?", video="x")]
    train += [question("t2", "3", format="number", text="How many meshes?", video="x")]
    test = [question("q1", "3", format="number", text="How many needles?", video="y", procedure="New")]
    test += [question("q2", "3", format="number", text="Never asked before?", video="y")]
    sets = split(test), split(train)
    result = trivial_baselines(*sets[0], train_requests=sets[1][0], train_references=sets[1][1])
    assert result.fit == "training set"
    assert [accuracy(result, floor) for floor in BASELINES] == [1, 1, 1, 1]
    assert result.unseen.filter(level="overall").row(0)[2:] == (2, 1, 0.5)
    assert result.templates.filter("unseen")["template"].to_list() == ["never asked before?"]


def test_a_video_in_both_sets_is_named() -> None:
    pairs = split([question("q", "yes")])
    result = trivial_baselines(*pairs, train_requests=pairs[0], train_references=pairs[1])
    assert any("1 videos are in the training set too (first: v1)" in note for note in result.notes)


def test_templates_with_a_single_possible_answer_are_listed() -> None:
    pairs = [question("q1", "Yes", video="a"), question("q2", "yes.", video="b", text="Is a mesh visible?")]
    pairs += [question("q3", "no", text=MESH), question("q4", "yes", text=MESH)]
    table = trivial_baselines(*split(pairs)).templates
    single = table.filter("single_answer").row(0, named=True)
    assert (single["template"], single["questions"], single["videos"]) == ("is a <object> visible?", 2, 2)
    assert (single["commonest"], single["commonest_share"]) == ("yes", 1.0)
    assert table.filter(~pl.col("single_answer"))["answers"].to_list() == [2]


def test_notes_name_unstated_ood_free_text_and_references_that_cannot_be_scored() -> None:
    pairs = [question("q1", "yes", ood=None), question("q2", "left", format="open_ended")]
    pairs += [question("q3", "two", format="number")]
    result = trivial_baselines(*split(pairs))
    text = "\n".join(result.notes)
    assert "1 questions do not say whether they are out of distribution; they count as ID" in text
    assert "1 free-text questions" in text
    assert "1 references break their own format (first: q3)" in text
    assert result.table.filter(floor="text-prior", level="overall")["questions"].item() == 2


def test_a_set_in_which_nothing_can_be_scored_has_no_number() -> None:
    result = trivial_baselines(*split([question("q1", "perhaps"), question("q2", "two", format="number", video="b")]))
    assert result.table["accuracy"].null_count() == result.table.height
    assert math.isnan(result.best()[1])
    assert "nan" in repr(result)
    assert "NaN" not in json.dumps(result.as_dict(), allow_nan=False)


def test_misuse_and_broken_questions_are_refused() -> None:
    requests, references = split([question("q1", "yes")])
    with pytest.raises(Misuse, match="--train-requests"):
        trivial_baselines(requests, references, train_requests=requests)
    with pytest.raises(Misuse, match="no trivial baseline"):
        trivial_baselines([], [])
    with pytest.raises(QuestionsInvalid):
        trivial_baselines(requests, references * 2)


def test_floors_can_be_submitted_and_reach_what_the_table_says(tmp_path) -> None:
    requests, references = focus_like(400, 12)
    write_json_rows((r.as_row() for r in requests), tmp_path / "requests.json")
    write_json_rows((r.as_row() for r in references), tmp_path / "references.json")
    result = trivial_baselines(tmp_path / "requests.json", str(tmp_path / "references.json"))
    result.to_dir(tmp_path / "out")
    for floor in (*BASELINES, *ORACLES):
        answers = load_responses(tmp_path / "out" / "floor_answers" / floor / "answer.json").responses
        assert {a.case: a.content for a in answers} == dict(result.answers[floor])
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert [entry["file"] for entry in manifest["inputs"]] == ["requests.json", "references.json"]
    assert pl.read_csv(tmp_path / "out" / "floors.csv").height == result.table.height
    assert "best trivial baseline, primary result" in repr(result)


# --- properties ----------------------------------------------------------------------------------

SIZES = st.integers(5, 60)


@given(SIZES, st.integers(1, 6), st.integers(0, 99), st.randoms(use_true_random=False))
@settings(max_examples=25)
def test_the_order_of_the_questions_changes_no_floor(size, videos, seed, rng) -> None:
    requests, references = focus_like(size, videos, seed=seed)
    before = trivial_baselines(requests, references).table
    rng.shuffle(requests)
    rng.shuffle(references)
    assert trivial_baselines(requests, references).table.equals(before)


@given(SIZES, st.integers(2, 6), st.integers(0, 99))
@settings(max_examples=25)
def test_changing_the_answers_of_a_video_never_changes_its_own_floor_answers(size, videos, seed) -> None:
    requests, references = focus_like(size, videos, seed=seed)
    own = {r.case for r in requests if r.video == "v001"}
    asked = {r.case: r for r in references}
    other = {r.case: r for r in focus_like(size, videos, seed=seed + 1000)[1]}
    swapped = [_with_answer(asked[c], other, random.Random(seed)) if c in own else asked[c] for c in asked]
    before, after = trivial_baselines(requests, references), trivial_baselines(requests, swapped)
    for floor in BASELINES:
        assert all(before.answers[floor].get(case) == after.answers[floor].get(case) for case in own)


def _with_answer(reference, others, rng):
    alike = [o.answer for o in others.values() if o.format == reference.format] or [reference.answer]
    fields = (reference.case, reference.capability, reference.format, rng.choice(alike), reference.parameters)
    return type(reference)(*fields, ood=reference.ood)


@given(st.lists(st.sampled_from(["yes", "no"]), min_size=1, max_size=6), st.integers(2, 4))
def test_where_every_template_has_one_answer_the_template_floor_is_perfect(answers, videos) -> None:
    pairs = [
        question(f"q{v}-{t}", answer, video=f"v{v}", text=f"Shape {'x' * (t + 1)}?")
        for v in range(videos)
        for t, answer in enumerate(answers)
    ]
    result = trivial_baselines(*split(pairs))
    assert accuracy(result, "constant-per-template") == 1
    assert result.templates["single_answer"].all()


@given(SIZES, st.integers(1, 6), st.integers(0, 99))
@settings(max_examples=25)
def test_no_honest_constant_beats_its_oracle(size, videos, seed) -> None:
    result = trivial_baselines(*focus_like(size, videos, seed=seed))
    for honest, oracle in zip(BASELINES, ORACLES, strict=False):
        assert accuracy(result, honest) <= accuracy(result, oracle) + 1e-12


def test_the_seed_deals_the_folds_and_nothing_else() -> None:
    questions = focus_like(300, 30)
    one, same, other = (trivial_baselines(*questions, seed=seed) for seed in (1, 1, 2))
    assert one.table.equals(same.table)
    constants = pl.col("floor") != "text-prior"
    assert one.table.filter(constants).equals(other.table.filter(constants))


# --- margins -------------------------------------------------------------------------------------


def scored(rows) -> ScoreTable:
    frame = pl.DataFrame(rows, schema=["model", "case", "correct"], orient="row")
    return ScoreTable.of(frame, columns={"value": "correct"})


def test_the_margin_is_over_the_best_floor_of_each_slice() -> None:
    result = trivial_baselines(*small())
    perfect = [("A", case, 1.0) for case in result.cases["case"]]
    wrong = [("B", case, 0.0) for case in result.cases["case"]]
    table = margins(result.cases, scored(perfect + wrong))
    headline = table.filter(level="headline").select("model", "margin", "best_floor").rows()
    assert headline == [("A", 0.0, "constant-per-template"), ("B", -1.0, "constant-per-template")]
    assert table.filter(model="A", level="bucket")["name"].to_list() == ["aggregation_ood", "object_recognition_id"]


def test_missing_rows_are_wrong_and_unscored_ones_leave_both_sides() -> None:
    result = trivial_baselines(*small())
    cases = result.cases["case"].to_list()
    rows = [("A", case, 1.0) for case in cases[2:]] + [("A", cases[0], None)]
    line = margins(result.cases, scored(rows)).filter(level="overall").row(0, named=True)
    assert (line["missing"], line["not_scored"], line["questions"]) == (1, 1, 14)
    assert line["accuracy"] == 13 / 14
    assert line["floor_accuracy"] == 1


def test_questions_whose_reference_is_broken_leave_the_margin_too() -> None:
    result = trivial_baselines(*split([question("q1", "yes", video="a"), question("q2", "maybe", video="b")]))
    line = (
        margins(result.cases, scored([("A", "q1", 1.0), ("A", "q2", 0.0)])).filter(level="overall").row(0, named=True)
    )
    assert (line["accuracy"], line["questions"], line["not_scored"]) == (1, 1, 1)


def test_a_table_of_other_questions_is_refused() -> None:
    result = trivial_baselines(*small())
    with pytest.raises(TableInvalid, match="none of its cases"):
        margins(result.cases, scored([("A", "elsewhere", 1.0)]))
    with pytest.raises(TableInvalid, match="no metric 'correct'"):
        margins(result.cases, ScoreTable.of({"model": ["A"], "case": ["a0"], "value": [0.5], "metric": ["dsc"]}))
