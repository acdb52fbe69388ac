"""`surgvalid host bridge`: the pack, its rehearsal and the leaderboard from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
from typer.testing import CliRunner

from surgvalid.cli import build_app
from unit.bridges.test_grand_challenge import evaluations


def test_a_pack_is_written_and_not_written_over(tmp_path: Path) -> None:
    runner, app = CliRunner(), build_app()
    assert runner.invoke(app, ["host", "bridge", "new", str(tmp_path / "pack")]).exit_code == 0
    assert (tmp_path / "pack" / "evaluate.toml").is_file()
    assert runner.invoke(app, ["host", "bridge", "new", str(tmp_path / "pack")]).exit_code != 0


def test_a_board_is_written_with_who_was_left_out(tmp_path: Path) -> None:
    place, scores = tmp_path / "evaluations.json", tmp_path / "scores.csv"
    place.write_text(json.dumps(evaluations()))
    done = CliRunner().invoke(build_app(), ["host", "bridge", "leaderboard", str(place), str(scores)])
    assert done.exit_code == 0
    assert "left out: e4 of dan" in done.output
    assert set(pl.read_csv(scores)["model"]) == {"ann", "bob", "cleo"}


def test_wrong_steps_and_places_are_refused(tmp_path: Path) -> None:
    runner, app = CliRunner(), build_app()
    assert runner.invoke(app, ["host", "bridge", "news", "x"]).exit_code != 0
    assert runner.invoke(app, ["host", "bridge", "leaderboard", "x"]).exit_code != 0


def test_the_design_of_a_challenge_is_printed(tmp_path: Path) -> None:
    (tmp_path / "challenge.toml").write_text('name = "Clips"\n')
    done = CliRunner().invoke(build_app(), ["host", "bridge", "design", str(tmp_path / "challenge.toml")])
    assert "**Title**, name of the challenge: Clips. [challenge.toml: name]" in done.output
