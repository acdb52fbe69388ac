"""What to work on: shares of failures, what they rest on, and what is refused."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import special

from surgvalid.errors import Misuse, UnknownName
from surgvalid.stats.draws import stream
from surgvalid.stats.mixed.attributable import attributable, subgroups
from surgvalid.stats.mixed.failures import failures
from surgvalid.stats.mixed.recommend import needed_videos
from surgvalid.stats.mixed.report import FailuresResult
from surgvalid.studies.plan import plan

RANDOM = ["model", "video", "case"]


@cache
def weak_table(videos: int = 9, rows: int = 12) -> pl.DataFrame:
    """Answers of two models: smoke harms them, blood does not; one video is dark."""
    rng = stream(5, "recommend")
    made = []
    for video in range(videos):
        level = rng.normal(0, 0.4)
        for case in range(rows):
            smoke, blood, hard = rng.random() < 0.4, rng.random() < 0.3, rng.normal(0, 0.4)
            for model in "ab":
                right = rng.random() < special.expit(1.2 - 1.9 * smoke + level + hard)
                made.append((model, f"{video}/{case}", f"v{video}", "yes" if smoke else "no", int(blood),
                             int(video == 0), float(right), f"frames/{video}/{case}.png"))  # fmt: skip
    names = ["model", "case", "video", "smoke", "blood", "dark", "right", "path"]
    return pl.DataFrame(made, schema=names, orient="row")


@cache
def analysed() -> FailuresResult:
    return failures(weak_table(), outcome="right", fixed=["smoke", "blood", "dark"], random=RANDOM, recommend=True)


def test_the_share_of_a_plain_logit_is_the_attributable_fraction_of_epidemiology() -> None:
    rng = stream(1, "attributable")
    smoke = rng.random(4000) < 0.3
    right = rng.random(4000) < np.where(smoke, 0.45, 0.8)
    frame = pl.DataFrame({"patient": range(4000), "smoke": smoke.astype(int), "right": right.astype(int)})
    result = failures(frame, outcome="right", fixed=["smoke"])
    share = attributable(result, subgroups(result)[0])
    lost, exposed, kept = (1 - right).mean(), (1 - right)[smoke].mean(), (1 - right)[~smoke].mean()
    assert share is not None
    assert share.value == pytest.approx(1 - kept / lost, abs=1e-6)
    # Multinomial delta method for log(kept / lost), the oracle of both sources of uncertainty together.
    weight = np.array([smoke.mean() * exposed, smoke.mean() * (1 - exposed), (~smoke).mean() * kept])
    slope = np.array([-1 / lost, 0.0, 1 / weight[2] - 1 / lost])
    slope = np.append(slope, 0.0) - np.array([0.0, 0.0, 1.0, 1.0]) / (~smoke).mean()
    weight = np.append(weight, 1 - weight.sum())
    error = np.sqrt((weight @ slope**2 - (weight @ slope) ** 2) / 4000)
    low, high = 1 - kept / lost * np.exp(np.array([1.96, -1.96]) * error)
    assert (share.low, share.high) == pytest.approx((low, high), abs=2e-3)


def test_the_strongest_established_weakness_comes_first_and_what_was_not_tested_is_refused() -> None:
    table = analysed().tables["recommendations"]
    first, last = table.row(0, named=True), table.row(-1, named=True)
    assert (first["term"], first["verdict"], first["subgroup"]) == ("smoke[yes]", "established", "smoke = yes")
    assert 0 < first["low"] < first["share"] < first["high"] < 1
    assert (last["term"], last["verdict"], last["share"]) == ("dark", "refused", None)
    assert {"recommendation-refused"} <= {one.code for one in analysed().findings}
    blood = table.filter(pl.col("term") == "blood").row(0, named=True)
    assert blood["verdict"] == "not established"
    assert "no reason yet" in blood["advice"]


def test_cases_to_look_at_have_the_property_failed_and_come_from_several_videos() -> None:
    cases = analysed().tables["recommended_cases"].filter(pl.col("place") == 1)
    having = weak_table().filter(pl.col("smoke") == "yes")
    assert set(cases["case"]) <= set(having["case"])
    assert cases["loss"].is_sorted(descending=True)
    assert cases["loss"].min() > 0
    assert cases["video"].n_unique() > 3
    assert cases["picture"].str.starts_with("frames/").all()
    assert "dark" not in analysed().tables["recommended_cases"]["term"].to_list()


def test_the_videos_needed_are_those_of_a_plan_for_the_subgroup() -> None:
    table = weak_table()
    scores = table.select("model", "case", "video", value=1 - pl.col("right"), subgroup=pl.col("smoke") == "yes")
    needed = needed_videos(scores, 0.2)
    options: dict[str, Any] = {"difference": 0.2, "models": ["a", "b"], "subgroup": "smoke=yes", "better": "larger"}
    asked = plan(table.rename({"right": "value"}), simulations=200, **options)
    assert needed is not None
    row = asked.table.row(0, named=True)
    raised = "raised-by-simulation" in [one.code for one in asked.findings]
    assert needed.held == (row["subgroup_videos"] or row["videos"]) or raised
    alone = needed_videos(scores.filter(pl.col("model") == "a"), 0.2)
    assert alone is not None
    assert alone.independent
    assert (alone.held or 0) > 0


def test_cases_that_videos_number_alike_are_different_cases() -> None:
    numbered = weak_table().with_columns(case=pl.col("case").str.split("/").list.last())
    options: dict[str, Any] = {"outcome": "right", "fixed": ["smoke"], "recommend": True}
    table = failures(numbered, random=["model", "video", "video:case"], **options).tables["recommendations"]
    smoky = weak_table().filter(pl.col("smoke") == "yes")["case"].n_unique()
    assert table["cases"].to_list() == [smoky]


def test_the_category_that_suffers_is_named_whichever_comes_first_in_the_alphabet() -> None:
    turned = weak_table().with_columns(view=pl.col("smoke").replace_strict({"yes": "bad", "no": "good"}))
    table = failures(turned, outcome="right", fixed=["view"], random=RANDOM, recommend=True).tables["recommendations"]
    row, straight = table.row(0, named=True), analysed().tables["recommendations"].row(0, named=True)
    assert (row["term"], row["subgroup"]) == ("view[good]", "view = bad")
    assert row["share"] == pytest.approx(straight["share"], abs=0.03)


def test_what_cannot_be_attributed_is_refused() -> None:
    options: dict[str, Any] = {"outcome": "right", "fixed": ["smoke"], "random": RANDOM, "recommend": True}
    with pytest.raises(Misuse, match="improvement must be a number above 0"):
        failures(weak_table(), improvement=0.0, **options)
    with pytest.raises(UnknownName, match="column of images"):
        failures(weak_table(), picture="photo", **options)
    seconds = weak_table().with_columns(seconds=3 + pl.col("right") + (0.1 * pl.int_range(pl.len())) % 1.7)
    options |= {"outcome": "seconds", "family": "gaussian", "transform": "none"}
    with pytest.raises(Misuse, match="better"):
        failures(seconds, **options)
    with pytest.raises(Misuse, match="best value is not known"):
        failures(seconds, better="larger", **options)


@pytest.mark.parametrize("options", [{"random": ["model"]}, {"random": ["model", "case"]}])
def test_nothing_is_recommended_where_rows_of_one_video_count_as_independent(options: dict[str, Any]) -> None:
    with pytest.raises(Misuse, match="recommendations rest on tests over videos"):
        failures(weak_table(), outcome="right", fixed=["smoke"], recommend=True, **options)


def test_recommendations_without_a_property_are_refused() -> None:
    with pytest.raises(Misuse, match="--fixed"):
        failures(weak_table(), outcome="right", random=RANDOM, recommend=True)


def test_harm_where_two_properties_meet_is_told_and_never_called_nothing() -> None:
    rng, made = stream(8, "meet"), []
    for video in range(14):
        level = rng.normal(0, 0.3)
        for _ in range(60):
            smoke, blood = int(rng.random() < 0.5), int(rng.random() < 0.5)
            made.append(
                (f"v{video}", smoke, blood, float(rng.random() < special.expit(1.2 - 2.2 * smoke * blood + level)))
            )
    table = pl.DataFrame(made, schema=["video", "smoke", "blood", "right"], orient="row")
    asked = {"outcome": "right", "random": ["video"], "recommend": True}
    met = failures(table, fixed=["smoke", "blood", "smoke:blood"], **asked)
    codes = {one.code: one.message for one in met.findings}
    assert "nothing-to-recommend" not in codes
    assert codes["harm-together"].startswith("smoke:blood: harm beyond what each property by itself says (p < 0.001")
    flat = table.with_columns(right=pl.Series(rng.random(table.height) < 0.6).cast(pl.Float64))
    codes = {one.code for one in failures(flat, fixed=["smoke", "blood", "smoke:blood"], **asked).findings}
    assert "harm-together" not in codes


def test_no_study_is_planned_for_an_improvement_that_there_is_no_room_for() -> None:
    lost = weak_table().filter(pl.col("smoke") == "yes").select(1 - pl.col("right").mean()).item()
    options: dict[str, Any] = {"outcome": "right", "fixed": ["smoke"], "random": RANDOM, "recommend": True}
    planned, out_of_reach = (
        failures(weak_table(), improvement=size, **options).tables["recommendations"].row(0, named=True)
        for size in (lost - 0.01, lost + 0.01)
    )
    assert planned["videos_needed"] is not None
    assert out_of_reach["videos_needed"] is None
    assert "out of reach" in out_of_reach["advice"]
    assert "out of reach" not in planned["advice"]
