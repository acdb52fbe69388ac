"""Every sentence that a verdict can say, and the table that makes it say so."""

import itertools
import re

import numpy as np
import polars as pl
import pytest

import surgeval
from surgeval.errors import DirectionUnknown, TableInvalid
from surgeval.stats.corrections import adjusted
from surgeval.stats.paired_tests._flip_p import flip_p


def wide(patients: int, seed: int = 0, **shift: float) -> pl.DataFrame:
    """A case per patient, a column per model: a common level, the model's shift, and noise of its own."""
    rng = np.random.default_rng(seed)
    level = rng.normal(0.6, 0.05, patients)
    models = {name: np.round(level + by + rng.normal(0, 0.01, patients), 4) for name, by in shift.items()}
    return pl.DataFrame({"patient": [f"p{i:02d}" for i in range(patients)], **models})


def said(frame: pl.DataFrame, **options) -> list[str]:
    return list(surgeval.study(frame, **{"metric": "dice", **options}).verdict)


def test_a_model_that_is_better_than_all_is_called_so():
    sentences = said(wide(12, good=0.1, plain=0.0))
    assert sentences[0] == "good is better than plain."
    assert sentences[1].startswith("The next is plain, 0.098 lower (95% interval of the advantage 0.09")
    assert len(sentences) == 2


def test_many_beaten_models_are_not_listed():
    assert said(wide(20, a=0.2, b=0.1, c=0.05, d=0.0, e=-0.1))[0] == "a is better than every other model."


def test_models_that_cannot_be_told_apart_are_named():
    sentences = said(wide(12, good=0.1, near=0.0999, bad=-0.1))
    assert sentences[0].endswith(
        "is better than bad, but cannot be told apart from " + ("near." if "good" in sentences[0][:4] else "good.")
    )


def test_nothing_is_concluded_where_nothing_can_be():
    frame = wide(12, one=0.0, two=0.0)
    assert said(frame)[0].endswith("nothing can be concluded about who is better.")
    needed = said(frame)[-1]
    assert needed.startswith(("If the true difference", "The difference to"))


def test_a_tie_that_is_not_equality_is_called_one():
    """Not `0.000 higher`."""
    frame = wide(8, one=0.0).with_columns(two=pl.col("one") + pl.Series([0.01, -0.01] * 4))
    next_best = said(frame)[1]
    assert re.match(r"The next is (one|two), as high to the digits shown \(95% interval of the advantage -0", next_best)


def test_equal_models_are_called_equal():
    frame = wide(8, one=0.0).with_columns(two=pl.col("one"))
    assert said(frame) == [
        "All models have the same dice; nothing can be concluded about who is better.",
        "one and two are equal in every patient.",
    ]


def test_models_that_differ_in_few_patients_are_not_blamed_on_the_number_of_patients():
    frame = wide(12, one=0.0).with_row_index("place")
    frame = frame.with_columns(two=pl.col("one") - 0.3 * (pl.col("place") < 5)).drop("place")
    assert said(frame)[-1] == (
        "one and two differ in 5 of 12 patients only, too few to show anything: the smallest p-value possible is 0.062."
    )


def test_the_smallest_p_value_says_what_it_was_corrected_for():
    frame = wide(8, **{name: 0.01 * place for place, name in enumerate("abcdefgh")})
    assert said(frame)[-1].endswith("the smallest p-value possible is 0.219 after correction over 28 pairs of models.")


def test_a_verdict_on_one_of_several_metrics_says_so():
    long = wide(8, one=0.0, two=0.1).unpivot(index="patient", variable_name="model", value_name="value")
    both = pl.concat([long.with_columns(metric=pl.lit(name)) for name in ("dice", "iou")])
    codes = [finding.code for finding in surgeval.study(both).findings]
    assert "other-metrics" in codes
    assert "other-metrics" not in [finding.code for finding in surgeval.study(both, metric="iou").findings]


def test_so_few_patients_that_no_test_can_show_anything():
    sentences = said(wide(5, good=0.3, bad=0.0))
    assert "nothing can be concluded" in sentences[0]
    assert sentences[-1] == (
        "With 5 patients no difference could reach significance, however large: the smallest p-value possible is 0.062."
    )


def test_two_patients_carry_no_interval():
    assert "carry no interval of the difference" in said(wide(2, good=0.3, bad=0.0))[1]


def test_one_model_is_not_compared():
    frame = wide(9, only=0.0).rename({"only": "dice"})
    assert said(frame)[0].endswith("; there is no other model to compare with.")
    assert "do not carry an interval" in said(frame.head(2))[0]


def test_smaller_is_better_where_it_is():
    frame = wide(12, good=-0.1, bad=0.1)
    assert said(frame, metric="hd95")[0] == "good is better than bad."
    assert "higher" in said(frame, metric="hd95")[1]


def test_an_unknown_direction_is_asked_for():
    with pytest.raises(DirectionUnknown, match="score"):
        said(wide(12, good=0.1, bad=0.0), metric=None)
    assert said(wide(12, good=0.1, bad=0.0), metric=None, better="smaller")[0] == "bad is better than good."


def test_tables_without_patients_are_warned_of():
    frame = wide(12, good=0.1, bad=0.0).drop("patient")
    result = surgeval.study(frame, metric="dice")
    assert [one.code for one in result.findings if one.code == "no-patients"] == ["no-patients"]
    assert "patient" not in result.verdict[0]


def test_p_values_are_corrected_over_all_pairs():
    frame = wide(10, a=0.02, b=0.01, c=0.0, d=0.0)
    result = surgeval.study(frame, metric="dice")
    long = surgeval.ScoreTable.of(result.scores.frame)
    models = result.table["model"].to_list()
    pairs = list(itertools.combinations(models, 2))
    p_values = [surgeval.compare(long, *pair).table["p_value"][0] for pair in pairs]
    wanted = dict(zip(pairs, adjusted(np.array(p_values), "holm"), strict=True))
    given = {(row["model_a"], row["model_b"]): row["p_corrected"] for row in result.tables["pairs"].to_dicts()}
    assert given == {pair: pytest.approx(p) for pair, p in wanted.items() if pair[0] == models[0]}


@pytest.mark.long
def test_equal_models_are_seldom_called_better():
    """The family-wise error of naming a winner among five equal models, over 200 data sets."""
    claims = sum(
        "nothing can be concluded" not in said(wide(8, seed, **dict.fromkeys("abcde", 0.0)))[0] for seed in range(200)
    )
    assert claims <= 20  # 5 % of 200 is 10; more than 20 has a probability below 0.002


def test_the_page_says_the_verdict_and_what_was_taken_for_what(tmp_path):
    frame = wide(9, good=0.1, bad=0.0)
    result = surgeval.study(frame, metric="dice")
    result.to_dir(tmp_path / "out")
    text = (tmp_path / "out" / "study.html").read_text()
    assert "<h1>good is better than bad.</h1>" in text
    assert "each of the columns" in text.casefold()
    again = surgeval.interval(tmp_path / "out")
    values = [dict(table.select("model", "value").iter_rows()) for table in (again.table, result.table)]
    assert values[0] == pytest.approx(values[1])


def test_the_page_names_the_level_that_was_asked_for(tmp_path):
    result = surgeval.study(wide(9, good=0.1, bad=0.0), metric="dice", level=0.9)
    result.to_dir(tmp_path / "out")
    text = (tmp_path / "out" / "study.html").read_text()
    assert "Values with 90 % intervals" in text
    assert "95 %" not in text


def test_a_condition_that_cannot_be_compared_is_warned_of_and_costs_no_other():
    frame = wide(9, good=0.1, bad=0.0).with_columns(
        smoke=pl.Series(["yes", "no", "half"] * 3), age=pl.Series([40.5 + i for i in range(9)])
    )
    result = surgeval.study(frame, metric="dice", models=("good", "bad"))
    assert result.tables["strata"]["column"].unique().to_list() == ["smoke"]
    warned = [one for one in result.findings if one.code == "condition-not-compared"]
    assert [one.subject for one in warned] == ["Condition age"]
    assert "could not be compared: " in warned[0].message
    assert "give bins" in warned[0].message
    assert warned[0].text in result.warnings


def test_what_strata_warn_of_is_said_by_the_study():
    frame = wide(9, good=0.1, bad=0.0).with_columns(smoke=pl.Series(["yes"] * 2 + ["no"] * 7))
    assert any("smoke=yes: 2 videos: no interval" in text for text in surgeval.study(frame, metric="dice").warnings)


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
    result = surgeval.study(frame)
    row = result.tables["pairs"].row(0, named=True)
    assert (row["model_a"], row["model_b"]) == ("one", "two")
    assert row["difference"] > 0 > row["difference_videos"]
    assert "is better than" not in " ".join(result.verdict)
    assert any("in the mean over patients it is behind" in sentence for sentence in result.verdict)
    assert not any("needs roughly" in sentence for sentence in result.verdict)


def test_a_significant_pooled_difference_is_no_win_where_patients_disagree():
    """Pooled p = 2 / 2^12 with every patient on one side, were it not for the mean over patients."""
    groups = {f"p{i:02d}": [(0.9, 0.8, 60)] for i in range(12)} | {f"q{i:02d}": [(0.1, 0.9, 1)] for i in range(3)}
    result = surgeval.study(long_table(**groups))
    row = result.tables["pairs"].row(0, named=True)
    if row["p_corrected"] < 0.05:
        assert row["difference_videos"] < 0
    assert "is better than" not in result.verdict[0]


def test_models_scored_on_different_patients_are_compared_on_those_both_have():
    both = {f"p{i}": [(0.8 + 0.01 * i, 0.7 + 0.012 * i, 3)] for i in range(8)}
    spared = {f"q{i}": [(0.8, float("nan"), 3)] for i in range(8)}
    unlike, alike = surgeval.study(long_table(**both, **spared)), surgeval.study(long_table(**both))
    assert unlike.table["value"].to_list() == alike.table["value"].to_list()
    assert unlike.verdict[0] == alike.verdict[0]
    assert "8 patients that every model has scores of" in unlike.verdict[1]
    warned = [one for one in unlike.findings if one.code == "unlike-patients"]
    assert "one: 16 and two: 8 of 16" in warned[0].message
    asked = surgeval.study(long_table(**both, **spared), missing="worst")
    assert asked.table.filter(model="two")["value"].item() == pytest.approx(alike.table["value"][-1] / 2)
    assert "unlike-patients" not in [one.code for one in asked.findings]


def test_models_without_a_common_patient_are_not_compared():
    frame = long_table(**{f"p{i}": [(0.8, float("nan"), 3)] for i in range(6)},
                       **{f"q{i}": [(float("nan"), 0.8, 3)] for i in range(6)})  # fmt: skip
    with pytest.raises(TableInvalid, match="none was scored for all of them"):
        surgeval.study(frame)


def test_a_refused_case_is_no_absent_patient():
    frame = wide(9, good=0.1, bad=0.0).unpivot(index="patient", variable_name="model", value_name="dice")
    frame = frame.with_columns(case=pl.col("patient"), status=pl.lit("answered"))
    failed = (pl.col("model") == "bad") & (pl.col("patient") == "p00")
    frame = frame.with_columns(
        dice=pl.when(failed).then(None).otherwise("dice"),
        status=pl.when(failed).then(pl.lit("failed")).otherwise("status"),
    )
    result = surgeval.study(frame, columns={"value": "dice", "video": "patient"})
    assert result.tables["patients"].filter(model="bad", video="p00")["value"].to_list() == [0.0]
    assert "unlike-patients" not in [one.code for one in result.findings]


def test_no_model_alone_is_blamed_for_a_tie():
    rows = {"patient": list("abcdefgh"), "one": [0.0, 0.2, *[0.9] * 6], "two": [0.0, 0.3, *[0.8] * 6],
            "three": [0.0, 0.2, *[0.7] * 6]}  # fmt: skip
    hard = surgeval.study(pl.DataFrame(rows), metric="dice").tables["hard_cases"]
    assert hard["worst"].to_list()[:3] == ["all models", "one, three", "three"]


def test_cases_as_hard_as_the_last_one_listed_are_counted():
    frame = wide(40, one=0.0).with_columns(one=pl.lit(0.0), two=pl.lit(0.5).repeat_by(1).list.first())
    result = surgeval.study(frame, metric="dice")
    assert any("40 cases are as hard as the last of the list" in note for note in result.notes)


def test_models_that_share_the_best_value_are_named_together():
    frame = wide(12, one=0.1, bad=-0.2).with_columns(two=pl.col("one").reverse())
    assert said(frame)[0].startswith("one and two share the highest dice: nothing can be concluded about who of them")


def patients_like_these(rng: np.random.Generator, patients: int, shift: float) -> tuple[np.ndarray, np.ndarray]:
    """Sums of paired differences and numbers of cases; one patient in ten holds most of the cases."""
    sizes = np.where(np.arange(patients) % 10 == 0, 300, 8)
    return sizes * rng.normal(shift, 0.1, patients), sizes


def test_the_advice_on_the_number_of_patients_is_about_right_where_few_hold_most_cases():
    """The number advised shows the difference in about four studies of five; before, it was three times as large."""
    shift = 0.05
    sums, sizes = patients_like_these(np.random.default_rng(5), 20, shift)
    means = sums / sizes - (sums.sum() / sizes.sum() - shift)  # what was seen is the truth
    groups = {f"p{i:02d}": [(0.5 + gap, 0.5, int(n))] for i, (gap, n) in enumerate(zip(means, sizes, strict=True))}
    result = surgeval.study(long_table(**groups))
    wanted = int(re.search(r"roughly ([\d,]+) patients", result.verdict[-1])[1].replace(",", ""))
    row = result.tables["pairs"].row(0, named=True)
    assert wanted < 0.4 * row["videos"] * (row["min_detectable"] / row["difference"]) ** 2
    rng = np.random.default_rng(4)
    studies = np.stack([patients_like_these(rng, wanted, shift)[0] for _ in range(200)], axis=1)
    assert 0.6 < np.mean(flip_p(studies) < 0.05) < 0.95


def test_a_wide_table_of_a_metric_that_nobody_named_is_told_how_to_name_it() -> None:
    wide = pl.DataFrame({"patient": [f"p{n % 6}" for n in range(24)], "case": [f"c{n}" for n in range(24)]})
    wide = wide.with_columns(A=pl.int_range(24) % 5 / 5, B=pl.int_range(24) % 7 / 7)
    with pytest.raises(DirectionUnknown, match="say which metric the table holds, such as --metric dice"):
        surgeval.study(wide)
    result = surgeval.study(wide, metric="dice")
    assert [finding for finding in result.findings if finding.code == "not-significant"] == [], "the verdict says it"


def test_an_interval_of_one_pair_does_not_contradict_what_was_corrected_over_many():
    frame = wide(12, 13, good=0.008, near=0.0, third=0.0)
    sentences = said(frame)
    assert "cannot be told apart from near" in sentences[0]
    assert re.search(r"\(95% interval of the advantage 0\.\d+ to 0\.\d+, for this pair alone\)\.", sentences[1])
    assert "for this pair alone" not in said(frame.drop("third"))[1]


def test_ends_of_an_interval_have_the_digits_of_its_value():
    frame = wide(12, good=0.0, bad=1.1).with_columns(pl.col("good", "bad") * 10)
    assert re.search(
        r", 1\d\.\d higher \(95% interval of the advantage 1\d\.\d to 1\d\.\d\)", said(frame, metric="hd95")[1]
    )
    close = wide(12, good=0.0, bad=0.13).with_columns(pl.col("good", "bad") * 10)
    assert re.search(
        r", 1\.\d higher \(95% interval of the advantage \d\.\d to \d\.\d\)", said(close, metric="hd95")[1]
    )


def test_scores_that_are_not_there_and_count_are_said_in_the_verdict():
    frame = wide(12, good=0.1, bad=0.0)
    cases = pl.concat([frame.with_columns(frame=pl.lit(name)) for name in "ab"]).with_row_index("place")
    holes = cases.with_columns(bad=pl.when(pl.col("place") < 5).then(None).otherwise(pl.col("bad"))).drop("place")
    sentences = said(holes)
    assert (
        "5 of 24 scores of bad are not there and count as the worst value, 0: part of its distance is that."
        in sentences
    )
    dropped = said(holes, missing="drop-score")
    assert not [one for one in dropped if "count as the worst" in one]


def test_equal_patients_are_not_blamed_on_their_number():
    frame = wide(9, only=0.0).with_columns(dice=pl.lit(0.8)).drop("only")
    assert said(frame)[0] == (
        "table reaches dice 0.800, the same in each of 9 patients, so nothing can be said about other patients."
    )


def test_nobody_wins_by_scores_that_are_not_there_unless_that_was_asked_for():
    frame = wide(12, good=0.1, bad=0.0)
    cases = pl.concat([frame.with_columns(frame=pl.lit(name)) for name in "ab"]).with_row_index("place")
    holes = cases.with_columns(good=pl.when(pl.col("frame") == "a").then(None).otherwise(pl.col("good"))).drop("place")
    sentences = said(holes)
    assert (
        sentences[0]
        == "bad has the highest dice, but cannot be told apart from good: nothing can be concluded about who is better."
    )
    depends = next(one for one in sentences if "only as long as" in one)
    assert depends == (
        "bad is ahead of good only as long as scores that are not there count as the worst value; where both have one, "
        "good is 0.098 higher: no winner is named between them; say with --missing what such a score counts as."
    )
    assert said(holes, missing="worst")[0] == "bad is better than good."
    assert said(holes, missing="drop-case")[0] == "good is better than bad."


def test_a_difference_that_the_scores_at_hand_show_too_is_named():
    frame = wide(12, good=0.3, bad=0.0)
    cases = pl.concat([frame.with_columns(frame=pl.lit(name)) for name in "ab"]).with_row_index("place")
    holes = cases.with_columns(bad=pl.when(pl.col("place") < 5).then(None).otherwise(pl.col("bad"))).drop("place")
    assert said(holes)[0] == "good is better than bad."
    assert not [one for one in said(holes) if "only as long as" in one]


def test_who_shares_the_best_value_may_still_beat_others():
    frame = wide(12, one=0.1, bad=-0.2).with_columns(two=pl.col("one"))
    assert said(frame)[0].endswith("who of them is better. Of the others, one is better than bad.")


def test_a_difference_too_small_to_chase_is_called_so():
    frame = wide(12, one=0.0).with_row_index("place")
    frame = frame.with_columns(two=pl.col("one") + 0.02 * (-1) ** pl.col("place") + 0.00001).drop("place")
    assert said(frame)[-1].endswith("is so small that a hundred times as many patients might not show it.")


def test_many_models_without_scores_are_counted():
    frame = wide(12, **{name: 0.01 * place for place, name in enumerate("abcdef")})
    cases = pl.concat([frame.with_columns(frame=pl.lit(name)) for name in "xy"]).with_row_index("place")
    holes = cases.with_columns(
        pl.when(pl.col("place") == n).then(None).otherwise(pl.col(name)).alias(name) for n, name in enumerate("abcde")
    ).drop("place")
    wanted = "5 models lack scores, which count as a number put in their place: part of their distance is that."
    assert wanted in said(holes)


def test_of_many_models_behind_by_absent_scores_two_are_named():
    frame = wide(12, best=0.0, **dict.fromkeys("abcd", 0.1))
    cases = pl.concat([frame.with_columns(frame=pl.lit(name)) for name in "xy"])
    holes = cases.with_columns(pl.when(pl.col("frame") == "x").then(None).otherwise(pl.col(*"abcd")).name.keep())
    sentences = said(holes)
    assert len([one for one in sentences if "only as long as" in one]) == 2
    assert "The same holds of 2 other models." in sentences
    equal = wide(12, one=0.0).with_columns(two=pl.col("one"))
    pair = pl.concat([equal.with_columns(frame=pl.lit(name)) for name in "xy"])
    pair = pair.with_columns(two=pl.when(pl.col("frame") == "x").then(None).otherwise(pl.col("two")))
    assert any("where both have one, they are equal: no winner" in one for one in said(pair))


def test_what_a_study_warns_of_is_worded_for_its_reader():
    def words(frame: pl.DataFrame, **options) -> str:
        result = surgeval.study(frame, **options)
        return " ".join([result.prose, *(one.text for one in result.findings), *result.tables["readings"]["sentence"]])

    both = words(wide(9, good=0.1, bad=0.0).drop("patient"), metric="dice")
    assert "no column names patients or videos, so every case counts as independent" in both
    assert "over all pairs of models, since the best one was found on the same data." in both
    long = wide(9, one=0.0, two=0.1).unpivot(index="patient", variable_name="model", value_name="value")
    several = pl.concat([long.with_columns(metric=pl.lit(name)) for name in ("dice", "iou")])
    assert "'dice' alone; the table scores 'iou' too, which may name another model: choose with" in words(several)
    spared = long_table(**{f"p{i}": [(0.8, 0.7 + 0.01 * i, 3)] for i in range(8)}, q=[(0.8, float("nan"), 3)])
    assert "models were scored on different patients (one: 9 and two: 8 of 9)" in words(spared)
    assert "patients (one: 9 and two: 8 of 9): everything here is about the 8 that all of them have," in words(spared)
    table = surgeval.ScoreTable.of(long.rename({"patient": "case"}).with_columns(metric=pl.lit("dice")))
    assert "the table is a score table already" in words(table)
