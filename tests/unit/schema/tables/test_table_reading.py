"""Plain tables are read as they are meant, or not at all."""

import shlex
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import surgvalid
from data_set_files import put_workbook
from surgvalid.errors import DirectionUnknown, FileUnreadable, TableInvalid
from surgvalid.schema.tables.table_files import read_frame
from surgvalid.schema.tables.table_reading import PlainOptions, plain_score_table, read_scores
from surgvalid.studies.study import study

PATIENTS = [f"p{patient}" for patient in range(4) for _ in range(3)]
FRAMES = [f"f{frame}" for _ in range(4) for frame in range(3)]
A, B = [row / 20 for row in range(12)], [row / 30 for row in range(12)]


class Plain(NamedTuple):
    frame: pl.DataFrame
    taken: list[str]
    unit: str


def plain_table(frames: dict, *, columns=None, models=(), scores=(), measured=None, decimal=None) -> Plain:
    options = PlainOptions(tuple(models), tuple(scores), measured, decimal)
    table = plain_score_table(frames, columns or {}, options)
    gone = ["status"] if table.has_videos else ["status", "video"]
    return Plain(table.frame.drop(gone), [line.sentence for line in table.read_as.interpreted], table.unit.word)


def read(data: dict, name: str = "table.csv", **said) -> pl.DataFrame:
    return plain_table({name: pl.DataFrame(data)}, **said).frame


def names(frame: pl.DataFrame, column: str) -> set:
    return set(frame[column].to_list())


def test_columns_of_a_wide_table_are_models_and_rows_are_cases():
    frame = read({"PatientID": PATIENTS, "Frame": FRAMES, "unet": A, "swin": B})
    assert names(frame, "model") == {"unet", "swin"}
    assert names(frame, "video") == {"p0", "p1", "p2", "p3"}
    kept = frame.filter(model="swin").sort("case")
    assert dict(zip(kept["case"], kept["value"], strict=True))["p3/f2"] == B[-1]


def test_a_metric_that_all_columns_begin_with_names_the_metric():
    frame = read({"patient": PATIENTS, "dice_unet": A, "dice_swin": B})
    assert names(frame, "metric") == {"dice"}
    assert names(frame, "model") == {"unet", "swin"}


@pytest.mark.parametrize("heading", ["{} (Dice)", "Dice ({})", "DSC [{}]"])
def test_models_in_brackets_behind_or_before_a_metric_are_models(heading: str):
    columns = {heading.format("ours"): A, heading.format("UNet v2"): B}
    reading = read_scores(pl.DataFrame({"patient": PATIENTS, "frame": FRAMES, **columns}))
    assert reading.table.models == ["ours", "UNet v2"]
    assert reading.metric in ("Dice", "DSC")
    assert reading.table.facts_of(reading.metric or "").unit == ""


@pytest.mark.parametrize("metrics", [["Dice (ours)", "HD95 (mm)"], ["Dice [%]", "IoU [%]"], ["Dice (2D)", "IoU (2D)"]])
def test_a_remark_in_brackets_is_no_model(metrics: list[str]):
    reading = read_scores(pl.DataFrame({"patient": PATIENTS, "frame": FRAMES, metrics[0]: A, metrics[1]: B}))
    assert reading.table.models == ["table"]
    assert len(reading.table.metrics) == 2


@pytest.mark.parametrize(
    "columns",
    [
        ("dice_liver", "dice_cystic_duct"),
        ("Dice (Leber)", "Dice (Milz)"),
        ("dice_0", "dice_1"),
        ("IoU hook", "IoU clip"),
    ],
)
def test_classes_are_no_models_and_none_of_them_wins(columns: tuple[str, str]):
    frame = pl.DataFrame({"patient": PATIENTS, "frame": FRAMES, columns[0]: A, columns[1]: B})
    reading = read_scores(frame)
    assert reading.table.models == ["table"]
    assert reading.table.frame["class"].n_unique() == 2
    asked = shlex.quote(",".join(columns))
    assert any(line.sentence.endswith(f"if they are models: --models {asked}") for line in reading.interpreted)
    assert len(read_scores(frame, models=columns).table.models) == 2


@pytest.mark.parametrize("heading", ["Exact match {}", "{} exact_match", "exact-match {}", "Balanced accuracy {}"])
def test_a_metric_of_two_words_names_the_metric(heading: str):
    frame = pl.DataFrame(
        {"patient": PATIENTS, "frame": FRAMES, heading.format("ours"): A, heading.format("UNet v2"): B}
    )
    assert read_scores(frame).table.models == ["ours", "UNet v2"]


def test_classes_in_brackets_beside_models_are_parts():
    columns = {"Dice (liver)": A + B, "Dice (cystic duct)": B + A}
    frame = pl.DataFrame({"model": ["a"] * 12 + ["b"] * 12, "patient": PATIENTS * 2, "frame": FRAMES * 2, **columns})
    reading = read_scores(frame)
    assert (reading.metric, reading.table.models) == ("Dice", ["a", "b"])
    assert set(reading.table.frame["class"]) == {"liver", "cystic duct"}
    assert read_scores(frame, metric="Dice").table.metrics == ["Dice"]
    effects = surgvalid.failures(frame, outcome="Dice", fixed=["class"], family="gaussian").table
    assert effects["term"].to_list() == ["(Intercept)", "class[liver]"]
    both = read_scores(frame.with_columns(IoU=pl.Series(A + B)))
    assert both.table.metrics == ["Dice (liver)", "Dice (cystic duct)", "IoU"]


def test_the_file_of_a_wide_table_names_the_metric_if_it_is_one():
    columns = {"patient": PATIENTS, "unet": A, "swin": B}
    assert names(read(columns, "hd95.csv"), "metric") == {"hd95"}
    assert names(read(columns, "results.csv"), "metric") == {"score"}
    assert names(read(columns, measured="nsd"), "metric") == {"nsd"}


def test_a_long_table_is_read_by_the_names_of_its_columns():
    long = {"Algorithm": ["a"] * 12 + ["b"] * 12, "patient": PATIENTS * 2, "image": FRAMES * 2, "DSC": A + B}
    frame = read({**long, "smoke": ["yes", "no"] * 12})
    assert names(frame, "model") == {"a", "b"}
    assert names(frame, "metric") == {"DSC"}
    assert "smoke" in frame.columns


def test_several_known_metrics_of_a_long_table_are_all_taken():
    long = {
        "model": ["a"] * 12 + ["b"] * 12,
        "patient": PATIENTS * 2,
        "image": FRAMES * 2,
        "dice": A + B,
        "hd95": B + A,
    }
    assert names(read(long), "metric") == {"dice", "hd95"}


def test_a_column_of_metrics_is_kept():
    long = {
        "model": ["a"] * 24,
        "metric": ["dice"] * 12 + ["nsd"] * 12,
        "case": [*map(str, range(12))] * 2,
        "value": A + B,
    }
    assert names(read(long), "metric") == {"dice", "nsd"}


def test_models_are_found_by_shape_where_only_one_column_can_be_them():
    frame = read({"who": ["a"] * 12 + ["b"] * 12, "patient": PATIENTS * 2, "frame": FRAMES * 2, "agreement": A + B})
    assert names(frame, "model") == {"a", "b"}


def test_a_file_of_one_model_is_named_after_the_file():
    one = pl.DataFrame({"patient": PATIENTS, "frame": FRAMES, "dice": A})
    other = one.with_columns(dice=pl.Series(B))
    frame = plain_table({"unet.csv": one, "swin.csv": other}).frame
    assert names(frame, "model") == {"unet", "swin"}
    assert frame.height == 24


def test_patients_hold_videos_and_are_what_is_independent():
    videos = [f"{patient}-{frame}" for patient, frame in zip(PATIENTS, FRAMES, strict=True)]
    assert names(read({"video": videos, "patient": PATIENTS, "unet": A, "swin": B}), "video") == set(PATIENTS)
    numbered = read({"patient": PATIENTS, "video": ["v1", "v2", "v3"] * 4, "unet": A, "swin": B})
    assert names(numbered, "video") == set(PATIENTS)
    assert names(numbered, "case") >= {"p0/v1", "p3/v3"}


def test_a_case_that_holds_several_frames_is_the_patient():
    assert names(read({"case": PATIENTS, "frame": FRAMES, "unet": A, "swin": B}), "video") == set(PATIENTS)


def test_what_is_said_is_not_guessed():
    columns = {"centre": PATIENTS, "shot": FRAMES, "x1": A, "x2": B, "age": [60.0] * 12}
    frame = read(columns, models=["x1", "x2"], columns={"video": "centre", "case": "shot"})
    assert names(frame, "model") == {"x1", "x2"}
    assert names(frame, "video") == set(PATIENTS)


MANY = {"patient": PATIENTS * 2, "frame": FRAMES * 2}


@pytest.mark.parametrize(
    ("columns", "asks"),
    [
        ({"patient": PATIENTS, "unet": A, "swin": B, "days": [61.0] * 12}, "--models unet,swin"),
        ({"patient": PATIENTS, "dice": A, "swin": B, "unet": B}, "--score dice"),
        ({**MANY, "model": ["a"] * 12 + ["b"] * 12, "x": A + B, "y": B + A}, "--score x"),
        (
            {**MANY, "who": ["a"] * 12 + ["b"] * 12, "how": ["c"] * 12 + ["d"] * 12, "x": A + B},
            "--model-column who or",
        ),
        ({"model": ["a"] * 24, "patient": PATIENTS * 2, "dice": A + B}, "--case COLUMN"),
        ({"model": ["a"] * 12, "method": ["b"] * 12, "case": FRAMES, "dice": A}, "--model-column "),
        ({"patient": PATIENTS, "subject": ["v1", "v2"] * 6, "unet": A, "swin": B}, "--unit patient or --unit subject"),
        ({"a": ["x"], "b": ["y"]}, "no column of numbers"),
    ],
)
def test_where_two_readings_fit_none_is_taken_and_the_option_is_named(columns, asks):
    with pytest.raises(TableInvalid, match=r"table\.csv") as refused:
        read(columns)
    assert asks in str(refused.value)


def test_every_column_that_does_not_exist_is_named():
    with pytest.raises(TableInvalid) as refused:
        read({"patient": ["a"], "x": [1.0]}, models=["y"], columns={"case": "z"})
    assert "'y' does not exist" in str(refused.value)
    assert "'z' does not exist" in str(refused.value)


def test_the_first_sheet_of_a_workbook_is_a_table(tmp_path):
    put_workbook(tmp_path / "scores.xlsx", [["patient", "unet", "swin"], ["p1", 0.5, 0.75], ["p2", 1, 0.25]])
    frame = read_frame(tmp_path / "scores.xlsx")
    assert frame.to_dict(as_series=False) == {"patient": ["p1", "p2"], "unet": [0.5, 1.0], "swin": [0.75, 0.25]}


ROWS = [["patient", "unet", "swin"], ["p1", 0.5, 0.75], ["p2", 1, 0.25]]


def test_of_several_sheets_none_is_taken_unless_it_is_named(tmp_path):
    put_workbook(tmp_path / "book.xlsx", [["remarks"], ["of 2025"]], dice=ROWS, hd95=[["x"], [1]])
    with pytest.raises(FileUnreadable, match=r"holds 3 sheets.*'dice', 'hd95', 'Notes'.*book.xlsx#dice"):
        read_frame(tmp_path / "book.xlsx")
    assert read_frame(tmp_path / "book.xlsx", sheet="dice")["unet"].to_list() == [0.5, 1.0]
    with pytest.raises(FileUnreadable, match="no sheet 'dize'; it has 'dice', 'hd95', 'Notes'"):
        read_frame(tmp_path / "book.xlsx", sheet="dize")


def test_a_sheet_is_named_behind_its_file_as_the_refusal_shows(tmp_path):
    put_workbook(tmp_path / "my book.XLSX", [["remarks"], ["of 2025"]], **{"dice #2.1": ROWS})
    with pytest.raises(FileUnreadable) as refused:
        read_frame(tmp_path / "my book.XLSX")
    (remedy,) = (
        word for word in shlex.split(refused.value.problems[0].replace(",", " ")) if "#" in word and "/" in word
    )
    assert read_frame(Path(remedy))["unet"].to_list() == [0.5, 1.0]
    with pytest.raises(FileUnreadable, match=r"no sheet 'dice'; it has 'dice #2.1', 'Notes'"):
        read_frame(tmp_path / "my book.XLSX#dice")
    (tmp_path / "a.xlsx#b.csv").write_text("x\n1\n")
    assert read_frame(tmp_path / "a.xlsx#b.csv")["x"].to_list() == [1]


def test_sheets_of_one_workbook_are_models_by_their_own_names():
    rows = pl.DataFrame({"patient": PATIENTS, "image": FRAMES, "dice": A})
    made = plain_table({"book.xlsx#unet": rows, "book.xlsx#swin 2.0": rows})
    assert names(made.frame, "model") == {"unet", "swin 2.0"}
    assert "no column names a model: the table is one, called 'unet' after its sheet" in made.taken


def test_a_workbook_whose_only_filled_sheet_is_not_the_first_is_read(tmp_path):
    put_workbook(tmp_path / "book.xlsx", [], empty=[], dice=ROWS)
    assert read_frame(tmp_path / "book.xlsx")["swin"].to_list() == [0.75, 0.25]


def test_a_line_above_the_headings_is_no_heading(tmp_path):
    put_workbook(tmp_path / "titled.xlsx", [["Dice on the test set"], *ROWS])
    assert read_frame(tmp_path / "titled.xlsx").columns == ["patient", "unet", "swin"]


def test_numbers_without_a_heading_are_not_dropped_silently(tmp_path):
    put_workbook(tmp_path / "merged.xlsx", [["patient", "Dice", None], ["p1", 0.5, 0.75], ["p2", 1, 0.25]])
    with pytest.raises(FileUnreadable, match=r"column C holds 2 cells below no heading.*merged"):
        read_frame(tmp_path / "merged.xlsx")


def test_decimal_commas_and_marks_of_absent_values_are_read_as_numbers_and_told():
    made = plain_table({"t.csv": pl.DataFrame({"patient": ["a", "b", "c"], "unet": ["0,5", "NA", "1"], "swin": A[:3]})})
    values = dict(made.frame.filter(model="unet").select("video", "value").iter_rows())
    assert values == {"a": 0.5, "b": None, "c": 1.0}
    assert "decimal commas in 'unet' are read as points" in made.taken
    assert "'NA' in 'unet' is read as no score (1 cell)" in made.taken


def test_a_column_that_is_nearly_of_numbers_is_named_with_what_is_none():
    with pytest.raises(TableInvalid, match=r"'dice' could be a score, but row 2 holds 'low' .1 of 3 cells is no"):
        read({"patient": ["a", "b", "c"], "dice": ["0.5", "low", "0.7"]})


LONG = {"patient": PATIENTS * 2, "Aufnahme": FRAMES * 2, "Variante": ["a"] * 12 + ["b"] * 12, "dice": A + B}


def test_models_and_cases_of_unknown_names_are_found_by_shape_not_pooled():
    made = plain_table({"t.csv": pl.DataFrame(LONG)})
    assert names(made.frame, "model") == {"a", "b"}
    assert made.frame["case"].n_unique() == 12
    assert "'Variante' names the models: it alone tells rows of one case ('Aufnahme') apart" in made.taken


def test_german_headings_are_known():
    frame = read({"Modell": ["a"] * 12 + ["b"] * 12, "Patient": PATIENTS * 2, "Bild": FRAMES * 2, "Dice": A + B})
    assert names(frame, "model") == {"a", "b"}


def test_rows_that_may_be_of_several_models_are_not_pooled_into_one():
    columns = {"patient": PATIENTS * 2, "Variante": ["a"] * 12 + ["b"] * 12, "dice": A + B}
    with pytest.raises(TableInvalid, match=r"--model-column Variante, with --case COLUMN.*--score dice"):
        read(columns)
    assert names(read(columns, scores=["dice"]), "model") == {"table"}
    both = plain_table({"unet.csv": pl.DataFrame(columns), "swin.csv": pl.DataFrame(columns)})
    assert names(both.frame, "model") == {"unet", "swin"}


def test_rows_that_are_there_twice_are_called_that():
    long = {"model": ["a"] * 12 + ["b"] * 12, "patient": PATIENTS * 2, "image": FRAMES * 2, "dice": A + B}
    twice = pl.concat([pl.DataFrame(long), pl.DataFrame(long).head(3)])
    with pytest.raises(TableInvalid, match=r"3 rows are there twice .first: row 25, the same as row 1.; remove them"):
        plain_table({"t.csv": twice})


@pytest.mark.parametrize(("column", "unit"), [("patient", "patient"), ("video", "video"), ("Procedure", "procedure")])
def test_what_is_independent_is_called_what_its_column_calls_it(column, unit):
    assert plain_table({"t.csv": pl.DataFrame({column: PATIENTS, "unet": A, "swin": B})}).unit == unit


def written(**columns: list) -> dict:
    return {"patient": [f"p{row}" for row in range(len(next(iter(columns.values()))))], **columns}


def first_values(table: dict, model: str = "unet", **said) -> list:
    models = () if "scores" in said else ("unet", "swin")
    return read(table, models=models, **said).filter(model=model)["value"].to_list()


@pytest.mark.parametrize(
    ("cells", "values", "sentence"),
    [
        (["1,234", "0,85"], [1.234, 0.85], "decimal commas in 'unet' are read as points"),
        (["1,234", "12,5"], [1.234, 12.5], "decimal commas in 'unet' are read as points"),
        (["1,234", "1,234.5"], [1234, 1234.5], "commas in 'unet' stand between thousands: '1,234' is read as 1234"),
        (["1,234", "1,234,567"], [1234, 1234567], "commas in 'unet' stand between thousands"),
        (["1.234", "1.234,5"], [1234, 1234.5], "points in 'unet' stand between thousands: '1.234' is read as 1234"),
        (["0.85", "0,85"], [0.85, 0.85], "decimal commas in 'unet' are read as points"),
    ],
)
def test_a_mark_means_what_the_cells_with_one_reading_alone_show(cells, values, sentence):
    table = pl.DataFrame(written(unet=cells, swin=A[: len(cells)]))
    made = plain_table({"t.csv": table}, models=("unet", "swin"))
    assert made.frame.filter(model="unet")["value"].to_list() == values
    assert any(sentence in one for one in made.taken)


@pytest.mark.parametrize(
    ("cells", "message", "comma", "point"),
    [
        (["1,234", "2"], r"'1,234' in 'unet' \(row 1\) .* as 1.234 \(--decimal comma\) or as 1234 \(--decimal point\)",
         [1.234, 2], [1234, 2]),
        (["0.85", "1,234"], r"'1,234' in 'unet' \(row 2\)", [0.85, 1.234], [0.85, 1234]),
        (["0,85", "1.234"], r"'1.234' in .* as 1.234 \(--decimal point\) or as 1234 \(--decimal comma\)",
         [0.85, 1234], [0.85, 1.234]),
    ],
)  # fmt: skip
def test_a_column_with_two_readings_is_asked_about_and_either_can_be_chosen(cells, message, comma, point):
    table = written(unet=cells, swin=A[:2])
    with pytest.raises(TableInvalid, match=message):
        read(table)
    assert first_values(table, decimal="comma") == comma
    assert first_values(table, decimal="point") == point


def test_another_column_of_the_file_settles_what_a_mark_means():
    assert first_values(written(unet=["1,234", "2"], swin=["0,85", "0,9"])) == [1.234, 2]
    assert first_values(written(unet=["1,234", "2"], swin=["1,500.5", "3"])) == [1234, 2]
    with pytest.raises(TableInvalid, match="'1,234' in 'unet'"):
        read(written(unet=["1,234", "2"], swin=["0,85", "1"], vit=["1,500.5", "3"]))


def test_every_column_with_two_readings_is_listed_unless_others_are_chosen():
    table = written(unet=["1,234", "2"], swin=["3,456", "4"], dice=A[:2])
    with pytest.raises(TableInvalid, match=r"2 problems.*'unet'.*'swin'"):
        read(table)
    assert first_values(table, model="table", scores=("dice",)) == A[:2]


def test_one_mark_with_both_meanings_in_a_column_is_refused():
    with pytest.raises(TableInvalid, match="commas in 'unet' stand before decimals in some cells and between thousan"):
        read(written(unet=["0,85", "1,234.5"], swin=A[:2]), decimal="comma")


def test_points_between_thousands_of_a_file_with_semicolons_are_not_taken_for_decimals(tmp_path):
    (tmp_path / "t.csv").write_text("patient;unet;swin\np1;987;0,5\np2;1.234;0,75\n", encoding="utf-8")
    frame = read_frame(tmp_path / "t.csv", semicolons=True)
    with pytest.raises(TableInvalid, match=r"'1.234' in 'unet' \(row 2\)"):
        plain_table({"t.csv": frame})
    assert first_values(frame.to_dict(as_series=False), decimal="comma") == [987, 1234]


@given(st.lists(st.integers(0, 10**9).map(lambda number: number / 1000), min_size=1, max_size=6), st.booleans())
def test_numbers_in_either_style_are_read_as_themselves_or_asked_about(numbers, commas):
    style = str.maketrans(",.", ".,") if commas else {}
    cells = [f"{number:,.3f}".translate(style) for number in numbers]
    table = written(unet=cells, swin=["x"] * len(cells))
    assert first_values(table, model="table", scores=("unet",), decimal="comma" if commas else "point") == numbers
    try:
        assert first_values(table, model="table", scores=("unet",)) == numbers
    except TableInvalid:
        assert commas
        assert all(1 <= number < 1000 for number in numbers)


def test_scores_beyond_the_range_of_their_metric_are_named_as_they_stand_in_the_table():
    hundreds = [100 * value for value in A]
    wide = {"patient": PATIENTS, "image": FRAMES, "unet": A, "swin": hundreds, "vit": [0.5] * 11 + [1.5]}
    with pytest.raises(TableInvalid) as refused:
        read(wide, measured="dice", models=("unet", "swin", "vit"))
    assert refused.value.problems == [
        "column 'swin' has 11 entries outside [0, 1], the range of 'dice' (first: row 2, 5); divide percentages by 100",
        "column 'vit' has 1 entry outside [0, 1], the range of 'dice' (first: row 12, 1.5)",
    ]
    mixed = [*hundreds[:4], *A[:8]]
    with pytest.raises(TableInvalid, match=r"column 'DSC' has 3 entries outside \[0, 1\] \(first: row 2, 5\)"):
        read({"patient": PATIENTS, "image": FRAMES, "DSC": mixed})
    both = {"metric": ["hd95"] * 12 + ["dice"] * 12, "patient": PATIENTS * 2, "image": FRAMES * 2}
    with pytest.raises(TableInvalid, match=r"column 'result' has 3 entries .* of 'dice' \(first: row 14, 5\)"):
        read({**both, "result": [*hundreds, *mixed]})


def test_percentages_without_a_sign_are_read_as_such_and_told():
    hundreds = [100 * value for value in A]
    made = plain_table({"t.csv": pl.DataFrame({"patient": PATIENTS, "image": FRAMES, "DSC": hundreds})})
    assert made.frame["value"].to_list() == pytest.approx(A)
    assert "'DSC' is read as percent: values are divided by 100" in made.taken


def test_a_row_that_names_no_model_or_patient_is_named_as_it_stands_in_the_table():
    long = {"Algorithm": ["a"] * 12 + [None, *"b" * 11], "PatientID": PATIENTS + PATIENTS[:11] + [""]}
    with pytest.raises(TableInvalid) as refused:
        read({**long, "image": FRAMES * 2, "DSC": A + B})
    assert refused.value.problems == [
        "column 'Algorithm' is empty in 1 row (first: row 13); fill in every row, also where cells were merged",
        "column 'PatientID' is empty in 1 row (first: row 24); fill in every row, also where cells were merged",
    ]


def test_percent_signs_are_hundredths_and_told():
    made = plain_table(
        {"t.csv": pl.DataFrame(written(unet=["85%", "7,5 %", "-"], swin=A[:3]))}, models=("unet", "swin")
    )
    assert made.frame.filter(model="unet")["value"].to_list() == [0.85, 0.075, None]
    assert "percent signs in 'unet' are read as hundredths: '85%' is 0.85" in made.taken
    with pytest.raises(
        TableInvalid, match=r"'1,234%' in 'unet' \(row 1\) can be read in two ways: as 1.234%.* or as 1234%"
    ):
        read(written(unet=["1,234%"], swin=[0.5]), models=("unet", "swin"))
    with pytest.raises(TableInvalid, match=r"'unet' could be a score, but row 3 holds '85%'"):
        read({"patient": PATIENTS, "unet": ["0.85", "0.9", "85%"] * 4})


def test_empty_rows_at_the_end_are_left_out_and_told(tmp_path):
    (tmp_path / "t.csv").write_text("patient;unet;swin\np1;0,9;0,5\np2;0,8;0,75\n;;\n ;;\n", encoding="utf-8")
    made = plain_table({"t.csv": read_frame(tmp_path / "t.csv", semicolons=True)})
    assert names(made.frame, "video") == {"p1", "p2"}
    assert "2 empty rows at the end are left out" in made.taken
    with pytest.raises(TableInvalid, match=r"'patient' is empty in 1 row \(first: row 2\)"):
        read(written(unet=A[:3], swin=A[:3]) | {"patient": ["p1", None, "p2"], "unet": [0.1, None, 0.2], "swin": B[:3]})


@pytest.mark.parametrize(
    "word",
    ["Mittelwert", "mean", "AVERAGE", "Std.", "total", "Mean ± SD", "Mean (n=9)", "n = 9", "Mean Dice of all patients"],
)
def test_a_row_of_summaries_is_no_patient(word):
    table = written(unet=A[:4], swin=B[:4]) | {"patient": ["p1", "p2", "p3", word]}
    made = plain_table({"t.csv": pl.DataFrame(table)})
    assert names(made.frame, "video") == {"p1", "p2", "p3"}
    assert f"row 4 ({word!r} in 'patient') sums up others and is left out" in made.taken
    assert "mean" in names(read({"model": ["mean", "b"] * 12, "patient": PATIENTS * 2, "image": [*"ab"] * 12} | {
        "image": [frame for frame in FRAMES for _ in range(2)], "patient": [one for one in PATIENTS for _ in range(2)],
        "dice": A + B}), "model")  # fmt: skip


@pytest.mark.parametrize("name", ["Media 12", "Dice", "all", "Mean-Teacher", "n9", "Meanwhile"])
def test_a_patient_whose_name_only_looks_like_a_summary_stays(name):
    table = written(unet=A[:3], swin=B[:3]) | {"patient": ["p1", "p2", name]}
    assert name in names(read(table), "video")


def test_a_column_that_may_number_cases_is_no_model_unless_somebody_says_so():
    table = {"Patient": PATIENTS, "Aufnahme": [1, 2, 3] * 4, "unet": A, "swin": B}
    with pytest.raises(TableInvalid) as refused:
        read(table)
    assert refused.value.problems == [
        "'Aufnahme' holds whole numbers alone, unlike 'unet', 'swin'; say which columns are models: --models unet,swin"
        ", with --case Aufnahme if it numbers cases"
    ]
    assert names(read(table, models=("unet", "swin"), columns={"case": "Aufnahme"}), "case") >= {"p0/1", "p3/3"}
    counted = {"patient": [f"p{row}" for row in range(12)], "frames": [5] * 12, "unet": A, "swin": B}
    with pytest.raises(TableInvalid, match=r"'frames' holds whole numbers alone.*--models unet,swin$"):
        read({**counted, "unet": [2 * one for one in A], "swin": A})
    answers = {"patient": PATIENTS, "image": FRAMES, "never": [0] * 12, "unet": A}
    assert names(read(answers), "model") == {"never", "unet"}


def test_where_no_column_is_of_numbers_one_sees_what_they_hold():
    with pytest.raises(TableInvalid, match=r"the table has 'patient' \('p0'\), 'unet' \('good'\)$"):
        read(written(unet=["good", "bad"]))
    with pytest.raises(
        TableInvalid, match=r"a summary, not scores .*'0.8 ± 0.1'.*: bring one row per patient and model"
    ):
        read(written(unet=["0.8 ± 0.1", "0.7 ± 0.1"]))


def test_rows_that_repeat_without_a_column_for_cases_can_be_mended():
    with pytest.raises(TableInvalid, match="--case COLUMN; where there is none, add one"):
        read({"video": ["v1"] * 4, "model": [*"abab"], "dice": A[:4]})


def test_models_under_a_heading_that_nobody_knows_are_not_pooled():
    table = {
        "病人": [f"病人{p[1]}" for p in PATIENTS] * 2,
        "方法": ["甲"] * 12 + ["乙"] * 12,
        "图像": FRAMES * 2,
        "Dice": A + B,
    }
    with pytest.raises(TableInvalid) as refused:
        read(table)
    assert refused.value.problems == [
        "no column is known to name models: if one does, say --model-column '病人' or --model-column '方法' or "
        "--model-column '图像', with --unit COLUMN and --case COLUMN for patients and cases; if the table is of one "
        "model, say --score Dice"
    ]
    chosen = {"model": "方法", "video": "病人", "case": "图像"}
    assert names(read(table, columns=chosen), "model") == {"甲", "乙"}
    assert names(read(table, scores=("Dice",)), "model") == {"table"}
    assert names(read({"file": [f"f{row}" for row in range(12)], "centre": [*"ab"] * 6, "dice": A}), "model") == {
        "table"
    }


def test_spaces_around_names_make_no_second_patient():
    table = {"patient ": ["p1 ", "p1", " p2", "p2"], "image": [*"abab"], " unet": A[:4], "swin": B[:4]}
    made = plain_table({"t.csv": pl.DataFrame(table)})
    assert names(made.frame, "video") == {"p1", "p2"}
    assert names(made.frame, "model") == {"unet", "swin"}
    assert "spaces around the names in 'patient' are left out" in made.taken
    assert names(read(table, models=(" unet", "swin"), columns={"video": "patient "}), "model") == {"unet", "swin"}


def test_rows_that_repeat_a_case_of_a_wide_table_are_told_by_their_row():
    table = {"patient": ["p1", "p1", "p1", "p2"], "image": [*"abaa"], "unet": A[:4], "swin": B[:4]}
    made = plain_table({"t.csv": pl.DataFrame(table)})
    assert "1 row repeats the names of another (first: row 3); each counts as a case of its own" in made.taken


def test_an_endless_distance_is_no_score_and_any_other_endless_score_is_to_be_left_empty():
    table = {"patient": PATIENTS, "image": FRAMES, "unet": A, "swin": [*B[:11], float("inf")]}
    made = plain_table({"t.csv": pl.DataFrame(table)}, measured="hd95")
    assert made.frame["value"].null_count() == 1
    assert "1 endless value of 'hd95' count as no score" in made.taken
    with pytest.raises(TableInvalid) as refused:
        read(table, measured="dice")
    assert refused.value.problems == [
        "column 'swin' has 1 entry that is not finite (first: row 12, inf); leave it empty and say with --missing what "
        "it counts as"
    ]


@pytest.mark.parametrize("order", ["{metric}_{model}", "{model} {metric}"])
def test_of_columns_of_several_metrics_those_of_one_are_models(order):
    scores = {"Dice": [0.8, 0.7], "HD95": [4.5, 6.5]}
    columns = {order.format(metric=m, model=one): values for m, values in scores.items() for one in ("UNet", "Swin")}
    table = {"case": ["c1", "c2"], **columns}
    made = plain_table({"t.csv": pl.DataFrame(table)})
    assert made.frame.height == 8
    assert made.frame.columns == ["model", "case", "metric", "value"]
    assert names(made.frame, "model") == {"UNet", "Swin"}
    assert names(made.frame.filter(metric="HD95"), "value") == {4.5, 6.5}
    assert read_scores(table).metric == "Dice"
    assert read_scores(table, metric="HD95").metric == "HD95"


def test_what_describes_cases_is_no_model_and_needs_no_option():
    table = {"patient": PATIENTS, "frame": FRAMES, "Age": [40, 41, 42] * 4, "fold": [0, 1] * 6, "sex": [0, 1] * 6}
    wide = plain_table({"dice.csv": pl.DataFrame({**table, "unet": A, "swin": B})})
    assert names(wide.frame, "model") == {"unet", "swin"}
    assert "'Age', 'fold', 'sex' describe cases and hold no scores" in wide.taken
    assert {"fold", "sex"} <= set(wide.frame.columns)
    alone = read({"patient": PATIENTS, "frame": FRAMES, "age": [40] * 12, "fold": [0, 1] * 6, "dice": A})
    assert names(alone, "metric") == {"dice"}
    assert names(read({"patient": PATIENTS, "frame": FRAMES, "age": A}, scores=("age",)), "metric") == {"age"}


def test_a_column_of_zeros_and_ones_beside_scores_is_asked_about():
    with pytest.raises(TableInvalid) as refused:
        read({"patient": PATIENTS, "frame": FRAMES, "smoke": [0, 1] * 6, "my net": A, "swin": B})
    assert refused.value.problems == [
        "'smoke' holds whole numbers alone, unlike 'my net', 'swin'; say which columns are models: "
        "--models 'my net,swin', or all of them: --models 'smoke,my net,swin'"
    ]
    answers = {"patient": PATIENTS, "frame": FRAMES, "unet": [0, 1] * 6, "swin": [1, 1, 0] * 4}
    assert names(read(answers), "model") == {"unet", "swin"}


@pytest.mark.parametrize(("mean", "models"), [("Mean", ("unet", "swin")), ("Dice_avg", ("Dice_unet", "Dice_swin"))])
def test_a_column_that_sums_up_models_is_none_unless_somebody_says_so(mean, models):
    table = {"patient": PATIENTS, "frame": FRAMES, models[0]: A, models[1]: B, mean: A}
    with pytest.raises(TableInvalid) as refused:
        read(table)
    assert refused.value.problems == [
        f"{mean!r} may sum up the other columns; say which columns are models: --models {','.join(models)}, "
        f"or all of them: --models {','.join(models)},{mean}"
    ]
    assert len(names(read(table, models=(*models, mean)), "model")) == 3
    assert "Mean-Teacher" in names(read({"patient": PATIENTS, "frame": FRAMES, "unet": A, "Mean-Teacher": B}), "model")


def test_of_several_scales_the_columns_are_proposed_that_may_be_models():
    large = [one * 100 for one in A]
    with pytest.raises(TableInvalid) as refused:
        read({"patient": PATIENTS, "frame": FRAMES, "visit": [2, 3] * 6, "days": [90, 95] * 6, "unet": A, "swin": B})
    assert refused.value.problems == [
        "'days' is on another scale than 'visit', 'unet', 'swin'; say which columns are models: --models unet,swin, "
        "or all of them: --models visit,days,unet,swin"
    ]
    with pytest.raises(TableInvalid, match=r"^table.csv: 'unet', 'swin' are on another scale than 'light'; "):
        read({"patient": PATIENTS, "frame": FRAMES, "light": A, "unet": large, "swin": large})


def test_a_column_that_is_the_same_everywhere_is_no_case_of_which_others_are_models():
    images = [f"a/{row}.png" for row in range(12)]
    for heading in ("image_path", "Datei"):
        frame = read({heading: images, "Dice": A, "label": ["liver"] * 12})
        assert names(frame, "model") == {"table"}
        assert frame["case"].n_unique() == 12


def test_classes_of_a_patient_are_cases_and_no_models():
    patients = [f"p{row // 2}" for row in range(12)]
    frame = read({"patient": patients, "class": ["liver", "duct"] * 6, "dice": A})
    assert names(frame, "model") == {"table"}
    assert names(frame, "case") >= {"p0/liver", "p5/duct"}
    of_two = read({"patient": patients * 2, "Klasse": [*"ab"] * 12, "model": ["x"] * 12 + ["y"] * 12, "dice": A + B})
    assert of_two.filter(model="y")["case"].n_unique() == 12
    wide = read({"patient": patients, "organ": ["liver", "duct"] * 6, "unet": A, "swin": B})
    assert names(wide, "model") == {"unet", "swin"}
    assert names(wide, "case") >= {"p0/liver", "p5/duct"}
    pooled = read({"patient": PATIENTS[::3] * 2, "tool": ["x"] * 4 + ["y"] * 4, "dice": A[:8]})
    assert names(pooled, "model") == {"x", "y"}
    runs = read({"model": ["x"] * 12 + ["y"] * 12, "seed": [0, 1] * 12, "patient": patients * 2, "dice": A + B})
    assert names(runs, "case") == set(patients)
    assert runs.filter(model="x", case="p0")["value"].to_list() == [pytest.approx((A[0] + A[1]) / 2)]


def test_what_differs_between_the_models_of_a_case_or_between_all_cases_is_no_condition():
    patients = [f"p{row}" for row in range(12)] * 2
    table = {"model": ["x"] * 12 + ["y"] * 12, "patient": patients, "dice": A + B}
    table |= {"latency": [*range(10, 22), *range(12, 24)], "date": patients, "index": patients, "light": [*"ab"] * 12}
    assert set(read(table).columns) == {"model", "video", "case", "metric", "value", "light"}


@pytest.mark.parametrize("odd", ["lost", "0.8*", "1..2"])
def test_a_model_with_an_odd_cell_is_not_left_out_in_silence(odd):
    unet = [odd, *(f"{one + 0.01:.2f}" for one in A[1:])]
    others = {"patient": PATIENTS, "frame": FRAMES, "grade": [*"123456789"] + ["1b"] * 3}
    with pytest.raises(TableInvalid) as refused:
        read({**others, "unet": unet, "swin": A, "my net": B})
    assert refused.value.problems == [
        f"'unet' could be a score, but row 1 holds {odd!r} (1 of 12 cells is no number); leave such cells empty, "
        "or leave the column out: --models 'swin,my net'"
    ]
    with pytest.raises(TableInvalid, match=r"'Dice' could be a score.*or leave the column out: --score IoU$"):
        read({**others, "model": ["a"] * 12, "Dice": unet, "IoU": A})
    assert names(read({**others, "swin": A, "other": B}), "model") == {"swin", "other"}
    assert names(read({**others, "unet": unet, "swin": A, "other": B}, models=("swin", "other")), "model") == {
        "swin", "other"}  # fmt: skip


@pytest.mark.parametrize("word", ["failed", "inf", "∞"])
def test_what_stands_for_no_result_is_no_score_and_told(word):
    made = plain_table({"t.csv": pl.DataFrame(written(unet=[word, "0.5"], swin=["0.4", "0.6"]))})
    assert made.frame["value"].null_count() == 1
    assert f"{word!r} in 'unet' is read as no score (1 cell)" in made.taken


def test_percent_signs_that_some_cells_lack_are_named():
    unet = [f"{80 + row}.5%" for row in range(11)] + ["91.5"]
    with pytest.raises(TableInvalid) as refused:
        read({"patient": PATIENTS, "frame": FRAMES, "unet": unet, "swin": A, "other": B})
    assert refused.value.problems == [
        "'unet' could be a score, but row 12 holds '91.5' without a percent sign, unlike 11 of 12 cells; write all of "
        "them in one way, or leave the column out: --models swin,other"
    ]


def test_a_dash_is_no_score_and_a_number_of_a_frame_names_it():
    dashed = plain_table({"t.csv": pl.DataFrame(written(unet=["–", "0.5"], swin=["0.4", "—"]))})
    assert dashed.frame["value"].null_count() == 2
    frame = read({"video": PATIENTS, "frame_idx": [row * 1000 for row in range(12)], "unet": A, "swin": B})
    assert names(frame, "case") >= {"p0/0", "p3/11000"}
    assert names(read({"patient": PATIENTS, "frame": FRAMES, "center": [1, 2, 3] * 4, "unet": A, "b": B}), "model") == {
        "unet", "b"}  # fmt: skip


def test_names_and_numbers_of_the_same_models_are_no_two_readings():
    models = {"model": ["x"] * 12 + ["y"] * 12, "model_id": [1] * 12 + [2] * 12, "model_path": ["a"] * 12 + ["b"] * 12}
    cases = {"patient": PATIENTS * 2, "frame": FRAMES * 2, "path": [f"{row}.png" for row in range(24)]}
    made = plain_table({"t.csv": pl.DataFrame({**models, **cases, "quality": A + B})})
    assert names(made.frame, "model") == {"x", "y"}
    assert names(made.frame, "metric") == {"quality"}
    assert made.frame["case"].n_unique() == 12
    assert "'model_id' says the same as 'model'" in made.taken
    with pytest.raises(TableInvalid, match="several columns may be the model"):
        read({**models, "net": [*"ab"] * 12, "patient": PATIENTS * 2, "frame": FRAMES * 2, "dice": A + B})


@pytest.mark.parametrize(("stated", "said"), [
    ({"columns": {"repeat": "model"}}, "'model' cannot number repeats under that name; rename it"),
    ({"repeat": "image"}, "no column names cases, so that nothing belongs together"),
    ({"repeat": "image", "unit": "case"}, "no column names cases, so that nothing belongs together"),
    ({"unit": "model"}, None),
    ({"case": "model"}, None),
    ({"condition": ["model"]}, None),
])  # fmt: skip
def test_a_role_that_fits_another_column_better_is_obeyed_or_refused_with_the_reason(stated, said):
    image = [f"p{patient}_f{frame}.png" for patient in range(4) for frame in range(3)]
    table = {"image": image * 2, "model": [*"a" * 12, *"b" * 12], "dice": A + B}
    if said is None:
        assert read_scores(table, **stated).table.frame["value"].null_count() == 0
    else:
        with pytest.raises(TableInvalid, match=said):
            read_scores(table, **stated)


def test_repeats_of_one_model_that_differ_by_nothing_else_are_cases_of_their_own():
    read = read_scores({"image": [f"f{n}.png" for n in range(12)], "dice": A}, repeat="image", unit="case")
    assert "each row is a case of its own" in [line.sentence for line in read.interpreted]


def test_a_reading_says_the_role_of_each_column():
    table = {"pat": PATIENTS * 2, "frame": FRAMES * 2, "seed": [1] * 12 + [2] * 12, "unet": A + B, "swin": B + A}
    assert read_scores(table, better="larger").table.read_as.roles == {
        "pat": "unit", "frame": "case", "seed": "repeat", "unet": "model scores", "swin": "model scores",
    }  # fmt: skip
    long = {
        "image": FRAMES * 2,
        "arm": ["x"] * 12 + ["y"] * 12,
        "centre": [*"mn" * 6] * 2,
        "dice": A + B,
        "hd95": B + A,
    }
    roles = read_scores({**long, "patient": PATIENTS * 2}).table.read_as.roles
    assert {name: roles[name] for name in ("image", "arm", "dice", "hd95", "patient")} == {
        "image": "case", "arm": "model", "dice": "score", "hd95": "score", "patient": "unit",
    }  # fmt: skip


def two_metrics(heading: str) -> pl.DataFrame:
    rng = np.random.default_rng(2)
    rows = [{"patient": f"p{p}", "model": m, "dice": float(rng.normal(0.8 if m == "B" else 0.7, 0.02)),
             heading: float(rng.normal(9 if m == "B" else 4, 0.3))} for p in range(12) for m in "AB"]  # fmt: skip
    return pl.DataFrame(rows)


@pytest.mark.parametrize("heading", ["ASD", "ASD [mm]", "Hausdorff distance", "HD (mm)"])
def test_common_names_of_distances_are_known(heading: str) -> None:
    assert surgvalid.study(two_metrics(heading)).verdict[0].startswith("It depends on the metric")


def test_a_metric_of_unknown_name_is_named_by_its_direction_or_asked_for() -> None:
    frame = two_metrics("Surface error (mm)")
    assert "--better NAME" in next(one.sentence for one in read_scores(frame).interpreted if "not used" in one.sentence)
    directed = surgvalid.study(frame, better={"Surface error (mm)": "smaller"}).verdict[0]
    assert directed.startswith("It depends on the metric: by dice B")
    assert "by Surface error A" in directed
    alone = surgvalid.study(frame, metric="Surface error (mm)", better="smaller").verdict[0]
    assert alone.startswith("It depends on the metric: by Surface error A")


def test_a_metric_is_one_under_every_heading_that_means_it(tmp_path: Path):
    patients = [f"p{n}" for n in range(12)]
    for name, heading, scores in (("a", "dice", A), ("b", "Dice", B), ("c", "DSC", B)):
        pl.DataFrame({"patient": patients, heading: scores}).write_csv(tmp_path / f"{name}.csv")
    reading = read_scores([tmp_path / "a.csv", tmp_path / "b.csv", tmp_path / "c.csv"])
    assert (reading.table.models, reading.table.metrics) == (["a", "b", "c"], ["dice"])
    long = {
        "patient": patients * 2, "model": ["A"] * 12 + ["B"] * 12, "metric": ["Dice"] * 12 + ["dice"] * 12,
        "score": A + B,
    }  # fmt: skip
    assert read_scores(long).table.metrics == ["Dice"]
    both = {"patient": patients, "model": ["A"] * 6 + ["B"] * 6, "Dice": A, "DSC": B}
    assert set(read_scores(both).table.metrics) == {"DSC", "Dice"}


@pytest.mark.parametrize(
    "rows",
    [["Min", "Max", "MW"], ["Ø", "IQR"], ["Q1", "Q3"], ["Mean", "95% CI", "SEM", "p-value"], ["Promedio", "p"], ["Max"],
     ["Alle"], ["Mean", "All"]],
)  # fmt: skip
def test_rows_of_any_summary_are_no_patients(rows: list[str]):
    patients = [f"P{n}" for n in range(12)]
    table = {"patient": [*patients, *rows], "unet": A + A[: len(rows)], "swin": B + B[: len(rows)]}
    assert names(read(table), "video") == {*patients}


@pytest.mark.parametrize("rows", [["Anna", "Max"], ["Q1", "Q2", "Q3"], ["M", "N", "P"]])
def test_patients_who_are_called_like_a_summary_stay(rows: list[str]):
    table = {"patient": rows, "unet": A[: len(rows)], "swin": B[: len(rows)]}
    assert names(read(table), "case") == {*rows}


def test_columns_that_sum_up_classes_are_no_classes():
    table = {"patient": PATIENTS * 2, "model": ["A"] * 12 + ["B"] * 12, "frame": FRAMES * 2}
    classes = {"dice_liver": A + B, "dice_duct": B + A}
    summed = {"dice_mean": A + B, "dice_std": [0.1] * 24, "dice_min": B + A, "dice_max": B + A}
    made = read_scores(table | classes | summed).table
    assert names(made.frame, "class") == {"liver", "duct"}
    with pytest.raises(TableInvalid, match="several columns may hold the score"):
        read_scores(table | summed)


def test_counts_are_no_percentages():
    table = {"patient": PATIENTS * 2, "model": ["A"] * 12 + ["B"] * 12, "frame": FRAMES * 2}
    counts = {"correct": list(range(10, 22)) * 2, "total": [25] * 24}
    with pytest.raises(TableInvalid, match=r"'correct' holds counts out of 'total': write shares, correct / total"):
        read_scores(table | counts)
    assert read_scores(table | {"correct": [0, 1] * 12, "total": [25] * 24}).table.frame["value"].max() == 1


@pytest.mark.parametrize(
    ("heading", "better"),
    [("AUC", "larger"), ("mIoU", "larger"), ("Mean Dice", "larger"), ("Dice-Koeffizient", "larger"),
     ("Surface Dice", "larger"), ("Sensitivität", "larger"), ("Genauigkeit", "larger"), ("MAE", "smaller"),
     ("RMSE", "smaller"), ("Error rate", "smaller")],
)  # fmt: skip
def test_the_direction_of_a_metric_is_known_by_its_usual_heading(heading: str, better: str):
    table = read_scores({"patient": PATIENTS, "frame": FRAMES, heading: A}).table
    assert table.facts_of(heading).better == better


def test_where_the_direction_is_unknown_both_are_offered():
    with pytest.raises(DirectionUnknown, match=r"--better quality=larger or --better quality=smaller"):
        study({"patient": [f"p{n // 2}" for n in range(12)], "model": [*"AB"] * 6, "quality": A})


def test_the_column_in_which_repeated_rows_differ_is_named_with_what_it_may_be():
    table = {"patient": PATIENTS * 2, "rater": FRAMES * 2, "model": ["A"] * 12 + ["B"] * 12, "dice": A + B}
    with pytest.raises(TableInvalid, match=r"differ in 'rater': say --case rater .* --columns repeat=rater if it num"):
        read_scores(table)
    assert read_scores(table, repeat="rater").table.frame.height == 8
    assert read_scores(table, case="rater").table.frame.height == 24


def test_cases_that_are_numbered_within_each_video_are_no_repeats():
    rows = {"model": ["A"] * 12 + ["B"] * 12, "case": FRAMES * 2, "video": PATIENTS * 2, "value": A + B}
    read_by_video = read_scores(rows, better="larger")
    assert (read_by_video.units, read_by_video.table.frame["case"].n_unique()) == (4, 12)
    with pytest.raises(TableInvalid, match="repeat"):
        read_scores(rows | {"video": ["v"] * 24}, better="larger")


def test_what_stands_behind_the_name_of_a_model_is_no_unit_of_its_scores() -> None:
    rows = {"patient": [f"p{row}" for row in range(8)], "nnU-Net (ours)": [0.9 - row / 100 for row in range(8)]}
    read = read_scores(rows | {"U-Net": [0.8 - row / 90 for row in range(8)]}, metric="dice")
    assert read.table.facts_of("dice").unit == ""
