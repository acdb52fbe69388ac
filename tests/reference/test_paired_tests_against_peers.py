"""Paired tests and corrections against scipy and statsmodels."""

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

from ranking_tables import nested_scores
from surgvalid.stats.comparing.paired_tests import adjusted, pair_tests, signed_rank_p


@pytest.mark.parametrize("seed", range(5))
def test_mcnemar_equals_statsmodels(seed: int) -> None:
    values, video = nested_scores(30, 4, 4, seed=seed, gap=0.8)
    result = pair_tests(values, video, test="mcnemar")
    for k, (i, j) in enumerate(zip(result.first, result.second, strict=True)):
        a, b = values[:, i], values[:, j]
        table = [[((a == x) & (b == y)).sum() for y in (1, 0)] for x in (1, 0)]
        assert result.p[k] == pytest.approx(mcnemar(table, exact=True).pvalue, rel=1e-10)


@pytest.mark.parametrize("alternative", ["greater", "two-sided"])
@pytest.mark.parametrize("decimals", [0, 1, 6])
def test_wilcoxon_equals_scipy_with_ties_and_zeros(alternative: str, decimals: int) -> None:
    rng = np.random.default_rng(decimals)
    differences = np.round(rng.normal(0.2, 1.5, (60, 8)), decimals)
    got = signed_rank_p(differences, alternative=alternative)  # type: ignore[arg-type]
    for column in range(8):
        expected = stats.wilcoxon(
            differences[:, column], zero_method="wilcox", correction=True, method="asymptotic", alternative=alternative
        ).pvalue
        assert got[column] == pytest.approx(expected, rel=1e-10)


def test_the_t_test_on_video_means_equals_scipy() -> None:
    values, video = nested_scores(25, 8, 3, seed=6, gap=1.0)
    means = np.stack([values[video == v].mean(axis=0) for v in range(25)])
    result = pair_tests(values, video, test="video-means-t")
    for k, (i, j) in enumerate(zip(result.first, result.second, strict=True)):
        assert result.p[k] == pytest.approx(stats.ttest_rel(means[:, i], means[:, j]).pvalue, rel=1e-9)


def test_the_sign_flip_test_equals_scipys_permutation_test() -> None:
    rng = np.random.default_rng(8)
    values, video = rng.integers(0, 2, (44, 2)).astype(float), np.repeat(np.arange(11), 4)
    sums = np.stack([values[video == v].sum(axis=0) for v in range(11)])
    peer = stats.permutation_test(
        (sums[:, 0], sums[:, 1]),
        lambda x, y, axis: np.abs((x - y).sum(axis=axis)),
        permutation_type="samples",
        vectorized=True,
        alternative="greater",
        n_resamples=np.inf,
    )
    assert pair_tests(values, video).p[0] == pytest.approx(peer.pvalue, rel=1e-12)


@pytest.mark.parametrize(("ours", "theirs"), [("holm", "holm"), ("bh", "fdr_bh")])
def test_corrections_equal_statsmodels(ours: str, theirs: str) -> None:
    rng = np.random.default_rng(9)
    p = np.round(rng.random((6, 15)) ** 3, 3)
    got = adjusted(p, ours)
    for row in range(6):
        assert got[row] == pytest.approx(multipletests(p[row], method=theirs)[1], abs=1e-14)
