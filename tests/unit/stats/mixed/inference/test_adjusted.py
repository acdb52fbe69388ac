import numpy as np
import polars as pl
import pytest

from nested_tables import nested_frame
from surgvalid.errors import Misuse, TooFewVideos, UnknownName
from surgvalid.stats.mixed.fit.logistic import cluster_covariance, fit_logistic, independent_columns, nearest_covariance
from surgvalid.stats.mixed.inference.adjusted import adjusted_effects, design_of

FRAME = nested_frame(videos=14, rows=20, models=2).with_columns(
    smoke=pl.col("view") == "smoke",
    labels=pl.when(pl.col("case").str.ends_with("3")).then(pl.lit("a;b")).otherwise(pl.lit("")),
)


def term(result, name: str, model: str = "M0") -> dict:
    return result.table.filter(term=name, model=model).row(0, named=True)


def simulated(rows: int = 300, videos: int = 15, seed: int = 0):
    rng = np.random.default_rng(seed)
    video = np.sort(rng.integers(0, videos, rows))
    design = np.column_stack([np.ones(rows), rng.normal(size=rows), rng.random(rows) < 0.5]).astype(float)
    outcome = (rng.random(rows) < 1 / (1 + np.exp(-design @ [0.2, 0.5, -0.4]))).astype(float)
    return design, outcome, video


def test_cr2_equals_the_full_inverse_square_root() -> None:
    design, outcome, video = simulated()
    fit = fit_logistic(design, outcome, ["a", "b", "c"])
    root = np.sqrt(fit.fitted * (1 - fit.fitted))
    x, residual = design * root[:, None], (outcome - fit.fitted) / root
    bread = np.linalg.inv(x.T @ x)
    meat = np.zeros((3, 3))
    for group in np.unique(video):
        rows = video == group
        values, vectors = np.linalg.eigh(np.eye(rows.sum()) - x[rows] @ bread @ x[rows].T)
        score = x[rows].T @ ((vectors / np.sqrt(values)) @ vectors.T) @ residual[rows]
        meat += np.outer(score, score)
    np.testing.assert_allclose(cluster_covariance(fit, [video], kind="CR2"), bread @ meat @ bread, rtol=1e-8)


def test_one_row_per_cluster_is_the_plain_sandwich() -> None:
    design, outcome, _ = simulated()
    fit = fit_logistic(design, outcome, ["a", "b", "c"])
    score = design * (outcome - fit.fitted)[:, None]
    plain = fit.bread @ score.T @ score @ fit.bread
    np.testing.assert_allclose(cluster_covariance(fit, [np.arange(len(outcome))], kind="CR0"), plain)


def test_separation_is_named_and_not_reported_as_evidence() -> None:
    perfect = FRAME.with_columns(leak=(pl.col("value") == 1))
    per_model = perfect.filter(pl.col("model") == "M0")
    result = adjusted_effects(per_model, ["leak", "smoke"])
    assert [finding.code for finding in result.findings] == ["separated"]
    assert "no finite odds ratio fits best" in result.warnings[0]
    assert "separated" in term(result, "leak")["note"]
    numbers = result.table.select("estimate", "std_error", "t", "p_value", "odds_ratio", "low", "high")
    assert numbers.null_count().row(0) == (3,) * 7


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
def test_a_number_that_separates_is_found_whatever_its_unit(scale: float) -> None:
    frame = FRAME.filter(pl.col("model") == "M0").with_columns(
        depth=scale * (pl.col("value") + pl.int_range(pl.len()) / 1e3)
    )
    result = adjusted_effects(frame, ["depth"])
    assert [finding.code for finding in result.findings] == ["separated"]
    assert term(result, "depth")["t"] is None


def test_terms_beside_a_separated_one_are_the_limits_of_a_fit_of_all_cases() -> None:
    rng = np.random.default_rng(5)
    frame = FRAME.filter(pl.col("model") == "M0").with_columns(
        bubbles=pl.Series(rng.random(FRAME.height // 2) < 0.1), depth=pl.Series(rng.normal(size=FRAME.height // 2))
    )
    frame = frame.with_columns(value=pl.when("bubbles").then(0.0).otherwise("value"))
    found = adjusted_effects(frame, ["bubbles", "depth", "smoke"], covariance="CR0")
    assert term(found, "bubbles")["t"] is None
    without = adjusted_effects(frame.filter(~pl.col("bubbles")), ["depth", "smoke"], covariance="CR0")
    nearly = frame.with_columns(pl.col("bubbles").cast(pl.Float64))
    design = np.column_stack(
        [np.ones(frame.height), *(nearly[name].cast(float) for name in ("bubbles", "depth", "smoke"))]
    )
    limit = fit_logistic(design, nearly["value"].to_numpy(), ["(Intercept)", "bubbles", "depth", "smoke"])
    for name in ("(Intercept)", "depth", "smoke"):
        assert term(found, name) == term(without, name)
        assert term(found, name)["estimate"] == pytest.approx(limit.coefficients[limit.names.index(name)], abs=1e-5)


def test_collinear_effects_are_left_out_and_named() -> None:
    result = adjusted_effects(FRAME.with_columns(again=pl.col("smoke")), ["smoke", "again"])
    assert set(result.table["term"]) == {"(Intercept)", "smoke"}
    assert "again left out" in " ".join(result.warnings)
    assert independent_columns(np.eye(3)) == [0, 1, 2]


def test_few_clusters_get_cr2_and_many_cr1() -> None:
    assert set(adjusted_effects(FRAME, ["smoke"]).table["covariance"]) == {"CR2"}
    many = adjusted_effects(nested_frame(videos=60, rows=4).with_columns(smoke=pl.col("view") == "smoke"), ["smoke"])
    assert set(many.table["covariance"]) == {"CR1"}


def test_the_cluster_bootstrap_is_near_the_sandwich() -> None:
    sandwich = term(adjusted_effects(FRAME, ["smoke"], covariance="CR2"), "smoke")
    boot = term(adjusted_effects(FRAME, ["smoke"], covariance="bootstrap", replicates=150), "smoke")
    assert boot["estimate"] == pytest.approx(sandwich["estimate"])
    assert boot["std_error"] == pytest.approx(sandwich["std_error"], rel=0.35)


def test_a_bootstrap_whose_refits_separate_says_how_many() -> None:
    rare = pl.col("case").is_in(["v00q00", "v00q01"])
    frame = FRAME.filter(pl.col("model") == "M0").with_columns(rare=rare)
    frame = frame.with_columns(value=pl.when(rare).then((pl.col("case") == "v00q00").cast(float)).otherwise("value"))
    result = adjusted_effects(frame, ["rare"], covariance="bootstrap", replicates=30)
    assert [finding.code for finding in result.findings] == ["refits-left-aside"]
    assert "of 30 refits" in result.warnings[0]


def test_columns_become_effects_by_their_kind() -> None:
    cases = pl.DataFrame(
        {"flag": [True, False, True], "x": [0.5, 1.5, None], "site": ["b", "a", "c"], "many": ["p;q", "q", None]}
    )
    names, design, complete = design_of(cases, ["flag", "x", "site", "many"])
    assert names == ["(Intercept)", "flag", "x", "site=b", "site=c", "many=p", "many=q"]
    assert design[:, 1].tolist() == [1, 0, 1]
    assert design[:, 5].tolist() == [1, 0, 0]
    assert complete.tolist() == [True, True, False]


def test_a_negative_variance_of_two_way_clusters_is_repaired() -> None:
    repaired = nearest_covariance(np.array([[-0.1, 0.0], [0.0, 2.0]]))
    assert np.diag(repaired).tolist() == [0.0, 2.0]


def test_what_cannot_be_adjusted_is_refused() -> None:
    with pytest.raises(Misuse, match="outcomes that are 0 or 1"):
        adjusted_effects(nested_frame(binary=False).with_columns(smoke=pl.lit(True)), ["smoke"])
    with pytest.raises(UnknownName, match="unknown column"):
        adjusted_effects(FRAME, ["haze"])
    with pytest.raises(UnknownName, match="unknown covariance"):
        adjusted_effects(FRAME, ["smoke"], covariance="HC9")
    with pytest.raises(Misuse, match="one grouping"):
        adjusted_effects(FRAME, ["smoke"], covariance="bootstrap", cluster=["video", "center"])
    with pytest.raises(TooFewVideos):
        adjusted_effects(FRAME.filter(pl.col("video") == "v00"), ["smoke"])
    with pytest.raises(Misuse, match="at least one"):
        adjusted_effects(FRAME, [])


def _answers(videos: int = 8, rows: int = 20) -> pl.DataFrame:
    rng = np.random.default_rng(3)
    video = np.repeat(np.arange(videos), rows)
    return pl.DataFrame({
        "model": "A", "case": np.arange(videos * rows).astype(str), "video": np.char.add("v", video.astype(str)),
        "smoke": rng.integers(0, 2, videos * rows), "lone": (video == 0).astype(int), "two": (video < 2).astype(int),
        "value": rng.integers(0, 2, videos * rows).astype(float),
    })  # fmt: skip


def test_a_property_of_one_video_has_no_p_value() -> None:
    """It had p = 0.04 of nothing, and the videos themselves p = 1e-103."""
    lone = adjusted_effects(_answers(), ["lone", "smoke"]).table.filter(pl.col("term") == "lone").row(0, named=True)
    assert (lone["p_value"], lone["low"], lone["std_error"]) == (None, None, None)
    assert lone["estimate"] is not None
    assert "cannot be told from that cluster" in lone["note"]
    assert adjusted_effects(_answers(), ["video"]).table["p_value"].null_count() == 8
    two = adjusted_effects(_answers(), ["two"])
    assert any("differ in two clusters only" in text for text in two.warnings)


def test_few_clusters_are_warned_of() -> None:
    assert any(finding.code == "few-videos" for finding in adjusted_effects(_answers(5), ["smoke"]).findings)
    assert not any(finding.code == "few-videos" for finding in adjusted_effects(_answers(12), ["smoke"]).findings)


def test_odd_columns_are_refused_or_counted() -> None:
    odd = _answers().with_columns(
        smoke=pl.when(pl.col("case") == "3").then(float("nan")).otherwise(pl.col("smoke").cast(pl.Float64))
    )
    assert any("1 cases without a value" in text for text in adjusted_effects(odd, ["smoke"]).warnings)
    with pytest.raises(Misuse, match="infinite values"):
        adjusted_effects(odd.with_columns(smoke=pl.col("smoke") / 0), ["smoke"])
    with pytest.raises(Misuse, match="rename it"):
        adjusted_effects(_answers().rename({"smoke": "(Intercept)"}), ["(Intercept)"])
    assert adjusted_effects(_answers(), ["smoke", "smoke"]).table["term"].to_list() == ["(Intercept)", "smoke"]
