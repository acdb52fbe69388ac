import json
from pathlib import Path
from typing import Any

import pytest

from judge_cases import a_case
from surgvalid.errors import FileUnreadable
from surgvalid.judges import Panel, Verdict, VerdictStore, open_judge, verdict_row


def a_file(folder: Path, *rows: Any) -> Path:
    path = folder / "verdicts.jsonl"
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def a_row(verdict: object = True, **other: object) -> dict[str, object]:
    row = {"judge": "surgeon", "qID": "q1", "reference": "cystic duct", "candidate": "cystic duct", "verdict": verdict}
    return row | other


def problems_of(path: Path) -> list[str]:
    with pytest.raises(FileUnreadable) as caught:
        open_judge(f"cached:{path}")
    return caught.value.problems


@pytest.mark.parametrize(
    ("verdict", "correct", "state"),
    [(True, True, "judged"), (False, False, "judged"), (None, None, "abstained"), ("true", True, "judged"),
     ("INCORRECT", False, "judged"), ("unsure", None, "abstained")],
)  # fmt: skip
def test_a_verdict_of_the_file_is_repeated(tmp_path: Path, verdict: object, correct: bool | None, state: str) -> None:
    said = open_judge(f"cached:{a_file(tmp_path, a_row(verdict))}").judge([a_case()])[0]
    assert (said.correct, said.state) == (correct, state)
    assert said.text.startswith("surgeon: ")


@pytest.mark.parametrize(
    "case", [a_case(case="q2"), a_case("Cystic duct"), a_case("cystic duct "), a_case(reference="Cystic duct")]
)
def test_an_answer_that_differs_by_a_letter_is_not_judged(tmp_path: Path, case) -> None:  # type: ignore[no-untyped-def]
    said = open_judge(f"cached:{a_file(tmp_path, a_row())}").judge([case])[0]
    assert said == Verdict(None, "not_judged")


@pytest.mark.parametrize(
    ("verdicts", "correct"),
    [((True, True, False), True), ((False, False, True), False), ((True, False), None), ((True, None), True)],
)
def test_several_judges_in_a_file_vote(tmp_path: Path, verdicts: tuple[bool | None, ...], correct: bool | None) -> None:
    rows = [a_row(verdict, judge=f"surgeon {i}") for i, verdict in enumerate(verdicts)]
    said = open_judge(f"cached:{a_file(tmp_path, *rows)}").judge([a_case()])[0]
    assert (said.correct, said.state) == (correct, "abstained" if correct is None else "judged")


def test_the_name_is_the_file_without_its_folder(tmp_path: Path) -> None:
    assert open_judge(f"cached:{a_file(tmp_path, a_row())}").name == "cached:verdicts.jsonl"


def test_what_is_harmless_is_read(tmp_path: Path) -> None:
    nameless = {key: value for key, value in a_row(qID=7).items() if key != "judge"}
    path = a_file(tmp_path, "\ufeff" + json.dumps(a_row()), "", a_row(), a_row(extra=[1]), nameless)
    judge = open_judge(f"cached:{path}")
    assert [v.correct for v in judge.judge([a_case(), a_case(case="7")])] == [True, True]


def test_contradictions_are_all_listed(tmp_path: Path) -> None:
    path = a_file(tmp_path, a_row(), a_row(False), a_row(qID="q2"), a_row(None, qID="q2"), a_row(False, judge="other"))
    found = problems_of(path)
    assert len(found) == 2
    assert found[0] == "lines 1 and 2: judge 'surgeon' says true and false about the same answer to 'q1'; keep one"


def test_every_damaged_line_is_listed_with_its_number(tmp_path: Path) -> None:
    path = a_file(
        tmp_path,
        '{"judge": "a", ',
        "[1]",
        "null",
        {"qID": "q"},
        a_row("perhaps"),
        a_row(1),
        a_row(reference=3, candidate=None),
        a_row(qID=None),
        a_row(qID=True),
        a_row(judge=""),
        "[" * 100_000,
        a_row(),
        a_row(verdict={"deep": "x" * 500}),
    )
    path.write_bytes(path.read_bytes() + b"\xff\xfe\n")
    found = problems_of(path)
    assert [problem.split(":")[0].removeprefix("verdicts.jsonl ").removeprefix("line ") for problem in found] == [
        "4", "5", "6", "7", "7", "8", "9", "10", "13", "1", "2", "3", "11", "14",
    ]  # fmt: skip
    assert "'reference', 'candidate', 'verdict' is missing" in found[0]
    assert "not UTF-8" in found[-1]
    assert all(len(problem) < 200 for problem in found)


def test_a_folder_is_no_verdict_file(tmp_path: Path) -> None:
    assert problems_of(tmp_path) == ["the folder holds no segment of a store"]


def test_a_line_cut_by_an_interruption_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    path = a_file(tmp_path, a_row(), '{"judge": "a", "qI')
    judge = open_judge(f"cached:{path}")
    assert judge.judge([a_case()])[0].state == "judged"
    assert [problem.split(":")[0] for problem in judge.problems] == ["verdicts.jsonl line 2"]
    assert "verdicts.jsonl line 2" in Panel([judge]).warnings()[0].message


def test_a_file_of_cut_lines_alone_is_refused(tmp_path: Path) -> None:
    (problem,) = problems_of(a_file(tmp_path, "{", '{"judge'))
    assert problem.startswith("none of 2 lines is a JSON object; give a verdict file in JSON Lines (first: ")


def test_a_store_is_read_as_a_verdict_file_and_its_first_line_counts(tmp_path: Path) -> None:
    one, two = VerdictStore(tmp_path / "store"), VerdictStore(tmp_path / "store")
    one.put("j", a_case(), Verdict(True, "judged"))
    two.put("j", a_case(), Verdict(False, "judged"))
    assert open_judge(f"cached:{tmp_path / 'store'}").judge([a_case()])[0].correct is True


def test_a_row_written_for_a_vote_is_read_back(tmp_path: Path) -> None:
    rows = [verdict_row("j", a_case(), Verdict(True, "judged")), verdict_row("k", a_case(), Verdict(None, "failed"))]
    said = open_judge(f"cached:{a_file(tmp_path, *rows)}").judge([a_case()])[0]
    assert (said.correct, said.text) == (True, "j: True; k: abstained")
