"""Curves of difficulty: what each model loses on steps of a property, with intervals over videos."""

import numpy as np
import polars as pl
import pytest

from surgvalid.stats.mixed.failures import failures


def answers(videos: int = 16, rows: int = 60, seed: int = 2) -> pl.DataFrame:
    """Two models of which one needs contrast, and a third column that is no number."""
    rng = np.random.default_rng(seed)
    video = np.repeat(np.arange(videos), rows)
    contrast, smoke = rng.uniform(6, 60, len(video)), rng.random(len(video)) < 0.3
    own = rng.normal(0, 0.5, videos)[video]
    parts = []
    for model, slope in (("needs-contrast", 0.12), ("indifferent", 0.0)):
        chance = 1 / (1 + np.exp(-(slope * (contrast - 30) + 1 + own)))
        parts.append(
            pl.DataFrame({
                "model": model, "video": [f"v{v}" for v in video], "case": [f"c{n}" for n in range(len(video))],
                "contrast": contrast, "smoke": np.where(smoke, "yes", "no"),
                "right": (rng.random(len(video)) < chance) * 1,
            })
        )  # fmt: skip
    return pl.concat(parts)


@pytest.fixture(scope="module")
def curves() -> tuple[pl.DataFrame, pl.DataFrame]:
    table = answers()
    result = failures(
        table, outcome="right", fixed=["contrast", "smoke"], random=["model", "video", "case"], recommend=True
    )
    return table, result.tables["property_curves"]


def test_each_step_has_the_mean_loss_of_its_rows(curves):
    table, steps = curves
    assert steps["property"].unique().to_list() == ["contrast"]  # smoke takes two values and has no curve
    assert steps.height == 2 * 6
    for row in steps.iter_rows(named=True):
        upper = pl.col("contrast") <= row["to"] if row["to"] == steps["to"].max() else pl.col("contrast") < row["to"]
        here = table.filter((pl.col("model") == row["model"]) & (pl.col("contrast") >= row["from"]) & upper)
        assert row["rows"] == here.height
        assert row["videos"] == here["video"].n_unique()
        assert row["loss"] == pytest.approx(1 - here["right"].mean())
        assert row["middle"] == pytest.approx(here["contrast"].mean())
        assert 0 <= row["low"] < row["loss"] < row["high"] <= 1


def test_a_curve_falls_for_the_model_that_needs_it_and_for_no_other(curves):
    _, steps = curves
    needs, other = (steps.filter(model=name).sort("middle") for name in ("needs-contrast", "indifferent"))
    assert needs["loss"][0] - needs["loss"][-1] > 0.6
    assert needs["low"][0] > needs["high"][-1]
    assert abs(other["loss"][0] - other["loss"][-1]) < 0.1


def test_intervals_over_videos_hold_the_truth_and_are_wider_than_those_of_rows():
    """Every video is either easy or hard: rows of one video tell hardly more than one of them."""
    inside, widths = [], []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        video = np.repeat(np.arange(20), 30)
        easy = (rng.random(20) < 0.5)[video]
        table = pl.DataFrame({
            "model": "A", "video": [f"v{v}" for v in video], "depth": rng.normal(size=len(video)),
            "right": (rng.random(len(video)) < np.where(easy, 0.9, 0.3)) * 1,
        })  # fmt: skip
        steps = failures(table, outcome="right", fixed=["depth"], random=["video"], recommend=True).tables[
            "property_curves"
        ]
        inside += [row["low"] <= 0.4 <= row["high"] for row in steps.iter_rows(named=True)]
        widths += (steps["high"] - steps["low"]).to_list()
    assert np.mean(inside) > 0.88
    assert np.mean(widths) > 1.3 * 2 * 1.96 * np.sqrt(0.4 * 0.6 / 100)


def test_few_videos_have_no_interval():
    table = answers(videos=8).with_columns(
        contrast=pl.when(pl.col("video").is_in(["v0", "v1"])).then(pl.col("contrast")).otherwise(pl.lit(5.0))
    )
    steps = failures(
        table, outcome="right", fixed=["contrast"], random=["model", "video", "case"], recommend=True
    ).tables["property_curves"]
    few = steps.filter(pl.col("videos") < 3)
    assert few.height > 0
    assert few["low"].null_count() == few.height
