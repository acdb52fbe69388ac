"""`surgvalid audit`: a study, a folder, a new study file, a data card; exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from data_set_files import cholec80
from nested_tables import nested_frame
from surgvalid.cli import build_app


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    path = tmp_path / "scores.csv"
    nested_frame(videos=4).write_csv(path)
    return path


def run(*words: object, text: str | None = None) -> tuple[int, str]:
    done = CliRunner().invoke(build_app(), ["audit", *map(str, words)], input=text)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.output


def test_a_place_alone_is_a_study_and_failures_end_with_one(scores: Path) -> None:
    code, text = run(scores, "--pitfall", "P1.2", "--json")
    assert code == 1
    shown = json.loads(text[text.index("{") : text.rindex("}") + 1])
    assert shown["counts"]["fail"] == 1
    assert shown["passes"] is False


def test_no_failure_ends_with_zero_wherever_options_stand(scores: Path) -> None:
    assert run("--pitfall", "P2.1", scores)[0] == 0


def test_a_study_is_begun_by_asking(tmp_path: Path, scores: Path) -> None:
    code, text = run("new", tmp_path, "--ask", text="\n" * 40)
    assert code == 0
    assert (tmp_path / "study.toml").is_file()
    assert "surgvalid audit" in text


def test_a_card_of_a_data_set(tmp_path: Path) -> None:
    cholec80(tmp_path / "cholec80")
    code, text = run("card", "cholec80", tmp_path / "cholec80", "--task", "phase", "--out", tmp_path / "card")
    assert code == 1, "counts differ from the published ones"
    assert (tmp_path / "card" / "card_classes.csv").is_file()
    assert "Preparation" in text


def test_pitfalls_are_listed() -> None:
    done = CliRunner().invoke(build_app(), ["tools", "list", "pitfalls", "--json"])
    assert [row["pitfall"] for row in json.loads(done.output)][:2] == ["P1.1", "P1.2"]
