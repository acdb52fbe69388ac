from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given

from builders import score_columns, score_table
from strategies import score_columns as any_columns
from surgvalid.errors import DirectionUnknown, FileUnreadable, Misuse, TableInvalid, UnknownName
from surgvalid.schema.metric_facts import MetricFacts
from surgvalid.schema.outcomes import Status
from surgvalid.schema.tables.score_table import ScoreTable, read_score_table


def table(**changes: Any) -> dict[str, Any]:
    columns = {**score_columns(("A", "B"), cases=2, videos=2), **changes}
    return {name: values for name, values in columns.items() if values is not None}


def refusal(data: Any, **options: Any) -> str:
    with pytest.raises(TableInvalid) as caught:
        ScoreTable.of(data, **options)
    return str(caught.value)


@pytest.mark.parametrize("convert", [dict, pl.DataFrame, lambda c: pl.DataFrame(c).lazy(), pd.DataFrame, pa.table])
def test_every_kind_of_table_gives_the_same_scores(convert: Any) -> None:
    columns = score_columns()
    assert ScoreTable.of(convert(columns)).frame.equals(score_table().frame)


def test_a_list_of_rows_is_a_table_too() -> None:
    assert ScoreTable.of(pl.DataFrame(score_columns()).to_dicts()).frame.equals(score_table().frame)


def test_pandas_missing_values_of_every_kind_become_null() -> None:
    data = pd.DataFrame(table())
    for values in (
        pd.array([1, pd.NA, 0, 1], dtype="Int64"),
        [1.0, float("nan"), 0, 1],
        pd.array([1, None, 0, 1], dtype=object),
    ):
        assert ScoreTable.of(data.assign(value=values)).frame["value"].to_list() == [1.0, None, 0.0, 1.0]


def test_a_pandas_column_named_twice_is_refused() -> None:
    data = pd.DataFrame(table())
    with pytest.raises(Misuse, match="columns appear twice: value"):
        ScoreTable.of(pd.concat([data, data[["value"]]], axis=1))


@pytest.mark.parametrize("data", [5, "scores.csv", {"model": ["A"], "case": ["q", "r"]}, [{"a": 1}, 5]])
def test_what_is_no_table_is_misuse(data: Any) -> None:
    with pytest.raises((Misuse, TableInvalid)):
        ScoreTable.of(data)


def test_defaults_are_filled_in_and_columns_ordered() -> None:
    frame = ScoreTable.of({"phase": ["x"], "value": [True], "case": [7], "model": ["A"]}).frame
    assert frame.columns == ["model", "case", "video", "metric", "value", "status", "phase"]
    assert frame.row(0) == ("A", "7", "7", "value", 1.0, "answered", "x")


def test_without_videos_each_case_stands_for_itself_and_this_is_said() -> None:
    found = ScoreTable.of(table(video=None))
    assert not found.has_videos
    assert found.frame["video"].to_list() == found.frame["case"].to_list()
    assert "no videos" in repr(found)
    assert "2 models, 6 cases, 3 videos, metrics: correct" in repr(score_table())


def test_a_metric_that_nobody_named_has_the_name_of_the_column_and_no_direction() -> None:
    for value in ([3, 40, 2, 7], [1, 0, 0, 1]):
        found = ScoreTable.of(table(value=value, metric=None))
        assert found.metrics == ["value"]
        assert found.facts_of("value") == MetricFacts.unknown("value")
    data = table(value=None, metric=None, dice=[0.5, 0.25, 1, 1])
    found = ScoreTable.of(data, columns={"value": "dice"})
    assert found.metrics == ["dice"]
    assert (found.facts_of("dice").better, found.facts_of("dice").high) == ("larger", 1.0)
    assert ScoreTable.of(table(metric=None, value=None, right=[1, 0, 0, 1]), columns={"value": "right"}).metrics == [
        "right"
    ]


def test_absent_columns_and_rows_are_named() -> None:
    text = refusal({"algorithm": ["A"]})
    assert "columns 'model', 'case', 'value' are missing; the table has 'algorithm'" in text
    assert "column 'case' is missing; the table has 'model', 'value'" in refusal({"model": ["A"], "value": [1]})
    assert "no rows" in refusal({"model": [], "case": [], "value": []})


def test_every_problem_is_listed_at_once() -> None:
    data = {
        "model": ["A", "A", "A", "", "B"],
        "case": ["q1", "q1", "q2", "q2", "q2"],
        "video": ["v1", "v1", "v1", "v1", "v2"],
        "center": ["x", "y", "x", "x", "x"],
        "value": ["1", "0", "1.7", "0", "good"],
        "metric": ["correct"] * 5,
        "status": ["answered", "answered", "odd", "answered", "answered"],
    }
    text = refusal(data, where="scores.csv")
    for part in (
        "scores.csv: 7 problems",
        "column 'model' is empty in 1 rows (first: row 4)",
        "column 'value' has 1 entries that are no numbers (first: row 5, 'good')",
        "status 'odd' is not one of",
        "rows 1 and 2 repeat (model=A, case=q1)",
        "case 'q2' has 2 different videos (v1, v2)",
        "video 'v1' has 2 different centers (x, y)",
        "column 'value' has 1 entry outside [0, 1], the range of 'correct' (first: row 3, 1.7)",
    ):
        assert part in text


def test_mixed_identifiers_are_refused_where_the_input_knows_the_difference() -> None:
    text = refusal(table(case=[1, "1", 1, "1"]))
    assert "column 'case' mixes text and numbers (numbers first in row 1: 1, text first in row 2: '1')" in text
    assert "'video' mixes" in refusal(pd.DataFrame(table(video=["a", 1, "a", 1])))
    rows = [{"model": "A", "case": 1, "value": 1}, {"model": "A", "case": "1", "value": 1}]
    assert "'case' mixes" in refusal(rows)


def test_many_repeats_are_counted() -> None:
    with pytest.raises(TableInvalid) as caught:
        ScoreTable.of({"model": ["A"] * 60, "case": [f"q{i % 30}" for i in range(60)], "value": [1] * 60})
    assert caught.value.problems[-1] == "10 more combinations of model, case, metric repeat"


def test_the_same_case_may_appear_in_two_tasks() -> None:
    data = {"model": ["A", "A"], "case": ["q1", "q1"], "value": [1, 0], "task": ["t1", "t2"]}
    assert ScoreTable.of(data).matrix().values.tolist() == [[1.0], [0.0]]


def test_infinite_values_and_nested_columns_are_refused() -> None:
    assert "not finite" in refusal(table(value=[float("inf"), 2, 3, 4], metric=["seconds"] * 4))
    assert "cannot cast" in refusal(table(value=[[1], [1], [0], [0]]))


def test_ranges_of_other_metrics_can_be_declared() -> None:
    facts = {"seconds": MetricFacts("seconds", 0, 10, better="smaller")}
    data = table(value=[3, 4, 5, 60], metric=["seconds"] * 4)
    assert "outside [0, 10], the range of 'seconds' (first: row 4, 60)" in refusal(data, facts=facts)
    assert ScoreTable.of(data).metrics == ["seconds"]


def test_not_scored_is_null_and_never_a_number() -> None:
    found = ScoreTable.of(table(value=[1, None, float("nan"), 0]))
    assert found.frame["value"].to_list() == [1.0, None, None, 0.0]
    assert np.isnan(found.matrix(missing="drop-score").values).sum() == 2
    assert found.matrix().values.tolist() == [[1.0, 0.0], [0.0, 0.0]]
    assert ScoreTable.of(table(value=["1", "NA", "", "nan"])).frame["value"].null_count() == 3


# --- columns and files -----------------------------------------------------------------------------


def test_columns_are_mapped_and_one_of_theirs_may_serve_two_of_ours() -> None:
    data = {"algorithm": ["A", "B"], "id": ["q1", "q1"], "dice": [0.5, 0.25], "case": ["old", "old"]}
    names = {"model": "algorithm", "case": "id", "video": "id", "value": "dice"}
    frame = ScoreTable.of(data, columns=names).frame
    assert frame.select("model", "case", "video", "value").rows() == [("A", "q1", "q1", 0.5), ("B", "q1", "q1", 0.25)]
    assert "column 'patient' (for 'video') does not exist" in refusal(data, columns={"video": "patient"})


def test_files_and_folders_are_stacked(tmp_path: Path) -> None:
    both = pl.DataFrame(score_columns()).with_columns(ood=pl.lit(True))
    both.filter(pl.col("model") == "A").write_csv(tmp_path / "a.csv")
    (tmp_path / "b").mkdir()
    ScoreTable.of(both.filter(pl.col("model") == "B")).to_dir(tmp_path / "b")
    found = read_score_table([tmp_path / "a.csv", tmp_path / "b"])
    assert found.models == ["A", "B"]
    assert found.matrix().values.tolist() == score_table().matrix().values.tolist()
    assert read_score_table(str(tmp_path / "b")).models == ["B"]


def test_identifiers_in_csv_keep_their_leading_zeros(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("algorithm,case,video,value\n01,007,1.0,1\n")
    frame = read_score_table(tmp_path / "a.csv", columns={"model": "algorithm"}).frame
    assert frame.select("model", "case", "video").row(0) == ("01", "007", "1.0")


def test_a_problem_in_any_file_names_all_files(tmp_path: Path) -> None:
    pl.DataFrame(score_columns(("A",))).write_csv(tmp_path / "a.csv")
    with pytest.raises(TableInvalid, match=r"a.csv, a.csv: .*a.csv both hold 6 scores of model 'A'"):
        read_score_table([tmp_path / "a.csv", tmp_path / "a.csv"])
    pl.DataFrame({**score_columns(("B",)), "value": [[1]] * 6}).write_parquet(tmp_path / "b.parquet")
    with pytest.raises(TableInvalid, match="do not fit together"):
        read_score_table([tmp_path / "a.csv", tmp_path / "b.parquet"])


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", b""),
        ("a.csv", b"model,case\nA,\xff\n"),
        ("a.csv", b"a,b\n1,2,3\n"),
        ("a.parquet", b"no"),
        ("a.xlsx", b"x"),
    ],
)
def test_unreadable_files_are_refused(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(FileUnreadable, match=name):
        read_score_table(tmp_path / name)


def test_absent_files_and_no_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FileUnreadable, match="no such file"):
        read_score_table(tmp_path / "absent.csv")
    with pytest.raises(FileUnreadable, match=r"scores.parquet: no such file; .* named file by file"):
        read_score_table(tmp_path)
    with pytest.raises(Misuse, match="no score table"):
        read_score_table([])


# --- the matrix ------------------------------------------------------------------------------------


def holes(**changes: Any) -> ScoreTable:
    return ScoreTable.of({"model": ["A", "A", "B"], "case": ["q1", "q2", "q1"], "value": [1, 1, 0],
                          "metric": ["correct"] * 3, **changes})  # fmt: skip


def test_missing_scores_become_the_worst_value_and_this_is_reported() -> None:
    matrix = holes().matrix()
    assert matrix.values.tolist() == [[1.0, 0.0], [1.0, 0.0]]
    assert matrix.absent.counts == {"B": {"missing": 1}}
    assert matrix.absent.cases_dropped == 0
    assert matrix.notes == ["1 score of 'B' is not there (missing: 1): counted as worst, 0."]


def test_the_worst_value_of_an_error_is_its_largest() -> None:
    facts = {"error": MetricFacts("error", 0, 9, better="smaller")}
    data = {"model": ["A", "A", "B"], "case": ["q1", "q2", "q1"], "value": [1, 1, 0], "metric": ["error"] * 3}
    assert ScoreTable.of(data, facts=facts).matrix().values.tolist() == [[1.0, 0.0], [1.0, 9.0]]


def test_one_of_several_metrics_has_to_be_chosen_unless_one_says_correct() -> None:
    two = {"model": ["A", "A"], "case": ["q1", "q1"], "value": [0.5, 1.0], "metric": ["dice", "iou"]}
    with pytest.raises(Misuse, match=r"the table has 2 metrics \('dice', 'iou'\); choose one with metric"):
        ScoreTable.of(two).matrix()
    assert ScoreTable.of(two).matrix("iou").values.tolist() == [[1.0]]
    assert ScoreTable.of({**two, "metric": ["correct", "iou"]}).matrix().metric.name == "correct"


def test_missing_scores_may_drop_the_case_for_all() -> None:
    matrix = holes().matrix(missing="drop-case")
    assert matrix.values.tolist() == [[1.0, 0.0]]
    assert matrix.absent.cases_dropped == 1
    assert matrix.cases["case"].to_list() == ["q1"]


def test_missing_scores_may_be_an_error_and_unknown_rules_are_refused() -> None:
    with pytest.raises(TableInvalid, match="B: missing: 1"):
        holes().matrix(missing="error")
    with pytest.raises(UnknownName, match="did you mean 'worst'"):
        holes().matrix(missing="wrst")
    with pytest.raises(TableInvalid, match="the worst value of 'seconds' is unknown"):
        holes(metric=["seconds"] * 3).matrix()
    with pytest.raises(UnknownName, match="metric"):
        holes().matrix("dice")


def test_a_selection_keeps_only_videos_that_still_have_cases() -> None:
    matrix = score_table(cases=6, videos=3).matrix()
    mask = np.array([True, False, False, True, False, True])
    for rows in (mask, np.flatnonzero(mask)):
        part = matrix.where(rows)
        assert part.video_names == ["v0", "v2"]
        assert [part.video_names[i] for i in part.videos] == part.cases["video"].to_list() == ["v0", "v0", "v2"]
        assert part.values.tolist() == matrix.values[mask].tolist()


@given(any_columns())
def test_row_order_changes_no_score(columns: dict[str, Any]) -> None:
    frame = pl.DataFrame(columns)
    matrix = ScoreTable.of(frame).matrix()
    other = ScoreTable.of(frame.reverse()).matrix()
    here = {
        (c, m): v
        for c, row in zip(matrix.cases["case"], matrix.values, strict=True)
        for m, v in zip(matrix.models, row, strict=True)
    }
    there = {
        (c, m): v
        for c, row in zip(other.cases["case"], other.values, strict=True)
        for m, v in zip(other.models, row, strict=True)
    }
    assert here == there
    assert not matrix.absent.counts


def test_a_million_rows_are_read(tmp_path: Path) -> None:
    cases = 500_000
    case = pl.select(pl.format("q{}", pl.int_range(cases)).alias("case")).with_columns(
        video=pl.format("v{}", pl.int_range(cases) % 200), value=pl.int_range(cases) % 2
    )
    frame = pl.concat([case.with_columns(model=pl.lit(name)) for name in ("A", "B")])
    frame.write_parquet(tmp_path / "scores.parquet")
    matrix = read_score_table(tmp_path).matrix()
    assert matrix.values.shape == (cases, 2)
    assert matrix.values.mean() == 0.5
    assert len(matrix.video_names) == 200


def test_every_status_is_accepted() -> None:
    for status in Status:
        assert ScoreTable.of(table(status=[status.value] * 4)).frame["status"].unique().to_list() == [status.value]


def test_a_name_that_is_none_of_ours_is_named_with_ours() -> None:
    rows = {"algo": ["A"], "case": ["q"], "value": [1.0], "step": ["x"]}
    with pytest.raises(
        TableInvalid, match=r"columns: 'modl' \(for 'algo'\) is none of our names; did you mean 'model'"
    ):
        ScoreTable.of(rows, columns={"modl": "algo"})
    with pytest.raises(TableInvalid) as error:
        ScoreTable.of(rows, columns={"model": "algo", "surgeon": "step", "value": "dice"})
    first, second = error.value.problems
    assert first.startswith("columns: 'surgeon' (for 'step') is none of our names. They are model, case, video, ")
    assert second.startswith("column 'dice' (for 'value') does not exist")
    assert ScoreTable.of(rows, columns={"model": "algo", "phase": "step"}).strata == ["phase"]


def test_a_name_with_spaces_is_quoted_in_the_option_that_is_suggested() -> None:
    with pytest.raises(DirectionUnknown, match=r"--better 'hd95 \(px\)=larger' or --better 'hd95 \(px\)=smaller'\)"):
        MetricFacts.unknown("hd95 (px)").sign


def test_two_files_that_call_two_models_alike_are_told_which_option_names_a_model(tmp_path: Path) -> None:
    for name, model in (("one", "unet"), ("two", "unet"), ("three", "other")):
        (tmp_path / f"{name}.csv").write_text(f"model,case,value\n{model},q1,1\n{model},q2,0\n")
    with pytest.raises(TableInvalid) as caught:
        read_score_table([tmp_path / "one.csv", tmp_path / "two.csv", tmp_path / "three.csv"])
    assert str(caught.value).endswith(
        f"{tmp_path / 'one.csv'} and {tmp_path / 'two.csv'} both hold 2 scores of model 'unet'; of two runs give"
        " one, and if these are two models, give each its name with --model where its scores are made"
    )
    read_score_table([tmp_path / "one.csv", tmp_path / "three.csv"])


def test_problems_name_the_columns_of_the_user(tmp_path: Path) -> None:
    names = {"model": "algorithm", "case": "frame", "video": "patient", "value": "Dice"}
    data = {
        "algorithm": ["A", None, "B"],
        "frame": ["1", "2", "1"],
        "patient": ["p", "p", "p"],
        "Dice": [85.0, 0.9, 0.7],
    }
    pl.DataFrame(data).write_csv(tmp_path / "scores.csv")
    for read in (lambda: read_score_table(tmp_path / "scores.csv", columns=names),
                 lambda: ScoreTable.of(data, columns=names)):  # fmt: skip
        with pytest.raises(TableInvalid) as refused:
            read()
        assert refused.value.problems == [
            "column 'algorithm' is empty in 1 rows (first: row 2)",
            "column 'Dice' has 1 entry outside [0, 1] (first: row 1, 85)",
        ]
    data["Dice"] = ["0.5", "high", "0.1"]
    assert "column 'Dice' has 1 entries that are no numbers" in refusal(data, columns=names)
    data["frame"] = [1, "2", 1]
    assert "column 'frame' mixes text and numbers" in refusal(data, columns=names)
