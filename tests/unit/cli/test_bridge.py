"""`surgvalid host bridge`: the pack, its rehearsal and the leaderboard from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
from typer.testing import CliRunner

from surgvalid.cli import build_app
from surgvalid.studies.preregistration import preregister, write_example
from unit.bridges.test_grand_challenge import evaluations, pack


def test_a_pack_is_written_and_not_written_over(tmp_path: Path) -> None:
    runner, app = CliRunner(), build_app()
    assert runner.invoke(app, ["host", "bridge", "new", str(tmp_path / "pack")]).exit_code == 0
    assert (tmp_path / "pack" / "evaluate.toml").is_file()
    refused = runner.invoke(app, ["host", "bridge", "new", str(tmp_path / "pack"), "--force"])
    assert "move it away" in str(refused.exception)


def test_a_board_is_written_with_who_was_left_out(tmp_path: Path) -> None:
    place, scores = tmp_path / "evaluations.json", tmp_path / "scores.csv"
    place.write_text(json.dumps(evaluations()))
    done = CliRunner().invoke(build_app(), ["host", "bridge", "leaderboard", str(place), str(scores)])
    assert done.exit_code == 0
    assert "left out: e4 of dan" in done.output
    assert set(pl.read_csv(scores)["model"]) == {"ann", "bob", "cleo"}
    again = ["host", "bridge", "leaderboard", str(place), str(scores)]
    refused = CliRunner().invoke(build_app(), [*again, "--force"])
    assert "move it away" in str(refused.exception)


def test_wrong_steps_and_places_are_refused(tmp_path: Path) -> None:
    runner, app = CliRunner(), build_app()
    assert runner.invoke(app, ["host", "bridge", "news", "x"]).exit_code != 0
    assert runner.invoke(app, ["host", "bridge", "leaderboard", "x"]).exit_code != 0


def test_the_design_of_a_challenge_is_printed(tmp_path: Path) -> None:
    (tmp_path / "challenge.toml").write_text('name = "Clips"\n')
    done = CliRunner().invoke(build_app(), ["host", "bridge", "design", str(tmp_path / "challenge.toml")])
    assert "**Title**, name of the challenge: Clips. [challenge.toml: name]" in done.output


def test_the_folder_for_r_checklists_and_osf_are_written_from_the_command_line(tmp_path: Path) -> None:
    """They were there in Python only."""
    runner, app = CliRunner(), build_app()
    rows = [
        {"model": model, "patient": f"p{p}", "case": f"p{p}-{c}", "dice": 0.7 + 0.01 * ((p * 3 + c + gain) % 9)}
        for gain, model in enumerate(("one", "two"))
        for p in range(8)
        for c in range(2)
    ]
    table, plan = tmp_path / "dice.csv", tmp_path / "plan.toml"
    pl.DataFrame(rows).write_csv(table)
    write_example(plan)
    preregister(plan).to_dir(tmp_path / "registered")
    for step, source, files in (
        ("r", table, ["analysis.Rmd", "data/expected.csv"]),
        ("checklists", table, ["BIAS.md", "STARD-AI.md", "checklists.csv"]),
        ("osf", tmp_path / "registered", ["osf.json", "osf.md"]),
    ):
        done = runner.invoke(app, ["host", "bridge", step, str(source), str(tmp_path / step)])
        assert done.exit_code == 0, done.output
        assert all((tmp_path / step / name).is_file() for name in files)
        again = runner.invoke(app, ["host", "bridge", step, str(source), str(tmp_path / step)])
        assert "pass --force" in str(again.exception)
        done = runner.invoke(app, ["host", "bridge", step, str(source), str(tmp_path / step), "--force"])
        assert done.exit_code == 0, done.output


def test_submissions_of_codabench_become_a_table_from_the_command_line(tmp_path: Path) -> None:
    made = pack(tmp_path / "pack")
    handed_in = tmp_path / "submissions" / "ann"
    handed_in.mkdir(parents=True)
    cases = pl.read_csv(made / "ground_truth" / "references.csv")
    cases.select("case", pl.col("reference").alias("prediction")).write_csv(handed_in / "predictions.csv")
    asked = ["host", "bridge", "codabench", str(made), str(tmp_path / "submissions"), str(tmp_path / "scores.csv")]
    done = CliRunner().invoke(build_app(), asked)
    assert done.exit_code == 0, done.output
    assert pl.read_csv(tmp_path / "scores.csv").filter(pl.col("model") == "ann")["value"].mean() == 1.0
