from pathlib import Path

import numpy as np
import polars as pl
import pytest

from nested_tables import nested_frame
from surgvalid.errors import Misuse, UnknownName
from surgvalid.schema.questions.questions import Reference
from surgvalid.schema.questions.taxonomy import Capability
from surgvalid.schema.rows import write_json_rows
from surgvalid.stats.comparing.comparison import compare
from surgvalid.stats.comparing.ensembles import ensembles, response_keys, vote_scores

FRAME = nested_frame(models=5, videos=8, rows=10).with_columns(
    response=pl.when(pl.col("value") == 1).then(pl.lit("yes")).otherwise(pl.lit("no"))
)


def one(result, **labels) -> dict:
    return result.table.filter(**labels).row(0, named=True)


def test_the_majority_is_the_response_given_most_often() -> None:
    result = ensembles(FRAME, replicates=50)
    right = FRAME.group_by("case").agg((pl.col("value").mean() > 0.5).alias("right"))["right"].mean()
    assert one(result, ensemble="majority")["value"] == pytest.approx(right)


def test_the_oracle_is_right_wherever_anybody_is_and_bounds_everything() -> None:
    table = ensembles(FRAME, replicates=50).table
    anybody = FRAME.group_by("case").agg(pl.col("value").max())["value"].mean()
    assert table.filter(ensemble="oracle")["value"][0] == pytest.approx(anybody)
    assert (table["value"] <= anybody).all()
    assert table.filter(ensemble="oracle")["gain_low"][0] >= 0


def test_tied_votes_score_the_mean_of_the_tied_responses() -> None:
    values = np.array([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [1.0, 0.0, np.nan]])
    votes = np.array([[0, 1, 2], [0, 0, 1], [-1, -1, -1]])
    assert vote_scores(values, votes, np.ones((3, 3)), worst=0.0).tolist() == pytest.approx([1 / 3, 1.0, 0.0])


def test_declared_weights_decide_and_must_fit_the_models() -> None:
    weights = {"M0": 10, "M1": 1, "M2": 1, "M3": 1, "M4": 1}
    result = ensembles(FRAME, weights=weights, kinds=["weighted"], replicates=30)
    alone = FRAME.filter(pl.col("model") == "M0")["value"].mean()
    assert one(result, ensemble="weighted")["value"] == pytest.approx(alone)
    with pytest.raises(Misuse, match="unknown model 'X'"):
        ensembles(FRAME, weights={**weights, "X": 1})


def test_a_vote_is_weighed_by_the_other_videos_only() -> None:
    rows = []
    for model, first, other in (("A", 1.0, 0.0), ("B", 0.0, 1.0)):
        rows += [(model, f"u{i}", "u", first, str(first)) for i in range(3)]
        rows += [(model, f"w{i}", "w", other, str(other)) for i in range(3)]
    frame = pl.DataFrame(rows, schema=["model", "case", "video", "value", "response"], orient="row")
    result = ensembles(frame, better="larger", kinds=["weighted"], replicates=20)
    assert one(result, ensemble="weighted")["value"] == 0.0


def test_buckets_have_their_own_best_model() -> None:
    table = ensembles(FRAME, by=["view"], kinds=["oracle"], replicates=30).table
    for view in ("smoke", "clear"):
        means = FRAME.filter(pl.col("view") == view).group_by("model").agg(pl.col("value").mean())
        row = table.filter(view=view).row(0, named=True)
        assert row["best_value"] == pytest.approx(means["value"].max())
        assert row["gain"] == pytest.approx(row["value"] - row["best_value"])


def test_responses_are_compared_by_the_value_they_stand_for() -> None:
    reference = Reference("q1", Capability.OBJECT_AGGREGATION, "number", "3")
    key = response_keys([reference])
    assert key("q1", "3") == key("q1", " 3.") is not None
    assert key("q1", "3") != key("q1", "4")
    assert key("q1", "three") is None
    assert key("q9", " as it is ") == "as it is"


def test_files_of_references_say_which_votes_are_equal(tmp_path: Path) -> None:
    right = pl.col("value") == 1
    number = pl.when(right & (pl.col("model") == "M1")).then(pl.lit("03")).when(right).then(pl.lit("3"))
    counted = FRAME.with_columns(response=number.otherwise(pl.lit("4")))
    cases = FRAME["case"].unique().sort()
    references = [Reference(case, Capability.OBJECT_AGGREGATION, "number", "3") for case in cases]
    write_json_rows((reference.as_row() for reference in references), tmp_path / "references.json")
    by_hand = ensembles(counted, key=response_keys(references), replicates=20)
    found = ensembles(counted, references=tmp_path / "references.json", replicates=20)
    assert found.table.equals(by_hand.table)
    assert not found.table.equals(ensembles(counted, replicates=20).table), "texts differ where numbers do not"
    assert [name for name, _ in found.request.files] == ["references"]
    with pytest.raises(Misuse, match="give one of them"):
        ensembles(counted, references=references, key=response_keys(references))


def test_no_response_is_no_vote() -> None:
    silent = FRAME.with_columns(response=pl.when(pl.col("model") == "M0").then(pl.col("response")))
    result = ensembles(silent, kinds=["majority"], replicates=20)
    alone = FRAME.filter(pl.col("model") == "M0")["value"].mean()
    assert one(result, ensemble="majority")["value"] == pytest.approx(alone)


def test_what_cannot_be_an_ensemble_is_refused() -> None:
    with pytest.raises(Misuse, match="at least two models"):
        ensembles(FRAME.filter(pl.col("model") == "M0"))
    with pytest.raises(UnknownName, match="response column"):
        ensembles(FRAME.drop("response"))
    with pytest.raises(UnknownName, match="kind of ensemble"):
        ensembles(FRAME, kinds=["median"])
    assert ensembles(FRAME.drop("response"), kinds=["oracle"], replicates=20).table.height == 1


def test_one_video_has_a_value_without_interval() -> None:
    row = ensembles(FRAME.filter(pl.col("video") == "v00"), replicates=20).table.row(0, named=True)
    assert row["value"] is not None
    assert row["low"] is None


def test_few_videos_are_said_and_gains_have_the_interval_of_a_comparison() -> None:
    few = FRAME.filter(pl.col("video") < "v04")
    result = ensembles(few, kinds=["majority"])
    assert "few-videos" in [finding.code for finding in result.findings]
    assert one(result, ensemble="majority")["gain_p"] >= 0.125
    table = ensembles(FRAME, kinds=["oracle"]).table.row(0, named=True)
    best = FRAME.filter(pl.col("model") == table["best_model"])
    oracle = FRAME.group_by("case", "video", maintain_order=True).agg(pl.col("value").max())
    both = pl.concat([
        best.select("case", "video", "value").with_columns(model=pl.lit("best")),
        oracle.select("case", "video", "value").with_columns(model=pl.lit("oracle")),
    ])  # fmt: skip
    row = compare(both, "oracle", "best", better="larger").table.row(0, named=True)
    assert (table["gain_low"], table["gain_high"]) == (row["low"], row["high"])
    assert table["gain_p"] is None, "the oracle cannot lose, so that no test of it means anything"


def test_gains_are_positive_where_smaller_is_better_and_drawn_intervals_say_that_they_are_narrow() -> None:
    turned = FRAME.with_columns(value=1 - pl.col("value"), metric=pl.lit("err"))
    larger, smaller = ensembles(FRAME, kinds=["oracle"]), ensembles(turned, kinds=["oracle"], better="smaller")
    ends = ["gain", "gain_low", "gain_high"]
    assert smaller.table.select(ends).row(0) == pytest.approx(larger.table.select(ends).row(0), abs=1e-9)
    drawn = ensembles(FRAME, method="bootstrap", replicates=50)
    assert "percentile-too-narrow" in [finding.code for finding in drawn.findings]
