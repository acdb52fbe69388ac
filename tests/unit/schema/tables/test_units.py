"""What is independent is read off a table in one way: patients before videos, never repeats, parts or kinds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import surgvalid
from equal_models import DESIGNS, tables
from surgvalid.errors import Misuse, TableInvalid
from surgvalid.schema.tables.read_rows import is_quantity, thirds
from surgvalid.schema.tables.score_table import ScoreTable
from surgvalid.schema.tables.table_reading import read_scores
from surgvalid.schema.tables.units import prefix_level

SMALL = 60


@pytest.mark.parametrize("design", DESIGNS)
def test_equal_models_are_seldom_told_apart(design: str) -> None:
    p_values = [surgvalid.compare(table, "A", "B").table["p_value"][0] for table in tables(design, SMALL)]
    assert sum(p <= 0.05 for p in p_values) <= 10  # exceeded in 1 of 2,000 draws at 5 %


def long(columns: dict, models: tuple[str, ...] = ("A", "B")) -> pl.DataFrame:
    """A row for each model of every row of some columns."""
    rng = np.random.default_rng(3)
    rows = pl.DataFrame(columns)
    return pl.concat(
        rows.with_columns(model=pl.lit(model), dice=pl.Series(rng.uniform(0.5, 0.9, rows.height))) for model in models
    )


PATIENTS = [f"p{patient}" for patient in range(6) for _ in range(5)]
VIDEOS = [f"p{patient}v{video}" for patient in range(6) for video in range(5)]


def test_patients_go_before_videos_in_every_form_of_the_table(tmp_path: Path) -> None:
    plain = long({"patient": PATIENTS, "video": VIDEOS})
    ours = plain.rename({"dice": "value"}).with_columns(case="video", metric=pl.lit("dice"))
    ours.write_csv(tmp_path / "ours.csv")
    plain.write_csv(tmp_path / "plain.csv")
    for source in (plain, ours, tmp_path / "ours.csv", tmp_path / "plain.csv", ScoreTable.of(ours)):
        for result in (surgvalid.interval(source), surgvalid.compare(source, "A", "B")):
            assert set(result.table["videos"]) == {6}
    assert "video_id" in ScoreTable.of(ours).strata


@pytest.mark.parametrize("word", ["procedure", "surgery", "operation", "intervention"])
def test_a_kind_of_operation_is_a_condition(word: str) -> None:
    videos = [f"v{video:02}" for video in range(12) for _ in range(3)]
    kinds = [("cholecystectomy", "appendectomy", "hernia")[video % 3] for video in range(12) for _ in range(3)]
    frame = long({"video": videos, "frame": [0, 1, 2] * 12, word: kinds})
    reading = read_scores(frame)
    assert (reading.unit.word, reading.units) == ("video", 12)
    assert word in reading.table.strata
    ours = frame.rename({"dice": "value"}).with_columns(case=pl.concat_str("video", "frame", separator="/"))
    assert read_scores(ours.drop("frame"), better="larger").units == 12
    operations = long({word: [f"op{video:02}" for video in range(12) for _ in range(3)], "frame": [0, 1, 2] * 12})
    assert read_scores(operations).units == 12


@pytest.mark.parametrize("heading", ["ID", "scan", "study_id", "Exam", "record no.", "Case"])
def test_what_may_be_a_patient_is_one_if_each_is_another(heading: str) -> None:
    reading = read_scores(long({heading: [f"s{row}" for row in range(9)]}))
    assert (reading.units, reading.unit.level, reading.unit.if_each) == (9, "E3", True)


@pytest.mark.parametrize("heading", ["pid", "Pat.", "MRN", "Patient (n=6)", "SubjectID", "proband", "person"])
def test_patients_are_known_by_many_names(heading: str) -> None:
    reading = read_scores(long({heading: PATIENTS, "image": VIDEOS}))
    assert (reading.units, reading.unit.level, reading.unit.word) == (6, "E2", "patient")


def test_a_fold_that_splits_cases_is_a_condition_and_one_that_repeats_them_is_averaged() -> None:
    cases = [f"c{row}" for row in range(12)]
    split = read_scores(long({"case": cases, "fold": [row % 3 for row in range(12)]}))
    assert "fold" in split.table.strata
    repeated = read_scores(long({"case": cases * 3, "fold": [fold for fold in range(3) for _ in cases]}))
    assert (repeated.units, repeated.table.frame.height) == (12, 24)
    assert any(line.code == "repeats" and "3 folds per case averaged" in line.sentence for line in repeated.interpreted)


def test_repeats_of_our_own_rows_are_averaged_too() -> None:
    rows = {
        "case": [*"ab"] * 3,
        "seed": [1, 1, 2, 2, 3, 3],
        "model": ["A"] * 6,
        "value": [0.1, 0.5, 0.2, 0.5, 0.3, 0.5],
    }
    table = ScoreTable.of(rows)
    assert table.frame["value"].to_list() == pytest.approx([0.2, 0.5])
    assert "3 seeds per case averaged" in table.read_as.interpreted[-1].sentence


@pytest.mark.parametrize(
    ("names", "level"),
    [
        ([f"p{p:02}_frame_{f}.png" for p in range(4) for f in range(5)], (1, "patient")),
        ([f"pat{p}/vid{v}/{f:05}" for p in range(3) for v in range(2) for f in range(4)], (1, "patient")),
        ([f"video_{v}_{f}" for v in range(5) for f in range(4)], (2, "video")),
        ([f"{a}-{b}-{f}" for a in range(3) for b in range(3) for f in range(4)], (2, "")),
        ([f"{a}-{b}-{f}" for a in range(6) for b in range(3) for f in range(4)], (1, "")),
        ([f"IMG_{n:04}.jpg" for n in range(40)], None),
        ([f"{n}" for n in range(40)], None),
    ],
)
def test_names_that_begin_alike_are_groups(names: list[str], level: tuple[int, str] | None) -> None:
    assert prefix_level(names) == level


def test_without_any_evidence_values_stand_without_intervals_and_the_question_is_asked() -> None:
    frame = long({"image": [f"img_{row:03}.png" for row in range(40)]})
    for result in (surgvalid.interval(frame), surgvalid.compare(frame, "A", "B"), surgvalid.study(frame)):
        assert "no-unit" in {finding.code for finding in result.findings}
        assert result.table["low"].null_count() == result.table.height
    for unit, count in (("case", 40), ("prefix:1", 1)):
        assert read_scores(frame, unit=unit).units == count
    named = frame.with_columns(who=pl.col("image").str.slice(4, 2))
    assert set(surgvalid.interval(named, columns={"unit": "who"}).table["videos"]) == {4}
    with pytest.raises(TableInvalid, match=r"--unit: column 'nobody' does not exist.*or say case or prefix:1"):
        read_scores(frame, unit="nobody")


def test_scores_that_are_not_there_leave_their_case_out_of_every_verb() -> None:
    frame = long({"patient": [f"p{row}" for row in range(12) for _ in "ab"], "case": [*range(24)]})
    holed = frame.with_columns(
        dice=pl.when((pl.col("model") == "A") & (pl.col("case") % 2 == 0)).then(None).otherwise("dice")
    )
    kept = frame.filter(pl.col("case") % 2 == 1)
    for values in (surgvalid.interval, surgvalid.rank):
        assert values(holed).table["value"].to_list() == pytest.approx(values(kept).table["value"].to_list())
    pairs = [surgvalid.compare(table, "A", "B").table.row(0, named=True) for table in (holed, kept)]
    assert pairs[0]["difference"] == pytest.approx(pairs[1]["difference"])
    assert pairs[0]["p_value"] == pairs[1]["p_value"]
    told = [line.sentence for line in read_scores(holed).interpreted if line.code == "missing"]
    assert told == ["not there: 12 scores of A; a comparison leaves those cases out"]
    apart = frame.filter((pl.col("model") == "A") == (pl.col("case") < 12))
    for verb in (surgvalid.interval, lambda table: surgvalid.compare(table, "A", "B"), surgvalid.rank):
        with pytest.raises((TableInvalid, Misuse), match=r"no case (has a score from|was scored for)"):
            verb(apart)


def test_amounts_are_thirds_of_the_units_and_never_conditions_of_one_patient() -> None:
    patients = [f"p{row:02}" for row in range(24)]
    frame = long({"patient": patients, "age": [40 + row for row in range(24)]})
    result = surgvalid.strata(frame, ["age"])
    assert set(result.table["stratum"]) == {"40 to 47", "48 to 55", "56 to 63"}
    assert "numbers-in-thirds" in {finding.code for finding in result.findings}
    by = surgvalid.interval(frame, by=["age"]).table
    assert by["age"].n_unique() == 3
    assert is_quantity(pl.Series("bmi", [20.5, 21.0]))
    assert not is_quantity(pl.Series("center", range(9)))
    assert thirds(pl.Series("age", [1, 2, 3, 4, 5, 6, 7]), pl.Series([*"aabbccd"])) is None


def test_how_a_table_was_read_is_recorded_with_every_result(tmp_path: Path) -> None:
    result = surgvalid.interval(long({"patient": PATIENTS, "video": VIDEOS}))
    (line,) = (one for one in result.manifest()["interpreted"] if one["code"] == "unit")
    assert line == {
        "code": "unit",
        "column": "patient",
        "sentence": "6 patients ('patient') are independent; 'video' lies within",
    }
    assert (
        surgvalid.compare(long({"patient": PATIENTS, "video": VIDEOS}), "A", "B").manifest()["interpreted"][0] == line
    )


SPELLINGS = ["pat{}", "PAT{:03d}", "Pat {}"]


@pytest.mark.parametrize("heading", ["patient", "video", "case"])
def test_a_patient_in_several_spellings_is_one_for_every_verb(heading: str, tmp_path: Path) -> None:
    names = [spelling.format(n) for spelling in SPELLINGS for n in range(1, 6)]
    plain = pl.DataFrame({heading: names, "image": [f"i{n}" for n in range(15)]}).with_columns(
        A=pl.Series([0.8 + n / 100 for n in range(15)]), B=pl.Series([0.7 + n / 90 for n in range(15)])
    )
    ours = plain.unpivot(index=[heading, "image"], variable_name="model").rename({heading: "video", "image": "case"})
    ours.with_columns(metric=pl.lit("dice")).write_csv(tmp_path / "ours.csv")
    for source in (plain, tmp_path / "ours.csv"):
        reading = read_scores(source, metric="dice")
        assert reading.units == 5
        told = [line.sentence for line in reading.interpreted if line.code == "spelling"]
        assert told[0].startswith(f"15 names in {told[0].split()[3]} are 5 but for case, separators and leading zeros")
        assert "(pat1 = PAT001 = Pat 1; " in told[0]
        assert set(surgvalid.compare(source, "A", "B", metric="dice").table["videos"]) == {5}


def test_names_that_differ_in_their_words_or_signs_stay_apart() -> None:
    names = ["p1", "v1", "A+", "A", "1-1", "11", "p10", "p1a", "A1", "B1"]
    reading = read_scores({"patient": names, "A": [0.5] * 10, "B": [0.6] * 10}, metric="dice")
    assert reading.units == len(names)


def test_two_images_of_one_patient_keep_their_names_where_it_is_spelled_in_two_ways() -> None:
    names = [spelling.format(n) for spelling in SPELLINGS for n in range(6)]
    rows = {"patient": names, "A": [0.5 + n / 99 for n in range(18)], "B": [0.6] * 18}
    reading = read_scores(rows, metric="dice")
    assert (reading.units, reading.table.frame["case"].n_unique()) == (6, 18)


def test_rows_that_a_model_learnt_from_are_no_test() -> None:
    rows = {
        "patient": [f"p{n}" for n in range(12)], "split": ["train"] * 6 + ["Test"] * 6,
        "A": [0.99] * 6 + [0.6, 0.61, 0.62, 0.63, 0.64, 0.65], "B": [0.7] * 12,
    }  # fmt: skip
    reading = read_scores(rows, metric="dice")
    assert reading.units == 6
    told = {line.code: line.sentence for line in reading.interpreted}
    assert told["split"].startswith("rows of 'Test' are read (6), those of 'train' (6) are left out")
    assert read_scores(rows, metric="dice", condition=["split"]).units == 12
    learnt = {**rows, "split": ["training"] * 12}
    assert read_scores(learnt, metric="dice").interpreted[0].code == "trained"
    chosen = {**rows, "split": ["train"] * 6 + ["val"] * 6}
    assert read_scores(chosen, metric="dice").units == 6
    of_people = {**rows, "split": ["a"] * 6 + ["b"] * 6}
    assert read_scores(of_people, metric="dice").units == 12


SURNAMES = ("Meier", "Huber", "Schmidt", "Bauer", "Wolf", "Koch")


@pytest.mark.parametrize(
    ("heading", "values"),
    [("Kranken-Nr", range(1001, 1007)), ("Name", SURNAMES), ("Akte", [f"{one}, A." for one in SURNAMES])],
)
def test_a_column_whose_values_hold_whole_videos_is_asked_about(heading: str, values: Sequence[object]) -> None:
    frame = long({heading: [one for one in values for _ in range(3)], "video": [f"v{video:02}" for video in range(18)]})
    for verb in (surgvalid.study, surgvalid.interval, surgvalid.rank):
        with pytest.raises(TableInvalid, match=rf"6 values of '{heading}'.*--unit {heading}.*--unit video"):
            verb(frame)
    assert read_scores(frame, unit=heading).units == 6
    assert read_scores(frame, unit="video").units == 18


@pytest.mark.parametrize(
    "column",
    [
        {"sex": list("fm") * 9},
        {"centre_id": [1, 1, 2, 2, 3, 3] * 3},
        {"arm": [arm for arm in "abcde" for _ in range(4)][:18]},
        {"date": [f"2026-01-{1 + video // 2:02}" for video in range(18)]},
        {"age": [40 + video // 2 for video in range(18)]},
        {"remark": [*("smoke", "blood", "ok", "fog", "late", "cut", "fat"), *[None] * 11]},
    ],
)
def test_places_dates_amounts_and_kinds_are_not_asked_about(column: dict[str, list[object]]) -> None:
    frame = long({**column, "video": [f"v{video:02}" for video in range(18)]})
    assert read_scores(frame).units == 18


def test_names_of_videos_that_begin_with_a_date_are_no_groups() -> None:
    frame = long({"video": [f"2026-0{month}-1{day}" for month in range(1, 7) for day in range(3)]})
    assert not read_scores(frame).unit.if_each


@pytest.mark.parametrize(
    "heading",
    ["Paciente", "paziente", "Pacjent", "Hasta", "患者", "пациент", "Patients", "subjects", "pt", "ptID", "N° patient",
     "Patient n°", "Patient key", "Pseudonym", "animal"],
)  # fmt: skip
def test_headings_of_patients_in_many_tongues_are_those_of_patients(heading: str) -> None:
    names = [f"x{n}" for n in range(8)]
    rows = {heading: names, "A": [0.5 + n / 99 for n in range(8)], "B": [0.6 + n / 99 for n in range(8)]}
    reading = read_scores(rows, metric="dice")
    assert (reading.unit.word, reading.unit.level, reading.units) == ("patient", "E2", 8)


def test_naming_the_images_says_nothing_about_who_is_independent() -> None:
    images = [f"{n * 7919:x}f{n * 104729:x}"[::-1] for n in range(1, 61)]
    rows = {
        "image": images * 2,
        "model": ["A"] * 60 + ["B"] * 60,
        "dice": [0.5 + n / 999 for n in range(60)] + [0.6 + n / 990 for n in range(60)],
    }
    long = {"value" if name == "dice" else name: values for name, values in rows.items()}
    for table, given in ((rows, {}), (rows, {"case": "image"}), (long, {"case": "image"})):
        reading = read_scores(table, metric="dice" if table is rows else None, better="larger", **given)
        assert reading.unit.level == "E5", given
    assert read_scores(rows, case="image", unit="case").unit.level == "E1"
    assert surgvalid.study(rows, columns={"case": "image"}).judged.winner is None


def test_models_that_spell_a_patient_in_two_ways_are_compared_on_it() -> None:
    table = {
        "patient": [f"P{n:02d}" for n in range(1, 13)] + [f"p{n}" for n in range(1, 13)],
        "centre": ["Bonn", "bonn", "BONN"] * 8,
        "model": ["A"] * 12 + ["B"] * 12,
        "dice": [0.7 + n / 99 for n in range(24)],
    }
    reading = read_scores(table)
    assert reading.units == 12
    assert "missing" not in {line.code for line in reading.interpreted}
    told = [line.sentence for line in reading.interpreted if line.code == "spelling"]
    assert told[-1] == "Bonn, bonn, BONN in 'centre' are 3 different ones; rename them if they are one"
    ours = {("case" if name == "patient" else name): values for name, values in table.items() if name != "centre"}
    ours = {**ours, "value": ours.pop("dice"), "metric": ["dice"] * 24}
    assert read_scores(ours).units == 12
    assert surgvalid.compare(ours, "A", "B").table["cases"].to_list() == [12]


def test_numbers_that_restart_in_every_hospital_are_asked_about() -> None:
    rows = [
        {"patient": patient, "hospital": place, "frame": f"{place}{patient}-{frame}", "model": model, "dice": frame / 2}
        for place in "WXYZ"
        for patient in range(1, 6)
        for frame in range(2)
        for model in "AB"
    ]
    with pytest.raises(
        TableInvalid, match=r"say --unit hospital\+patient if each hospital counts anew, --unit patient"
    ):
        read_scores(rows)
    assert read_scores(rows, unit="patient").units == 5
    anew = read_scores(rows, unit="hospital+patient")
    assert (anew.units, anew.unit.word, anew.table.strata) == (20, "patient", ["hospital"])
    assert anew.table.frame["case"].n_unique() == 40
    assert surgvalid.study(rows, columns={"video": "hospital+patient"}).tables["patients"]["video"].n_unique() == 20


@pytest.mark.parametrize("heading", ["dataset", "set", "phase", "part", "group", "cohort"])
def test_rows_that_models_learnt_from_are_left_out_under_other_headings(heading: str) -> None:
    rows = {
        "patient": [f"p{n}" for n in range(12)], heading: ["train"] * 6 + ["test"] * 6,
        "A": [0.99] * 6 + [0.6, 0.61, 0.62, 0.63, 0.64, 0.65], "B": [0.7] * 12,
    }  # fmt: skip
    assert read_scores(rows, metric="dice").units == 6
    assert read_scores(rows | {heading: ["left", "right"] * 6}, metric="dice").units == 12
