import json
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from ranking_tables import focus_frame
from surgvalid.cli import build_app, main
from surgvalid.errors import Misuse, WouldOverwrite


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "scores.csv"
    focus_frame(4, gap=3.0).write_csv(path)
    return path


def run(*arguments: object):
    return CliRunner().invoke(build_app(), ["rank", *map(str, arguments)])


def test_focus_writes_the_files_of_the_contract(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = run(table, "--resamples", 50, "--must-beat", "C", "--must-beat", "D", "--prize-pool", 100, "--out", out)
    assert result.exit_code == 0
    assert {"places.csv", "buckets.csv", "pairs.csv", "stability.csv", "manifest.json"} <= {
        p.name for p in out.iterdir()
    }
    places = pl.read_csv(out / "places.csv")
    assert places.filter(pl.col("baseline"))["model"].unique().sort().to_list() == ["C", "D"]
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["inputs"][0]["file"] == "scores.csv"
    assert manifest["options"]["baselines"] == ["C", "D"]
    assert "places:" in result.stdout
    assert "prizes:" in result.stdout
    assert "models were ranked" in result.stdout


def test_every_option_of_the_contract_is_accepted(table: Path) -> None:
    result = run(
        table, "--rule", "focus", "--rule", "leaderboard=technical", "--rule", "merge=wins", "--level", 0.9,
        "--correction", "none",
        "--resamples", 20, "--seed", 7, "--metric", "correct", "--missing", "drop-case", "--test", "sign-flip-z",
        "--bucket-weight", "temporal_grounding=2", "--unpaid", "A", "--outside", "B", "--json",
    )  # fmt: skip
    assert result.exit_code == 0
    data = json.loads(result.stdout)
    assert data["rule"] == "focus"
    assert "seed 7" in data["prose"]
    assert data["places"][0]["board"] == "technical"


def test_generic_rules_take_tasks_weights_and_columns(tmp_path: Path) -> None:
    path = tmp_path / "their.csv"
    focus_frame(3).rename({"model": "algorithm", "video": "patient"}).write_csv(path)
    result = run(
        path, "--rule", "test-then-rank", "--model-column", "algorithm", "--unit", "patient",
        "--condition", "capability",
        "--task-weight", "temporal_grounding=2", "--correction", "holm", "--resamples", 20, "--missing", "0",
        "--better", "larger", "--with", "challenger_compat", "--rule", "consensus=euclidean", "--out", tmp_path / "out",
    )  # fmt: skip
    assert result.exit_code == 0
    assert {"ranks.csv", "consensus.csv", "kendall.csv", "pairs.csv"} <= {p.name for p in (tmp_path / "out").iterdir()}
    assert "consensus:" in result.stdout


def test_nothing_is_overwritten_without_force(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run(table, "--resamples", 0, "--out", out).exit_code == 0
    assert isinstance(run(table, "--resamples", 0, "--out", out).exception, WouldOverwrite)
    assert run(table, "--resamples", 0, "--out", out, "--force").exit_code == 0


def test_a_ranking_by_another_rule_leaves_nothing_of_the_first_behind(table: Path, tmp_path: Path) -> None:
    out, fresh = tmp_path / "out", tmp_path / "fresh"
    assert run(table, "--resamples", 0, "--out", out).exit_code == 0
    (out / "notes.md").write_text("mine")
    generic = ("--rule", "mean-then-rank", "--resamples", 0)
    assert run(table, *generic, "--out", out, "--force").exit_code == 0
    assert run(table, *generic, "--out", fresh).exit_code == 0
    assert {p.name for p in out.iterdir()} == {p.name for p in fresh.iterdir()} | {"notes.md"}


@pytest.mark.parametrize(
    "arguments", [("--columns", "model"), ("--task-weight", "x=heavy"), ("--columns", "=a"), ("--resamples", "-3")]
)
def test_options_that_cannot_be_read_are_misuse(table: Path, arguments: tuple[str, str]) -> None:
    assert isinstance(run(table, *arguments).exception, Misuse)


def test_deliberate_errors_end_with_code_two_and_one_line(
    table: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["surgvalid", "rank", str(table), "--rule", "merge=wns"])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    assert capsys.readouterr().err == "unknown merge rule 'wns'; did you mean 'wins'?\n"


def test_several_files_are_stacked(tmp_path: Path) -> None:
    frame = focus_frame(3)
    paths = []
    for model in "ABC":
        paths.append(tmp_path / f"{model}.parquet")
        frame.filter(pl.col("model") == model).write_parquet(paths[-1])
    result = run(*paths, "--rule", "mean-then-rank", "--resamples", 0, "--json")
    assert len(json.loads(result.stdout)["ranks"]) == 3


def test_options_of_another_rule_are_warned_about(table: Path) -> None:
    result = run(
        table,
        "--rule",
        "mean-then-rank",
        "--resamples",
        0,
        "--must-beat",
        "C",
        "--rule",
        "leaderboard=clinical",
        "--level",
        0.9,
    )
    said = [line for line in result.stderr.splitlines() if "has no use for" in line]
    assert said == [
        f"Warning: rule 'mean-then-rank' has no use for {name!r}; what was given for it was ignored"
        for name in ("board", "baselines")
    ]
    assert "no use for 'task_column'" in run(table, "--rule", "focus", "--resamples", 0, "--condition", "video").stderr
    quiet = run(table, "--rule", "test-then-rank", "--resamples", 0, "--level", 0.9, "--test", "sign-flip")
    assert "no use for" not in quiet.stderr


def test_a_weight_given_twice_is_misuse(table: Path) -> None:
    result = run(table, "--resamples", 0, "--bucket-weight", "aggregation=1", "--bucket-weight", "aggregation=2")
    assert isinstance(result.exception, Misuse)
    assert "'aggregation' is given twice" in str(result.exception)
