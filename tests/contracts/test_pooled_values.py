"""The value that `evaluate` gives of all videos together is the value that every later verb gives, for every metric."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from metric_examples import all_examples
from surgvalid.evaluation.measure import EvaluationMaterial, MeasureJob, MeasureSettings, measure
from surgvalid.evaluation.run import score_table_of
from surgvalid.metrics import METRICS, open_metric
from surgvalid.metrics.metric import value_of
from surgvalid.metrics.packing import reopened, written_down
from surgvalid.schema.tables.score_table import ScoreTable, read_score_table
from surgvalid.schema.tables.statistics_table import StatisticsTable
from surgvalid.stats.comparing.comparison import compare
from surgvalid.stats.comparing.strata import strata
from surgvalid.stats.intervals.interval import interval
from surgvalid.stats.ranking import rank

EXAMPLES = all_examples()
VIDEOS = tuple(f"v{place}" for place in range(8))
HALF = ("v0", "v2", "v3", "v6", "v7")
UNPACKABLE: dict[str, str] = {}
"""Metrics of the catalogue whose statistics cannot be written down, and why; there is none."""
POOLED = sorted(name for name in METRICS if open_metric(name, **EXAMPLES[name].options).facts.pooled)
Written = Callable[[str], tuple[list[Path], dict[str, float]]]
every_metric = pytest.mark.parametrize("name", sorted(METRICS))
pooled_metric = pytest.mark.parametrize("name", POOLED)


def units(name: str, model: str) -> list:
    rng, example = np.random.default_rng(4), EXAMPLES[name]
    return [
        (example.random if model == "poor" or place % 3 else example.perfect)(rng) for place, _ in enumerate(VIDEOS)
    ]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Written:
    """Folders of two models as `evaluate` writes them, and the value that it gives, made once for each metric."""

    @cache
    def make(name: str) -> tuple[list[Path], dict[str, float]]:
        metric, example, places, values = open_metric(name, **EXAMPLES[name].options), EXAMPLES[name], [], {}
        for model in ("poor", "fine"):
            found = EvaluationMaterial(
                VIDEOS, len(VIDEOS), (MeasureJob(name, metric, example.cases(units(name, model))),)
            )
            measured = measure(found, MeasureSettings(replicates=5), lambda _: None)
            assert measured.unwritten == {}
            places.append(tmp_path_factory.mktemp(model))
            score_table_of(found, measured, model, (name,)).to_dir(places[-1])
            values[model] = measured.metrics["value"].item()
        return places, values

    return make


@every_metric
def test_statistics_from_a_file_combine_as_those_in_memory_under_any_weights(name: str, tmp_path: Path) -> None:
    metric, example = open_metric(name, **EXAMPLES[name].options), EXAMPLES[name]
    statistics = np.asarray(metric.prepare(example.cases(units(name, "poor"))))
    assert name not in UNPACKABLE
    StatisticsTable.of("m", {name: written_down(name, metric, statistics, VIDEOS)}).to_dir(tmp_path)
    pl.DataFrame({"model": ["m"], "case": ["v0"], "metric": [name], "value": [0.0]}).write_parquet(
        tmp_path / "scores.parquet"
    )
    table = read_score_table(tmp_path).statistics
    assert table is not None
    again, own = reopened(table.recipe(name)), table.of_model("m", name)
    assert own.videos == VIDEOS
    weights = np.vstack([np.ones(8), 1 - np.eye(8), np.eye(8), np.random.default_rng(1).integers(0, 3, (20, 8))])
    found = again.combine(again.unpack(own.packed), weights)
    assert np.array_equal(found, metric.combine(statistics, weights), equal_nan=True)


@pooled_metric
def test_every_verb_gives_the_value_of_evaluate(name: str, written: Written) -> None:
    places, values = written(name)
    table = read_score_table(places)
    few = {"replicates": 20}
    rows = interval(table, **few).table
    assert dict(rows.select("model", "value").iter_rows()) == pytest.approx(values, abs=1e-12)
    assert rows["statistic"].unique().to_list() == ["pooled"]
    row = compare(places, "poor", "fine", **few).table.row(0, named=True)
    assert (row["value_a"], row["value_b"]) == pytest.approx((values["poor"], values["fine"]), abs=1e-12)
    ranked = rank(table, "mean-then-rank", replicates=5).ranks
    assert dict(ranked.select("model", "value").iter_rows()) == pytest.approx(values, abs=1e-12)


@pooled_metric
def test_a_stratum_of_videos_has_the_value_of_its_videos(name: str, written: Written) -> None:
    places, values = written(name)
    read = read_score_table(places)
    marked = read.frame.with_columns(smoke=pl.col("video").is_in(HALF))
    table = ScoreTable.of(marked, facts=read.facts, main=read.main, statistics=read.statistics)
    metric, example = open_metric(name, **EXAMPLES[name].options), EXAMPLES[name]
    chosen = [unit for unit, video in zip(units(name, "poor"), VIDEOS, strict=True) if video in HALF]
    if not set(HALF) <= set(marked.filter(model="poor")["video"]):
        pytest.skip("the metric has no value in a video, so its stratum is unknown")
    found = strata(table, ["smoke"], replicates=5).table.filter(pl.col("model") == "poor").row(0, named=True)
    assert found["value"] == pytest.approx(value_of(metric, example.cases(chosen)), abs=1e-12)
    assert found["baseline"] == pytest.approx(values["poor"], abs=1e-12)


@pooled_metric
def test_no_sentence_on_a_pooled_value_speaks_of_a_mean_or_of_cases(name: str, written: Written) -> None:
    places, _ = written(name)
    read = read_score_table(places)
    marked = read.frame.with_columns(smoke=pl.col("video").is_in(HALF))
    table = ScoreTable.of(marked, facts=read.facts, main=read.main, statistics=read.statistics)
    results = [
        interval(table),
        compare(table, "poor", "fine"),
        strata(table, ["smoke"]),
        strata(table, ["smoke"], baseline="rest"),
    ]
    for result in results:
        prose = result.prose.replace(read.facts_of(name).estimand, "")
        assert f"'{name}' of" in prose
        assert "videos" in prose
        assert not re.search(r"\b(means?|cases?|rows?)\b", prose.replace("missing", "")), prose


@pooled_metric
def test_without_statistics_the_other_number_is_named(name: str, written: Written) -> None:
    places, _ = written(name)
    table = replace(read_score_table(places), statistics=None)
    said = f"'{name}': per-video values; the pooled value of {name} is not their mean."
    assert said in compare(table, "poor", "fine", replicates=5, missing="drop-case").warnings
    assert said in interval(table, replicates=5, missing="drop-score").warnings
    assert said in rank(table, "mean-then-rank", replicates=0, missing="drop-case").warnings


def test_a_metric_under_another_name_is_opened_again_with_all_its_options() -> None:
    example = EXAMPLES["coco_ap50"]
    metric = open_metric("coco_ap50", **example.options)
    other = replace(metric, name="ap_of_ours", ious=(0.3, 0.6), compat="pycocotools")
    statistics = other.prepare(example.cases(units("coco_ap50", "poor")))
    recipe, _ = written_down("ap_of_ours", other, statistics, VIDEOS)
    assert reopened(recipe).facts == other.facts
