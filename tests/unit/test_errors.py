import pickle

import pytest

from surgvalid.errors import (
    SHOWN_KINDS,
    SHOWN_PROBLEMS,
    ExtraNeeded,
    FileUnreadable,
    SurgvalidError,
    TableInvalid,
    UnknownName,
    by_kind,
)


def test_few_problems_stand_in_one_line() -> None:
    assert str(TableInvalid("scores.csv", ["row 1: no id"])) == "scores.csv: row 1: no id"
    text = str(TableInvalid("scores.csv", [f"row {i}: no id" for i in range(SHOWN_PROBLEMS)]))
    assert text.startswith("scores.csv: 9 problems: row 0: no id; ")
    assert "\n" not in text


def test_many_problems_are_one_line_for_each_kind_and_all_are_kept() -> None:
    problems = [f"[q{i}] the reference has no matching request" for i in range(1000)]
    problems += [f"a.json row {i} [q{i}] unknown answer format 'x{i}'" for i in range(594)]
    error = TableInvalid("questions", [*problems, "column 'case' is missing"])
    assert str(error).splitlines() == [
        "questions: 1,595 problems of 3 kinds:",
        "  1,000 like: [q0] the reference has no matching request; [q1] the reference has no matching request; "
        "[q2] the reference has no matching request",
        "  594 like: a.json row 0 [q0] unknown answer format 'x0'; a.json row 1 [q1] unknown answer format 'x1'; "
        "a.json row 2 [q2] unknown answer format 'x2'",
        "  column 'case' is missing",
    ]
    assert len(error.problems) == 1595


def test_more_kinds_than_a_screen_holds_are_counted() -> None:
    words = [f"{'a' * n} is wrong" for n in range(1, SHOWN_KINDS + 6)]
    lines = str(TableInvalid("t", words)).splitlines()
    assert len(lines) == SHOWN_KINDS + 2
    assert lines[-1] == "  and 5 more kinds"
    assert len(by_kind(words)) == len(words)


@pytest.mark.parametrize(
    "error",
    [
        ExtraNeeded("the demo's images", "av", "video"),
        UnknownName("model", "a", ["b", "c"]),
        FileUnreadable("a.csv", ["no table", "no rows"]),
        SurgvalidError("nothing"),
    ],
)
def test_an_error_of_a_worker_process_arrives_as_it_was(error: SurgvalidError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again) == vars(error)
