"""Scores in [0, 1] with exact zeros and ones: the family, its likelihood by brute force, the failure analysis."""

import numpy as np
import polars as pl
import pytest
from scipy import integrate, special, stats

from surgvalid.errors import Misuse, TableInvalid
from surgvalid.stats.draws import stream
from surgvalid.stats.mixed.failures import failures
from surgvalid.stats.mixed.fit.fit import family_of, fit, laplace_deviance
from surgvalid.stats.mixed.fit.restricted import RestrictedDeviance
from surgvalid.stats.mixed.model.ordered_beta import (
    Cutpoints,
    OrderedBeta,
    drawn_scores,
    expected_score,
    expected_slope,
)
from surgvalid.stats.mixed.model.workflow import Workflow, choose_transform


def scores(
    videos: int = 8, rows: int = 30, *, seed: int = 0, hit: float = -0.6, overlap: float = -0.6, spread: float = 0.6
) -> pl.DataFrame:
    """Scores of one model; `x` inside videos acts on hits and on overlap, `w` of whole videos does nothing."""
    rng = stream(seed, "ordered-beta")
    video, x = np.repeat(np.arange(videos), rows), rng.binomial(1, 0.4, videos * rows)
    base = 0.8 + rng.normal(0, spread, videos)[video]
    inside = drawn_scores(base + overlap * x, Cutpoints(-np.inf, 2.4), 7.0, rng)
    missed = rng.random(len(x)) > special.expit(base + hit * x + 1.6)
    return pl.DataFrame({"video": np.char.add("v", video.astype(str)), "x": x, "w": video % 2,
                         "dice": np.where(missed, 0.0, inside)})  # fmt: skip


ENDS = {"both": lambda y: y, "zeros": lambda y: np.where(y == 1, 0.97, y), "ones": lambda y: np.where(y == 0, 0.02, y),
        "neither": lambda y: np.clip(y, 0.02, 0.97)}  # fmt: skip


@pytest.mark.parametrize("ends", list(ENDS))
def test_derivatives_agree_with_differences(ends: str) -> None:
    rng = np.random.default_rng(5)
    y = ENDS[ends](np.r_[np.zeros(8), np.ones(8), rng.uniform(0.02, 0.98, 24)])
    family, eta, step = OrderedBeta(y, rng.uniform(0.5, 2, 40)), rng.normal(0, 1.5, 40), 1e-5
    own = family.start + 0.1
    assert len(own) == {"both": 3, "neither": 1}.get(ends, 2)
    numeric = [(family.value(eta + h, own) - family.value(eta - h, own)) / (2 * step) for h in np.eye(40) * step]
    np.testing.assert_allclose(family.terms(eta, own).score, numeric, rtol=1e-5, atol=1e-6)
    high, low = family.terms(eta + step, own), family.terms(eta - step, own)
    np.testing.assert_allclose(family.terms(eta, own).weight, -(high.score - low.score) / (2 * step), rtol=1e-5,
                               atol=1e-6)  # fmt: skip
    np.testing.assert_allclose(family.slope(eta, own), (high.weight - low.weight) / (2 * step), rtol=1e-4, atol=1e-6)


def test_the_density_sums_to_one_and_has_the_mean_that_is_said() -> None:
    cut, eta, phi = Cutpoints(-1.1, 1.7), 0.4, 5.0
    own = np.array([np.log(phi), cut.low, np.log(cut.high - cut.low)])

    def density(y: float) -> float:
        family = OrderedBeta(np.array([y, 0.0, 1.0]), np.array([1.0, 0.0, 0.0]))
        return float(np.exp(family.value(np.full(3, eta), own)))

    zero, one = density(0.0), density(1.0)
    inside = integrate.quad(density, 0, 1)[0]
    assert zero + one + inside == pytest.approx(1, abs=1e-7)
    mean = one + integrate.quad(lambda y: y * density(y), 0, 1)[0]
    assert mean == pytest.approx(float(expected_score(np.array([eta]), cut)[0]), abs=1e-7)
    drawn = drawn_scores(np.full(200_000, eta), cut, phi, np.random.default_rng(1))
    assert (drawn.mean(), np.mean(drawn == 0)) == (pytest.approx(mean, abs=0.003), pytest.approx(zero, abs=0.003))
    nearby = expected_score(np.array([eta + 1e-6, eta - 1e-6]), cut)
    assert expected_slope(np.array([eta]), cut)[0] == pytest.approx((nearby[0] - nearby[1]) / 2e-6, rel=1e-6)


def _plain(y: np.ndarray, eta: np.ndarray, low: float, high: float, phi: float) -> np.ndarray:
    """The log-density written down once more, without any of the family's code."""
    mu, above, top = special.expit(eta), special.expit(eta - low), special.expit(eta - high)
    middle = np.clip(y, 1e-9, 1 - 1e-9)
    inside = np.log(above - top) + stats.beta.logpdf(middle, mu * phi, (1 - mu) * phi)
    return np.where(y == 0, np.log(1 - above), np.where(y == 1, np.log(top), inside))


def test_the_laplace_likelihood_is_that_of_brute_force_integration() -> None:
    """Sixty rows per video leave the approximation an error far below what a test of effects could notice."""
    table = scores(4, 60)
    found = fit(table, "dice ~ x + (1 | video)", family="ordered-beta")
    assert found.cutpoints is not None
    y, sd, total = table["dice"].to_numpy(), found.sd["video"], 0.0
    nodes, weights = np.polynomial.hermite_e.hermegauss(201)
    for video in table["video"].unique():
        own = (table["video"] == video).to_numpy()
        eta = (found.design.fixed @ found.beta)[own][:, None] + sd * nodes
        rows = _plain(y[own][:, None], eta, *found.cutpoints, found.precision or 0.0).sum(axis=0)
        total += special.logsumexp(rows, b=weights / weights.sum())
    assert found.log_likelihood == pytest.approx(total, abs=0.02)


@pytest.mark.parametrize("restricted", [False, True])
def test_the_gradient_agrees_with_differences(restricted: bool) -> None:
    design = fit(scores(5, 12), "dice ~ x + w + (1 | video)", family="ordered-beta", errors=False).design
    plain = laplace_deviance(design, family_of(design), design.factors, "numpy", np.zeros(3))
    point = np.array([-0.4, *([] if restricted else [0.7, -0.5, 0.1]), 1.8, -1.5, 1.3])
    deviance = RestrictedDeviance(plain) if restricted else plain
    plain.mode_tolerance = 1e-20
    _, gradient = deviance(point)
    numeric = [(deviance(point + h)[0] - deviance(point - h)[0]) / 2e-5 for h in np.eye(len(point)) * 1e-5]
    np.testing.assert_allclose(gradient, numeric, rtol=1e-5, atol=1e-5)


def test_known_effects_are_recovered() -> None:
    rng = stream(3, "recovery")
    video, x = np.repeat(np.arange(40), 40), rng.binomial(1, 0.4, 1600)
    eta = 0.5 - 0.7 * x + rng.normal(0, 0.5, 40)[video]
    table = pl.DataFrame({"video": video.astype(str), "x": x, "y": drawn_scores(eta, Cutpoints(-1.8, 2.1), 6.0, rng)})
    found = fit(table, "y ~ x + (1 | video)", family="ordered-beta", restricted=True)
    assert found.beta[1] == pytest.approx(-0.7, abs=3 * found.standard_errors[1])
    assert found.cutpoints is not None
    assert (*found.cutpoints, found.precision, found.sd["video"]) == pytest.approx((-1.8, 2.1, 6.0, 0.5), rel=0.2)


def test_failures_reports_points_of_the_score_and_both_likelihoods() -> None:
    result = failures(scores(), outcome="dice", fixed=["x", "w"], random=["video"], family="ordered-beta")
    rows = {row["term"]: row for row in result.table.iter_rows(named=True)}
    assert (rows["x"]["varies"], rows["w"]["varies"], rows["w"]["df"]) == ("within", "between", 6.0)
    assert rows["x"]["symbol"].startswith("-")
    points = {row["term"]: row for row in result.tables["score_differences"].iter_rows(named=True)}
    table = scores()
    raw = table.group_by("x").agg(pl.col("dice").mean()).sort("x")["dice"].to_list()
    assert points["x"]["difference"] == pytest.approx(raw[1] - raw[0], abs=0.05)
    assert points["x"]["low"] < points["x"]["difference"] < points["x"]["high"] < 0
    record = result.records["fit"]
    assert record["log_likelihood"] > record["log_likelihood_reml"]
    assert len(record["cutpoints"]) == 2
    assert "ordered beta mixed model" in result.prose
    assert result.parts is not None
    assert not result.parts.opposed


def test_effects_of_opposite_sign_on_misses_and_overlap_are_not_averaged() -> None:
    """The property makes hits likelier and overlap worse; one coefficient for both would say that it does nothing."""
    table = scores(12, 80, hit=1.6, overlap=-0.9, spread=0.3)
    result = failures(table, outcome="dice", fixed=["x"], random=["video"], family="ordered-beta")
    effect = result.table.filter(pl.col("term") == "x").row(0, named=True)
    assert (effect["p_value"], effect["symbol"]) == (None, "x")
    parts = result.tables["parts"]
    assert dict(zip(parts["part"], parts["estimate"] > 0, strict=True)) == {"hit": True, "overlap": False}
    assert any("opposite sign" in warning for warning in result.warnings)


def test_what_is_no_score_is_refused() -> None:
    table = scores()
    for column, expected in (((pl.col("dice") * 100), "must lie between 0 and 1"), ((pl.col("dice") > 0.5).cast(int),
                             "ask for family binomial")):  # fmt: skip
        with pytest.raises(TableInvalid, match=expected):
            failures(table.with_columns(dice=column), outcome="dice", fixed=["x"], random=["video"],
                     family="ordered-beta")  # fmt: skip
    with pytest.raises(Misuse, match="knows no trials"):
        failures(table, successes="x", trials="w", fixed=["x"], random=["video"], family="ordered-beta")


def test_the_automatic_choice_names_the_family_for_scores_with_zeros() -> None:
    work = Workflow()
    choose_transform(work, scores()["dice"].to_numpy(), straight=0.9)
    assert work.bounded
    assert "ordered-beta" in str(work.decisions[-1])
