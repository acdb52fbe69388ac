"""Every sentence that a verdict can say, and the table that makes it say so."""

import re

import numpy as np
import polars as pl
import pytest

import surgvalid
from surgvalid.errors import DirectionUnknown, TableInvalid
from surgvalid.report.verdict_page import evidence, figure_of
from surgvalid.stats.verdict.sentences import evidence_of, title_of


def wide(patients: int, seed: int = 0, **shift: float) -> pl.DataFrame:
    """A case per patient, a column per model: a common level, the model's shift, and noise of its own."""
    rng = np.random.default_rng(seed)
    level = rng.normal(0.6, 0.05, patients)
    models = {name: np.round(level + by + rng.normal(0, 0.01, patients), 4) for name, by in shift.items()}
    return pl.DataFrame({"patient": [f"p{i:02d}" for i in range(patients)], **models})


def said(frame: pl.DataFrame, **options) -> list[str]:
    return list(surgvalid.study(frame, **{"metric": "dice", **options}).verdict)


def test_a_model_that_is_better_is_called_so_with_metric_number_unit_and_n():
    sentences = said(wide(12, good=0.1, plain=0.0))
    assert re.fullmatch(
        r"good is better than plain in dice by 0\.098 \(0\.09\d to 0\.10\d; 12 patients\)\.", sentences[0]
    )
    assert sentences[1] == "Whether 0.098 matters is not a question of statistics: --margin."


def test_many_beaten_models_are_not_listed():
    first = said(wide(20, a=0.2, b=0.1, c=0.05, d=0.0, e=-0.1))[0]
    assert first.startswith("a is better than every other model in dice; the least sure lead is that over b, by 0.")


def answers(metric: str, gain: float, seed: int = 3) -> pl.DataFrame:
    """Ten questions of each of twenty patients, right or wrong."""
    drawn = np.random.default_rng(seed).random((2, 200)) < np.array([[0.5], [0.5 + gain]])
    patients = [f"p{row // 10:02d}" for row in range(200)]
    parts = [
        pl.DataFrame({"patient": patients, "question": range(200), "model": name, metric: right.astype(int)})
        for name, right in zip("AB", drawn, strict=True)
    ]
    return pl.concat(parts)


@pytest.mark.parametrize("metric", ["correct", "accuracy", "success"])
def test_cases_that_are_right_or_wrong_are_told_in_points_and_percent(metric: str):
    frame = answers(metric, 0.3)
    options = {"metric": metric, "better": "larger"} if metric == "success" else {}
    result = surgvalid.study(frame, **options)
    points = r"\d+\.\d points"
    assert re.fullmatch(rf"B is better than A, by {points} of {metric}", title_of(result.judged))
    first = rf"B is better than A in {metric} by {points} \(\d+\.\d to {points}; 20 patients\)\."
    assert re.fullmatch(first, result.verdict[0]), result.verdict[0]
    assert result.verdict[1].endswith(
        "points matter is not a question of statistics: --margin 0.02 stands for 2 points."
    )
    assert f"{metric} (0 to 100 %, larger is better)" in evidence_of(result.judged)
    pair = result.judged.deciding
    assert f"by {100 * pair.difference:.1f} points" in result.verdict[0]
    [chart] = figure_of(result.judged, result.tables, result.scores.frame.select("model", "case", "value"))
    [mean] = [mark for mark in chart.image.rows.marks if mark.shape == "diamond"]
    assert (mean.x, mean.low, mean.high) == pytest.approx([100 * end for end in (pair.difference, pair.low, pair.high)])
    margin = surgvalid.study(frame, margin=0.9, **options).verdict[0]
    assert re.search(r"by less than the margin 90 points: equal for practice\.$", margin), margin
    alone = surgvalid.study(frame.filter(model="A"), **options)
    reached = rf"A reaches {metric} \d\d\.\d % \(95% interval \d\d\.\d to \d\d\.\d %; 20 patients\).*"
    assert re.fullmatch(reached, alone.verdict[0]), alone.verdict[0]


def test_the_margin_of_percentages_is_written_as_they_are():
    frame = answers("correct", 0.3).with_columns(correct=pl.format("{} %", 100 * pl.col("correct")))
    assert surgvalid.study(frame).verdict[1].endswith("--margin 2 stands for 2 points.")
    assert "the margin 2 points" in surgvalid.study(frame, margin=2).verdict[0]


def test_shares_of_whole_patients_are_told_as_they_were_written():
    frame = answers("accuracy", 0.3).group_by("patient", "model").agg(pl.col("accuracy").mean())
    assert re.match(r"B is better than A in accuracy by 0\.\d\d\d \(", surgvalid.study(frame).verdict[0])


@pytest.mark.parametrize(("patients", "others", "word"), [(12, 2, "exact "), (13, 2, ""), (13, 1, "exact ")])
def test_a_test_of_drawn_patterns_is_not_called_exact(patients: int, others: int, word: str):
    models = {"good": 0.1} | {f"m{number}": 0.0 for number in range(others)}
    line = evidence_of(surgvalid.study(wide(patients, **models), metric="dice").judged)
    assert re.search(r"· (exact )?sign-flip test", line)[1] == (word or None)


def test_where_it_is_open_the_next_best_is_named_and_so_is_who_is_beaten():
    result = surgvalid.study(wide(12, good=0.1, near=0.0999, bad=-0.1), metric="dice")
    first = result.verdict[0]
    assert title_of(result.judged) == f"{result.judged.leader} leads; who is first is open"
    leader, other = ("good", "near") if first.startswith("good") else ("near", "good")
    assert first.startswith(f"{leader} has the highest dice, 0.00")
    assert f"above {other} (-0.0" in first
    assert first.endswith(f"12 patients): open which model does better; {leader} is better than bad.")


def test_an_open_comparison_names_no_number_of_patients_for_the_difference_that_was_seen():
    sentences = said(wide(12, one=0.0, two=0.0))
    assert sentences[0].endswith("12 patients): open which model does better.")
    assert not [one for one in sentences if "needed" in one or "is better" in one]
    stated = said(wide(12, one=0.0, two=0.0), margin=0.001)
    assert re.fullmatch(
        r"To show a difference of 0\.001 four times in five, .* patients like these are needed.*", stated[-1]
    )


def test_a_tie_that_is_not_equality_is_called_one():
    """Not `0.000 higher`."""
    frame = wide(8, one=0.0).with_columns(two=pl.col("one") + pl.Series([0.01, -0.01] * 4))
    assert re.match(r"(one|two) and (one|two) share the highest dice, 0 apart \(-0\.0", said(frame)[0])


def test_equal_models_are_called_equal():
    frame = wide(8, one=0.0).with_columns(two=pl.col("one"))
    assert said(frame) == ["one and two gave the same scores: dice 0 apart in 8 patients."]


def test_models_that_differ_in_few_patients_are_not_blamed_on_the_number_of_patients():
    frame = wide(12, one=0.0).with_row_index("place")
    frame = frame.with_columns(two=pl.col("one") - 0.3 * (pl.col("place") < 5)).drop("place")
    assert "They differ in 5 of 12 patients only, which cannot show more than p = 0.062." in said(frame)


def test_the_smallest_p_value_says_what_it_was_corrected_for():
    frame = wide(8, **{name: 0.01 * place for place, name in enumerate("abcdefgh")})
    assert "cannot show more than p = 0.219 over 28 pairs of models, so no winner is named." in said(frame)[0]


def test_another_metric_that_names_another_model_is_in_the_first_sentence():
    """Seen: the headline names no metric, and the other one, which says the reverse, is never mentioned."""
    long = wide(12, one=0.0, two=0.1).unpivot(index="patient", variable_name="model", value_name="value")
    both = pl.concat(
        [long.with_columns(metric=pl.lit("dice")), long.with_columns(metric=pl.lit("hd95"), value=pl.col("value") * 10)]
    )
    result = surgvalid.study(both, metric="dice")
    assert (result.judged.kind, result.judged.winner) == ("depends", None)
    assert result.verdict[0].startswith("It depends on the metric: by dice two does better (by 0.")
    assert ", by hd95 one (by 1." in result.verdict[0]
    agreeing = pl.concat([long.with_columns(metric=pl.lit(name)) for name in ("dice", "iou")])
    assert surgvalid.study(agreeing, metric="iou").judged.winner == "two"


def test_so_few_patients_that_no_test_can_show_anything_have_no_interval():
    """Seen: "nothing can be concluded" beside 0.025 to 0.057 with five patients."""
    result = surgvalid.study(wide(5, good=0.3, bad=0.0), metric="dice")
    assert result.judged.kind == "too_few"
    assert re.fullmatch(
        r"good is ahead in 5 of 5 patients, by 0\.\d+ to 0\.\d+ each in dice: five patients cannot show more than "
        r"p = 0\.062, so no winner is named\.",
        result.verdict[0],
    )
    assert evidence(result.judged).endswith("their range is an exact interval of level 0.9375")
    assert result.tables["pairs"].select("low", "high").row(0) == (None, None)
    assert "95 %" not in result.verdict[0]


def test_two_patients_carry_no_interval():
    assert "range" not in evidence(surgvalid.study(wide(2, good=0.3, bad=0.0), metric="dice").judged)
    assert "two patients cannot show more than p = 0.500" in said(wide(2, good=0.3, bad=0.0))[0]


def test_one_model_is_not_compared():
    frame = wide(9, only=0.0).rename({"only": "dice"})
    assert said(frame)[0].endswith("; 9 patients); there is no other model to compare with.")
    assert "without an interval" in said(frame.head(2))[0]


def test_smaller_is_better_where_it_is():
    frame = wide(12, good=-0.1, bad=0.1)
    assert said(frame, metric="hd95")[0].startswith("good is better than bad in hd95 by 0.20")
    near = wide(12, one=0.0, two=0.0)
    assert " has the lowest hd95, 0.00" in said(near, metric="hd95")[0]
    assert " below " in said(near, metric="hd95")[0]


def test_an_unknown_direction_is_asked_for():
    with pytest.raises(DirectionUnknown, match="score"):
        said(wide(12, good=0.1, bad=0.0), metric=None)
    assert said(wide(12, good=0.1, bad=0.0), metric=None, better="smaller")[0].startswith("bad is better than good in")


def test_tables_without_patients_name_nobody_and_ask():
    frame = wide(12, good=0.1, bad=0.0).drop("patient")
    result = surgvalid.study(frame, metric="dice")
    assert (result.judged.kind, result.judged.winner) == ("no_unit", None)
    assert "how many patients are they from? (--unit)" in result.verdict[0]


def test_p_values_and_intervals_are_those_of_all_pairs_together():
    """Seen: "cannot be told apart" beside an interval without zero, in 7 of 40 pages with 12 patients and 4 models."""
    result = surgvalid.study(wide(10, a=0.02, b=0.01, c=0.0, d=0.0), metric="dice")
    for row in result.tables["pairs"].to_dicts():
        assert (row["p_corrected"] <= 0.05) == (row["low"] > 0 or row["high"] < 0)
        assert row["p_corrected"] >= row["p_value"]
        assert row["tests"] == 6


@pytest.mark.long
def test_equal_models_are_seldom_called_better():
    """The family-wise error of naming a winner among five equal models, over 200 data sets."""
    claims = sum("is better" in " ".join(said(wide(9, seed, **dict.fromkeys("abcde", 0.0)))) for seed in range(200))
    assert claims <= 20  # 5 % of 200 is 10; more than 20 has a probability below 0.002


def test_the_page_says_the_verdict_and_what_was_taken_for_what(tmp_path):
    frame = wide(9, good=0.1, bad=0.0)
    result = surgvalid.study(frame, metric="dice")
    result.to_dir(tmp_path / "out")
    text = (tmp_path / "out" / "study.html").read_text()
    assert re.search(r"<h1>good is better than bad, by 0\.\d{3} dice</h1>", text)
    assert "each of the columns" in text.casefold()
    again = surgvalid.interval(tmp_path / "out")
    values = [dict(table.select("model", "value").iter_rows()) for table in (again.table, result.table)]
    assert values[0] == pytest.approx(values[1])


def test_the_page_names_the_level_that_was_asked_for(tmp_path):
    result = surgvalid.study(wide(9, good=0.1, bad=0.0), metric="dice", level=0.9)
    result.to_dir(tmp_path / "out")
    text = (tmp_path / "out" / "study.html").read_text()
    assert "(bars: 90 % interval)" in text
    assert "95 %" not in text


def test_amounts_are_no_conditions_of_their_own():
    frame = wide(9, good=0.1, bad=0.0).with_columns(
        smoke=pl.Series(["yes", "no", "half"] * 3), age=pl.Series([40.5 + i for i in range(9)])
    )
    result = surgvalid.study(frame, metric="dice", models=("good", "bad"))
    assert sorted(result.tables["strata"]["column"].unique()) == ["age", "smoke"]
    assert any("'age' holds amounts" in one.text and "thirds of the units" in one.text for one in result.findings)


def test_what_strata_warn_of_is_said_by_the_study():
    frame = wide(9, good=0.1, bad=0.0).with_columns(smoke=pl.Series(["yes"] * 2 + ["no"] * 7))
    assert any("smoke=yes: 2 patients: no interval" in text for text in surgvalid.study(frame, metric="dice").warnings)


def long_table(**patients: list[tuple[float, float, int]]) -> pl.DataFrame:
    """For each patient scores of `one` and `two` and how many cases have them; a NaN is a row that is not there."""
    rows = [
        {"model": model, "case": f"{name}-{place}-{case}", "patient": name, "dice": score}
        for name, groups in patients.items()
        for place, (first, second, cases) in enumerate(groups)
        for case in range(cases)
        for model, score in (("one", first), ("two", second))
        if score == score
    ]
    return pl.DataFrame(rows)


def test_nobody_wins_where_cases_and_patients_name_different_models():
    """One patient with a thousand cases is for `one`, eleven small ones are for `two`."""
    small = {f"p{i:02d}": [(0.6 + 0.001 * i, 0.7 + 0.002 * i, 5)] for i in range(11)}
    frame = long_table(large=[(0.9, 0.5, 1000)], **small)
    result = surgvalid.study(frame)
    row = result.tables["pairs"].row(0, named=True)
    assert (row["model_a"], row["model_b"]) == ("one", "two")
    assert row["difference"] > 0 > row["difference_videos"]
    assert "is better than" not in " ".join(result.verdict)
    assert result.judged.winner is None


def test_a_significant_pooled_difference_is_no_win_where_patients_disagree():
    """Pooled p = 2 / 2^12 with every patient on one side, were it not for the mean over patients."""
    groups = {f"p{i:02d}": [(0.9, 0.8, 60)] for i in range(12)} | {f"q{i:02d}": [(0.1, 0.9, 1)] for i in range(3)}
    result = surgvalid.study(long_table(**groups))
    row = result.tables["pairs"].row(0, named=True)
    assert row["p_corrected"] < 0.05
    assert row["difference_videos"] < 0
    assert result.judged.kind == "depends"
    assert title_of(result.judged) == "It depends on whether cases or patients count alike"
    assert result.verdict[0].startswith("It depends on what counts alike: over all cases one leads in dice (by 0.")
    assert "in the mean over 15 patients two (by 0." in result.verdict[0]


def test_models_scored_on_different_patients_are_compared_on_those_both_have():
    both = {f"p{i}": [(0.8 + 0.01 * i, 0.7 + 0.012 * i, 3)] for i in range(8)}
    spared = {f"q{i}": [(0.8, float("nan"), 3)] for i in range(8)}
    unlike, alike = surgvalid.study(long_table(**both, **spared)), surgvalid.study(long_table(**both))
    assert unlike.table["value"].to_list() == alike.table["value"].to_list()
    assert unlike.verdict[0] == alike.verdict[0]
    assert "Compared on 8 of 16 patients; two has no scores in 8." in unlike.verdict
    asked = surgvalid.study(long_table(**both, **spared), missing="worst")
    assert asked.table.filter(model="two")["value"].item() == pytest.approx(alike.table["value"][-1] / 2)
    assert not [one for one in asked.verdict if one.startswith("Compared on")]


def test_models_without_a_common_patient_are_not_compared():
    frame = long_table(**{f"p{i}": [(0.8, float("nan"), 3)] for i in range(6)},
                       **{f"q{i}": [(float("nan"), 0.8, 3)] for i in range(6)})  # fmt: skip
    with pytest.raises(TableInvalid, match="no case was scored for all of them"):
        surgvalid.study(frame)


def test_a_refused_case_is_no_absent_patient():
    frame = wide(9, good=0.1, bad=0.0).unpivot(index="patient", variable_name="model", value_name="dice")
    frame = frame.with_columns(case=pl.col("patient"), status=pl.lit("answered"))
    failed = (pl.col("model") == "bad") & (pl.col("patient") == "p00")
    frame = frame.with_columns(
        dice=pl.when(failed).then(None).otherwise("dice"),
        status=pl.when(failed).then(pl.lit("failed")).otherwise("status"),
    )
    result = surgvalid.study(frame, columns={"value": "dice", "video": "patient"})
    assert result.tables["patients"].filter(model="bad", video="p00")["value"].to_list() == [0.0]


def test_no_model_alone_is_blamed_for_a_tie():
    rows = {"patient": list("abcdefgh"), "one": [0.0, 0.2, *[0.9] * 6], "two": [0.0, 0.3, *[0.8] * 6],
            "three": [0.0, 0.2, *[0.7] * 6]}  # fmt: skip
    hard = surgvalid.study(pl.DataFrame(rows), metric="dice").tables["hard_cases"]
    assert hard["worst"].to_list()[:3] == ["all models", "one, three", "three"]


def test_cases_as_hard_as_the_last_one_listed_are_counted():
    frame = wide(40, one=0.0).with_columns(one=pl.lit(0.0), two=pl.lit(0.5).repeat_by(1).list.first())
    result = surgvalid.study(frame, metric="dice")
    assert any("40 cases are as hard as the last of the list" in note for note in result.notes)


def test_models_that_share_the_best_value_are_named_together():
    frame = wide(12, one=0.1, bad=-0.2).with_columns(two=pl.col("one").reverse())
    assert re.match(
        r"(one|two) and (one|two) share the highest dice, 0 apart \(-0\.\d+ to 0\.\d+; 12 patients\)", said(frame)[0]
    )


def test_a_wide_table_of_a_metric_that_nobody_named_is_told_how_to_name_it() -> None:
    wide = pl.DataFrame({"patient": [f"p{n % 6}" for n in range(24)], "case": [f"c{n}" for n in range(24)]})
    wide = wide.with_columns(A=pl.int_range(24) % 5 / 5, B=pl.int_range(24) % 7 / 7)
    with pytest.raises(DirectionUnknown, match="say which metric the table holds, such as --metric dice"):
        surgvalid.study(wide)
    assert surgvalid.study(wide, metric="dice").judged.kind == "open"


def test_an_interval_does_not_contradict_what_was_corrected_over_many():
    """The pair alone is shown, among three models it is not: the sentence and its interval change together."""
    frame = wide(12, 13, good=0.008, near=0.0, third=0.0)
    assert re.search(r"above near \(-0\.\d+ to 0\.\d+; 12 patients\): open", said(frame)[0])
    assert said(frame.drop("third"))[0].startswith("good is better than near in dice by 0.01")


def test_ends_of_an_interval_have_the_digits_of_its_value():
    frame = wide(12, good=0.0, bad=1.1).with_columns(pl.col("good", "bad") * 10)
    assert re.search(r" by 1\d\.\d \(1\d\.\d to 1\d\.\d; 12 patients\)", said(frame, metric="hd95")[0])
    close = wide(12, good=0.0, bad=0.13).with_columns(pl.col("good", "bad") * 10)
    assert re.search(r" by 1\.\d \(\d\.\d to \d\.\d; 12 patients\)", said(close, metric="hd95")[0])


def test_scores_that_are_not_there_and_count_are_said_in_the_verdict():
    holes = with_holes(wide(12, good=0.1, bad=0.0), "bad", 5)
    assert "The same if 5 missing scores of bad count as the worst value, 0." in said(holes)
    assert "5 missing scores of bad count as was asked: drop-score." in said(holes, missing="drop-score")
    one = with_holes(wide(12, good=0.1, bad=0.0), "bad", 1)
    assert "The same if 1 missing score of bad counts as the worst value, 0." in said(one)


def test_a_model_that_is_the_same_everywhere_has_no_interval():
    frame = wide(9, only=0.0).with_columns(dice=pl.lit(0.8)).drop("only")
    assert said(frame)[0].startswith("table reaches dice 0.800 in 9 patients, without an interval;")


def with_holes(frame: pl.DataFrame, model: str, cases: int | str) -> pl.DataFrame:
    """Two frames of every patient; the first so many scores of a model are missing, or those of one frame."""
    both = pl.concat([frame.with_columns(frame=pl.lit(name)) for name in "ab"]).with_row_index("place")
    empty = pl.col("frame") == cases if isinstance(cases, str) else pl.col("place") < cases
    return both.with_columns(pl.when(empty).then(None).otherwise(pl.col(model)).alias(model)).drop("place")


def test_nobody_wins_by_scores_that_are_not_there_unless_that_was_asked_for():
    holes = with_holes(wide(12, good=0.1, bad=0.0), "good", "a")
    result = surgvalid.study(holes, metric="dice")
    assert (result.judged.kind, result.judged.winner) == ("depends", None)
    assert title_of(result.judged) == "It depends on what missing scores mean"
    assert result.verdict[0] == (
        "It depends on what 12 missing scores of good mean: left out, good does better in dice (by 0.098; 12 "
        "patients); counted as the worst value, bad does better (by 0.251); "
        "say it with --missing worst or --missing drop-score."
    )
    assert said(holes, missing="worst")[0].startswith("bad is better than good in dice by 0.25")
    assert said(holes, missing="drop-case")[0].startswith("good is better than bad in dice by 0.09")


def test_a_difference_that_both_readings_of_missing_scores_show_is_named():
    assert said(with_holes(wide(12, good=0.3, bad=0.0), "bad", 5))[0].startswith("good is better than bad in dice")


def test_who_shares_the_best_value_may_still_beat_others():
    frame = wide(12, one=0.1, bad=-0.2).with_columns(two=pl.col("one"))
    assert re.search(r"open which model does better; (one|two) is better than bad\.$", said(frame)[0])


def test_the_paragraph_says_why_pairs_are_held_together():
    two, three = (surgvalid.study(wide(9, **shift), metric="dice").prose for shift in (
        {"good": 0.1, "bad": 0.0}, {"good": 0.1, "bad": 0.0, "worse": -0.1}))  # fmt: skip
    assert "over all pairs of models, since the best one was found on the same data:" in three
    assert "holds every one that the exact sign-flip test does not reject." in two


def test_a_statistic_without_a_test_is_said_to_have_none() -> None:
    table = {
        "patient": [f"p{n // 4}" for n in range(40)] * 2,
        "frame": list(range(40)) * 2,
        "model": ["A"] * 40 + ["B"] * 40,
        "dice": [0.6 + n / 999 for n in range(40)] + [0.7 + n / 990 for n in range(40)],
    }
    result = surgvalid.compare(table, "A", "B", statistic="median")
    assert result.verdict[0].endswith(
        "and ahead in 10 of 10 patients: this statistic has no test here, so no winner is named; the mean has one."
    )
    assert title_of(result.judged) == "B leads; the statistic has no test"


def test_one_patient_that_is_most_of_a_distance_is_named():
    """A distance of 999 stood for no value: "better, by 72 HD95" was one patient's."""
    far = wide(14, good=0.0, plain=0.1).with_columns(
        plain=pl.when(pl.col("patient") == "p04").then(999).otherwise("plain")
    )
    result = surgvalid.study(far, metric="HD95")
    sentence = next(one for one in result.verdict if "alone" in one)
    assert re.fullmatch(r"p04 alone makes up 100 % of the difference; without it 0\.10\d\.", sentence)
    assert not [one for one in said(wide(14, good=0.0, plain=0.1), metric="HD95") if "alone" in one]


def test_an_interval_that_ends_at_nothing_has_no_minus():
    halves = [0.7, 0.8, 0.6, 0.75] * 3
    ahead = [value + 0.05 * (place < 4) for place, value in enumerate(halves)]
    frame = pl.DataFrame({"patient": [f"p{n}" for n in range(12)], "A": halves, "B": ahead})
    assert "(0.000 to 0.033; 12 patients): open" in said(frame)[0]


def test_too_few_patients_for_many_models_are_not_said_to_be_ahead_by_less_than_nothing():
    first = said(wide(8, **{f"m{place:02d}": 0.0 for place in range(25)}))[0]
    assert re.match(
        r"m\d\d is ahead of m\d\d in [5-7] of 8 patients, with differences of -0\.0\d+ to 0\.0\d+ in dice: eight "
        r"patients cannot show",
        first,
    )


def test_a_metric_that_nobody_can_read_is_told_beside_the_winner():
    long = wide(12, good=0.1, plain=0.0).unpivot(index="patient", variable_name="model", value_name="Dice")
    told = said(long.with_columns(wynik=pl.Series(np.linspace(0.1, 0.9, 24))), metric=None)
    assert "Not looked at: wynik, of unknown direction (--better NAME=larger or NAME=smaller)." in told
    age = pl.col("patient").str.tail(2).cast(pl.Float64) + 40.5
    assert not any("Not looked at" in one for one in said(long.with_columns(alter=age, dauer=age), metric=None))


def test_a_difference_of_nothing_has_no_unit_that_makes_it_up():
    gaps = np.array([0.3, -0.29, 0.2, -0.21, 0.1, -0.1, 0.25, -0.24])
    rows = {"patient": [f"p{i}" for i in range(8)], "a": 2 + gaps, "b": np.full(8, 2.001)}
    assert not any("makes up" in one for one in said(rows, metric=None, better="larger"))


def test_a_sure_mean_over_patients_goes_against_a_mere_lead_over_all_cases():
    rows = [("p0", f, 0.5, 0.44) for f in range(100)] + [
        (f"p{p}", f, 0.5, 0.53) for p in range(1, 12) for f in range(4)
    ]
    made = surgvalid.study(pl.DataFrame(rows, schema=["patient", "frame", "a", "b"], orient="row"), metric="dice")
    assert title_of(made.judged) == "It depends on whether cases or patients count alike"
    assert "over all cases a leads" in made.verdict[0]
    assert "in the mean over 12 patients b" in made.verdict[0]


def test_what_a_computer_leaves_of_nothing_is_nothing():
    rows = {"patient": [f"p{i}" for i in range(20)], "a": [1] * 20, "b": [0 if i in (3, 8) else 1 for i in range(20)]}
    assert "10.0 points above b (0.0 to 25.0 points; 20 patients)" in said(rows, metric="correct")[0]
