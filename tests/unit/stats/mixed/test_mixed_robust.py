"""Marginal odds ratios with cluster-robust uncertainty."""

import math
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from mixed_data import nested_table
from surgvalid.errors import Misuse, TooFewVideos, UnknownName
from surgvalid.stats.mixed.fit.logistic import FEW_CLUSTERS
from surgvalid.stats.mixed.fit.robust import robust_logit
from surgvalid.stats.mixed.model.design import Design, design_of
from surgvalid.stats.mixed.model.formula import ModelFormula

TABLE = nested_table(11, trials=20, cell=0.0)


def binary(*clusters: str, table: pl.DataFrame = TABLE) -> Design:
    return design_of(table, replace(ModelFormula.parse("correct ~ smoke + size"), random=clusters))


@pytest.mark.parametrize("clusters", [("image",), ("image", "algorithm")])
def test_cluster_robust_errors_agree_with_statsmodels(clusters: tuple[str, ...]) -> None:
    statsmodels = pytest.importorskip("statsmodels.api")
    design = binary(*clusters)
    found = robust_logit(design, clusters, kind="CR1")
    codes = [TABLE[name].rank("dense").to_numpy().astype(int) for name in clusters]
    groups = codes[0] if len(codes) == 1 else np.column_stack(codes)
    peer = statsmodels.GLM(TABLE["correct"].to_numpy(), design.fixed, family=statsmodels.families.Binomial()).fit(
        cov_type="cluster", cov_kwds={"groups": groups, "use_correction": True}
    )
    np.testing.assert_allclose(found.beta, peer.params, atol=1e-5)
    np.testing.assert_allclose(found.standard_errors, peer.bse, rtol=1e-4 if len(clusters) == 1 else 0.02)
    assert found.table()["marginal_odds_ratio"][1] == pytest.approx(math.exp(found.beta[1]))


def test_few_clusters_get_the_small_sample_correction_and_wide_quantiles() -> None:
    few, many = robust_logit(binary("image"), ("image",)), robust_logit(binary("row", table=_rows()), ("row",))
    assert few.clusters["image"] < FEW_CLUSTERS <= many.clusters["row"]
    assert (few.kind, many.kind) == ("CR2", "CR1")
    plain = robust_logit(binary("image"), ("image",), kind="CR0")
    assert (few.standard_errors > plain.standard_errors).all()
    width = np.log(few.table()["high"].to_numpy()) - few.beta
    quantile = 2.1448  # of t with 14 degrees of freedom
    np.testing.assert_allclose(width, quantile * few.standard_errors, rtol=1e-3)
    assert few.table()["covariance"].unique().to_list() == ["CR2"]


def _rows() -> pl.DataFrame:
    return TABLE.with_row_index("row")


@pytest.mark.parametrize("kind", ["CR0", "CR2"])
def test_counts_equal_the_answers_they_were_counted_from(kind: str) -> None:
    rng = np.random.default_rng(4)
    counts = pl.DataFrame({
        "video": rng.integers(0, 8, 60), "smoke": rng.binomial(1, 0.4, 60), "n": rng.integers(1, 6, 60)
    }).with_columns(k=pl.Series(rng.binomial(1, 0.5, 60)) * pl.col("n"))  # fmt: skip
    rows = [(v, s, int(i < k)) for v, s, n, k in counts.iter_rows() for i in range(n)]
    single = pl.DataFrame(rows, schema=["video", "smoke", "correct"], orient="row")
    left = robust_logit(design_of(counts, ModelFormula.parse("k / n ~ smoke + (1 | video)")), ("video",), kind=kind)
    right = robust_logit(design_of(single, ModelFormula.parse("correct ~ smoke + (1 | video)")), ("video",), kind=kind)
    np.testing.assert_allclose(left.beta, right.beta, atol=1e-8)
    np.testing.assert_allclose(left.standard_errors, right.standard_errors, rtol=1e-8)


def test_a_known_offset_moves_the_intercept_alone() -> None:
    table = TABLE.with_columns(known=pl.lit(0.7))
    plain = robust_logit(binary("image"), ("image",))
    model = replace(ModelFormula.parse("correct ~ smoke + size + offset(known)"), random=("image",))
    moved = robust_logit(design_of(table, model), ("image",))
    np.testing.assert_allclose(moved.beta, plain.beta - [0.7, 0, 0], atol=1e-8)


def test_what_cannot_be_clustered_is_refused() -> None:
    table = TABLE.with_columns(center=pl.lit("c"))
    with pytest.raises(TooFewVideos, match="'center' has 1 cluster"):
        robust_logit(binary("center", table=table), ("center",))
    with pytest.raises(UnknownName, match="CR3"):
        robust_logit(binary("image"), ("image",), kind="CR3")
    with pytest.raises(UnknownName, match="did you mean 'image'"):
        robust_logit(binary("image"), ("imag",))
    linear = design_of(TABLE, ModelFormula.parse("score ~ smoke + (1 | image)", family="gaussian"))
    with pytest.raises(Misuse, match="0/1 outcome"):
        robust_logit(linear, ("image",))
