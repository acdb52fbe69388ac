"""The table of a failure analysis: reading, joining, averaging over models."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from mixed_data import nested_table
from surgvalid.errors import Misuse, TableInvalid, UnknownName
from surgvalid.results.result import rows_of
from surgvalid.schema.tables.score_table import ScoreTable
from surgvalid.stats.mixed.failures import failures
from surgvalid.stats.mixed.model.design import design_of
from surgvalid.stats.mixed.model.formula import ModelFormula
from surgvalid.stats.mixed.model.table import averaged_over_models, of_metric, with_properties

TABLE = nested_table()
UNITS = ["algorithm", "patient", "image", "instance"]
COUNTS = {"successes": "hits", "trials": "total", "fixed": ["smoke"], "random": UNITS}
CASES = pl.DataFrame({"case": [1, 2, 3, 1], "video": ["a", "a", "b", "a"], "y": [0, 1, 1, 0]})


def test_keys_are_compared_by_value_not_by_how_they_are_written() -> None:
    for keys in ([3.0, 1.0, 2.0], ["3", "1", "2"], [3, 1, 2]):
        found = with_properties(CASES, pl.DataFrame({"case": keys, "smoke": [1, 0, 1]}), "table")
        assert found["smoke"].to_list() == [0, 1, 1, 0]
        assert found.schema["case"] == pl.Int64


def test_a_property_that_both_tables_have_keeps_its_type_and_must_agree() -> None:
    both = CASES.with_columns(size=pl.Series([0.5, 1.5, 2.5, 0.5]))
    more = pl.DataFrame({"case": [1, 2, 3], "size": [0.5, 1.5, 9.0], "smoke": [1, 0, 1]})
    found = with_properties(both, more, "table")
    assert found["size"].to_list() == [0.5, 1.5, 2.5, 0.5]
    assert found["smoke"].to_list() == [1, 0, None, 1]


def test_properties_of_instances_and_of_videos_come_from_tables_of_their_own(tmp_path: Path) -> None:
    cases = pl.DataFrame({"case": [1, 2], "smoke": [1, 0]})
    more = pl.DataFrame({"smoke": [1], "case": [3]})
    videos = pl.DataFrame({"video": ["a", "b"], "center": ["x", "y"]})
    found = with_properties(CASES, [cases, videos, more], "table")
    assert found["smoke"].to_list() == [1, 0, 1, 1]
    assert found["center"].to_list() == ["x", "x", "y", "x"]
    paths = []
    for name, table in (("cases", cases), ("videos", videos), ("more", more)):
        paths.append(tmp_path / f"{name}.csv")
        table.write_csv(paths[-1])
    assert with_properties(CASES, paths, "table").equals(found)


def test_properties_that_match_nothing_contradict_or_repeat_are_refused() -> None:
    with pytest.raises(TableInvalid, match=r"no row has the 'case' .*case: 1 here, 'c1' there"):
        with_properties(CASES, {"case": ["c1"], "smoke": [1]}, "table")
    with pytest.raises(TableInvalid, match="they are empty"):
        with_properties(CASES, pl.DataFrame({"case": [], "smoke": []}), "table")
    with pytest.raises(TableInvalid, match="column 'smoke' is in several tables"):
        with_properties(CASES, [CASES.select("case", smoke="y").unique(), pl.DataFrame({"video": ["a"], "smoke": [1]})],
                        "table")  # fmt: skip
    with pytest.raises(TableInvalid, match="2 rows repeat a combination of 'case'"):
        with_properties(CASES, pl.DataFrame({"case": [1, 1, 2], "smoke": [1, 0, 0]}), "table")


def test_a_column_takes_the_place_of_another_that_has_its_new_name() -> None:
    table = {"model": ["x", "y"], "algorithm": ["A", "B"]}
    assert rows_of(table, {"model": "algorithm"})["model"].to_list() == ["A", "B"]
    with pytest.raises(TableInvalid, match="'network'"):
        rows_of(table, {"model": "network"})


def test_metrics_may_be_categories_or_missing() -> None:
    table = pl.DataFrame({"metric": ["dice", None, "nsd"], "value": [1.0, 2.0, 3.0]})
    for frame in (table, table.cast({"metric": pl.Categorical})):
        assert of_metric(frame, "dice", "value", "table")["value"].to_list() == [1.0]


def test_answers_added_over_models_say_the_same_about_properties_as_single_answers() -> None:
    """Without an effect of models, successes of three answers have the likelihood of the three, up to a constant."""
    options = {"outcome": "correct", "fixed": ["smoke"], "random": UNITS}
    summed, single = (failures(TABLE, **options, role=role) for role in ("aggregated", "removed"))
    assert summed.fit.design.rows == 40
    assert summed.fit.design.trials.tolist() == [3.0] * 40
    np.testing.assert_allclose(summed.fit.beta, single.fit.beta, atol=1e-5)
    np.testing.assert_allclose(summed.fit.standard_errors, single.fit.standard_errors, rtol=1e-5)


def test_events_added_over_models_keep_their_rate() -> None:
    table = TABLE.filter((pl.col("algorithm") != "C") | (pl.col("smoke") == 1))
    options = {"outcome": "count", "family": "poisson", "fixed": ["smoke"], "random": UNITS, "spec": "ross"}
    summed, single = (failures(table, **options, role=role) for role in ("aggregated", "removed"))
    assert summed.fit.design.rows == 40
    np.testing.assert_allclose(summed.fit.beta, single.fit.beta, atol=1e-4)


def test_a_missing_count_is_not_counted_as_failure_when_models_are_added_up() -> None:
    gaps = pl.when(pl.int_range(pl.len()) % 4 == 0).then(None).otherwise(pl.col("hits"))
    holes = TABLE.with_columns(hits=gaps)
    summed = failures(holes, **COUNTS, role="aggregated")
    assert summed.table.equals(failures(holes.drop_nulls(), **COUNTS, role="aggregated").table)
    assert summed.fit.design.excluded == {"no value in hits": 30}
    assert any("30 rows left out: no value in hits" in warning for warning in summed.warnings)


def test_models_added_up_can_still_be_fitted_one_by_one_and_counted() -> None:
    table = TABLE.with_columns(total=pl.when(pl.int_range(120) == 1).then(0).otherwise(pl.col("total")))
    result = failures(table.with_columns(hits=pl.min_horizontal("hits", "total")), **COUNTS, role="aggregated",
                      per_model=True, leave_out=["image"])  # fmt: skip
    assert result.per_model is not None
    assert result.per_model["model"].unique().sort().to_list() == ["A", "B", "C"]
    assert result.excluded_by_model == {"A": 0, "B": 1, "C": 0}
    with pytest.raises(UnknownName, match="'algorithm'"):
        failures(TABLE, **COUNTS, role="aggregated", leave_out=["algorithm"])


def test_averaging_needs_units_that_remain() -> None:
    with pytest.raises(Misuse, match="name them as random effects"):
        averaged_over_models(design_of(TABLE, ModelFormula.parse("hits / total ~ 1")))


def several_metrics() -> pl.DataFrame:
    """Scores of two metrics, of which the rows of `correct` are few."""
    rng = np.random.default_rng(3)
    rows = [
        {
            "model": m,
            "video": f"v{v}",
            "case": f"q{v}{c}",
            "metric": name,
            "value": float(rng.random() < 0.6),
            "dim": c % 2,
        }
        for m in "ABC"
        for v in range(6)
        for c in range(4)
        for name in ("correct", "other")
    ]
    return pl.DataFrame(rows)


def test_the_metric_is_chosen_as_elsewhere_and_named_in_words() -> None:
    asked = {"fixed": ["dim"], "random": ["model", "video"]}
    frame = several_metrics()
    usual = failures(frame, outcome="value", **asked)
    assert " of correct was fitted to 72 rows" in usual.prose
    assert " of other was fitted to 72 rows" in failures(frame, metric="other", **asked).prose
    table = replace(ScoreTable.of(frame), main="other")
    assert " of other was fitted" in failures(table, outcome="value", **asked).prose
    with pytest.raises(UnknownName, match="unknown metric 'foo'"):
        failures(frame, outcome="value", metric="foo", **asked)
    with pytest.raises(TableInvalid, match="choose one with metric"):
        failures(frame.with_columns(metric="m" + pl.col("metric")), outcome="value", **asked)


def test_the_score_may_go_by_the_name_of_the_user() -> None:
    asked = {"fixed": ["dim"], "random": ["model", "video"], "columns": {"value": "err_mm"}}
    frame = several_metrics().filter(pl.col("metric") == "other").drop("metric").rename({"value": "err_mm"})
    for options in ({"outcome": "err_mm"}, {"outcome": "value"}, {"metric": "err_mm"}):
        assert " of err_mm was fitted to 72 rows" in failures(frame, **options, **asked).prose
    with pytest.raises(UnknownName, match="unknown metric 'foo'"):
        failures(frame, outcome="err_mm", metric="foo", **asked)
