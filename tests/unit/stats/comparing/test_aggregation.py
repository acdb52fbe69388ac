import numpy as np
import polars as pl
import pytest

from nested_tables import nested_frame
from surgvalid.errors import Misuse, UnknownName
from surgvalid.schema.metric_facts import MetricFacts
from surgvalid.schema.tables.score_table import ScoreTable
from surgvalid.stats.comparing.aggregation import STRATEGIES, aggregate, rank_of, tau_b

FRAME = (
    nested_frame(models=5, videos=9, rows=12, binary=False)
    .with_columns(phase="p" + (pl.col("case").str.tail(2).cast(pl.Int64) // 4).cast(pl.String))
    .filter(~((pl.col("phase") == "p3") & (pl.col("video") != "v02")))
)
WEIGHTS = {"p0": 1, "p1": 2, "p2": 3, "p3": 1.5}


def by_hand(strategy: str) -> pl.DataFrame:
    """The notebooks' rule with ranks, written with polars."""
    operator = pl.col("value").quantile(0.05, interpolation="linear")
    best_first = pl.col("value").rank("min", descending=True)
    again = pl.col("value").rank("min")
    if strategy == "frame-wise":
        return FRAME.group_by("model").agg(operator).with_columns(rank=best_first).sort("model")
    keys = {"video-wise": ["video"], "phase-wise": ["phase"]}.get(strategy, ["phase", "video"])
    ranked = FRAME.group_by(*keys, "model").agg(operator).with_columns(best_first.over(keys).cast(pl.Float64))
    if len(keys) == 2:
        outer = "phase" if strategy == "phase-wise video-wise" else "video"
        ranked = ranked.group_by(outer, "model").agg(pl.col("value").mean())
        ranked = ranked.with_columns(again.over(outer).cast(pl.Float64))
    return ranked.group_by("model").agg(pl.col("value").mean().round(12)).with_columns(rank=again).sort("model")


@pytest.mark.parametrize("strategy", STRATEGIES[:-1])
def test_ranks_follow_the_rules_of_the_study_level_by_level(strategy: str) -> None:
    table = aggregate(FRAME, operator="q05", combine="ranks").table.filter(strategy=strategy).sort("model")
    assert table["rank"].to_list() == by_hand(strategy)["rank"].to_list()


def test_scores_are_combined_as_means_of_cell_values() -> None:
    table = aggregate(FRAME, operator="median", weights=WEIGHTS).table
    per_phase = FRAME.filter(pl.col("model") == "M1").group_by("phase").agg(pl.col("value").median()).sort("phase")
    value = table.filter(strategy="phase-wise", model="M1")["value"][0]
    assert value == pytest.approx(per_phase["value"].mean())
    weighted = np.average(per_phase["value"], weights=[WEIGHTS[name] for name in per_phase["phase"]])
    assert table.filter(strategy="weighted phase-wise", model="M1")["value"][0] == pytest.approx(weighted)
    cells = FRAME.filter(pl.col("model") == "M1").group_by("phase", "video").agg(pl.col("value").median())
    nested = cells.group_by("phase").agg(pl.col("value").mean())["value"].mean()
    assert table.filter(strategy="phase-wise video-wise", model="M1")["value"][0] == pytest.approx(nested)


@pytest.mark.parametrize("combine", ["scores", "ranks"])
def test_equal_weights_change_nothing(combine: str) -> None:
    table = aggregate(FRAME, combine=combine, weights=dict.fromkeys(WEIGHTS, 2)).table
    plain, weighted = (table.filter(strategy=s)["rank"].to_list() for s in ("phase-wise", "weighted phase-wise"))
    assert plain == weighted


@pytest.mark.parametrize("combine", ["scores", "ranks"])
def test_a_model_that_is_best_in_every_row_is_first_everywhere(combine: str) -> None:
    best = FRAME.with_columns(value=pl.when(pl.col("model") == "M3").then(1.0).otherwise(pl.col("value") * 0.9))
    result = aggregate(best, combine=combine, weights=WEIGHTS)
    assert set(result.table.filter(model="M3")["rank"]) == {1}
    assert result.agreement is not None
    assert not result.agreement["winner_changes"].any()


def test_smaller_is_better_turns_the_order_round() -> None:
    facts = {"error": MetricFacts("error", better="smaller")}
    table = ScoreTable.of(FRAME.with_columns(metric=pl.lit("error")), facts=facts)
    for combine in ("scores", "ranks"):
        turned = aggregate(table, combine=combine).table
        flipped = aggregate(FRAME.with_columns(value=1 - pl.col("value")), combine=combine).table
        assert turned["rank"].to_list() == flipped["rank"].to_list()


def test_weights_for_unknown_phases_and_phases_without_weight_are_all_listed() -> None:
    with pytest.raises(Misuse) as caught:
        aggregate(FRAME, weights={"p0": 1, "p9": 2, "p1": -1, "p2": True})
    for part in ("unknown phase 'p9'", "no weight for phase 'p3'", "weight of 'p1' is -1", "weight of 'p2' is True"):
        assert part in str(caught.value)
    with pytest.raises(UnknownName, match="phase column"):
        aggregate(FRAME.drop("phase"), weights={"p0": 1})


def test_without_phases_two_strategies_remain_and_that_is_said() -> None:
    result = aggregate(FRAME.drop("phase"))
    assert set(result.table["strategy"]) == {"frame-wise", "video-wise"}
    assert "no column 'phase'" in " ".join(result.notes)
    with pytest.raises(Misuse, match="have no phase"):
        aggregate(FRAME.with_columns(phase=pl.when(pl.col("video") == "v00").then(None).otherwise(pl.col("phase"))))


def test_ties_share_the_smallest_rank_and_constant_rankings_have_no_tau() -> None:
    equal = FRAME.with_columns(value=pl.lit(0.5))
    result = aggregate(equal)
    assert set(result.table["rank"]) == {1}
    assert result.agreement is not None
    assert result.agreement["tau_b"].null_count() == result.agreement.height
    assert np.isnan(tau_b(np.ones(3), np.arange(3.0)))
    assert rank_of(np.array([3.0, 1.0, 3.0]), better="larger").tolist() == [1, 3, 1]


def test_the_way_to_combine_is_checked_and_named() -> None:
    with pytest.raises(UnknownName, match="way to combine"):
        aggregate(FRAME, combine="values")
    assert "combining ranks" in aggregate(FRAME, combine="ranks").prose
