"""The example package is built, installed beside surgvalid, used from the command line, and held to our rules."""

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
from repository import REPOSITORY
from surgvalid.audit.study import AuditedStudy
from surgvalid.catalogue import packages_named
from surgvalid.cli import build_app, main
from surgvalid.cli._group import HOMES
from surgvalid.datasets import open_data_set
from surgvalid.errors import Misuse, PluginBroken
from surgvalid.judges import open_judge
from surgvalid.metrics import open_metric
from surgvalid.metrics.classification.cases import LabelCases
from surgvalid.models import open_model
from surgvalid.report.charts import CHARTS
from surgvalid.report.report import make_report
from surgvalid.sandbox import open_engine, trial_run
from surgvalid.stats.ranking import rank
from surgvalid.studies.study_audit import audit_study
from surgvalid.tasks import open_task
from surgvalid.testing import (
    MetricExample,
    check_chart,
    check_data_set,
    check_engine,
    check_judge,
    check_metric,
    check_model,
    check_rule,
)

PLUGIN = REPOSITORY / "examples" / "plugin"
BROUGHT = {
    "charts": "value_dots",
    "datasets": "phase_lists",
    "engines": "nice-process",
    "judges": "contains",
    "metrics": "worst_unit_accuracy",
    "models": "echo",
    "pitfalls": "H1.1",
    "rules": "trimmed-mean-then-rank",
    "sections": "case_counts",
    "tasks": "smoke-in-view",
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


def surgvalid(*words: object) -> str:
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


SCORES = {"model": list("AABB"), "case": list("xyxy"), "value": [0.9, 0.8, 0.5, 0.9]}


def test_the_package_has_a_part_of_every_kind() -> None:
    assert BROUGHT.keys() == HOMES.keys()


def test_every_catalogue_lists_what_the_package_brings_with_its_name(installed: Path) -> None:
    for group, name in BROUGHT.items():
        row = json.loads(surgvalid("tools", "list", group, "--json"))[-1]
        assert name in row.values(), group
        assert row["package"] == "surgvalid-example 0.1.0"


def test_help_names_what_the_package_brings(installed: Path) -> None:
    assert "contains" in surgvalid("score", "judge", "check", "--help")
    assert "trimmed-mean-then-rank" in surgvalid("rank", "--help").replace("\n", "")


def test_a_command_of_its_own_finds_the_package(site: Path) -> None:
    source = REPOSITORY / "src"
    words = [sys.executable, "-m", "surgvalid", "score", "judge", "check", "--judge", "contains", "--json"]
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
    words = ("--predictions", tmp_path / "both.csv", "--metric", "worst_unit_accuracy", "--resamples", 50, "--json")
    rows = json.loads(surgvalid("evaluate", "classification", *words))["metrics"]
    assert {row["metric"]: row["value"] for row in rows} == {"worst_unit_accuracy": 0.5}


def test_its_metric_is_refused_where_the_cases_are_others(installed: Path, tmp_path: Path) -> None:
    rows = {"video": list("vvww"), "second": [0, 1] * 2, "reference": list("xyxy"), "prediction": list("xxxy")}
    pl.DataFrame(rows).write_csv(tmp_path / "both.csv")
    with pytest.raises(Misuse, match="takes labels; there are label sequences here"):
        surgvalid("evaluate", "phases", "--predictions", tmp_path / "both.csv", "--metric", "worst_unit_accuracy")


def test_its_data_set_keeps_the_rules_and_is_checked(installed: Path, tmp_path: Path) -> None:
    check_data_set(open_data_set("phase_lists"), phases)
    phases(tmp_path)
    assert json.loads(surgvalid("data", "check", "phase_lists", tmp_path, "--json"))["ok"]


def test_its_rule_keeps_the_rules_and_ranks(installed: Path) -> None:
    check_rule("trimmed-mean-then-rank")
    assert rank(SCORES, "trimmed-mean-then-rank", replicates=0, better="larger").rule == "trimmed-mean-then-rank"


def test_its_chart_keeps_the_rules(installed: Path) -> None:
    draw = CHARTS["value_dots"]
    columns = {"model": pl.String, "value": pl.Float64}
    check_chart(
        "value_dots",
        lambda names: draw(pl.DataFrame({"model": names, "value": np.linspace(0, 1, len(names))}, schema=columns)),
    )


def test_its_engine_keeps_the_rules(installed: Path) -> None:
    check_engine("nice-process")


def test_its_model_keeps_the_rules(installed: Path) -> None:
    check_model("echo")


def test_its_task_is_read(installed: Path) -> None:
    assert open_task("smoke-in-view").answer.classes == ("clear", "smoke")


def test_its_pitfall_is_checked_where_it_is_asked_for(installed: Path) -> None:
    cases = pl.DataFrame({"case": list("xy"), "video": list("vw"), "operator": ["O", "O"]})
    study = AuditedStudy("one", tables={"cases": cases})
    assert audit_study(study, pitfalls=["H1.1"]).table.select("pitfall", "outcome").rows() == [("H1.1", "fail")]
    assert "H1.1" not in audit_study(study).table["pitfall"]


def test_its_section_is_at_the_end_of_a_report_that_asks_for_it(installed: Path, tmp_path: Path) -> None:
    pl.DataFrame(SCORES).write_csv(tmp_path / "scores.csv")
    made = make_report(tmp_path / "scores.csv", better="larger", sections=["case_counts"])
    assert made.sections[-1].name == "case_counts"
    assert "case_counts" not in [one.name for one in make_report(tmp_path / "scores.csv", better="larger").sections]


def test_a_broken_package_is_named_where_it_is_used_and_disturbs_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    offers = {group: {"spoilt": "broken_plugin:THING"} for group in BROUGHT}
    install(tmp_path, "broken_plugin", "raise ImportError('no such library')", offers)
    monkeypatch.syspath_prepend(str(tmp_path))
    for group in BROUGHT:
        row = json.loads(surgvalid("tools", "list", group, "--json"))[-1]
        assert row["package"] == "broken_plugin 1.0"
        assert row["problem"] == "ImportError: no such library"
    assert "spoilt" in surgvalid("score", "judge", "check", "--help")
    doctor = json.loads(surgvalid("tools", "doctor", "--engine", "spoilt", "--json"))
    assert "broken_plugin 1.0" in doctor["engines"][0]["problems"][0]["message"]
    with pytest.raises(PluginBroken, match=r"ranking rule 'spoilt' of broken_plugin 1.0: ImportError"):
        rank({"model": ["A"], "case": ["x"], "value": [1.0]}, "spoilt")
    with pytest.raises(PluginBroken, match=r"judge 'spoilt' of broken_plugin 1.0"):
        surgvalid("score", "judge", "check", "--judge", "spoilt")


RAISES = """
from surgvalid.audit.evidence import Look
from surgvalid.audit.pitfall import Category, Pitfall
from surgvalid.datasets import DataSet, DataTask
from surgvalid.errors import Misuse
from surgvalid.stats.ranking import RankRule

USAGE = "raises"
name = "raises"

def fall(*args, **options):
    raise ZeroDivisionError("of the part")

def refuse(*args, **options):
    raise Misuse("a word of the part")

build = fall
RULE = RankRule(name, "raises", fall)
ABOUT = Pitfall("X1.1", "t", Category.DATA, "w", (), (), "c", "f")
LOOKS = (Look("nothing", fall),)
DATA_SET = DataSet(
    name=name, title="t", citation="c", source="s", checked_against="a", licence="l",
    tasks={"phase": DataTask(summary="s", read=fall, clock="seconds", rate_hz=1.0)},
)

class Engine:
    name = "raises"
    guarantees, takes_images, problems, check = frozenset(), False, fall, fall
    start = images = fall

class Polite:
    USAGE, build = "polite", staticmethod(refuse)
"""


HOMES_OF_RAISING = {
    "charts": ":fall",
    "datasets": ":DATA_SET",
    "engines": ":Engine",
    "judges": "",
    "metrics": ":fall",
    "models": "",
    "pitfalls": "",
    "rules": ":RULE",
    "sections": ":fall",
}
"""Where a part of each kind is; tasks are data, and nothing of them is called."""


@pytest.fixture
def raising(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with scores, and a package whose parts all raise when they are called."""
    names = {group: "X1.1" if group == "pitfalls" else "raises" for group in HOMES_OF_RAISING}
    offers = {group: {names[group]: f"raising_plugin{home}"} for group, home in HOMES_OF_RAISING.items()}
    offers["judges"]["polite"] = "raising_plugin:Polite"
    install(tmp_path, "raising_plugin", RAISES, offers)
    monkeypatch.syspath_prepend(str(tmp_path))
    pl.DataFrame(SCORES).write_csv(tmp_path / "scores.csv")
    return tmp_path


USES = {
    "charts": lambda _: CHARTS["raises"](),
    "datasets": lambda folder: open_data_set("raises").references(folder, task="phase"),
    "engines": lambda _: trial_run(open_engine("raises")),
    "judges": lambda _: open_judge("raises"),
    "metrics": lambda _: open_metric("raises"),
    "models": lambda _: open_model("raises"),
    "pitfalls": lambda _: audit_study(AuditedStudy("one"), pitfalls=["X1.1"]),
    "rules": lambda _: rank(SCORES, "raises", better="larger"),
    "sections": lambda folder: make_report(folder / "scores.csv", better="larger", sections=["raises"]),
}
"""What somebody does so that the part is called."""


@pytest.mark.parametrize("group", USES)
def test_a_part_that_raises_when_it_is_called_names_its_package(group: str, raising: Path) -> None:
    with pytest.raises(PluginBroken, match=r"of raising_plugin 1.0: ZeroDivisionError: of the part") as caught:
        USES[group](raising)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_an_error_of_ours_that_a_part_raises_keeps_its_kind_and_names_the_package(raising: Path) -> None:
    with pytest.raises(Misuse, match="a word of the part") as caught:
        open_judge("polite")
    assert caught.value.__notes__ == ["raised by judge 'polite' of raising_plugin 1.0"]


def test_the_command_line_says_on_one_line_whose_part_raised(
    raising: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["surgvalid", "score", "judge", "check", "--judge", "polite"])
    with pytest.raises(SystemExit):
        main()
    assert "a word of the part; raised by judge 'polite' of raising_plugin 1.0" in capsys.readouterr().err


def test_what_no_part_raised_is_left_as_it_is(raising: Path) -> None:
    with pytest.raises(PluginBroken):
        open_judge("raises")
    with pytest.raises(ZeroDivisionError), packages_named():
        1 / 0
