import json
import math

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import surgvalid
from how_many import many
from surgvalid.errors import FileUnreadable, TableInvalid
from surgvalid.scoring.diff import PARTS, diff

COLUMNS = ["qID", "video", "ood", "clinical", "primary", "answer_format", "latency", "timed_out", "correctness"]


def write(path, rows, *, columns=COLUMNS):
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [",".join(columns), *(",".join(str(row.get(name, "")) for name in columns) for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def row(case: str, correct: object = True, **changes: object) -> dict:
    plain = {"qID": case, "video": "v1", "ood": False, "clinical": False, "primary": "object_identification"}
    plain |= {"answer_format": "binary", "latency": 0.5, "timed_out": False, "correctness": correct}
    return plain | changes


def compared(tmp_path, a, b, **options):
    return diff(
        write(tmp_path / "a" / "results.csv", a, **options), write(tmp_path / "b" / "results.csv", b, **options)
    )


def moved(result, name: str = "headline", estimand: str = "rows") -> dict:
    return result.table.filter(name=name, estimand=estimand).row(0, named=True)


def test_the_public_name_is_the_function() -> None:
    assert surgvalid.diff is diff


def test_equal_results_have_no_difference(tmp_path) -> None:
    result = compared(tmp_path, [row("q1"), row("q2", False)], [row("q2", False, latency="0.50"), row("q1")])
    assert result.equal
    assert result.table["difference"].to_list() == [0.0] * result.table.height
    assert "no difference" in repr(result)


def test_flips_are_listed_in_both_directions_with_their_reasons(tmp_path) -> None:
    columns = [*COLUMNS, "reason"]
    a = [row("q1", True, reason="right"), row("q2", False, reason="late"), row("q3", "", reason="not_judged")]
    b = [row("q1", False, reason="wrong"), row("q2", True, reason="right"), row("q3", True, reason="right")]
    result = compared(tmp_path, a, b, columns=columns)
    flips = result.changes.filter(kind="flipped").select("case", "a", "b", "reason_a", "reason_b").rows()
    assert flips == [
        ("q1", "right", "wrong", "right", "wrong"),
        ("q2", "wrong", "right", "late", "right"),
        ("q3", "not scored", "right", "not_judged", "right"),
    ]
    assert "A: 1 questions were not scored; they are left out of every mean" in result.notes
    assert "1 verdicts: right -> wrong" in repr(result)


def test_regrouped_questions_and_changed_time_outs_are_listed(tmp_path) -> None:
    a = [row("q1"), row("q2", False)]
    b = [row("q1", primary="3a", ood=True), row("q2", False, timed_out=True, latency=31, clinical=True)]
    result = compared(tmp_path, a, b)
    changes = result.changes.select("case", "kind", "column").rows()
    assert changes == [
        ("q1", "regrouped", "primary"),
        ("q1", "regrouped", "group"),
        ("q1", "regrouped", "ood"),
        ("q2", "regrouped", "clinical"),
        ("q2", "timed-out", "timed_out"),
        ("q2", "latency", "latency"),
    ]
    assert result.count("regrouped") == 2
    assert not result.equal


def test_a_reason_that_changes_without_the_verdict_is_a_change(tmp_path) -> None:
    columns = [*COLUMNS, "reason"]
    result = compared(tmp_path, [row("q", False, reason="late")], [row("q", False, reason="wrong")], columns=columns)
    assert result.changes["kind"].to_list() == ["reason"]


def test_the_parts_of_a_case_worked_by_hand(tmp_path) -> None:
    # Bucket object recognition ID: A has 2 of 4 right. q1 flips (3 of 4), q2 (right) moves to OOD (2 of 3),
    # q3 (wrong) leaves (2 of 2), q9 (wrong) joins (2 of 3).
    a = [row("q1", False), row("q2", True), row("q3", False), row("q4", True)]
    b = [row("q1", True), row("q2", True, ood=True), row("q4", True), row("q9", False)]
    result = compared(tmp_path, a, b)
    line = moved(result, "object_recognition_id")
    assert (line["a"], line["b"]) == (0.5, pytest.approx(2 / 3))
    assert [line[part] for part in PARTS] == pytest.approx([0.25, 2 / 3 - 0.75, 0.0])
    headline = moved(result)  # one bucket in A, two in B: 1/2, then 3/4, then (2/3 + 1)/2, then (2/3 + 1)/2
    assert [headline[part] for part in PARTS] == pytest.approx([0.25, 5 / 6 - 0.75, 0.0])
    new = moved(result, "object_recognition_ood")
    assert (new["a"], new["b"], new["difference"], new["verdicts"]) == (None, 1.0, None, None)
    assert (new["questions_a"], new["questions_b"]) == (0, 1)
    assert result.changes.filter(kind="only-in-a")["case"].to_list() == ["q3"]
    assert result.changes.filter(kind="only-in-b")["case"].to_list() == ["q9"]


def test_both_estimands_are_given(tmp_path) -> None:
    a = [row("q1", True), row("q2", True), row("q3", False, video="v2")]
    b = [row("q1", False), row("q2", True), row("q3", False, video="v2")]
    result = compared(tmp_path, a, b)
    assert moved(result, "overall", "rows")["verdicts"] == pytest.approx(-1 / 3)
    assert moved(result, "overall", "videos")["verdicts"] == pytest.approx(-1 / 4)


def test_manifests_say_which_profile_and_judge_differed(tmp_path) -> None:
    result = compared(tmp_path, [row("q")], [row("q")])
    assert "A (results.csv) has no manifest beside it, so its profile and judge are not known" in result.notes
    for name, profile in (("a", "native"), ("b", "orena-focus-0.4.0")):
        document = {"surgvalid": "0.1.0", "options": {"profile": profile, "judge": ["exact"]}, "seeds": {"boot": 42}}
        (tmp_path / name / "manifest.json").write_text(json.dumps(document))
    result = diff(tmp_path / "a", tmp_path / "b")
    assert result.settings.rows() == [("options.profile", "native", "orena-focus-0.4.0")]
    assert result.equal


def test_a_broken_manifest_is_as_good_as_none(tmp_path) -> None:
    path = write(tmp_path / "results.csv", [row("q")])
    for text in ("{", "[1]", '{"options": 3, "inputs": 4}'):
        (tmp_path / "manifest.json").write_text(text)
        assert diff(path, path).settings.is_empty()


def test_a_folder_is_written(tmp_path) -> None:
    result = compared(tmp_path, [row("q")], [row("q", False)])
    result.to_dir(tmp_path / "out")
    assert pl.read_csv(tmp_path / "out" / "moved.csv").height == result.table.height
    assert {p.name for p in (tmp_path / "out").iterdir()} == {
        "moved.csv",
        "changes.csv",
        "settings.csv",
        "manifest.json",
    }


def test_every_problem_of_a_file_is_listed(tmp_path) -> None:
    rows = [row("q1"), row("q1"), row("q2", "perhaps"), row("q3", primary="7z"), row("q4", primary=""), row("")]
    path = write(tmp_path / "bad.csv", rows)
    with pytest.raises(TableInvalid) as caught:
        diff(path, path)
    assert caught.value.problems == [
        "row 2: question 'q1' appears twice",
        "row 3: correctness must be True or False, got 'perhaps'",
        "row 4: unknown capability '7z'",
        "row 5: primary is empty",
        "row 6: qID is empty",
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "no scored question"),
        ("qID,primary\nq1,1a\n", "column 'answer_format' is missing; it has 'primary', 'qID'"),
        ("qID,qID\n1,2\n", "appears twice"),
        ("qID,primary,answer_format,correctness\nq,1a,binary,True,more\n", "more cells than columns"),
    ],
)
def test_files_that_are_no_results_are_refused(tmp_path, text, problem) -> None:
    path = tmp_path / "results.csv"
    path.write_text(text)
    with pytest.raises((TableInvalid, FileUnreadable), match=problem):
        diff(path, path)


def test_a_missing_file_is_named(tmp_path) -> None:
    with pytest.raises(FileUnreadable, match="no such file"):
        diff(tmp_path / "none.csv", tmp_path / "none.csv")


def test_a_file_in_which_nothing_was_judged_is_read(tmp_path) -> None:
    path = write(tmp_path / "results.csv", [row("q", ""), row("r", "")])
    assert moved(diff(path, path))["a"] is None


# --- properties ----------------------------------------------------------------------------------

ROW = st.fixed_dictionaries(
    {
        "correctness": st.sampled_from([True, False, ""]),
        "primary": st.sampled_from(["1a", "1b", "3a"]),
        "ood": st.booleans(),
        "video": st.sampled_from(["v1", "v2"]),
        "answer_format": st.sampled_from(["binary", "time"]),
    }
)
RUN = st.dictionaries(st.sampled_from([f"q{i}" for i in range(8)]), ROW, min_size=1).map(
    lambda found: [row(case, values.pop("correctness", True), **values) for case, values in found.items()]
)


@given(RUN, RUN)
@settings(max_examples=many(60))
def test_the_parts_sum_to_the_difference(tmp_path_factory, a, b) -> None:
    table = compared(tmp_path_factory.mktemp("d"), a, b).table
    for line in table.drop_nulls("difference").iter_rows(named=True):
        assert math.isclose(sum(line[part] for part in PARTS), line["difference"], abs_tol=1e-12)
        assert math.isclose(line["b"] - line["a"], line["difference"], abs_tol=1e-12)
    for line in table.filter(pl.col("difference").is_null()).iter_rows(named=True):
        assert None in (line["a"], line["b"])


@given(RUN, RUN, st.randoms())
@settings(max_examples=30)
def test_the_order_of_the_rows_changes_nothing(tmp_path_factory, a, b, random) -> None:
    before = compared(tmp_path_factory.mktemp("d"), a, b)
    random.shuffle(a)
    random.shuffle(b)
    after = compared(tmp_path_factory.mktemp("d"), a, b)
    assert after.changes.equals(before.changes)
    numbers = pl.col(pl.Float64).round(12)
    assert after.table.with_columns(numbers).equals(before.table.with_columns(numbers))
