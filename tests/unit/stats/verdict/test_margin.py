"""A margin is read as the scores are written, and what was shown is said beside it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import surgvalid
from surgvalid.errors import Misuse


def table(scale: float = 1.0, *, gains: dict[str, float], sd: float = 0.004, patients: int = 14) -> pl.DataFrame:
    rng = np.random.default_rng(5)
    rows = []
    for patient in range(patients):
        level = rng.normal(0.75, 0.04)
        rows += [
            {"patient": f"p{patient}", "model": model, "dice": scale * (level + gain + rng.normal(0, sd))}
            for model, gain in {"A": 0.0, **gains}.items()
        ]
    return pl.DataFrame(rows)


def test_percent_points_of_percentages_are_the_shares_of_shares() -> None:
    shares, points = (
        surgvalid.compare(table(scale, gains={"B": 0.01}), "A", "B", margin=margin)
        for scale, margin in ((1.0, 0.02), (100.0, 2.0))
    )
    assert points.judged is not None
    assert shares.judged is not None
    assert (points.judged.kind, points.judged.margin) == (shares.judged.kind, pytest.approx(0.02))
    assert "0.02 (2 percent points, as written)" in points.verdict[0]
    assert "percent points" not in shares.verdict[0]


def test_percent_signs_are_percentages_too(tmp_path: Path) -> None:
    frame = table(100.0, gains={"B": 0.01}).with_columns(pl.col("dice").round(3).cast(pl.String) + " %")
    frame.write_csv(tmp_path / "dice.csv")
    assert "0.02 (2 percent points, as written)" in surgvalid.study(tmp_path / "dice.csv", margin=2).verdict[0]


def test_a_margin_beyond_the_scale_is_refused_in_the_units_of_the_table() -> None:
    with pytest.raises(Misuse, match=r"margin of 150 is not below .* \(0 to 100, as written\)"):
        surgvalid.study(table(100.0, gains={"B": 0.01}), margin=150)
    with pytest.raises(Misuse, match=r"margin of 2 is not below .* \(0 to 1\).*--margin 0.02"):
        surgvalid.study(table(gains={"B": 0.01}), margin=2)


def test_nobody_is_favoured_where_models_are_equal_for_practice() -> None:
    result = surgvalid.compare(table(gains={"B": 0.01}), "A", "B", margin=0.05)
    assert "equal for practice" in result.verdict[0]
    assert result.table["favours"].to_list() == [None]
    assert surgvalid.compare(table(gains={"B": 0.01}), "A", "B", margin=0.001).table["favours"].to_list() == ["B"]


def test_what_is_shown_of_one_model_is_said_beside_another_that_is_not_worse() -> None:
    result = surgvalid.study(table(gains={"B": 0.001, "C": -0.1}), margin=0.02)
    assert result.verdict[0].endswith("A is better than C.")


def test_a_margin_that_decides_nothing_is_not_passed_over() -> None:
    frame = table(gains={"B": 0.05}).with_columns(hd95=pl.when(pl.col("model") == "A").then(3.0).otherwise(9.0))
    frame = frame.with_columns(pl.col("hd95") + pl.Series(np.random.default_rng(1).normal(0, 0.1, len(frame))))
    told = surgvalid.study(frame, margin=0.02).verdict
    assert told[0].startswith("It depends on the metric")
    assert "While that is open, nothing is said about the margin 0.02." in told


def test_the_goal_of_a_plan_is_read_as_the_pilot_is_written() -> None:
    plans = [
        surgvalid.plan(table(scale, gains={"B": 0.01}), difference=difference, simulations=100)
        for scale, difference in ((1.0, 0.02), (100.0, 2.0))
    ]
    assert plans[0].videos == plans[1].videos
    assert any("2 is 0.02" in one.text for one in plans[1].findings)
