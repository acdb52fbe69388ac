"""Whom effects are for: these models on average, or models like these; and where they depend on the model."""

import numpy as np
import polars as pl
import pytest
from docs.validate_models import Truth, answers, rejected
from scipy import stats

from surgvalid.errors import Misuse
from surgvalid.stats.mixed.failures import failures
from surgvalid.stats.mixed.inference.by_model import Slopes
from surgvalid.stats.mixed.inference.term_tests import effect_symbol

ASKED = {"outcome": "value", "fixed": ["smoke"], "better": "larger"}
VARYING = Truth(4, 14, real=True, model_sd=0.6)


def row(result: object, term: str = "smoke") -> dict[str, object]:
    return result.table.filter(pl.col("term") == term).row(0, named=True)  # type: ignore[attr-defined]


def codes(result: object) -> list[str]:
    return [finding.code for finding in result.findings]  # type: ignore[attr-defined]


def test_effects_are_said_to_be_those_of_these_models_on_average() -> None:
    result = failures(answers(VARYING, 0), family="gaussian", **ASKED)
    assert "Effects are for these 4 models, on average." in result.prose
    assert not any("stand for others" in str(decision) for decision in result.decisions)
    like = failures(answers(VARYING, 0), family="gaussian", models_like_these=True, **ASKED)
    assert "Effects are for models like these 4" in like.prose
    assert "few-models" in codes(like)


def test_models_like_these_are_tested_by_three_mean_squares() -> None:
    """A balanced real-valued table is a two-way layout of slopes, so the test can be made by hand."""
    frame = answers(VARYING, 1)
    found = row(failures(frame, family="gaussian", models_like_these=True, **ASKED))
    means = frame.group_by("video", "model", "smoke").agg(pl.col("value").mean())
    wide = means.pivot("smoke", index=["video", "model"], values="value").with_columns(slope=pl.col("1") - pl.col("0"))
    slopes = wide.pivot("model", index="video", values="slope").drop("video").to_numpy()
    videos, models = slopes.shape
    mean, by_model, by_video = slopes.mean(), slopes.mean(axis=0), slopes.mean(axis=1)
    of_models = videos * ((by_model - mean) ** 2).sum() / (models - 1)
    of_videos = models * ((by_video - mean) ** 2).sum() / (videos - 1)
    left = slopes - by_model - by_video[:, None] + mean
    rest = (left**2).sum() / ((models - 1) * (videos - 1))
    squares = np.array([of_models, of_videos, -rest])
    freedom = np.array([models - 1, videos - 1, (models - 1) * (videos - 1)])
    df = squares.sum() ** 2 / (squares**2 / freedom).sum()
    error = np.sqrt(squares.sum() / (models * videos))
    assert found["estimate"] == pytest.approx(mean, rel=1e-3)
    # The fit spreads what is left over effects of (video, model) and frames; mean squares pool it.
    assert (found["std_error"], found["df"]) == (pytest.approx(error, rel=0.03), pytest.approx(df, rel=0.05))
    assert found["p_value"] == pytest.approx(2 * stats.t.sf(abs(mean / error), df), abs=0.01)


def test_the_error_is_never_below_the_smaller_margin() -> None:
    alike = Slopes("x", tuple("ABCD"), np.full(4, 0.5), 0.04 * np.eye(4) + 0.01)
    mean, error, _ = alike.over_models_like_these(13)
    assert (mean, error) == (0.5, 0.1)
    apart = Slopes("x", tuple("ABCD"), np.array([2.0, -1.0, 0.5, 0.5]), 0.04 * np.eye(4))
    assert apart.over_models_like_these(13)[1] > 0.6


@pytest.mark.long
@pytest.mark.parametrize("real", [False, True])
def test_absent_effects_are_seldom_found_for_models_like_these(real: bool) -> None:
    """Over videos alone 30 to 48 % of such tables had p <= .05 (45 of 100 here); 5 in 40 is a chance of 1 in 20."""
    assert rejected(Truth(4, 14, real), like_these=True, repetitions=40) <= 0.125


def test_three_models_are_not_taken_as_a_sample_of_others() -> None:
    frame = answers(Truth(3, 10, real=True), 0)
    plain, asked = (failures(frame, family="gaussian", models_like_these=like, **ASKED) for like in (False, True))
    assert row(asked)["p_value"] == row(plain)["p_value"]
    assert "these 3 models, on average" in asked.prose
    assert any("3 models cannot stand for others" in warning for warning in asked.warnings)
    with pytest.raises(Misuse, match="tells them apart"):
        failures(frame.filter(model="m0"), family="gaussian", models_like_these=True, **ASKED)


def test_a_property_that_harms_models_differently_depends_on_the_model() -> None:
    apart = failures(answers(Truth(4, 12, real=True, model_sd=1.0), 2), family="gaussian", **ASKED)
    text = next(finding.text for finding in apart.findings if finding.code == "depends-on-model")
    assert "it depends on the model" in text
    assert all(f"m{number} " in text for number in range(4))
    alike = failures(answers(Truth(4, 12, real=True, model_sd=0.0), 2), family="gaussian", **ASKED)
    assert "depends-on-model" not in codes(alike)


def test_what_surely_helps_one_model_and_harms_another_has_no_p_value_on_average() -> None:
    frame = answers(Truth(2, 12, real=True, model_sd=0.0), 3)
    moved = {"m0": 1.0, "m1": -1.4}
    opposed = frame.with_columns(value=pl.col("value") + pl.col("smoke") * pl.col("model").replace_strict(moved))
    found = failures(opposed, family="gaussian", **ASKED)
    shown = row(found)
    assert [shown[name] for name in ("p_value", "p_holm", "low", "high", "symbol")] == [None] * 4 + ["x"]
    assert "helps one model and harms another" in " ".join(found.warnings)
    moved = {"m0": -1.0, "m1": -3.0}
    harmed = frame.with_columns(value=pl.col("value") + pl.col("smoke") * pl.col("model").replace_strict(moved))
    both = failures(harmed, family="gaussian", **ASKED)
    assert "depends-on-model" in codes(both)
    assert row(both)["p_value"] < 0.01  # type: ignore[operator]


@pytest.mark.parametrize(
    ("moved", "words"),
    [
        ({"m0": -1.0, "m1": -3.0}, "all models are affected the same way, unequally (p < 0.001 by Holm); effect of"),
        ({"m0": 2.0, "m1": 4.0}, "all models are affected the same way, unequally"),
        ({"m0": 0.0, "m1": -2.0}, "it depends on the model (p < 0.001 by Holm): shown for m1, not for m0; effect of"),
        ({"m0": 1.0, "m1": -1.4}, "it depends on the model (p < 0.001 by Holm): one way for m0, the other way for m1;"),
    ],
)
def test_whether_all_models_are_harmed_or_one_is_told(moved: dict[str, float], words: str) -> None:
    frame = answers(Truth(2, 12, real=True, model_sd=0.0), 3)
    frame = frame.with_columns(value=pl.col("value") + pl.col("smoke") * pl.col("model").replace_strict(moved))
    found = failures(frame, family="gaussian", **ASKED)
    [text] = [finding.message for finding in found.findings if finding.code == "depends-on-model"]
    assert text.startswith(words)


def test_what_harms_all_models_unequally_is_established_and_no_model_has_to_be_chosen() -> None:
    frame = answers(Truth(2, 12, real=True, model_sd=0.0), 3)
    for moved, verdict in (
        ({"m0": -1.0, "m1": -3.0}, "established"),
        ({"m0": 0.0, "m1": -2.0}, "depends on the model"),
    ):
        score = 0.6 + (pl.col("value") + pl.col("smoke") * pl.col("model").replace_strict(moved)) / 20
        found = failures(
            frame.with_columns(dsc=score),
            family="gaussian",
            transform="none",
            recommend=True,
            **ASKED | {"outcome": "dsc"},
        )
        advice = found.tables["recommendations"].row(0, named=True)
        assert advice["verdict"] == verdict
        assert ("--models" in advice["advice"]) == (verdict != "established")


def test_few_videos_are_warned_of_by_their_number_and_have_no_symbol_below_six() -> None:
    strong = Truth(4, 5, real=True, model_sd=0.0, effect=-3.0)
    five = failures(answers(strong, 0), family="gaussian", **ASKED)
    assert "5 videos: the spread between videos is hardly known" in " ".join(five.warnings)
    assert (row(five)["symbol"], row(five)["p_value"] < 0.01) == ("", True)  # type: ignore[operator]
    assert "Most harmful" not in five.prose
    seven = failures(answers(strong._replace(videos=7), 0), family="gaussian", **ASKED)
    assert "7 videos: the spread between videos is hardly known" in " ".join(seven.warnings)
    assert row(seven)["symbol"] == "---"
    assert "few-videos" not in codes(failures(answers(strong._replace(videos=8), 0), family="gaussian", **ASKED))


def test_symbols_go_by_the_corrected_p() -> None:
    rng = np.random.default_rng(4)
    frame = answers(Truth(2, 12, real=True, model_sd=0.0, effect=-0.4), 5)
    noise = {f"n{number}": rng.integers(0, 2, frame.height) for number in range(6)}
    found = failures(frame.with_columns(**{name: pl.Series(column) for name, column in noise.items()}),
                     outcome="value", fixed=["smoke", *noise], family="gaussian").table  # fmt: skip
    assert found["p_value"][1] <= 0.05 < found["p_holm"][1]
    assert found["symbol"][1] == ""


@pytest.mark.parametrize(("effect", "mark"), [(0.1, ""), (0.3, "+"), (0.6, "++"), (0.9, "+++"), (-0.9, "---")])
def test_real_outcomes_have_three_steps_in_standard_deviations(effect: float, mark: str) -> None:
    assert effect_symbol(2 * effect, 0.01, ratio=False, better="larger", sd=2.0) == mark
    assert effect_symbol(2 * effect, 0.2, ratio=False, better="larger", sd=2.0) == ""


def test_rows_of_a_video_are_not_independent_because_nobody_said_so() -> None:
    frame = answers(Truth(2, 9, real=True), 3)
    named = failures(frame, family="gaussian", random=["model", "video"], **ASKED)
    plain = failures(frame, family="gaussian", **ASKED)
    assert "independent-rows" not in codes(plain)
    assert row(plain)["df"] == row(named)["df"]
    patients = failures(frame.rename({"video": "patient"}), family="gaussian", **ASKED)
    assert "independent-rows" not in codes(patients)
    without = failures(frame.drop("video", "model"), family="gaussian", **ASKED)
    assert "no-unit" in codes(without)
    assert row(without)["p_value"] is None


def test_the_column_of_t_is_called_t() -> None:
    found = row(failures(answers(Truth(2, 9, real=True), 3), family="gaussian", **ASKED))
    assert "z" not in found
    assert found["t"] == pytest.approx(found["estimate"] / found["std_error"])  # type: ignore[operator]


def test_an_age_is_a_number_and_never_one_category_per_patient() -> None:
    frame = answers(Truth(2, 12, real=True), 3)
    aged = frame.with_columns(age=40.5 + 2 * pl.col("video").str.slice(1).cast(pl.Int64))
    asked = {"outcome": "value", "family": "gaussian", "better": "larger"}
    number = failures(aged, fixed=["age"], **asked).table
    text = failures(aged.with_columns(pl.col("age").cast(pl.String)), fixed=["age"], **asked).table
    assert number["term"].to_list() == text["term"].to_list() == ["(Intercept)", "age"]
    parted = failures(aged, fixed=["C(age)"], **asked)
    assert parted.table.height == 3
    assert "quantity-in-thirds" in codes(parted)


def test_without_properties_it_is_told_how_they_are_named() -> None:
    prose = failures(answers(Truth(2, 9, real=True), 3), family="gaussian", outcome="value", better="larger").prose
    assert "No property was named (--fixed)" in prose
    assert "Of 0" not in prose
