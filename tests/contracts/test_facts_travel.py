"""What holds of a metric in memory holds after writing and reading: name, direction, range, unit, estimand."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from docs import metric_catalogue
from metric_examples import all_examples
from surgvalid.errors import FileUnreadable, TableInvalid
from surgvalid.evaluation.measure import EvaluationMaterial, MeasureJob, MeasureSettings, measure
from surgvalid.evaluation.run import score_table_of
from surgvalid.metrics import METRICS, open_metric
from surgvalid.report.inputs import read_inputs
from surgvalid.report.sections import verdict
from surgvalid.schema.metric_facts import CATALOGUE, COMMON_NAMES, KNOWN_METRICS, MetricFacts
from surgvalid.schema.tables.score_table import ScoreTable, read_score_table
from surgvalid.stats.comparing.aggregation import aggregate
from surgvalid.stats.comparing.comparison import compare
from surgvalid.stats.intervals.interval import interval
from surgvalid.stats.ranking import rank

EXAMPLES = all_examples()
VIDEOS = tuple(f"v{place}" for place in range(8))
every_metric = pytest.mark.parametrize("name", sorted(METRICS))


def written(name: str, folder: Path) -> tuple[list[Path], MetricFacts]:
    """Folders with the scores of a perfect and of a poor model, as `evaluate` writes them."""
    metric, example = open_metric(name, **EXAMPLES[name].options), EXAMPLES[name]
    places = []
    for model, draw in (("poor", example.random), ("fine", example.perfect)):
        rng = np.random.default_rng(4)
        found = EvaluationMaterial(
            VIDEOS, len(VIDEOS), (MeasureJob(name, metric, example.cases([draw(rng) for _ in VIDEOS])),)
        )
        measured = measure(found, MeasureSettings(replicates=5), lambda _: None)
        places.append(folder / model)
        places[-1].mkdir()
        score_table_of(found, measured, model, (name,)).to_dir(places[-1])
    return places, metric.facts


def winner_by_hand(places: list[Path], facts: MetricFacts) -> str:
    """The model with the better mean over the videos in which both have a value, from the bare columns."""
    rows = pl.concat([pl.read_parquet(place / "scores.parquet").select("model", "video", "value") for place in places])
    both = rows.pivot("model", index="video", values="value").drop_nulls()
    gap = both["fine"].mean() - both["poor"].mean()
    assert abs(gap) > 1e-6, "the example tells the models apart"
    return "fine" if (gap > 0) == (facts.better == "larger") else "poor"


@every_metric
def test_every_verb_names_the_winner_that_the_metric_means(name: str, tmp_path: Path) -> None:
    places, facts = written(name, tmp_path)
    table = replace(read_score_table(places), statistics=None)  # the winner by hand is that of the rows
    assert table.facts_of(name) == facts
    assert table.chosen_metric() == name
    best = winner_by_hand(places, facts)
    assert best == "fine"
    few = {"missing": "drop-case", "replicates": 20}
    found = compare(table, "poor", "fine", **few)
    row = found.table.row(0, named=True)
    assert row["difference"] * facts.sign < 0, "the poor one comes first"
    differing = row["videos_won"] + row["videos_lost"]
    assert row["favours"] == best or (row["favours"] is None and (differing < 6 or row["p_value"] > 0.05))
    assert found.table["metric"].to_list() == [name]
    assert repr(name) in found.prose
    assert interval(table, **few).table["metric"].unique().to_list() == [name]
    ranked = rank(table, "mean-then-rank", replicates=0, missing="drop-case")
    assert ranked.ranks.filter(pl.col("rank") == 1)["model"].to_list() == [best]
    by_cases = rank(table, "rank-then-mean", replicates=0, missing="drop-case")
    assert by_cases.ranks.filter(pl.col("rank") == 1)["model"].to_list() == [best]
    assert aggregate(table, missing="drop-case").agreement["winner"].unique().to_list() == [best]


@every_metric
def test_the_report_names_the_same_winner_under_the_same_name(name: str, tmp_path: Path) -> None:
    written(name, tmp_path)
    for place in ("poor", "fine"):
        (tmp_path / place / "manifest.json").write_text(json.dumps({"verb": "evaluate", "options": {}}))
    inputs = read_inputs(tmp_path)
    assert inputs.metric == name
    section = verdict.section(inputs)
    if "There is no number to judge by" in str(section):
        assert inputs.rows["value"].drop_nulls().len() < 2 * len(VIDEOS), (
            "a score is not there, and nobody knows the worst"
        )
        assert section.title == "No verdict"
    else:
        said = str(section)
        assert "poor is better" not in said
        assert re.search(r"fine (is better than poor|has the (high|low)est|ahead in|and poor)|It depends on", said)
        assert name in said


@every_metric
def test_a_lone_parquet_file_and_a_csv_file_with_facts_beside_it_carry_them(name: str, tmp_path: Path) -> None:
    (place, _), facts = written(name, tmp_path)
    lone = tmp_path / "lone.parquet"
    lone.write_bytes((place / "scores.parquet").read_bytes())
    assert read_score_table(lone).facts_of(name) == facts
    pl.read_parquet(lone).write_csv(tmp_path / "scores.csv")
    (tmp_path / "scores.metrics.json").write_text((place / "metrics.json").read_text())
    assert read_score_table(tmp_path / "scores.csv").facts_of(name) == facts


@every_metric
def test_the_name_alone_says_range_direction_and_unit(name: str) -> None:
    facts = open_metric(name, **EXAMPLES[name].options).facts
    known = KNOWN_METRICS[name]
    assert (known.low, known.high, known.better, known.unit) == (facts.low, facts.high, facts.better, facts.unit)


def test_the_catalogue_is_what_the_metrics_say_of_themselves() -> None:
    assert CATALOGUE.read_text(encoding="utf-8") == metric_catalogue.page(), "run python -m docs.generate"
    assert set(COMMON_NAMES.values()) <= set(KNOWN_METRICS)


@every_metric
def test_a_metric_says_what_cases_it_takes_and_whether_the_mean_of_its_rows_is_its_value(name: str) -> None:
    metric, example = open_metric(name, **EXAMPLES[name].options), EXAMPLES[name]
    assert metric.facts.cases
    assert metric.facts.better in ("larger", "smaller")
    if metric.facts.row == "case":
        return
    differs = False
    for seed in range(12):
        rng = np.random.default_rng(seed)
        statistics = np.asarray(metric.prepare(example.cases([example.random(rng) for _ in range(5)])))
        alone = np.asarray(metric.combine(statistics, np.eye(5)))
        value = float(metric.combine(statistics, np.ones((1, 5)))[0])
        if not math.isnan(value):
            differs |= abs(np.nanmean(alone) - value) > 1e-9
    assert differs == metric.facts.pooled


def test_facts_survive_as_plain_data() -> None:
    for facts in (*KNOWN_METRICS.values(), MetricFacts.unknown("score"), open_metric("hd95_px").facts):
        assert MetricFacts.from_dict(json.loads(json.dumps(facts.as_dict()))) == facts


def test_tables_that_mean_different_things_by_one_name_are_not_stacked(tmp_path: Path) -> None:
    for model, rule in (("A", "0"), ("B", "left out")):
        facts = {"dsc": MetricFacts("dsc", conventions={"both masks empty": rule})}
        (tmp_path / model).mkdir()
        ScoreTable.of({"model": [model], "case": ["a"], "value": [1.0], "metric": ["dsc"]}, facts=facts).to_dir(
            tmp_path / model
        )
    with pytest.raises(TableInvalid, match=r"metric 'dsc' is not the same in .*both masks empty '0' and 'left out'"):
        read_score_table([tmp_path / "A", tmp_path / "B"])


def a_table(path: Path, model: str, metric: str, facts: str | None = None, *, name: str = "") -> Path:
    """A small CSV file of one model, with a facts file beside it."""
    rows = [{"model": model, "case": f"q{q}", "video": f"v{q}", "metric": metric, "value": 0.5} for q in range(3)]
    pl.DataFrame(rows).write_csv(path)
    if facts is not None:
        (path.parent / (name or f"{path.stem}.metrics.json")).write_text(facts)
    return path


@pytest.mark.parametrize("metric", ["hd95_px", "HD95"])
def test_facts_beside_a_table_may_not_turn_a_known_direction_round(metric: str, tmp_path: Path) -> None:
    facts = json.dumps({"metrics": {metric: {"better": "larger"}}})
    first = a_table(tmp_path / "a.csv", "A", metric, facts)
    said = rf"a.metrics.json: '{metric}' is better when smaller, but the facts say larger; leave that out"
    with pytest.raises(TableInvalid, match=said):
        read_score_table(first)
    with pytest.raises(TableInvalid, match=said):
        read_score_table([a_table(tmp_path / "b.csv", "B", metric), first])


def test_facts_beside_one_table_are_held_against_the_name_in_another(tmp_path: Path) -> None:
    percent = json.dumps({"metrics": {"dsc": {"better": "larger", "low": 0, "high": 100}}})
    first, second = a_table(tmp_path / "a.csv", "A", "dsc", percent), a_table(tmp_path / "b.csv", "B", "dsc")
    assert read_score_table(first).facts_of("dsc").high == 100
    with pytest.raises(TableInvalid, match=r"b.csv has no facts of metric 'dsc'.*high 100 and 1$"):
        read_score_table([first, second])


@pytest.mark.parametrize(
    "text", ['{"metrics": {"dsc": ', '{"metrics": {"score": {"better": "up"}}}', '{"metrics": {"a": "up"}}']
)
@pytest.mark.parametrize("name", ["metrics.json", "a.metrics.json"])
def test_damaged_facts_beside_a_table_are_an_error_that_names_the_file(text: str, name: str, tmp_path: Path) -> None:
    path = a_table(tmp_path / "a.csv", "A", "score", text, name=name)
    with pytest.raises(FileUnreadable, match=name):
        read_score_table(path)


def test_somebody_elses_metrics_json_is_left_alone(tmp_path: Path) -> None:
    for text in ('{"accuracy": 0.9}', "[1, 2]", '{"metrics": {"accuracy": 0.9}}', '{"metrics": ["dsc"]}'):
        assert read_score_table(a_table(tmp_path / "a.csv", "A", "score", text, name="metrics.json")).facts == {}
