import numpy as np
import polars as pl
import pytest

from nested_tables import nested_frame
from surgvalid.errors import TooFewVideos
from surgvalid.schema.tables.score_table import ScoreTable
from surgvalid.stats.draws import replicate_keys, stream
from surgvalid.stats.intervals.dependence import dependence, design_effects, icc_between_videos
from surgvalid.stats.intervals.interval import interval
from surgvalid.stats.intervals.replicates import Sample


def simulated(icc: float, videos: int = 300, rows: int = 20) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    values = np.sqrt(icc) * np.repeat(rng.normal(size=videos), rows) + np.sqrt(1 - icc) * rng.normal(size=videos * rows)
    return values[:, None], np.arange(videos + 1) * rows


@pytest.mark.parametrize("icc", [0.0, 0.2, 0.6])
def test_the_intraclass_correlation_is_recovered(icc: float) -> None:
    assert icc_between_videos(*simulated(icc))[0] == pytest.approx(icc, abs=0.05)


def test_the_design_effect_follows_from_the_intraclass_correlation() -> None:
    values, _starts = simulated(0.2)
    frame = pl.DataFrame(
        {
            "model": ["A"] * len(values),
            "case": [f"{i:05d}" for i in range(len(values))],
            "video": np.repeat([f"v{i}" for i in range(300)], 20),
            "metric": ["z"] * len(values),
            "value": values[:, 0],
        }
    )
    row = dependence(frame).table.row(0, named=True)
    assert row["design_effect"] == pytest.approx(1 + 19 * row["icc"], rel=0.02)
    assert row["effective_cases"] == pytest.approx(row["cases"] / row["design_effect"])


def test_one_row_per_video_has_no_design_effect() -> None:
    row = dependence(nested_frame(rows=1, uneven=False, videos=30)).table.row(0, named=True)
    assert row["design_effect"] == pytest.approx(1.0)
    assert row["icc"] is None


def test_dependence_needs_two_videos() -> None:
    with pytest.raises(TooFewVideos):
        dependence(nested_frame(videos=1))


def test_the_design_effect_is_the_ratio_of_the_variances_of_very_many_resamples() -> None:
    matrix = ScoreTable.of(nested_frame(videos=20, rows=9)).matrix()
    keys = replicate_keys(20_000, stream(1, "test"))
    clustered, naive = (
        Sample.of(matrix, statistic="mean", resample=resample, estimand="rows").replicates(keys).var(axis=0)
        for resample in ("cluster", "naive")
    )
    np.testing.assert_allclose(design_effects(matrix).table["design_effect"], clustered / naive, rtol=0.06)


def test_unscored_rows_are_left_out_of_the_design_effect() -> None:
    frame = (
        nested_frame(models=1)
        .with_row_index()
        .with_columns(value=pl.when(pl.col("index") % 4 == 0).then(None).otherwise(pl.col("value")))
        .drop("index")
    )
    left_out = dependence(frame, missing="drop-score").table["design_effect"][0]
    assert left_out == pytest.approx(dependence(frame.drop_nulls("value")).table["design_effect"][0])


def test_both_summaries_of_width_ratios_are_given_and_named() -> None:
    frame = nested_frame(videos=10, rows=30, models=4)
    result = dependence(frame, replicates=300)
    wide = interval(frame, replicates=300).table
    narrow = interval(frame, replicates=300, resample="naive").table
    a, b = (wide["high"] - wide["low"]).to_numpy(), (narrow["high"] - narrow["low"]).to_numpy()
    assert result.summaries is not None
    summary = dict(result.summaries.rows())
    assert summary["median of ratios"] == pytest.approx(np.median(a / b))
    assert summary["ratio of medians"] == pytest.approx(np.median(a) / np.median(b))
    assert "median of ratios" in result.prose
    assert (result.widths["width_ratio"] > 1).all()


def test_ratios_per_slice_and_without_any_width() -> None:
    frame = nested_frame().with_columns(value=pl.when(pl.col("view") == "smoke").then(1.0).otherwise(pl.col("value")))
    result = dependence(frame, by=["view"], method="bootstrap", replicates=50)
    smoke = result.widths.filter(pl.col("view") == "smoke")
    assert smoke["width_ratio"].null_count() == smoke.height
    assert result.summaries is not None
    assert result.summaries["view"].unique().to_list() == ["clear"]


def test_influence_is_the_value_minus_the_value_without_a_video() -> None:
    frame = nested_frame()
    table = dependence(frame, estimand="videos").influence
    without = frame.filter(pl.col("video") != "v03")
    expected = interval(without, estimand="videos", replicates=2).table["value"][1]
    row = table.filter((pl.col("video") == "v03") & (pl.col("model") == "M1")).row(0, named=True)
    assert row["value_without"] == pytest.approx(expected)
    assert row["influence"] == pytest.approx(row["value"] - expected)
    assert table["influence"].abs().to_list() == sorted(table["influence"].abs(), reverse=True)


def test_few_videos_and_design_effects_below_one_are_said() -> None:
    """Videos that are alike by chance make 42 cases look worth 120."""
    alike = {"model": ["A"] * 8, "case": list("abcdefgh"), "video": list("uuvvwwxx"), "metric": ["correct"] * 8,
             "value": [1, 0] * 4}  # fmt: skip
    found = dependence(alike)
    assert found.table["effective_cases"][0] is None or found.table["effective_cases"][0] > 8
    codes = [one.code for one in found.findings]
    assert codes[:2] == ["few-videos", "design-effect-below-one"]
    assert set(codes[2:]) == {"few-videos", "no-variation"}
