"""Faults that a study can hide behind its own words or behind a number that looks large."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from docs.planted_studies import clean_study

from surgvalid.audit.audit import audited
from surgvalid.audit.study import AuditedStudy
from surgvalid.schema.tables.score_table import ScoreTable
from surgvalid.schema.tables.table_reading import noted_readings


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
        ("pat003", "data/train/pat003", "pat003 = data/train/pat003"), ("pat003", "pat003 (1)", "pat003 = pat003 (1)"),
        ("pat003", "pat\uff10\uff10\uff13", "pat003 = pat"), ("pat003", "pat003_copy", "pat003 = pat003_copy"),
        ("pat003", "2024-03-01_pat003", "pat003 = 2024-03-01_pat003"), ("siteA/v01", "siteB/v01", ""),
        ("2024-03-01_op1", "2024-03-02_op1", ""), ("video (1)", "video (2)", ""), ("p3_4", "p3_5", ""),
    ],
)  # fmt: skip
def test_a_patient_written_in_two_ways_is_one(test: str, train: str, shown: str) -> None:
    rows = [("test", "va", test), ("train", "vb", train)]
    row = check(with_table("splits", pl.DataFrame(rows, schema=["split", "video", "patient"], orient="row")), "P1.6")
    assert row["outcome"] == ("fail" if shown else "pass")
    assert shown in row["evidence"]


def split_check(test: list[Any], train: list[Any], names: tuple[str, str] = ("test", "train")) -> dict[str, Any]:
    """P1.6 of patients in two splits."""
    rows = [
        (split, f"{split}{n}", one)
        for split, some in zip(names, (test, train), strict=True)
        for n, one in enumerate(some)
    ]
    splits = pl.DataFrame(rows, schema={"split": pl.String, "video": pl.String, "patient": pl.String}, orient="row")
    return check(replace(with_table("splits", splits), scores=None), "P1.6")


@pytest.mark.parametrize("word", ["unknown", "NA", "n/a", " Unknown ", "", None])
def test_a_placeholder_is_no_patient(word: str | None) -> None:
    row = split_check([*(f"a{n}" for n in range(20, 26)), word], [*(f"b{n}" for n in range(20, 30)), word])
    assert row["outcome"] == "not assessable", row["evidence"]
    assert "2 of 18 rows name no patient" in row["evidence"]
    assert "No patient stands" not in row["evidence"]


@pytest.mark.parametrize(
    ("test", "train"),
    [
        ("pat003_clip1", "pat003_clip2"),
        ("pat003_left", "pat003_right"),
        ("pat003a", "pat003b"),
        ("pat003", "pat003_clip1"),
        ("pat003", "pat3_final"),
        ("pat003", "north_pat3"),
        ("pat3_720p", "Patient 3"),
    ],
)
def test_parts_of_one_operation_on_both_sides_are_shown(test: str, train: str) -> None:
    row = split_check([test, "pat60"], [train, "pat20"])
    assert row["outcome"] == "not assessable"
    assert f"look at these: test and train share 1 ({test} = {train})" in row["evidence"]


def test_what_is_to_be_looked_at_is_not_hidden_by_an_open_question() -> None:
    """An unanswered question was listed with what passed, and two names of one patient were not."""
    rows = [("test", "va", "pat12"), ("train", "vb", "pat12_final")]
    splits = pl.DataFrame(rows, schema=["split", "video", "patient"], orient="row")
    row = check(AuditedStudy("s", tables={"splits": splits}), "P1.6")
    assert row["outcome"] == "needs an answer"
    assert row["evidence"].startswith("To answer: tuned_on. patient: look at these: test and train share 1 (pat12 = ")


@pytest.mark.parametrize("words", [("vid", "v"), ("pat0", "")])
def test_two_numberings_from_one_are_asked_about(words: tuple[str, str]) -> None:
    ours, theirs = ([f"{word}{n}" for n in range(1, until)] for word, until in zip(words, (10, 40), strict=True))
    row = split_check(ours, theirs)
    assert row["outcome"] == "not assessable", row["evidence"]
    assert "look at these: test and train share 9" in row["evidence"]
    assert split_check(ours[3:7], theirs)["outcome"] == "fail"


def test_names_of_videos_decide_nothing_where_patients_are_named() -> None:
    rows = [("test", f"vid{n}", f"p{n + 50}") for n in range(1, 9)] + [
        ("train", f"v{n}", f"p{n}") for n in range(1, 40)
    ]
    splits = pl.DataFrame(rows, schema=["split", "video", "patient"], orient="row")
    assert check(replace(with_table("splits", splits), scores=None), "P1.6")["outcome"] == "pass"
    bare = splits.with_columns(patient=pl.lit(None, dtype=pl.String))
    row = check(replace(with_table("splits", bare), scores=None), "P1.6")
    assert row["outcome"] == "not assessable"
    assert "video: look at these" in row["evidence"]


@pytest.mark.parametrize("names", [("hold-out", "development"), ("B", "A"), ("test1", "test2")])
def test_two_splits_are_checked_whatever_they_are_called(names: tuple[str, str]) -> None:
    assert split_check(["p7", "p90"], ["P_007", "p3"], names)["outcome"] == "fail"
    assert split_check(["p91", "p90"], ["P_007", "p3"], names)["outcome"] == "pass"


def test_counted_patients_and_counted_videos_agree_in_nothing() -> None:
    names = [("test", f"pat{n}") for n in range(1, 21)] + [("train", f"video{n:02d}") for n in range(1, 41)]
    splits = pl.DataFrame([{"split": split, "video": name, "patient": name} for split, name in names])
    row = check(replace(with_table("splits", splits), scores=None), "P1.6")
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


@pytest.mark.parametrize("share", [0.25, 1.0])
def test_printed_intervals_of_further_metrics_are_judged_too(share: float) -> None:
    study, printed = sound(), sound().tables["reported"]
    assert study.scores is not None
    rows = study.scores.frame
    both = ScoreTable.of(pl.concat([rows, rows.with_columns(metric=pl.lit("jaccard"))]), facts={})
    middle, half = (pl.col("low") + pl.col("high")) / 2, (pl.col("high") - pl.col("low")) / 2 * share
    more = printed.with_columns(low=middle - half, high=middle + half, metric=pl.lit("jaccard"))
    tables = {**study.tables, "reported": pl.concat([printed, more])}
    row = check(replace(study, scores=both, metric="accuracy", tables=tables), "P3.1")
    assert row["outcome"] == ("fail" if share < 1 else "pass"), row["evidence"]


@pytest.mark.parametrize("share", [0.25, 1.0])
def test_intervals_printed_in_percent_are_judged_by_their_width(share: float) -> None:
    printed = sound().tables["reported"]
    middle, half = (pl.col("low") + pl.col("high")) / 2, (pl.col("high") - pl.col("low")) / 2 * share
    rows = printed.with_columns(value=pl.col("value") * 100, low=(middle - half) * 100, high=(middle + half) * 100)
    assert check(with_table("reported", rows), "P3.1")["outcome"] == ("fail" if share < 1 else "pass")


def renamed(model: Any, metric: str) -> dict[str, Any]:
    """P3.1 where intervals of a quarter of their width are printed under other names."""
    printed = sound().tables["reported"]
    middle, half = (pl.col("low") + pl.col("high")) / 2, (pl.col("high") - pl.col("low")) / 8
    rows = printed.with_columns(low=middle - half, high=middle + half, metric=pl.lit(metric))
    return check(
        with_table("reported", rows.with_columns(model=pl.col("model").map_elements(model, pl.String))), "P3.1"
    )


def test_printed_names_may_differ_in_case_spaces_and_usual_words() -> None:
    main = sound().matrix.metric.name
    assert main == "accuracy"
    assert renamed(lambda name: f" {name.upper()}", main)["outcome"] == "fail"
    assert renamed(lambda name: name, "ACC")["outcome"] == "fail"
    row = renamed(lambda name: f"Model {name}", main)
    assert row["outcome"] == "not assessable"
    assert "match no model or metric of the scores" in row["evidence"]
    assert renamed(lambda name: name, "skill")["outcome"] == "not assessable"


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


@pytest.mark.parametrize("spelled", ["v{:02d}", "V{}", "video_{}.mp4"])
def test_scores_of_training_videos_are_no_scores_of_a_test(spelled: str) -> None:
    study = scores({f"v{number:02d}": 5 for number in range(8)})
    names = [("train", spelled.format(number)) for number in range(8)] + [("test", f"w{n}") for n in range(20, 24)]
    splits = pl.DataFrame(names, schema=["split", "video"], orient="row")
    row = check(replace(study, tables={"splits": splits}), "P1.6")
    assert (row["outcome"], row["severity"]) == ("fail", "high")
    assert "video: what was scored and train share 8 (v00" in row["evidence"]
    right = splits.with_columns(split=pl.when(pl.col("split") == "train").then(pl.lit("test")).otherwise(pl.lit("val")))
    assert check(replace(study, tables={"splits": right}), "P1.6")["outcome"] != "fail"


def test_a_column_of_splits_in_the_scores_is_held_against_itself(tmp_path: Any) -> None:
    rows = [
        {"patient": f"p{n}", "frame": f"{split}{n}", "split": split, "A": 0.8 + n / 100, "B": 0.7 + n / 90}
        for n in range(8)
        for split in (("train", "test") if n == 3 else ("test",))
    ]
    pl.DataFrame(rows).write_csv(tmp_path / "dice.csv")
    row = audited(tmp_path / "dice.csv", pitfalls=["P1.6"]).tables["checks"].row(0, named=True)
    assert row["outcome"] == "fail"
    assert "share 1 (p3)" in row["evidence"]


def test_a_patient_of_two_splits_without_names_of_cases_is_seen(tmp_path: Any) -> None:
    """Read as the questions advise (`--case split`), such a table ended in a traceback."""
    rows = [{"patient": f"p{n}", "split": split, "A": 0.8 + n / 100, "B": 0.7 + n / 90}
            for n in range(8) for split in (("train", "test") if n == 3 else ("test",))]  # fmt: skip
    pl.DataFrame(rows).write_csv(tmp_path / "dice.csv")
    with noted_readings() as noted:
        checks = audited(tmp_path / "dice.csv", pitfalls=["P1.6"], columns={"case": "split"}).tables["checks"]
    assert "patient: test and train share 1 (p3)" in checks["evidence"][0]
    assert "case: test" not in checks["evidence"][0]
    assert len([line for line in noted if line.code == "unit"]) == 1, "what all splits hold is not told as read"


def segmented(seed: int = 0, *, patients: int = 16) -> AuditedStudy:
    """Dice of two models on patients with one or two videos, whose hospitals are drawn from the target."""
    rng, rows = np.random.default_rng(seed), []
    for place in range(patients):
        hospital, ease = str(rng.choice(["n", "s"])), rng.normal(0, 0.08)
        for video in range(2):
            for frame in range(10):
                names = {"patient": f"p{place:02d}", "video": f"p{place:02d}v{video}", "hospital": hospital}
                case = f"p{place:02d}v{video}f{frame}"
                rows += [
                    {**names, "case": case, "model": model, "metric": "dice",
                     "value": float(np.clip(skill + ease + rng.normal(0, 0.05), 0, 1).round(4))}
                    for model, skill in (("A", 0.75), ("B", 0.7))
                ]  # fmt: skip
    frame = pl.DataFrame(rows)
    table = ScoreTable.of(frame.select("model", "case", "metric", "value", video="patient", video_id="video"))
    cases = frame.filter(model="A").select("case", "video", "patient", "hospital")
    answers = {"target": {"hospital": {"n": 0.5, "s": 0.5}}, "exclusions": "none were left out"}
    return AuditedStudy("dice", table, tables={"cases": cases}, answers=answers)


def changed(study: AuditedStudy, frame: pl.DataFrame) -> AuditedStudy:
    return replace(study, scores=ScoreTable.of(frame))


def test_several_videos_of_a_patient_are_no_further_draws_from_the_target() -> None:
    """Counted by videos, two of each patient, 5 % of sound studies were accused at a level of 1 %."""
    rows = [check(segmented(seed), "P1.1") for seed in range(40)]
    assert [row["evidence"] for row in rows if row["outcome"] == "fail"] == []
    assert "hospital of 16 patients" in rows[0]["evidence"]


def test_videos_of_nobody_are_not_those_of_one_patient() -> None:
    cases = segmented().tables["cases"].with_columns(patient=pl.lit("unknown"))
    study = replace(segmented(), tables={"cases": cases}, scores=None)
    assert study.patients == {}
    assert study.units(pl.Series(["p01v0", "p02v1"])).to_list() == ["p01v0", "p02v1"]


def test_a_metric_may_be_spelled_otherwise_in_print_and_in_the_study_file() -> None:
    printed = pl.DataFrame({"model": ["A"], "metric": ["Dice"], "value": [0.75]})
    study = segmented()
    needs = [{"requirement": "organs are outlined", "metric": "DSC"}]
    study = replace(study, tables={**study.tables, "reported": printed}, conventions={"DICE": {"empty": "1"}})
    assert study.metric_names == ["dice"]
    assert check(study, "P2.5")["outcome"] == "pass"
    assert check(replace(study, answers={"requirements": needs}), "P2.1")["outcome"] == "pass"


def test_scores_that_are_missing_without_a_rule_are_no_detail(tmp_path: Path) -> None:
    frame = segmented().scored.frame.rename({"video": "patient", "value": "dice"}).drop("metric", "status", "video_id")
    frame.filter((pl.col("model") == "B") | (pl.col("dice") > 0.65)).write_csv(tmp_path / "dice.csv")
    row = audited(tmp_path / "dice.csv", pitfalls=["P1.1"]).tables["checks"].row(0, named=True)
    assert row["outcome"] == "fail"
    assert "nobody says why: A " in row["evidence"]
    said = audited(tmp_path / "dice.csv", pitfalls=["P1.1"], missing="worst").tables["checks"]
    assert said["outcome"][0] != "fail"


@pytest.mark.parametrize(
    ("words", "outcome"),
    [
        ("None were left out.", "fail"),
        ("no patient was left out", "fail"),
        ("none but three conversions to open surgery", "pass"),
        ("three conversions to open surgery", "pass"),
    ],
)
def test_test_cases_without_a_score_are_held_against_the_exclusions(words: str, outcome: str) -> None:
    study = replace(segmented(), answers={**segmented().answers, "exclusions": words})
    assert check(study, "P1.1")["outcome"] == "pass"
    gone = check(changed(study, study.scored.frame.filter(pl.col("video") > "p02")), "P1.1")
    assert gone["outcome"] == outcome
    sentences = audited(study, pitfalls=["P1.1"]).tables["evidence"]["sentence"]
    assert "60 of 320 test cases have no score" in gone["evidence"] or not any("no score (" in one for one in sentences)


@pytest.mark.parametrize("shuffled", [False, True])
def test_a_patient_who_stands_there_twice_is_one(shuffled: bool) -> None:
    study, frame = segmented(), segmented().scored.frame
    assert check(study, "P3.1")["outcome"] != "fail"
    copy = frame.filter(video="p03").with_columns(video=pl.lit("p77"), case=pl.col("case").str.replace("p03", "q"))
    if shuffled:
        copy = copy.sort("value")
    row = check(changed(study, pl.concat([frame, copy])), "P3.1")
    assert (row["outcome"], row["severity"]) == ("fail", "high")
    assert "p03 and p77" in row["evidence"]
    few = pl.concat([frame, copy]).with_columns(value=(pl.col("value") > 0.72).cast(pl.Float64))
    assert "p03 and p77" not in check(changed(study, few), "P3.1")["evidence"], "chance gives right and wrong alike"


def test_a_score_that_never_varies_where_all_others_do_is_asked_about() -> None:
    study, frame = segmented(), segmented().scored.frame
    still = frame.with_columns(value=pl.when(pl.col("model") == "B").then(0.0).otherwise("value"))
    row = check(changed(study, still), "P2.5")
    assert row["outcome"] == "fail"
    assert "B has dice 0 in all 320 cases" in row["evidence"]
    right = frame.with_columns(value=pl.when(pl.col("model") == "B").then(1.0).otherwise((pl.col("value") > 0.7) * 1.0))
    assert check(changed(study, right), "P2.5")["outcome"] != "fail"


def test_numbers_of_frames_within_videos_are_no_shared_cases() -> None:
    names = [("train", "t1"), ("train", "t2"), ("test", "v1"), ("test", "v2")]
    rows = [(split, video, f"frame_{n:04d}") for split, video in names for n in range(5)]
    splits = pl.DataFrame(rows, schema=["split", "video", "case"], orient="row")
    assert "case: " not in check(replace(sound(), scores=None, tables={"splits": splits}), "P1.6")["evidence"]
    own = splits.with_columns(case=pl.col("video") + pl.col("case"))
    leak = pl.concat([own, pl.DataFrame([("train", "t9", "v1frame_0003")], schema=own.schema, orient="row")])
    row = check(replace(sound(), scores=None, tables={"splits": leak}), "P1.6")
    assert "case: test and train share 1 (v1frame_0003)." in row["evidence"]


@pytest.mark.parametrize(
    ("printed", "outcome"),
    [([0.7512, 0.7039], "pass"), ([0.75, 0.70], "pass"), ([0.76, 0.70], "fail"), ([0.81, 0.8], "fail")],
)
def test_printed_numbers_are_rounded_or_cut_off_at_the_digits_of_their_column(
    printed: list[float], outcome: str
) -> None:
    """A value of 0.7512 is not printed as 0.76, and 0.80 is printed with the two digits of its neighbours."""
    frame = pl.DataFrame(
        [(model, f"c{n}", f"v{n % 8}", "dice", value + (n % 2 - 0.5) / 100)
         for model, value in (("A", 0.7512), ("B", 0.7039)) for n in range(32)],
        schema=["model", "case", "video", "metric", "value"], orient="row",
    )  # fmt: skip
    reported = pl.DataFrame({"model": ["A", "B"], "metric": ["dice"] * 2, "value": printed})
    study = AuditedStudy("printed", ScoreTable.of(frame), tables={"reported": reported})
    assert (check(study, "P3.5")["outcome"] == "fail") == (outcome == "fail")


def test_a_claim_is_carried_by_either_usual_mean() -> None:
    """By the mean over patients B is surely better; a long one decides the mean over cases, which is open."""
    sizes = {f"v{n}": 4 for n in range(12)} | {"v12": 200}
    rows = [
        (model, f"{video}-{n}", video, "dice", 0.7 + (model == "B") * (-0.08 if video == "v12" else 0.06 + n / 99))
        for model in "AB" for video, size in sizes.items() for n in range(size)
    ]  # fmt: skip
    table = ScoreTable.of(pl.DataFrame(rows, schema=["model", "case", "video", "metric", "value"], orient="row"))
    study = AuditedStudy("claims", table, answers={"threshold": 0.5, "claims": [{"better": "B", "than": "A"}]})
    assert check(study, "P3.3")["outcome"] == "pass"
    turned = replace(study, answers={"threshold": 0.5, "claims": [{"better": "A", "than": "B"}]})
    assert check(turned, "P3.3")["outcome"] == "fail"
