"""Firth's fit as an option of failures: finite where maximum likelihood is not, by the penalised profile."""

import numpy as np
import polars as pl
import pytest
from scipy import optimize, special

from surgvalid.errors import Misuse
from surgvalid.stats.draws import stream
from surgvalid.stats.mixed.failures import failures
from surgvalid.stats.mixed.fit.logistic import fit_firth, profile_drop


def separated(rows: int = 80) -> pl.DataFrame:
    rng = stream(1, "firth")
    x, rare = rng.binomial(1, 0.4, rows), rng.binomial(1, 0.15, rows)
    answer = np.where(rare == 1, 0, rng.binomial(1, special.expit(0.5 - 0.6 * x)))
    video = np.char.add("v", (np.arange(rows) % 8).astype(str))
    return pl.DataFrame({"video": video, "x": x, "rare": rare, "correct": answer})


def penalised(beta: np.ndarray, design: np.ndarray, y: np.ndarray) -> float:
    """The penalised log-likelihood, written down once more."""
    p = special.expit(design @ beta)
    information = design.T @ np.diag(p * (1 - p)) @ design
    return float(np.sum(y * np.log(p) + (1 - y) * np.log(1 - p)) + 0.5 * np.log(np.linalg.det(information)))


def test_the_fit_is_the_maximum_of_the_penalised_likelihood() -> None:
    table = separated()
    design, y = table.select(pl.lit(1.0).alias("one"), "x", "rare").to_numpy(), table["correct"].to_numpy()
    found = fit_firth(design, y.astype(float), np.ones(80))
    best = optimize.minimize(lambda b: -penalised(b, design, y), np.zeros(3), method="BFGS", options={"gtol": 1e-8})
    np.testing.assert_allclose(found.coefficients, best.x, atol=1e-5)
    assert found.penalised == pytest.approx(-best.fun, abs=1e-8)
    held = optimize.minimize(lambda b: -penalised(np.r_[b, 0.0], design, y), np.zeros(2), options={"gtol": 1e-8})
    assert profile_drop(design, y.astype(float), np.ones(80), 2)(0.0) == pytest.approx(
        2 * (held.fun - best.fun), abs=1e-6
    )


def test_failures_takes_firth_as_an_option_and_records_it() -> None:
    result = failures(separated(), outcome="correct", fixed=["x", "rare"], separation="firth")
    rare = result.table.filter(pl.col("term") == "rare").row(0, named=True)
    assert -8 < rare["estimate"] < -1
    assert rare["low"] < rare["odds_ratio"] < rare["high"] < 1
    assert (rare["p_value"] < 0.01, "Firth" in rare["method"]) == (True, True)
    record = result.records["fit"]
    assert (record["separation"], record["inference"], record["method"]) == ("firth", "firth-profile", "firth")
    assert result.request.options["separation"] == "firth"
    assert "Firth's penalised likelihood" in result.prose
    assert any("independent of each other" in warning for warning in result.warnings)


def test_firth_is_refused_where_rows_depend_on_each_other() -> None:
    with pytest.raises(Misuse, match="knows no random effects, and video were named"):
        failures(separated(), outcome="correct", fixed=["rare"], random=["video"], separation="firth")
    scores = separated().with_columns(score=pl.col("correct") + pl.int_range(80) * 0.01)
    with pytest.raises(Misuse, match="not for a gaussian model"):
        failures(scores, outcome="score", fixed=["x"], separation="firth")
