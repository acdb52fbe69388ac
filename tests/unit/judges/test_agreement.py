import json
from pathlib import Path

import pytest

from surgvalid.errors import FileUnreadable, Misuse
from surgvalid.judges import agreement_of


def a_file(path: Path, judge: str, verdicts: str) -> Path:
    """A file with one verdict per letter: + right, - wrong, 0 abstained, a blank for unseen."""
    spelled = {"+": True, "-": False, "0": None}
    rows = [
        {"judge": judge, "qID": f"q{i}", "reference": "r", "candidate": f"c{i}", "verdict": spelled[sign]}
        for i, sign in enumerate(verdicts)
        if sign != " "
    ]
    with path.open("a") as handle:
        handle.writelines(json.dumps(row) + "\n" for row in rows)
    return path


def test_two_judges_are_compared_where_both_have_an_opinion(tmp_path: Path) -> None:
    one = a_file(tmp_path / "a.jsonl", "a", "++--0 +")
    two = a_file(tmp_path / "b.jsonl", "b", "+----+ ")
    result = agreement_of([one, two])
    pair = result.pairs[0]
    assert (pair.judge_a, pair.judge_b, pair.both, pair.abstained) == ("a", "b", 4, 1)
    assert pair.agreement == 0.75
    assert pair.kappa == pytest.approx(0.5)
    assert result.fleiss is None
    assert result.disagreements.to_dicts() == [
        {"qID": "q1", "reference": "r", "candidate": "c1", "a": True, "b": False}
    ]


def test_three_judges_of_one_file_have_three_pairs_and_a_common_kappa(tmp_path: Path) -> None:
    path = tmp_path / "all.jsonl"
    for judge, verdicts in {"a": "++--+", "b": "++--0", "c": "+---+"}.items():
        a_file(path, judge, verdicts)
    result = agreement_of([path])
    assert [(p.judge_a, p.judge_b) for p in result.pairs] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert result.pairs[0].kappa == 1.0
    assert result.complete == 4
    assert result.fleiss == pytest.approx(0.657, abs=1e-3)
    assert result.disagreements.height == 1


def test_one_name_in_two_files_is_two_judges(tmp_path: Path) -> None:
    for name in ("x", "y"):
        (tmp_path / name).mkdir()
    files = [a_file(tmp_path / "x" / "v.jsonl", "j", "+-"), a_file(tmp_path / "y" / "v.jsonl", "j", "++")]
    result = agreement_of(files)
    assert result.judges == ("j (1: v.jsonl)", "j (2: v.jsonl)")
    assert result.disagreements.height == 1


def test_judges_who_always_say_the_same_have_no_kappa(tmp_path: Path) -> None:
    files = [a_file(tmp_path / f"{name}.jsonl", name, "+++") for name in "abc"]
    result = agreement_of(files)
    assert [(p.agreement, p.kappa) for p in result.pairs] == [(1.0, None)] * 3
    assert result.fleiss is None


def test_judges_who_share_nothing_have_no_agreement(tmp_path: Path) -> None:
    files = [a_file(tmp_path / "a.jsonl", "a", "+ "), a_file(tmp_path / "b.jsonl", "b", " +")]
    pair = agreement_of(files).pairs[0]
    assert (pair.both, pair.agreement, pair.kappa) == (0, None, None)


def test_a_judge_may_have_the_name_of_a_column(tmp_path: Path) -> None:
    files = [a_file(tmp_path / "a.jsonl", "candidate", "+"), a_file(tmp_path / "b.jsonl", "b", "-")]
    assert agreement_of(files).disagreements.columns == ["qID", "reference", "candidate", "judge candidate", "b"]


def test_one_judge_alone_cannot_agree(tmp_path: Path) -> None:
    with pytest.raises(Misuse, match="at least two judges, got only 'a'"):
        agreement_of([a_file(tmp_path / "a.jsonl", "a", "+")])
    (tmp_path / "empty.jsonl").write_text("")
    with pytest.raises(Misuse, match="got none"):
        agreement_of([tmp_path / "empty.jsonl"])


def test_a_file_that_contradicts_itself_is_refused(tmp_path: Path) -> None:
    path = a_file(a_file(tmp_path / "a.jsonl", "a", "+"), "a", "-")
    with pytest.raises(FileUnreadable, match="lines 1 and 2"):
        agreement_of([path])


def test_a_cut_line_is_named_and_the_others_are_compared(tmp_path: Path) -> None:
    one, two = a_file(tmp_path / "a.jsonl", "a", "+-"), a_file(tmp_path / "b.jsonl", "b", "++")
    with one.open("a") as handle:
        handle.write('{"judge": "a", "qID": "q')
    result = agreement_of([one, two])
    assert result.pairs[0].both == 2
    assert [problem.split(":")[0] for problem in result.problems] == ["a.jsonl line 3"]
    assert result.as_dict()["damaged_lines"] == list(result.problems)
