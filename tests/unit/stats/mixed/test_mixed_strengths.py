"""Which properties separate models: the joint test decides whether the map may be read."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest

from surgvalid.errors import Misuse
from surgvalid.stats.draws import stream
from surgvalid.stats.mixed.failures import failures

ASKED: dict[str, Any] = {"outcome": "score", "fixed": ["smoke", "phase", "dark"], "random": ["model", "video", "case"],
                         "family": "gaussian", "transform": "none", "better": "larger"}  # fmt: skip


@cache
def models_apart(weak: float = 0.3) -> pl.DataFrame:
    """Scores of three models on nine videos; smoke harms model c by `weak` more than the others."""
    rng = stream(11, "strengths")
    rows = []
    for video in range(9):
        own = rng.normal(0, 0.04, 3)
        for case in range(8):
            smoke, phase, hard = int(rng.random() < 0.5), "xyz"[int(rng.integers(3))], rng.normal(0, 0.05)
            for place, model in enumerate("abc"):
                score = 0.7 - (0.1 + weak * (model == "c")) * smoke + own[place] + hard + rng.normal(0, 0.05)
                rows.append((model, f"{video}/{case}", f"v{video}", smoke, phase, int(video % 3 == 0), score))
    return pl.DataFrame(rows, schema=["model", "case", "video", "smoke", "phase", "dark", "score"], orient="row")


def test_the_model_that_smoke_harms_most_is_weak_there_and_nothing_else_is_said() -> None:
    result = failures(models_apart(), **ASKED, strengths=True)
    tests = {row["term"]: row for row in result.tables["strength_tests"].iter_rows(named=True)}
    assert tests["smoke"]["p_holm"] < 0.001 < min(tests["phase"]["p_holm"], tests["dark"]["p_holm"])
    assert (tests["smoke"]["df1"], tests["smoke"]["df2"]) == (2, 16)
    assert (tests["phase"]["df1"], tests["phase"]["df2"]) == (4, 32)
    assert (tests["dark"]["df1"], tests["dark"]["df2"]) == (2, 14)
    verdicts = {(row["term"], row["model"]): row["verdict"] for row in result.tables["strengths"].iter_rows(named=True)}
    assert verdicts["smoke", "c"] == "weakness"
    assert {verdicts[key] for key in verdicts if key[0] != "smoke"} == {""}
    by_term = result.tables["strengths"].group_by("term").agg(pl.col("difference").sum())
    assert np.allclose(by_term["difference"].to_numpy(), 0, atol=1e-9)


def test_models_that_fail_alike_have_no_strengths() -> None:
    result = failures(models_apart(0.0), **ASKED, strengths=True)
    assert set(result.tables["strengths"]["verdict"]) == {""}
    assert "models-alike" in [one.code for one in result.findings]


def test_strengths_need_models_and_videos() -> None:
    with pytest.raises(Misuse, match="strengths compare models"):
        failures(models_apart().filter(pl.col("model") == "a"), **ASKED, strengths=True)
