"""The example package is built, installed beside surgeval, used from the command line, and held to our rules."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from plugin_packages import install
from surgeval.cli import build_app
from surgeval.datasets import open_data_set
from surgeval.errors import Misuse, PluginBroken
from surgeval.metrics import open_metric
from surgeval.metrics.classification.cases import LabelCases
from surgeval.report.charts import CHARTS
from surgeval.stats.ranking import rank
from surgeval.testing import (
    MetricExample,
    check_chart,
    check_data_set,
    check_engine,
    check_judge,
    check_metric,
    check_rule,
)

PLUGIN = Path(__file__).parents[2] / "examples" / "plugin"
BROUGHT = {
    "charts": "value_dots",
    "datasets": "phase_lists",
    "engines": "nice-process",
    "judges": "contains",
    "metrics": "worst_unit_accuracy",
    "rules": "trimmed-mean-then-rank",
}


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the installed package, built as a wheel on the way."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", folder, PLUGIN]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode and "hatchling" in done.stderr:
        pytest.skip("the package cannot be built here: no registry has hatchling")
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def installed(site: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(site))
    return site


def surgeval(*words: object) -> str:
    done = CliRunner().invoke(build_app(), [str(word) for word in words], catch_exceptions=False)
    assert done.exit_code in (0, 1), done.output
    return done.stdout


def phases(root: Path) -> None:
    for video in ("a", "b"):
        (root / f"{video}.txt").write_text("preparation\n" * 5 + "dissection\n" * 9 + "closure\n" * 3)


def labels(units: list[tuple[np.ndarray, np.ndarray]]) -> LabelCases:
    counts = [len(reference) for reference, _ in units]
    joined = [np.concatenate([np.zeros(0, int), *(unit[side] for unit in units)]) for side in (0, 1)]
    return LabelCases(joined[0], joined[1], 3, np.repeat(np.arange(len(units)), counts))


def random_unit(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    reference = rng.integers(0, 3, 6)
    return reference, np.where(rng.random(6) < 0.6, reference, rng.integers(0, 3, 6))


def test_every_catalogue_lists_what_the_package_brings_with_its_name(installed: Path) -> None:
    for group, name in BROUGHT.items():
        row = json.loads(surgeval("list", group, "--json"))[-1]
        assert name in row.values(), group
        assert row["package"] == "surgeval-example 0.1.0"


def test_help_names_what_the_package_brings(installed: Path) -> None:
    assert "contains" in surgeval("judge", "check", "--help")
    assert "trimmed-mean-then-rank" in surgeval("rank", "--help").replace("\n", "")


def test_a_command_of_its_own_finds_the_package(site: Path) -> None:
    source = Path(__file__).parents[2] / "src"
    words = [sys.executable, "-m", "surgeval", "judge", "check", "--judge", "contains", "--json"]
    done = subprocess.run(words, capture_output=True, text=True, env={"PYTHONPATH": f"{source}:{site}"})
    assert json.loads(done.stdout)["judge"] == "contains", done.stderr


def test_its_judge_keeps_the_rules(installed: Path) -> None:
    check_judge("contains")


def test_its_metric_keeps_the_rules(installed: Path) -> None:
    perfect = lambda rng: (np.arange(3), np.arange(3))  # noqa: E731
    check_metric(open_metric("worst_unit_accuracy"), MetricExample(random_unit, perfect, labels))


def test_its_metric_is_evaluated(installed: Path, tmp_path: Path) -> None:
    table = {"case": list("abcd"), "video": list("vvww"), "reference": list("xyxy"), "prediction": list("xxxy")}
    pl.DataFrame(table).write_csv(tmp_path / "both.csv")
    words = ("--predictions", tmp_path / "both.csv", "--metric", "worst_unit_accuracy", "--boot", 50, "--json")
    rows = json.loads(surgeval("evaluate", "classification", *words))["metrics"]
    assert {row["metric"]: row["value"] for row in rows} == {"worst_unit_accuracy": 0.5}


def test_its_metric_is_refused_where_the_cases_are_others(installed: Path, tmp_path: Path) -> None:
    rows = {"video": list("vvww"), "second": [0, 1] * 2, "reference": list("xyxy"), "prediction": list("xxxy")}
    pl.DataFrame(rows).write_csv(tmp_path / "both.csv")
    with pytest.raises(Misuse, match="takes labels; there are label sequences here"):
        surgeval("evaluate", "phases", "--predictions", tmp_path / "both.csv", "--metric", "worst_unit_accuracy")


def test_its_data_set_keeps_the_rules_and_is_checked(installed: Path, tmp_path: Path) -> None:
    check_data_set(open_data_set("phase_lists"), phases)
    phases(tmp_path)
    assert json.loads(surgeval("check", "phase_lists", tmp_path, "--json"))["ok"]


def test_its_rule_keeps_the_rules_and_ranks(installed: Path) -> None:
    check_rule("trimmed-mean-then-rank")
    scores = {"model": list("AABB"), "case": list("xyxy"), "value": [0.9, 0.8, 0.5, 0.9]}
    assert rank(scores, "trimmed-mean-then-rank", replicates=0, better="larger").rule == "trimmed-mean-then-rank"


def test_its_chart_keeps_the_rules(installed: Path) -> None:
    draw = CHARTS["value_dots"]
    columns = {"model": pl.String, "value": pl.Float64}
    check_chart(
        "value_dots",
        lambda names: draw(pl.DataFrame({"model": names, "value": np.linspace(0, 1, len(names))}, schema=columns)),
    )


def test_its_engine_keeps_the_rules(installed: Path) -> None:
    check_engine("nice-process")


def test_a_broken_package_is_named_where_it_is_used_and_disturbs_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    offers = {group: {"spoilt": "broken_plugin:THING"} for group in BROUGHT}
    install(tmp_path, "broken_plugin", "raise ImportError('no such library')", offers)
    monkeypatch.syspath_prepend(str(tmp_path))
    for group in BROUGHT:
        row = json.loads(surgeval("list", group, "--json"))[-1]
        assert row["package"] == "broken_plugin 1.0"
        assert row["problem"] == "ImportError: no such library"
    assert "spoilt" in surgeval("judge", "check", "--help")
    doctor = json.loads(surgeval("doctor", "--engine", "spoilt", "--json"))
    assert "broken_plugin 1.0" in doctor["engines"][0]["problems"][0]["message"]
    with pytest.raises(PluginBroken, match=r"ranking rule 'spoilt' of broken_plugin 1.0: ImportError"):
        rank({"model": ["A"], "case": ["x"], "value": [1.0]}, "spoilt")
    with pytest.raises(PluginBroken, match=r"judge 'spoilt' of broken_plugin 1.0"):
        surgeval("judge", "check", "--judge", "spoilt")
