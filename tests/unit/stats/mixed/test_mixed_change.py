"""Before and after a remedy: paired changes of effects, gains where they occur, and nothing where there is none."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import special

from surgvalid.errors import Misuse, TableInvalid, UnknownName
from surgvalid.stats.comparing.comparison import compare
from surgvalid.stats.draws import stream
from surgvalid.studies.failure_change import FailureChangeResult, failure_change

ASKED: dict[str, Any] = {"outcome": "score", "fixed": ["smoke", "size"], "random": ["model", "video", "case"],
                         "better": "larger", "family": "gaussian"}  # fmt: skip


@cache
def two_rounds(videos: int = 9, rows: int = 12, remedy: float = 0.25) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Continuous scores of an old and a new algorithm; the new one makes up for most of what smoke takes."""
    rng = stream(3, "two-rounds")
    made: dict[str, list[dict[str, Any]]] = {"old": [], "new": []}
    for video in range(videos):
        level, turn = rng.normal(0, 0.05), rng.normal(0, 0.02)
        for case in range(rows):
            smoke, size, hard = int(rng.random() < 0.45), rng.normal(), rng.normal(0, 0.05)
            for model, rows_of in made.items():
                more = (turn + remedy * smoke) if model == "new" else 0.0
                score = 0.7 - 0.3 * smoke + level + hard + more + rng.normal(0, 0.05)
                rows_of.append({"model": model, "case": f"{video}/{case}", "video": video, "smoke": smoke, "size": size,
                                "score": score})  # fmt: skip
    return pl.DataFrame(made["old"]), pl.DataFrame(made["new"])


@cache
def remedied() -> FailureChangeResult:
    return failure_change(*two_rounds(), **ASKED)


def test_a_remedy_against_smoke_is_better_with_smoke_and_makes_it_less_harmful() -> None:
    effects = {row["term"]: row for row in remedied().tables["effect_changes"].iter_rows(named=True)}
    gains = {row["subgroup"]: row for row in remedied().tables["gains"].iter_rows(named=True)}
    smoke = effects["smoke"]
    assert smoke["verdict"] == "less harmful"
    assert smoke["low"] < 0.25 < smoke["high"]
    assert smoke["before_low"] < -0.3 < smoke["before_high"]
    assert smoke["after"] == pytest.approx(smoke["before"] + smoke["change"])
    assert effects["size"]["verdict"] == "no change shown"
    assert gains["with smoke"]["verdict"] == "better"
    assert gains["without smoke"]["verdict"] == "no gain shown"
    assert "with smoke" in remedied().title


def test_gains_are_the_paired_differences_of_compare() -> None:
    old, new = two_rounds()
    stacked = pl.concat([new, old]).rename({"score": "value"}).filter(pl.col("smoke") == 1)
    row = compare(stacked, "new", "old", better="larger").table.row(0, named=True)
    gain = remedied().tables["gains"].filter(pl.col("subgroup") == "with smoke").row(0, named=True)
    assert gain["gain"] == pytest.approx(row["difference"])
    assert (gain["low"], gain["high"]) == pytest.approx((row["low"], row["high"]))
    assert gain["p_value"] == pytest.approx(row["p_value"])
    assert (gain["cases"], gain["videos"]) == (row["cases"], row["videos"])


def test_the_direction_of_the_outcome_turns_gains_and_verdicts() -> None:
    turned = [frame.with_columns(score=-pl.col("score")) for frame in two_rounds()]
    result = failure_change(*turned, **{**ASKED, "better": "smaller"})
    names = ("gain", "low", "high")
    straight, mirrored = remedied().tables["gains"], result.tables["gains"]
    for name in names:
        assert np.allclose(mirrored[name].to_numpy(), straight[name].to_numpy())
    assert mirrored["verdict"].to_list() == straight["verdict"].to_list()
    verdicts = [one.tables["effect_changes"]["verdict"].to_list() for one in (result, remedied())]
    assert verdicts[0] == verdicts[1]


def test_the_same_answers_twice_are_no_change() -> None:
    old, _ = two_rounds()
    again = old.with_columns(model=pl.lit("renamed"), score=pl.col("score") + 1e-4 * (pl.int_range(pl.len()) % 2 - 0.5))
    result = failure_change(old, again, **ASKED)
    assert set(result.tables["gains"]["verdict"]) == {"no gain shown"}
    assert set(result.tables["effect_changes"]["verdict"]) == {"no change shown"}
    assert "no-gain-shown" in [one.code for one in result.findings]


def test_targets_are_corrected_among_themselves() -> None:
    result = failure_change(*two_rounds(), **ASKED, target="smoke")
    row = result.tables["effect_changes"].filter(pl.col("term") == "smoke").row(0, named=True)
    assert row["p_holm"] == row["p_value"]
    gain = result.tables["gains"].filter(pl.col("subgroup") == "with smoke").row(0, named=True)
    assert gain["p_holm"] == gain["p_value"]
    with pytest.raises(UnknownName, match="property to be remedied"):
        failure_change(*two_rounds(), **ASKED, target="fog")


def test_rows_without_a_partner_are_left_out_and_counted() -> None:
    old, new = two_rounds()
    result = failure_change(old, new.filter(pl.col("case") != "0/0"), **ASKED)
    assert "1 rows of before have no partner" in " ".join(result.warnings)
    assert result.tables["gains"]["cases"].max() == old.height - 1


def test_rounds_that_do_not_belong_together_are_refused() -> None:
    old, new = two_rounds()
    other = pl.when(pl.col("case") == "0/0").then(1 - pl.col("smoke")).otherwise("smoke")
    with pytest.raises(TableInvalid, match="'smoke' differs between the rounds for 1 of the same cases"):
        failure_change(old, new.with_columns(smoke=other), **ASKED)
    with pytest.raises(TableInvalid, match="no row of one has the video, case"):
        failure_change(old, new.with_columns(case=pl.col("case") + "x"), **ASKED)
    with pytest.raises(TableInvalid, match="rows repeat"):
        failure_change(pl.concat([old, old]), new, **ASKED)
    several = pl.concat([old, old.with_columns(model=pl.lit("other"))])
    with pytest.raises(Misuse, match="which belong together"):
        failure_change(several, new, **ASKED)
    with pytest.raises(Misuse, match="hold between videos"):
        failure_change(old, new, **{**ASKED, "random": []})


def test_every_column_that_a_round_lacks_is_named_with_its_option() -> None:
    old, new = two_rounds()
    with pytest.raises(TableInvalid) as said:
        failure_change(old.drop("size"), new.drop("score", "video").rename({"smoke": "smok"}), **ASKED)
    problems = said.value.problems
    assert len(problems) == 4
    for words in ("before: column 'size'", "after: column 'score'", "after: column 'video'",
                  "after: column 'smoke' does not exist; did you mean 'smok'? (option fixed)"):  # fmt: skip
        assert any(words in problem for problem in problems)
    with pytest.raises(TableInvalid, match="after: the table has no rows"):
        failure_change(old, new.clear(), **ASKED)


def test_rounds_on_other_videos_are_shown_beside_each_other() -> None:
    old, new = two_rounds()
    with pytest.raises(TableInvalid, match=r"first of before: 0, '0/0'; after: 100, '0/0'\); both rounds \(--before"):
        failure_change(old, new.with_columns(video=pl.col("video") + 100), **ASKED)


def test_what_is_missing_is_asked_for_by_the_option() -> None:
    for option, value in (("outcome", None), ("fixed", []), ("random", []), ("better", None)):
        with pytest.raises(Misuse, match=f"--{option}"):
            failure_change(*two_rounds(), **{**ASKED, option: value})


def test_below_six_videos_no_gain_is_claimed() -> None:
    old, new = (frame.filter(pl.col("video") < 5) for frame in two_rounds())
    result = failure_change(old, new, **ASKED)
    assert set(result.tables["gains"]["verdict"]) == {"too few videos"}
    assert "few-videos" in [one.code for one in result.findings]


def test_counts_and_answers_are_compared_as_odds() -> None:
    rng = stream(4, "odds")
    old, new = two_rounds()
    chances = [special.expit(4 * (frame["score"].to_numpy() - 0.5)) for frame in (old, new)]
    counted = [
        frame.with_columns(hits=pl.Series(rng.binomial(40, chance)), all=40)
        for frame, chance in zip((old, new), chances, strict=True)
    ]
    asked = {"fixed": ["smoke"], "random": ["model", "video", "case"]}
    result = failure_change(*counted, successes="hits", trials="all", **asked)
    row = result.tables["effect_changes"].row(0, named=True)
    assert row["odds_ratio_before"] < row["odds_ratio_after"] < 1.2
    assert row["verdict"] == "less harmful"
    assert "after:case" in result.prose
