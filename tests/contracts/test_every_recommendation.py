"""Every recommendation can be traced to a row of effects.csv, as both are written."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from nested_tables import nested_frame
from surgvalid.stats.mixed.attributable import subgroups
from surgvalid.stats.mixed.failures import failures


@pytest.mark.parametrize("family", ["auto", "gaussian", "ordered-beta"])
def test_recommendations_repeat_rows_of_the_effects(family: str, tmp_path: Path) -> None:
    frame = nested_frame(videos=7, rows=8).with_columns(
        smoke=(pl.col("view") == "smoke").cast(pl.Int64),
        phase=(pl.int_range(pl.len()) % 3).cast(pl.String),
        accuracy=pl.col("value") * (0.5 + 0.1 * (pl.int_range(pl.len()) % 5)),
    )
    outcome = "value" if family == "auto" else "accuracy"
    result = failures(frame, outcome=outcome, fixed=["smoke", "phase"], random=["model", "video"], family=family,
                      recommend=True, metric="correct" if "metric" in frame.columns else None,
                      better=None if family == "auto" else "larger")  # type: ignore[arg-type]  # fmt: skip
    result.to_dir(tmp_path)
    effects = pl.read_csv(tmp_path / "effects.csv")
    listed = pl.read_csv(tmp_path / "recommendations.csv")
    shared = ["term", "estimate", "odds_ratio", "p_holm", "df"]
    assert listed.height == len([group for group in subgroups(result) if group.rows.any()]) > 0
    assert listed["place"].to_list() == list(range(1, listed.height + 1))
    traced = listed.select(shared).join(effects.select(shared), on=shared, how="semi", nulls_equal=True)
    assert traced.height == listed.height
    cases = pl.read_csv(tmp_path / "recommended_cases.csv")
    assert cases.join(listed, on=["place", "term"], how="anti").is_empty()
    for row in listed.iter_rows(named=True):
        assert row["subgroup"] in row["advice"]
        assert (row["verdict"] == "refused") == (row["share"] is None)
        assert row["verdict"] != "established" or (row["p_holm"] <= 0.05 and row["low"] > 0)
