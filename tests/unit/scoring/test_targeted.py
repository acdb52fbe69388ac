import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surgvalid.schema.metric_facts import KNOWN_METRICS
from surgvalid.schema.tables.score_table import ScoreTable
from surgvalid.scoring.targeted import TargetedItems, TargetedResult, targeted_scores


def scored(*rows: tuple) -> TargetedResult:
    """The scores of questions that are given one by one: case, video, format, reference, response, window."""
    whole = [row + (None,) * (6 - len(row)) for row in rows]
    formats = dict.fromkeys(row[2] for row in whole)
    columns = {name: zip(*(row[:2] + row[3:] for row in whole if row[2] == name), strict=True) for name in formats}
    return targeted_scores([TargetedItems(name, *map(list, column)) for name, column in columns.items()])


def value(result, metric: str, case: str) -> float:
    return result.cases.filter(metric=metric, case=case)["value"].item()


def summary(result, metric: str, estimand: str = "rows") -> dict:
    return result.summary.filter(metric=metric, estimand=estimand).row(0, named=True)


def test_sets_are_scored_by_overlap_and_a_missing_answer_is_worth_nothing() -> None:
    clip, both, none = frozenset({"Clip"}), frozenset({"Clip", "Mesh"}), frozenset({"None"})
    result = scored(
        ("half", "v", "fo_class", both, clip),
        ("none", "v", "fo_class", none, none),
        ("missing", "v", "fo_class", none, None),
        ("empty", "v", "fo_class", frozenset(), None),
    )
    assert value(result, "set_jaccard", "empty") == 0
    assert value(result, "set_jaccard", "half") == 0.5
    assert value(result, "set_f1", "half") == pytest.approx(2 / 3)
    assert value(result, "set_exact", "none") == 1
    assert [value(result, m, "missing") for m in ("set_jaccard", "set_f1", "set_exact")] == [0, 0, 0]


def test_times_are_matched_and_a_missing_one_costs_the_way_to_the_far_end_of_the_window() -> None:
    window = (100.0, 400.0)
    result = scored(
        ("two", "v", "time", (150, 300), (149, 303), window),
        ("one-too-few", "v", "time", (150, 300), (149,), window),
        ("missing", "v", "time", (150,), None, window),
    )
    assert value(result, "time_error_s", "two") == 2
    assert [value(result, f"time_within_{t}s", "two") for t in (1, 2, 5)] == [0.5, 0.5, 1]
    assert value(result, "time_error_s", "one-too-few") == (1 + 250) / 2
    assert value(result, "time_error_s", "missing") == 250
    assert value(result, "time_within_30s", "missing") == 0
    assert summary(result, "time_error_s")["n_missing"] == 1
    assert "farthest end" in summary(result, "time_error_s")["worst"]


def test_without_a_window_the_time_line_ends_at_the_latest_reference() -> None:
    items = [("q1", "v", "time", (100,)), ("q2", "v", "time", (900,), (900,))]
    assert value(scored(*items), "time_error_s", "q1") == 800


def test_counts_and_shares_have_errors_and_expected_cost() -> None:
    result = scored(
        ("n1", "a", "number", 2, 3),
        ("n2", "a", "number", 6, None),
        ("p1", "a", "percentage", 30.0, None),
        ("p2", "a", "percentage", 30.0, 42.0),
    )
    assert [value(result, "count_error", c) for c in ("n1", "n2")] == [1, 6]
    assert [value(result, "percentage_points_error", c) for c in ("p1", "p2")] == [70, 12]
    assert summary(result, "expected_cost_absolute")["value"] == 3.5
    assert summary(result, "normalised_expected_cost_absolute")["value"] == pytest.approx(3.5 / 2)
    assert summary(result, "expected_cost_squared")["value"] == pytest.approx((1 + 36) / 2)


def test_a_count_of_four_thousand_digits_costs_as_much_as_none() -> None:
    items = [("q", "v", "number", 3, int("9" * 4000)), ("r", "v", "number", 3)]
    result = scored(*items)
    assert value(result, "count_error", "q") == value(result, "count_error", "r") == 3


def test_the_two_estimands_are_named_and_differ_when_videos_are_unequal() -> None:
    items = [(f"q{i}", "long", "number", 1, 1) for i in range(3)]
    items.append(("q9", "short", "number", 1, 0))
    result = scored(*items)
    assert summary(result, "count_error", "rows")["value"] == pytest.approx(1 / 4)
    assert summary(result, "count_error", "videos")["value"] == pytest.approx(1 / 2)
    assert summary(result, "count_error", "videos")["videos"] == 2


def test_a_constant_reference_leaves_the_normalised_cost_undefined() -> None:
    result = scored(("q", "v", "number", 1, 1))
    assert summary(result, "normalised_expected_cost_absolute")["value"] is None


def test_formats_without_targeted_metrics_and_unreadable_references_are_left_out() -> None:
    items = [
        ("b", "v", "binary", True, True),
        ("t", "v", "time", None, (5,)),
        ("p", "v", "percentage", float("inf"), 5.0),
    ]
    result = scored(*items)
    assert result.cases.is_empty()
    assert result.summary.is_empty()
    assert result.summary.columns[:3] == ["format", "metric", "estimand"]


ITEMS = st.lists(
    st.one_of(
        st.tuples(st.just("number"), st.integers(0, 9), st.one_of(st.none(), st.integers(0, 99))),
        st.tuples(st.just("percentage"), st.floats(0, 100), st.one_of(st.none(), st.floats(0, 1e9))),
        st.tuples(
            st.just("time"),
            st.lists(st.integers(0, 900), min_size=1, max_size=3).map(tuple),
            st.one_of(st.none(), st.lists(st.integers(0, 2000), min_size=1, max_size=3).map(tuple)),
        ),
        st.tuples(
            st.just("fo_class"),
            st.frozensets(st.sampled_from("ABC"), min_size=1),
            st.one_of(st.none(), st.frozensets(st.sampled_from("ABCD"), min_size=1)),
        ),
    ),
    max_size=20,
).map(lambda rows: [(f"q{i}", f"v{i % 3}", f, ref, resp, (0.0, 900.0)) for i, (f, ref, resp) in enumerate(rows)])


@given(ITEMS, st.randoms())
def test_the_order_of_the_questions_changes_no_score(items, random) -> None:
    before = scored(*items).cases.sort("case", "metric")
    random.shuffle(items)
    assert scored(*items).cases.sort("case", "metric").equals(before)


@given(ITEMS)
def test_no_answer_is_never_better_than_an_answer(items) -> None:
    silent = [(*row[:4], None, row[5]) for row in items]
    pairs = scored(*items).cases.join(scored(*silent).cases, on=["case", "metric"])
    for row in pairs.iter_rows(named=True):
        better = row["value"] >= row["value_right"]
        assert better if KNOWN_METRICS[row["metric"]].better == "larger" else row["value"] <= row["value_right"]


@given(ITEMS.filter(bool))
def test_the_scores_are_rows_of_a_valid_score_table(items) -> None:
    cases = scored(*items).cases.with_columns(model=pl.lit("A"), video=pl.lit("v"))
    assert set(ScoreTable.of(cases).metrics) <= set(KNOWN_METRICS)
