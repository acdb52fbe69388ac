import numpy as np
import polars as pl
import pytest

from chart_examples_analysis import agreement_rows
from chart_reading import cells_of, row_order
from surgvalid.report.charts import agreement_matrix
from surgvalid.stats.agreement.report import agreement


def test_kappas_of_raters_stand_on_both_sides_of_the_diagonal() -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 60)
    rows = [
        (f"u{unit}", f"v{unit // 6}", rater, str(truth[unit] if rng.random() < skill else rng.integers(0, 3)))
        for rater, skill in (("Ann", 0.9), ("Bob", 0.8), ("Cem", 0.5))
        for unit in range(60)
    ]
    ratings = pl.DataFrame(rows, schema=["unit", "video", "rater", "label"], orient="row")
    table = agreement(ratings, rater="rater", label="label", unit="unit", video="video", replicates=50).table
    chart = agreement_matrix(table)
    kappas = {(row["rater_a"], row["rater_b"]): row["value"] for row in table.iter_rows(named=True) if row["rater_a"]}
    shades = {pair: cell.shade for pair, cell in cells_of(chart).items()}
    assert shades == pytest.approx({**kappas, **{(b, a): value for (a, b), value in kappas.items()}})
    assert row_order(chart) == ["Ann", "Bob", "Cem"]
    worst = min(kappas, key=kappas.__getitem__)
    assert f"lowest {worst[0]} and {worst[1]} {kappas[worst]:.2f}" in chart.alt
    assert "n = 60 units per pair" in chart.caption


def test_coefficients_of_all_raters_are_no_pair() -> None:
    frame = agreement_rows(["a", "b"])
    assert frame["rater_a"].null_count() == 1
    assert agreement_matrix(frame).data.height == 3


def test_an_undefined_coefficient_is_a_dash() -> None:
    frame = agreement_rows(["a"]).with_columns(value=pl.lit(None, dtype=pl.Float64))
    chart = agreement_matrix(frame)
    assert {cell.text for cell in cells_of(chart).values()} == {"–"}
    assert "none is defined" in chart.alt


def test_other_pairs_can_be_shown_around_zero() -> None:
    frame = pl.DataFrame({"term_a": ["smoke"], "term_b": ["blood"], "phi": [-0.4]})
    chart = agreement_matrix(frame, first="term_a", second="term_b", value="phi", measure="phi")
    assert {cell.shade for cell in cells_of(chart).values()} == {-0.4}
    assert "phi of one pair: smoke and blood −0.40" in chart.alt


def test_classes_of_one_rater_against_another_keep_their_direction() -> None:
    frame = pl.DataFrame({"Ann": ["clip", "clip", "mesh"], "Bob": ["clip", "mesh", "mesh"], "units": [8, 3, 20]})
    chart = agreement_matrix(frame, first="Ann", second="Bob", value="units", measure="units", symmetric=False)
    cells = {pair: cell.text for pair, cell in cells_of(chart).items()}
    assert cells == {("clip", "clip"): "8", ("clip", "mesh"): "3", ("mesh", "mesh"): "20"}
    assert "rows: Ann, columns: Bob" in chart.caption
