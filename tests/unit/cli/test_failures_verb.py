import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from mixed_data import nested_table
from repository import REPOSITORY
from surgvalid.cli import build_app
from surgvalid.errors import Misuse, TableInvalid, WouldOverwrite

OPTIONS = ["--outcome", "hits/total", "--fixed", "smoke,size", "--random",
           "algorithm,patient,image,instance"]  # fmt: skip


@pytest.fixture
def table(tmp_path: Path) -> str:
    path = tmp_path / "scores.csv"
    nested_table(cell=0.8).write_csv(path)
    return str(path)


def run(*arguments: str):
    return CliRunner().invoke(build_app(), ["analyse", "failures", *arguments])


def test_the_verb_writes_its_files(table: str, tmp_path: Path) -> None:
    done = run(table, *OPTIONS, "--out", str(tmp_path / "out"))
    assert done.exit_code == 0, done.output
    effects = pl.read_csv(tmp_path / "out" / "effects.csv")
    assert effects["term"].to_list() == ["(Intercept)", "smoke", "size"]
    assert "algorithm:instance" in pl.read_csv(tmp_path / "out" / "variance.csv")["group"].to_list()
    record = json.loads((tmp_path / "out" / "fit.json").read_text())
    assert record["spec"] == "default"
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["inputs"][0]["file"] == "scores.csv"


def test_results_go_to_stdout_and_talk_to_stderr(table: str) -> None:
    done = run(table, *OPTIONS, "--spec", "ross")
    assert "smoke" in done.stdout
    assert "Warning: spec `ross`" in done.stderr
    assert "Decision:" in done.stderr


def test_levels_are_left_out_where_asked(table: str, tmp_path: Path) -> None:
    done = run(table, *OPTIONS, "--leave-out", "patient", "--out", str(tmp_path / "out"))
    assert done.exit_code == 0, done.output
    assert pl.read_csv(tmp_path / "out" / "influence.csv")["column"].unique().to_list() == ["patient"]


def test_json_is_json(table: str) -> None:
    data = json.loads(run(table, *OPTIONS, "--json").stdout)
    assert {"effects", "variance", "log_likelihood", "levels"} <= set(data)


def test_columns_can_be_renamed(table: str) -> None:
    done = run(table, "--outcome", "hits/total", "--fixed", "smoke", "--random", "model,instance",
               "--model-column", "algorithm", "--json")  # fmt: skip
    assert "model" in json.loads(done.stdout)["levels"]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--outcome", "correct", "--random", "(smoke|image)"], Misuse),
        (["--outcome", "correct", "--columns", "model"], Misuse),
        (["--outcome", "corect"], TableInvalid),
    ],
)
def test_misuse_is_a_deliberate_error(table: str, arguments: list[str], error: type[Exception]) -> None:
    assert isinstance(run(table, *arguments).exception, error)


def test_an_earlier_result_is_not_overwritten(table: str, tmp_path: Path) -> None:
    arguments = [table, *OPTIONS, "--out", str(tmp_path / "out")]
    assert run(*arguments).exit_code == 0
    assert isinstance(run(*arguments).exception, WouldOverwrite)
    assert run(*arguments, "--force").exit_code == 0


def test_misuse_ends_with_exit_code_two_and_one_line(table: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "surgvalid", "analyse", "failures", table, "--outcome", "corect"],
        capture_output=True, text=True, check=False, env={"PYTHONPATH": str(REPOSITORY / "src")},
    )  # fmt: skip
    assert done.returncode == 2
    assert "did you mean 'correct'" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("arguments", "named"), [
    (
        ["--before", "{}", "--after", "{}", "--recommend", "1", "--preregistration", "{}"],
        "--recommend, --preregistration",
    ),
    (["--before", "{}", "--after", "{}", "--risk", "{}"], "--risk"),
    (["{}", "--target", "smoke"], "--target"),
    (["{}", "--image-column", "image"], "--image-column"),
])  # fmt: skip
def test_options_that_would_be_left_unused_are_refused(table: str, arguments: list[str], named: str) -> None:
    done = run(*(one.format(table) for one in arguments), *OPTIONS)
    assert isinstance(done.exception, Misuse)
    assert str(done.exception).startswith(f"{named}: not used")
