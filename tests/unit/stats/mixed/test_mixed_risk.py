"""Risks of failing, held out by video and calibrated, and the weights that follow."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import special

from surgvalid.errors import Misuse, TableInvalid, TooFewVideos
from surgvalid.stats.draws import stream
from surgvalid.stats.mixed.failures import failures
from surgvalid.stats.mixed.report import FailuresResult
from surgvalid.stats.mixed.risk import risk_tables

ASKED: dict[str, Any] = {"successes": "hits", "trials": "all", "fixed": ["smoke", "phase"],
                         "random": ["model", "video", "case"], "slopes": False}  # fmt: skip


@cache
def counted(videos: int = 10, harm: float = 1.5) -> pl.DataFrame:
    """Hits of ten trials for two models; smoke harms, the phase does not."""
    rng = stream(9, "risk")
    rows = []
    for video in range(videos):
        level = rng.normal(0, 0.3)
        for case in range(8):
            smoke, phase, hard = int(rng.random() < 0.4), "abc"[int(rng.integers(3))], rng.normal(0, 0.2)
            chance = special.expit(1.0 - harm * smoke + level + hard)
            rows += [(model, f"{video}/{case}", f"v{video}", smoke, phase, int(rng.binomial(10, chance)), 10)
                     for model in "ab"]  # fmt: skip
    return pl.DataFrame(rows, schema=["model", "case", "video", "smoke", "phase", "hits", "all"], orient="row")


@cache
def weighed() -> FailuresResult:
    new = pl.DataFrame({"case": ["n1", "n2"], "smoke": [0, 1], "phase": ["a", "a"]})
    seen = counted().select("case", "smoke", "phase").unique(maintain_order=True)
    return failures(counted(), **ASKED, risk=pl.concat([seen, new]))


def test_risks_are_calibrated_and_better_than_one_number() -> None:
    raw, right = weighed().tables["calibration"].iter_rows(named=True)
    assert raw["slope_low"] < 1 < raw["slope_high"]
    assert right["skill"] > 0.3
    assert right["low"] < 0 < right["high"]
    assert (raw["folds"], raw["videos"], raw["cases"]) == (5, 10, 80)
    assert not {"risk-not-informative"} & {one.code for one in weighed().findings}


def test_cases_with_smoke_weigh_more_and_weights_have_mean_one() -> None:
    risk = weighed().tables["risk"]
    joined = risk.join(counted().select("case", "smoke").unique(), on="case")
    by_smoke = dict(joined.group_by("smoke").agg(pl.col("weight").mean()).iter_rows())
    assert by_smoke[1] > 1.4 * by_smoke[0]
    assert risk["weight"].mean() == pytest.approx(1)
    new = {row["case"]: row for row in risk.filter(pl.col("source") == "new").iter_rows(named=True)}
    assert new["n1"]["risk"] == pytest.approx(1 - special.expit(1.0), abs=0.08)
    assert new["n2"]["risk"] == pytest.approx(1 - special.expit(-0.5), abs=0.1)
    assert "risk-of-tested-cases" in [one.code for one in weighed().findings]


@pytest.mark.long
def test_the_risk_of_a_case_does_not_depend_on_its_own_video() -> None:
    other = counted().with_columns(hits=pl.when(pl.col("video") == "v3").then(10 - pl.col("hits")).otherwise("hits"))
    seen = counted().select("case", "smoke", "phase").unique(maintain_order=True)
    raws = [failures(table, **ASKED, risk=seen).tables["risk"].filter(pl.col("video") == "v3")["raw"].to_numpy()
            for table in (counted(), other)]  # fmt: skip
    assert np.allclose(raws[0], raws[1])


def test_where_properties_tell_nothing_that_is_said() -> None:
    table = counted(harm=0.0)
    result = failures(table, **ASKED, risk=table.select("case", "smoke", "phase").unique(maintain_order=True))
    assert "risk-not-informative" in [one.code for one in result.findings]
    weights = result.tables["risk"]["weight"]
    assert weights.max() / weights.min() < 1.5  # type: ignore[operator]


def test_cases_that_cannot_be_weighed_are_refused() -> None:
    with pytest.raises(TableInvalid, match="column 'phase' does not exist"):
        risk_tables(weighed(), counted(), counted().select("case", "smoke"))
    with pytest.raises(TableInvalid, match="1 cases have rows with other properties"):
        risk_tables(weighed(), counted(), pl.DataFrame({"case": ["x", "x"], "smoke": [0, 1], "phase": ["a", "a"]}))
    few = counted().filter(pl.col("video").is_in(["v0", "v1", "v2", "v3"]) & (pl.col("phase") != "c"))
    with pytest.raises(TooFewVideos, match="too few to hold some out"):
        failures(few, **ASKED, risk=few.select("case", "smoke", "phase").unique())
    with pytest.raises(Misuse, match="risks lie between 0 and 1"):
        failures(counted().with_columns(t=pl.col("hits") * 1.37 + pl.int_range(pl.len()) % 7), outcome="t",
                 fixed=["smoke", "phase"], random=["model", "video"], risk=counted(), family="gaussian")  # fmt: skip


def test_a_case_is_the_one_that_was_analysed_by_video_and_properties_and_not_by_its_name_alone() -> None:
    numbered = counted().with_columns(case=pl.col("case").str.split("/").list.last())
    asked = {**ASKED, "random": ["model", "video", "video:case"]}
    result = failures(numbered, **asked)
    seen = numbered.filter(pl.col("model") == "a").select("case", "video", "smoke", "phase")
    elsewhere = seen.with_columns(video="other " + pl.col("video"))
    risk = risk_tables(result, numbered, pl.concat([seen, elsewhere])).tables["risk"]
    assert risk["source"].to_list() == ["held out"] * seen.height + ["new"] * seen.height
    assert risk["video"].to_list() == [*seen["video"], *elsewhere["video"]]
    other = seen.with_columns(smoke=pl.when(pl.col("case") == "0").then(1 - pl.col("smoke")).otherwise("smoke"))
    with pytest.raises(TableInvalid, match="10 cases have the name of a case that was analysed and other properties"):
        risk_tables(result, numbered, other)
    as_float = risk_tables(result, numbered, seen.with_columns(pl.col("smoke").cast(pl.Float64))).tables["risk"]
    assert as_float["risk"].to_list() == risk_tables(result, numbered, seen).tables["risk"]["risk"].to_list()


def test_names_that_stand_for_cases_of_several_videos_need_the_video() -> None:
    numbered = counted().with_columns(case=pl.col("case").str.split("/").list.last())
    result = failures(numbered, **ASKED)
    one_video = numbered.filter((pl.col("model") == "a") & (pl.col("video") == "v0"))
    with pytest.raises(TableInvalid, match=r"8 cases have the name of cases of several videos .* column 'video'"):
        risk_tables(result, numbered, one_video.select("case", "smoke", "phase"))


def test_risks_are_not_held_out_by_case_where_the_table_has_videos() -> None:
    with pytest.raises(Misuse, match="risks are held out over videos"):
        failures(counted(), **{**ASKED, "random": ["model", "case"]}, risk=counted())
