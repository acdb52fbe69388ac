"""The command line of evaluate: files, talk, refusals."""

import json
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from surgeval.cli import build_app
from surgeval.errors import InputInvalid, Misuse, WouldOverwrite


def run(*arguments: object):
    return CliRunner().invoke(build_app(), ["evaluate", *map(str, arguments)])


@pytest.fixture
def sides(tmp_path: Path) -> tuple[Path, Path]:
    frame = pl.DataFrame({"patient": list("uuuvvv"), "frame": [0, 1, 2] * 2, "label": list("aabaab")})
    frame.write_csv(tmp_path / "references.csv")
    predicted = frame.rename({"label": "guess"}).with_columns(guess=pl.Series(list("aabbab")))
    (tmp_path / "predictions.json").write_text(json.dumps(predicted.to_dicts()))
    return tmp_path / "predictions.json", tmp_path / "references.csv"


def names(sides: tuple[Path, Path]) -> list[object]:
    columns = "reference=label,prediction=guess"
    return ["--predictions", sides[0], "--references", sides[1], "--video-column", "patient", "--columns", columns]


def test_classification_writes_tables_conventions_and_a_manifest(sides: tuple[Path, Path], tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = run("classification", *names(sides), "--boot", 50, "--model", "net", "--out", out)
    assert result.exit_code == 0, result.output
    written = {path.name for path in out.iterdir()}
    assert written == {
        *("metrics.csv", "per_video.csv", "per_class.csv", "scores.parquet", "conventions.json", "methods.txt"),
        "manifest.json",
    }
    assert "accuracy" in result.stdout
    assert "note: Classes were taken from the data: a, b" in result.stderr
    manifest = json.loads((out / "manifest.json").read_text())
    assert [entry["file"] for entry in manifest["inputs"]] == ["predictions.json", "references.csv"]
    assert manifest["options"]["columns"] == {"reference": "label", "prediction": "guess", "video": "patient"}
    table = pl.read_parquet(out / "scores.parquet")
    assert table["model"].unique().to_list() == ["net"]
    assert table["value"].sum() == 5
    again = run("classification", *names(sides), "--out", out)
    assert isinstance(again.exception, WouldOverwrite)
    assert run("classification", *names(sides), "--boot", 50, "--out", out, "--force").exit_code == 0


def test_the_score_table_can_go_on_to_the_other_verbs(sides: tuple[Path, Path], tmp_path: Path) -> None:
    run("classification", *names(sides), "--boot", 50, "--out", tmp_path / "out")
    onward = CliRunner().invoke(
        build_app(), ["interval", str(tmp_path / "out"), "--resample", "cluster", "--boot", "50"]
    )
    assert onward.exit_code == 0
    assert "0.833" in onward.stdout


def test_json_holds_every_table(sides: tuple[Path, Path]) -> None:
    result = run("phases", *names(sides), "--metric", "phase_accuracy", "--boot", 50, "--json")
    data = json.loads(result.stdout)
    assert data["metrics"][0]["value"] == pytest.approx(5 / 6)
    assert set(data) >= {"per_video", "per_class", "conventions", "prose", "notes"}


def test_equal_runs_give_equal_files(sides: tuple[Path, Path], tmp_path: Path) -> None:
    for name in ("one", "two"):
        run("phases", *names(sides), "--boot", 50, "--out", tmp_path / name)
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()


def test_bad_input_is_one_deliberate_error(sides: tuple[Path, Path], tmp_path: Path) -> None:
    pl.read_csv(sides[1]).filter(pl.col("frame") > 0).write_csv(sides[1])
    assert isinstance(run("phases", *names(sides)).exception, InputInvalid)
    twice = ["--columns", "video=patient", "--video-column", "patient"]
    assert isinstance(run("phases", "--predictions", sides[0], *twice).exception, Misuse)
