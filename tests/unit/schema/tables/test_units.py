"""What is independent is read off a table in one way: patients before videos, never repeats, parts or kinds."""

from __future__ import annotations

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
    assert read_scores(holed).missing == {"A": 12}
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
