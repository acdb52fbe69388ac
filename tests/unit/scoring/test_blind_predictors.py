import pytest
from hypothesis import given
from hypothesis import strategies as st

from floor_questions import question, split
from surgvalid.schema.questions.question_files import load_questions
from surgvalid.scoring import blind_predictors as best_constant
from surgvalid.scoring.blind_predictors import best_constants
from surgvalid.scoring.blind_questions import blind_questions, clock

VIDEO = st.sampled_from(["a", "b", "c"])
STAMPS = st.lists(st.integers(0, 40), min_size=1, max_size=2).map(clock)
ANSWERS = {
    "binary": st.tuples(st.sampled_from(["yes", "No", "YES."]), st.just({})),
    "number": st.tuples(st.integers(0, 5).map(str), st.just({})),
    "fo_class": st.tuples(st.sampled_from(["Clip", "clip, Mesh", "Mesh, Clip", "none"]), st.just({})),
    "open_ended": st.tuples(st.sampled_from(["left", "Left.", " right", ""]), st.just({})),
    "percentage": st.tuples(
        st.integers(0, 30).map(lambda n: f"{n}%"), st.fixed_dictionaries({"threshold_pp": st.sampled_from([0, 2.5, 5])})
    ),
    "time": st.tuples(
        STAMPS, st.fixed_dictionaries({"threshold_seconds": st.sampled_from([0, 1.0, 4.333333333333334])})
    ),
}
ROWS = st.sampled_from(sorted(ANSWERS)).flatmap(
    lambda name: st.lists(st.tuples(st.just(name), VIDEO, ANSWERS[name]), min_size=1, max_size=12)
)


def blind(rows):
    pairs = [question(f"q{i}", a, format=f, video=v, **p) for i, (f, v, (a, p)) in enumerate(rows)]
    return blind_questions(load_questions(*split(pairs)))


def right(questions, text) -> int:
    return int(sum(q.score(text) for q in questions))


def candidates(questions) -> list[str]:
    """Every answer that could be best: all of a fine grid, and the references themselves."""
    name = questions[0].format
    grid = [f"{n / 2}%" for n in range(80)] if name == "percentage" else [clock([n]) for n in range(50)]
    return [q.answer for q in questions] + (grid if name in ("percentage", "time") else [])


@given(ROWS)
def test_no_answer_is_right_more_often_than_the_best_constant(rows) -> None:
    questions = blind(rows)
    best = best_constants(questions).overall
    assert best.support == right(questions, best.text)
    assert best.support == max(right(questions, text) for text in candidates(questions))


@given(ROWS)
def test_leaving_a_video_out_is_the_same_as_never_having_had_it(rows) -> None:
    questions = blind(rows)
    for video, constant in best_constants(questions).without.items():
        others = [q for q in questions if q.video != video]
        assert constant == best_constants(others).overall


@given(ROWS, st.randoms())
def test_the_order_of_the_questions_changes_nothing(rows, random) -> None:
    questions = blind(rows)
    before = best_constants(questions)
    random.shuffle(questions)
    assert best_constants(questions) == before


@given(ROWS)
def test_working_in_blocks_changes_nothing(rows) -> None:
    questions = blind(rows)
    before = best_constants(questions)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(best_constant, "_CELLS_AT_ONCE", 1)
        assert best_constants(questions) == before


def test_of_the_best_stretch_the_middle_is_taken() -> None:
    rows = [
        ("time", "a", ("00:01:40", {"threshold_seconds": 5})),
        ("time", "b", ("00:01:44", {"threshold_seconds": 5})),
    ]
    assert best_constants(blind(rows)).overall == ("00:01:42", 2)


def test_a_list_of_times_that_only_the_left_out_video_gives_is_no_candidate() -> None:
    rows = [("time", "a", ("00:00:09, 00:00:20", {})), ("time", "b", ("00:00:10, 00:00:20", {}))]
    assert best_constants(blind(rows)).without == {"a": ("00:00:10, 00:00:20", 1), "b": ("00:00:09, 00:00:20", 1)}


def test_a_tolerance_that_accepts_nothing_takes_nothing_from_others() -> None:
    rows = [("time", "a", ("00:01:40", {"threshold_seconds": t})) for t in (-1.0, 0.0)]
    assert best_constants(blind(rows)).overall == ("00:01:40", 1)


def test_tolerances_that_accept_nothing_or_everything_are_survived() -> None:
    rows = [("time", "a", ("00:01:40", {"threshold_seconds": t})) for t in (-1.0, 1e300, 2.0)]
    assert best_constants(blind(rows)).overall.support == 2


def test_references_that_break_their_format_teach_nothing() -> None:
    assert best_constants(blind([("number", "a", ("two", {}))])).overall is None
