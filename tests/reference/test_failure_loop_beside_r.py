"""Strengths, changes of effects and calibration slopes beside lme4, emmeans and clubSandwich (stored)."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import special, stats

from clubsandwich import their_cr2
from surgvalid.stats.mixed.failures import failures
from surgvalid.stats.mixed.fit.logistic import fit_logistic
from surgvalid.stats.mixed.risk import risk_slope
from surgvalid.studies.failure_change import failure_change

OPTIONS: dict[str, Any] = {
    "outcome": "score", "fixed": ["smoke", "size"], "random": ["model", "video", "case"], "family": "gaussian",
    "better": "larger",
}  # fmt: skip


@cache
def stored() -> tuple[pl.DataFrame, pl.DataFrame, dict[str, Any]]:
    content = json.loads(Path(__file__).with_name("failure_loop_values.json").read_text())
    return pl.DataFrame(content["scores"]), pl.DataFrame(content["held"]), content["r"]


def test_the_joint_test_and_the_map_are_those_of_emmeans() -> None:
    scores, _, said = stored()
    result = failures(scores, **OPTIONS, transform="none", strengths=True)
    test = result.tables["strength_tests"].filter(pl.col("term") == "smoke").row(0, named=True)
    assert (test["df1"], test["df2"], test["videos"]) == (said["joint_rank"], 2 * 7, 8)
    assert test["f"] == pytest.approx(said["joint_f"], rel=1e-3)
    assert test["p_value"] == pytest.approx(stats.f.sf(test["f"], 2, 14))
    cells = result.tables["strengths"].filter(pl.col("term") == "smoke")
    assert cells["model"].to_list() == ["a", "b", "c"]
    for ours, theirs in (("estimate", "trend"), ("std_error", "trend_se"), ("difference", "eff")):
        assert np.allclose(cells[ours].to_numpy(), said[theirs], rtol=2e-3, atol=1e-5)
    width = (cells["difference_high"] - cells["difference_low"]).to_numpy() / 2 / stats.t.ppf(0.975, 7)
    assert np.allclose(width, said["eff_se"], rtol=2e-3)
    assert dict(cells.select("model", "verdict").iter_rows()) == {"a": "weakness", "b": "weakness", "c": "strength"}


def test_the_change_of_an_effect_is_that_of_the_joint_model_in_lme4() -> None:
    scores, _, said = stored()
    before, after = (scores.filter(pl.col("model") == name) for name in "ac")
    row = failure_change(before, after, **OPTIONS).tables["effect_changes"].row(0, named=True)
    for name in ("before", "after", "change"):
        assert row[name] == pytest.approx(said[name], rel=2e-3, abs=1e-5)
    assert row["std_error"] == pytest.approx(said["change_se"], rel=2e-3)
    width = (row["after_high"] - row["after_low"]) / 2 / stats.t.ppf(0.975, row["df"])
    assert width == pytest.approx(said["after_se"], rel=2e-3)


def test_the_slope_of_calibration_has_the_errors_of_clubsandwich() -> None:
    _, held, said = stored()
    slope = risk_slope(held, "raw", held["video"].to_numpy(), 0.95)
    assert slope["slope"] == pytest.approx(said["slope"], rel=1e-5)
    assert slope["slope_low"] is not None
    assert slope["slope"] - slope["slope_low"] == pytest.approx(said["slope_se"] * stats.t.ppf(0.975, 9), rel=2e-3)
    fold = held["fold"].to_numpy()
    design = np.column_stack([*((fold == one) * 1.0 for one in range(5)), special.logit(held["raw"].to_numpy())])
    shares = fit_logistic(design, held["observed"].to_numpy(), [*"abcde", "slope"], trials=np.ones(held.height))
    error = np.sqrt(their_cr2(shares, held["video"].to_numpy())[-1, -1])
    assert error == pytest.approx(said["slope_se"], rel=1e-6)
