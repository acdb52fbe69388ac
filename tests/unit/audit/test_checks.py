"""Faults that a study can hide behind its own words or behind a number that looks large."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import polars as pl
import pytest
from docs.planted_studies import clean_study

from surgvalid.audit.audit import audited
from surgvalid.audit.study import AuditedStudy
from surgvalid.schema.tables.score_table import ScoreTable


@cache
def sound() -> AuditedStudy:
    return clean_study(0)


def answered(**answers: Any) -> AuditedStudy:
    return replace(sound(), answers={**sound().answers, **answers})


def with_table(name: str, frame: pl.DataFrame) -> AuditedStudy:
    return replace(sound(), tables={**sound().tables, name: frame})


def check(study: AuditedStudy, code: str) -> dict[str, Any]:
    return audited(study, pitfalls=[code]).tables["checks"].row(0, named=True)


def scores(sizes: dict[str, int]) -> AuditedStudy:
    rows = [
        {"model": model, "case": f"{video}-{case}", "video": video, "value": float((case + place) % 3 > 0)}
        for place, model in enumerate("AB")
        for video, size in sizes.items()
        for case in range(size)
    ]
    table = ScoreTable.of(pl.DataFrame(rows).with_columns(metric=pl.lit("accuracy")))
    return AuditedStudy("sizes", table, answers={"aggregation": "mean over frames"})


def test_one_video_is_too_few() -> None:
    row = check(scores({"v": 50}), "P1.2")
    assert (row["outcome"], row["severity"]) == ("fail", "high")
    assert "1 video with 50 cases" in row["evidence"]


def test_one_video_with_most_cases_decides_a_mean_over_cases() -> None:
    sizes = {f"v{number}": 10 for number in range(8)}
    row = check(scores({**sizes, "long": 200}), "P3.2")
    assert row["outcome"] == "fail"
    assert "long has 71% of the cases" in row["evidence"]
    assert check(scores(sizes), "P3.2")["outcome"] == "pass"
    by_video = replace(scores({**sizes, "long": 200}), answers={"aggregation": "mean of each video, then over videos"})
    assert check(by_video, "P3.2")["outcome"] == "pass"


@pytest.mark.parametrize(
    ("words", "outcome"),
    [
        ("validation", "pass"),
        ("test", "fail"),
        ("the test split", "fail"),
        ("the held-out videos", "fail"),
        ("the validation split, never the test split", "not assessable"),
    ],
)
def test_models_chosen_on_the_test_split_are_seen_in_any_words(words: str, outcome: str) -> None:
    assert check(answered(tuned_on=words), "P1.6")["outcome"] == outcome


@pytest.mark.parametrize(
    ("words", "outcome"),
    [
        ("videos", "pass"),
        ("hierarchical bootstrap of frames within videos", "pass"),
        ("frames", "fail"),
        ("bootstrap over frames of all surgical videos", "not assessable"),
        ("cases", "not assessable"),
        (False, "not assessable"),
    ],
)
def test_units_of_intervals_are_taken_from_words_that_say_one_thing(words: Any, outcome: str) -> None:
    assert check(answered(intervals=words), "P3.1")["outcome"] == outcome


def test_what_the_study_names_and_does_not_hold_leaves_a_check_open() -> None:
    assert check(answered(claims=[{"better": "steady", "than": "wek"}]), "P3.3")["outcome"] == "not assessable"
    assert check(answered(critical_phases=["cliping"]), "P3.2")["outcome"] == "not assessable"
    assert check(answered(confounders=["smoke"]), "P1.3")["outcome"] == "not assessable"


def test_a_property_without_a_value_is_not_there() -> None:
    bare = sound().tables["cases"].with_columns(center=pl.lit(None, dtype=pl.String))
    row = check(with_table("cases", bare), "P1.1")
    assert row["outcome"] == "not assessable"
    assert "center" in row["evidence"]


def test_names_of_splits_are_compared_without_case_and_outer_spaces() -> None:
    splits = sound().tables["splits"]
    leak = pl.DataFrame([{"split": "train", "video": f"{splits['video'][-1].upper()} ", "patient": "q99"}])
    row = check(with_table("splits", pl.concat([splits, leak])), "P1.6")
    assert (row["outcome"], row["severity"]) == ("fail", "high")


@pytest.mark.parametrize(
    ("test", "train", "shown"),
    [
        ("pat3", "pat003", "pat3 = pat003"), ("P-07", "patient 7", "P-07 = patient 7"), ("A_3", "a3", "A_3 = a3"),
        ("pat003.mp4", "pat3", "pat003.mp4 = pat3"), ("pt 3", "Proband-03", "pt 3 = Proband-03"),
        ("MRN0012345", "12345.0", "MRN0012345 = 12345.0"), ("p3.nii.gz", "3", "p3.nii.gz = 3"),
        ("A3", "B3", ""), ("center1_pat3", "center2_pat3", ""), ("P30", "P3", ""),
        ("pat7", "video07", ""), ("case 7", "op7", ""), ("patient3_video1", "pat3_op1", ""),
        ("7", "video07", "7 = video07"), ("id_7", "pat007", "id_7 = pat007"),
        ("pat48211", "Video-48211", "pat48211 = Video-48211"),
    ],
)  # fmt: skip
def test_a_patient_written_in_two_ways_is_one(test: str, train: str, shown: str) -> None:
    rows = [("test", "va", test), ("train", "vb", train)]
    row = check(with_table("splits", pl.DataFrame(rows, schema=["split", "video", "patient"], orient="row")), "P1.6")
    assert row["outcome"] == ("fail" if shown else "pass")
    assert shown in row["evidence"]


def test_counted_patients_and_counted_videos_agree_in_nothing() -> None:
    names = [("test", f"pat{n}") for n in range(1, 21)] + [("train", f"video{n:02d}") for n in range(1, 41)]
    splits = pl.DataFrame([{"split": split, "video": name, "patient": name} for split, name in names])
    row = check(with_table("splits", splits), "P1.6")
    assert row["outcome"] == "pass", row["evidence"]


def test_equal_numbers_of_two_data_sets_are_two_patients() -> None:
    rows = [("test", "a", "pat3", "ours"), ("train", "b", "pat003", "cholec80")]
    splits = pl.DataFrame(rows, schema=["split", "video", "patient", "data_set"], orient="row")
    assert check(with_table("splits", splits), "P1.6")["outcome"] == "pass"


@pytest.mark.parametrize("share", [0.25, 0.5, 0.9, 1.0, 1.6])
def test_printed_intervals_are_judged_by_their_width(share: float) -> None:
    printed = sound().tables["reported"]
    middle, half = (pl.col("low") + pl.col("high")) / 2, (pl.col("high") - pl.col("low")) / 2 * share
    narrowed = printed.with_columns(low=middle - half, high=middle + half)
    row = check(with_table("reported", narrowed), "P3.1")
    assert row["outcome"] == ("fail" if share <= 0.5 else "pass"), row["evidence"]


def test_printed_numbers_lie_in_their_intervals_and_follow_from_the_scores() -> None:
    printed = sound().tables["reported"]
    assert check(sound(), "P3.5")["outcome"] == check(sound(), "P3.4")["outcome"] == "pass"
    rounded = printed.with_columns((pl.col("value") * 100).round(1), low=None, high=None)
    assert check(with_table("reported", rounded), "P3.5")["outcome"] == "pass"
    raised = with_table("reported", printed.with_columns(pl.col("value") + 0.1))
    assert "none of the usual means" in check(raised, "P3.5")["evidence"]
    assert "outside their own interval" in check(raised, "P3.4")["evidence"]


def test_a_sentence_stands_once_and_questions_by_their_key() -> None:
    checks = audited(AuditedStudy("nothing")).tables["checks"]
    for row in checks.to_dicts():
        sentences = [one for one in row["evidence"].split(". ") if one]
        assert len(sentences) == len(set(sentences)), row
        assert not any(one in row["not_seen"] for one in sentences), row
    assert checks.filter(pitfall="P1.1")["evidence"][0] == "To answer: target, exclusions."
