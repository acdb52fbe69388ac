"""What `--recommend` must not deny: harm of two properties together, of a number at its ends, of one model alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from docs.validate_failure_loop import PROPERTIES, hidden_harm_answers

from surgvalid.errors import UnknownName
from surgvalid.stats.mixed import hidden_harm
from surgvalid.stats.mixed.failures import failures
from surgvalid.stats.mixed.hidden_harm import hidden_harms
from surgvalid.stats.mixed.report import FailuresResult
from surgvalid.stats.verdict.joint_flips import JointTests, joint_tests


def analysed(kind: str, **options: Any) -> FailuresResult:
    table = hidden_harm_answers(kind, 100)
    named: dict[str, Any] = {"outcome": "right", "fixed": PROPERTIES, "random": ["model", "video", "case"]}
    return failures(table, recommend=True, **named | options)


@pytest.mark.parametrize(
    ("kind", "words"), [("pair", "smoke = 1 with blood = 1"), ("ends", "depth below -0.5959 or above")]
)
def test_harm_that_no_single_property_shows_is_named_and_not_denied(kind: str, words: str) -> None:
    result = analysed(kind)
    rows = result.tables["hidden_harms"]
    assert [named[: len(words)] for named in rows["words"]] == [words]
    assert rows["p_value"][0] < 0.05
    assert rows["loss"][0] > 2 * rows["elsewhere"][0]
    codes = {finding.code for finding in result.findings}
    assert "harm-together" in codes
    assert "nothing-to-recommend" not in codes


def test_the_mean_losses_are_those_of_the_rows() -> None:
    table = hidden_harm_answers("pair", 100)
    row = analysed("pair").tables["hidden_harms"].row(0, named=True)
    having = (pl.col("smoke") == 1) & (pl.col("blood") == 1)
    assert row["loss"] == pytest.approx(1 - table.filter(having)["right"].mean())
    assert row["elsewhere"] == pytest.approx(1 - table.filter(~having)["right"].mean())
    assert row["frequency"] == pytest.approx(table.select(having.mean()).item())
    assert row["videos"] == table.filter(having)["video"].n_unique()


@pytest.mark.parametrize("kind", ["none", "main"])
def test_nothing_is_named_where_nothing_hides(kind: str) -> None:
    result = analysed(kind)
    assert result.tables["hidden_harms"].is_empty()
    assert ("nothing-to-recommend" in {finding.code for finding in result.findings}) == (kind == "none")


def test_the_names_of_levels_do_not_matter() -> None:
    table = hidden_harm_answers("pair", 100).with_columns(
        smoke=pl.when(pl.col("smoke") == 1).then(pl.lit("dense")).otherwise(pl.lit("none")),
        blood=pl.when(pl.col("blood") == 1).then(pl.lit("a pool")).otherwise(pl.lit("clear")),
    )
    result = failures(table, outcome="right", fixed=PROPERTIES, random=["model", "video", "case"])
    (named,), (plain,) = hidden_harms(result) or (), hidden_harms(analysed("pair")) or ()
    assert set(named.words.split(" with ")) == {"smoke = dense", "blood = a pool"}
    assert named.p_value == pytest.approx(plain.p_value)


@pytest.mark.parametrize(("kind", "found"), [("pair", ["smoke = 1 with blood = 1"]), ("none", [])])
def test_a_score_is_screened_as_answers_are(kind: str, found: list[str]) -> None:
    noise = np.random.default_rng(4).normal(0.8, 0.1, 12 * 25 * 4)
    both = (kind == "pair") * pl.col("smoke") * pl.col("blood")
    table = hidden_harm_answers("none", 3).with_columns(dsc=pl.Series(noise) - 0.3 * both)
    result = failures(
        table, outcome="dsc", fixed=PROPERTIES, random=["model", "video"], family="gaussian", transform="none"
    )
    assert [one.words for one in hidden_harms(result) or ()] == found


def test_one_models_weakness_is_not_everybodys_and_can_be_asked_for_alone() -> None:
    first = analysed("own").tables["recommendations"].filter(pl.col("term") == "smoke").row(0, named=True)
    assert first["verdict"] == "depends on the model"
    assert "a 0." in first["advice"]
    assert "--models" in first["advice"]
    alone = analysed("own", models=["a"]).tables["recommendations"].row(0, named=True)
    assert (alone["subgroup"], alone["verdict"]) == ("smoke = 1", "established")
    other = analysed("own", models=["b"]).tables["recommendations"].filter(pl.col("subgroup") == "smoke = 1")
    assert "established" not in other["verdict"].to_list()
    with pytest.raises(UnknownName, match="known: a, b, c, d"):
        analysed("own", models=["e"])


def test_where_videos_are_too_few_for_pairs_nobody_says_that_there_are_none() -> None:
    few = hidden_harm_answers("none", 100, videos=6)
    result = failures(few, outcome="right", fixed=PROPERTIES, random=["model", "video", "case"], recommend=True)
    assert hidden_harms(result) is None
    (said,) = (finding.message for finding in result.findings if finding.code == "nothing-to-recommend")
    assert "nor any two together" not in said
    assert "could not be tested here" in said


def test_pairs_that_say_nothing_of_their_own_are_not_tested(monkeypatch: pytest.MonkeyPatch) -> None:
    """Properties of whole videos, and two that never meet: what is left of their product is rounding."""
    seen: list[np.ndarray] = []

    def watched(totals: np.ndarray, sizes: np.ndarray, *, alpha: float) -> JointTests:
        seen.append(totals)
        return joint_tests(totals, sizes, alpha=alpha)

    monkeypatch.setattr(hidden_harm, "joint_tests", watched)
    of_video = pl.col("video").rank("dense").cast(pl.Int64)
    never_both = ((pl.col("smoke") == 0) & (pl.col("blood") == 1)).cast(pl.Int64)
    table = hidden_harm_answers("none", 3).with_columns(centre=of_video % 2, device=of_video % 3 % 2, haze=never_both)
    result = failures(
        table, outcome="right", fixed=["centre", "device", "smoke", "haze"], random=["model", "video", "case"]
    )
    assert hidden_harms(result) is not None
    [totals] = seen
    assert totals.shape[1] == 4  # of six pairs
    assert (np.abs(totals).max(axis=0) > 0.1).all()
