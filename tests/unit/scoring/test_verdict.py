"""Every sentence that a verdict can say, and the table that makes it say so."""

import itertools

import numpy as np
import polars as pl
import pytest

import surgeval
from surgeval.errors import DirectionUnknown, Misuse
from surgeval.stats.corrections import adjusted


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
    assert said(frame)[-1].endswith("the smallest p-value possible is 0.22 after correction over 28 pairs of models.")


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


def test_conditions_that_cannot_be_compared_are_named(monkeypatch):
    frame = wide(9, good=0.1, bad=0.0).with_columns(smoke=pl.Series(["yes", "no", "half"] * 3))
    assert "strata" in surgeval.study(frame, metric="dice").tables

    def refuse(*_, **__):
        raise Misuse("too few")

    monkeypatch.setattr("surgeval.scoring.study.strata", refuse)
    result = surgeval.study(frame, metric="dice")
    assert "strata" not in result.tables
    assert "Conditions (smoke) could not be compared: too few" in result.notes
