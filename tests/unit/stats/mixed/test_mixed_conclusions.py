"""What a failure analysis may not conclude: from few videos, from one video, from copies, from a rejected model."""

import numpy as np
import polars as pl
import pytest
from scipy import special

from mixed_data import nested_table
from surgvalid.errors import Misuse, TableInvalid, UnknownName
from surgvalid.stats.draws import stream
from surgvalid.stats.mixed.failures import failures
from surgvalid.stats.mixed.fit.fit import fit
from surgvalid.stats.mixed.inference.marginal import marginal_means
from surgvalid.stats.mixed.inference.term_fits import contained_freedom, slope_freedom, slope_rank, variation
from surgvalid.stats.mixed.inference.term_tests import term_tests
from surgvalid.stats.mixed.model.design import design_of, factor_of
from surgvalid.stats.mixed.model.formula import ModelFormula


def videos(count: int = 8, rows: int = 40, *, seed: int = 0, slope_sd: float = 0.0) -> pl.DataFrame:
    """0/1 answers of two models; `blood` of whole videos, `smoke` inside them, `lone` in one video only."""
    rng = stream(seed, "conclusions")
    video, smoke = np.repeat(np.arange(count), rows), rng.binomial(1, 0.4, count * rows)
    slope = rng.normal(0, slope_sd, count)
    eta = 0.5 + rng.normal(0, 0.7, count)[video] + slope[video] * smoke
    frame = pl.DataFrame({
        "video": np.char.add("v", video.astype(str)), "frame": np.char.add("f", np.arange(count * rows).astype(str)),
        "blood": (video % 2 == 0).astype(int), "lone": (video == 0).astype(int), "smoke": smoke,
        "once": ((video == 1) & (smoke == 1)).astype(int), "eta": eta,
    })  # fmt: skip
    both = pl.concat([frame.with_columns(model=pl.lit(name)) for name in ("A", "B")])
    answer = rng.binomial(1, special.expit(both["eta"].to_numpy()))
    return both.drop("eta").with_columns(correct=pl.Series(answer))


OPTIONS = {"outcome": "correct", "random": ["model", "video", "frame"]}


def row(result: object, term: str) -> dict[str, object]:
    return result.table.filter(pl.col("term") == term).row(0, named=True)  # type: ignore[attr-defined]


def test_degrees_of_freedom_count_videos_and_not_rows() -> None:
    result = failures(videos(), fixed=["blood", "smoke"], **OPTIONS)
    between, within = row(result, "blood"), row(result, "smoke")
    assert (between["df"], between["varies"], between["videos"]) == (6.0, "between", 8)
    assert (between["videos_with"], between["videos_without"]) == (4, 4)
    assert within["varies"] == "within"
    assert 7 <= within["df"] <= 14  # type: ignore[operator]
    assert not any("few-videos" in finding.code for finding in result.findings)
    few = failures(videos().filter(pl.col("video") != "v0"), fixed=["blood", "smoke"], **OPTIONS)
    assert any("7 videos: the spread between videos is hardly known" in warning for warning in few.warnings)


def test_a_property_of_one_video_is_not_assessed() -> None:
    """It was called a strong effect: one video of eight decided."""
    seldom = pl.col("frame").str.ends_with("7").cast(int)
    table = videos().with_columns(correct=pl.when(pl.col("lone") == 1).then(seldom).otherwise(pl.col("correct")))
    old = failures(table, fixed=["lone"], spec="ross", **OPTIONS)
    assert row(old, "lone")["symbol"] == "---"
    result = failures(table, fixed=["lone", "smoke"], **OPTIONS)
    lone = row(result, "lone")
    assert (lone["symbol"], lone["p_value"], lone["low"]) == ("x", None, None)
    assert lone["estimate"] is not None
    assert any("only one of 8 videos has it" in warning for warning in result.warnings)


def test_a_property_that_changes_inside_one_video_is_not_assessed() -> None:
    result = failures(videos(), fixed=["once"], **OPTIONS)
    assert row(result, "once")["symbol"] == "x"
    assert any("changes inside 1 of 8 videos only" in warning for warning in result.warnings)


def test_a_property_of_two_videos_is_warned_of() -> None:
    table = videos().with_columns(two=pl.col("video").is_in(["v0", "v1"]).cast(int))
    result = failures(table, fixed=["two"], **OPTIONS)
    assert row(result, "two")["p_value"] is not None
    assert any("two differs only in 2 of 8 videos" in warning for warning in result.warnings)


def test_an_effect_that_varies_gets_a_wider_interval_than_one_assumed_equal() -> None:
    table = videos(slope_sd=1.5, seed=3)
    free, equal = (row(failures(table, fixed=["smoke"], slopes=slopes, **OPTIONS), "smoke") for slopes in (True, False))
    assert free["std_error"] > 1.5 * equal["std_error"]  # type: ignore[operator]
    assert free["slope_sd"] > 0.5  # type: ignore[operator]
    assert equal["slope_sd"] is None
    off = failures(table, fixed=["smoke"], slopes=False, **OPTIONS)
    assert any("assumed equal in all videos" in warning for warning in off.warnings)


def test_the_paper_keeps_its_z_tests_and_says_what_they_are_worth() -> None:
    result = failures(videos(), fixed=["blood"], spec="ross", **OPTIONS)
    assert (row(result, "blood")["df"], row(result, "blood")["method"]) == (None, "z")
    assert any("up to 20 % false positives" in warning for warning in result.warnings)
    assert result.fit.method == "laplace"


@pytest.mark.parametrize("shift", [0.0, 100.0])
def test_the_test_of_a_slope_does_not_depend_on_the_coding(shift: float) -> None:
    table = videos(slope_sd=0.8).with_columns(smoke=3.0 * pl.col("smoke") + shift)
    plain = row(failures(videos(slope_sd=0.8), fixed=["smoke"], **OPTIONS), "smoke")
    other = row(failures(table, fixed=["smoke"], **OPTIONS), "smoke")
    assert other["t"] == pytest.approx(plain["t"], abs=2e-3)
    assert other["df"] == pytest.approx(plain["df"], abs=0.05)


def test_roles_go_by_name_and_not_by_position() -> None:
    table = videos(25, 6)
    alone = failures(table, outcome="correct", fixed=["smoke"], random=["video"])
    assert not any("on average" in str(decision) for decision in alone.decisions)
    turned = failures(table, outcome="correct", fixed=["smoke"], random=["frame", "video", "model"])
    assert turned.model_column == "model"
    renamed = failures(table.rename({"model": "network", "video": "case_id"}), outcome="correct", fixed=["smoke"],
                       random=["network", "case_id", "frame"],
                       columns={"model": "network", "video": "case_id"})  # fmt: skip
    assert renamed.model_column == "model"
    assert any("for these 2 models, on average" in str(decision) for decision in renamed.decisions)
    with pytest.raises(Misuse, match="model=COLUMN"):
        failures(table, outcome="correct", fixed=["smoke"], random=["video"], role="fixed")


def test_the_unit_can_be_named() -> None:
    table = nested_table(cell=1.0)
    counts = {"successes": "hits", "trials": "total", "fixed": ["smoke"], "random": ["instance", "image", "algorithm"]}
    assert "algorithm:instance" in failures(table, **counts).variance["group"].to_list()
    assert "algorithm:image" in failures(table, **counts, unit="image").variance["group"].to_list()


def test_counts_without_a_model_are_warned_of() -> None:
    table = nested_table(cell=1.0).rename({"algorithm": "arm"})  # names no model in any verb
    options = {"successes": "hits", "trials": "total", "fixed": ["smoke"], "random": ["arm", "instance"]}
    assert any("no random effect is called model" in warning for warning in failures(table, **options).warnings)


def test_copies_of_rows_are_refused() -> None:
    table = videos()
    with pytest.raises(TableInvalid, match=r"3 rows repeat others in every column .*model=A, frame=f0"):
        failures(pl.concat([table, table.head(3)]), fixed=["smoke"], **OPTIONS)
    with pytest.raises(TableInvalid, match="640 rows repeat"):
        failures(pl.concat([table, table]), fixed=["smoke"], **OPTIONS)


def test_equal_rows_that_can_be_different_cases_are_not_copies() -> None:
    table = videos().drop("frame")
    assert table.is_duplicated().any()
    assert failures(table, outcome="correct", fixed=["smoke"], random=["model", "video"]).fit.design.rows == 640


def test_clusters_are_honoured_where_a_score_stands_beside_counts() -> None:
    table = nested_table().with_columns(normal=pl.Series(stream(2, "scores").normal(size=120)))
    result = failures(table, outcome="normal", successes="hits", trials="total", fixed=["smoke"],
                      random=["algorithm", "image", "instance"], cluster="image")  # fmt: skip
    assert result.fit.family == "gaussian"
    assert result.marginal is not None


def test_what_separates_the_outcome_is_kept_penalised_and_in_brackets() -> None:
    table = videos(seed=5).with_columns(rare=(pl.int_range(640) % 11 == 0).cast(int))
    table = table.with_columns(correct=pl.when(pl.col("rare") == 1).then(0).otherwise(pl.col("correct")))
    result = failures(table, fixed=["rare", "smoke"], **OPTIONS)
    rare = row(result, "rare")
    assert rare["symbol"] == "(---)"
    assert -8 < rare["estimate"] < -2  # type: ignore[operator]
    assert "penalised profile" in str(rare["method"])
    assert any("held near zero by a penalty" in warning for warning in result.warnings)
    assert not any("Firth" in warning for warning in result.warnings)
    dropped = failures(table, fixed=["rare", "smoke"], separation="drop", **OPTIONS)
    assert row(dropped, "rare")["symbol"] == "x"


def test_notes_are_part_of_the_result_and_of_the_methods(tmp_path) -> None:
    result = failures(videos(), fixed=["smoke"], **OPTIONS)
    assert any("its variance is hardly known" in note for note in result.notes)
    result.to_dir(tmp_path / "out")
    written = (tmp_path / "out" / "methods.txt").read_text()
    assert all(line in written for line in (*result.warnings, *result.notes))


def test_marginal_means_of_three_categories_are_those_of_the_data() -> None:
    """Without random effects and other properties the mean of a category is its observed share."""
    rng = stream(4, "phases")
    phase = rng.choice(["a", "b", "c"], 300, p=[0.6, 0.3, 0.1])
    answer = rng.binomial(1, np.select([phase == "a", phase == "b"], [0.8, 0.5], 0.2))
    found = fit(pl.DataFrame({"phase": phase, "correct": answer}), "correct ~ phase")
    means = marginal_means(found, "phase").filter(pl.col("scale") == "conditional")
    assert means["mean"].to_list() == pytest.approx([answer[phase == level].mean() for level in "abc"], abs=1e-6)


def test_where_a_column_varies() -> None:
    table = videos(4, 10)
    design = design_of(table, ModelFormula("correct", None, ("blood", "smoke", "blood:smoke"), ("video",)))
    video = factor_of(table, "video")
    assert [variation(column, video).varies for column in design.fixed.T[1:]] == ["between", "within", "mixed"]
    assert contained_freedom(design, video)[:2].tolist() == [2.0, 2.0]
    assert slope_rank(design, "smoke", video) == 2
    assert slope_freedom(100.0, 4, 2) == 4.0


def test_independent_rows_are_said_to_be_so() -> None:
    found = fit(videos(), "correct ~ smoke")
    tests = term_tests(found, None)
    assert tests.findings[0].code == "independent-rows"
    assert tests.freedom("smoke") == float("inf")


def test_a_factor_is_tested_as_a_whole_and_by_pairs() -> None:
    phase = np.array(["a", "b", "c"])[stream(7, "phase").integers(0, 3, 320)]
    table = videos().with_columns(phase=pl.concat([pl.Series(phase), pl.Series(phase)]))
    result = failures(table, fixed=["phase", "smoke"], **OPTIONS)
    joint = result.tables["joint"].row(0, named=True)
    assert (joint["term"], joint["df1"], joint["df2"]) == ("phase", 2, 14.0)
    assert result.tables["pairs"]["contrast"].to_list() == ["a - b", "a - c", "b - c"]
    first = result.tables["pairs"].row(0, named=True)
    assert first["estimate"] == pytest.approx(-row(result, "phase[b]")["estimate"], abs=1e-6)  # type: ignore[operator]
    assert first["p_value"] >= row(result, "phase[b]")["p_value"]  # type: ignore[operator]
    other = failures(table.with_columns(phase=pl.col("phase").replace({"a": "z"})), fixed=["phase", "smoke"], **OPTIONS)
    assert other.tables["joint"]["p_value"][0] == pytest.approx(joint["p_value"], abs=1e-5)
    assert "joint" not in failures(table, fixed=["smoke"], **OPTIONS).tables


def test_slopes_of_what_is_no_property_are_refused() -> None:
    """A name with a slip was no slope at all, and effects counted as equal in all videos."""
    with pytest.raises(UnknownName, match="did you mean 'smoke'"):
        failures(videos(), fixed=["smoke"], slopes=["smok"], **OPTIONS)


def test_a_property_called_patient_is_no_forgotten_random_effect() -> None:
    result = failures(videos().rename({"smoke": "patient"}), fixed=["patient"], **OPTIONS)
    assert not any(finding.code == "video-not-modelled" for finding in result.findings)


def test_a_property_in_huge_units_is_tested_without_complaint() -> None:
    plain = row(failures(videos(), fixed=["smoke"], **OPTIONS), "smoke")
    huge = videos().with_columns(smoke=pl.col("smoke") * 1e12 + 1e15)
    assert row(failures(huge, fixed=["smoke"], **OPTIONS), "smoke")["p_value"] == pytest.approx(
        plain["p_value"], abs=1e-4
    )


def test_both_likelihoods_are_on_record_and_criteria_are_those_of_the_full_one() -> None:
    record = failures(videos(), fixed=["smoke"], **OPTIONS).records["fit"]
    full = fit(videos(), "correct ~ smoke + (1 | model) + (1 | video) + (1 | frame)")
    assert record["log_likelihood"] == pytest.approx(full.log_likelihood, abs=1e-6)
    assert record["aic"] == pytest.approx(2 * full.parameters - 2 * full.log_likelihood, abs=1e-5)
    assert record["log_likelihood_reml"] != pytest.approx(full.log_likelihood, abs=0.1)
