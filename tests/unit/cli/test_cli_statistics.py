import json
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from nested_tables import nested_frame
from surgeval.cli import build_app
from surgeval.cli.strata import read_bins
from surgeval.errors import FileUnreadable, Misuse, UnknownName

RUN = CliRunner()


@pytest.fixture
def table(tmp_path: Path) -> str:
    path = tmp_path / "scores.csv"
    frame = nested_frame().with_columns(
        smoke=pl.col("view") == "smoke", phase=pl.col("view"), window_s=pl.col("case").str.tail(2).cast(pl.Float64)
    )
    frame.write_csv(path)
    return str(path)


def call(*args: str):
    return RUN.invoke(build_app(), list(args))


def test_two_models_are_compared(table: str, tmp_path: Path) -> None:
    done = call("compare", table, "M2", "M0", "--boot", "30")
    assert done.exit_code == 0, done.output
    assert "'M2' minus 'M0'" in done.stdout
    out = tmp_path / "compare.csv"
    assert call("compare", table, "M2", "M0", "--by", "view", "--out", str(out)).exit_code == 0
    assert pl.read_csv(out)["view"].to_list() == ["clear", "smoke"]


def test_several_tables_are_stacked(tmp_path: Path) -> None:
    frame = nested_frame()
    for model in ("M0", "M1"):
        frame.filter(pl.col("model") == model).write_parquet(tmp_path / f"{model}.parquet")
    done = call("compare", str(tmp_path / "M0.parquet"), str(tmp_path / "M1.parquet"), "M0", "M1", "--json")
    assert json.loads(done.stdout)["rows"][0]["model_b"] == "M1"


def test_strata_are_shown_with_bins(table: str) -> None:
    done = call("strata", table, "--by", "smoke", "--bins", "window_s=2:4", "--boot", "30", "--json")
    names = {row["stratum"] for row in json.loads(done.stdout)["rows"]}
    assert names == {"smoke", "below 2", "2 to 4", "4 and more"}


def test_bins_that_cannot_be_read_are_named() -> None:
    for text in ("window_s", "window_s=a:b", "window_s="):
        with pytest.raises(Misuse, match="is not COL=EDGE:EDGE"):
            read_bins(text)


def test_aggregation_is_shown_with_its_agreement(table: str, tmp_path: Path) -> None:
    weights = tmp_path / "weights.json"
    weights.write_text('{"smoke": 3, "clear": 1}')
    done = call("aggregate", table, "--operator", "q05", "--weights", str(weights), "--combine", "ranks")
    assert done.exit_code == 0, done.output
    assert "weighted phase-wise" in done.stdout
    assert "agreement with frame-wise" in done.stdout
    data = json.loads(call("aggregate", table, "--json").stdout)
    assert data["agreement"][0]["strategy"] == "frame-wise"


@pytest.mark.parametrize("text", ["[1, 2]", "{", ""])
def test_weights_without_names_are_refused(table: str, tmp_path: Path, text: str) -> None:
    weights = tmp_path / "weights.json"
    weights.write_text(text)
    assert isinstance(call("aggregate", table, "--weights", str(weights)).exception, FileUnreadable)


def test_agreement_reads_units_and_segments(tmp_path: Path) -> None:
    rows = [(f"v{v}", f"u{u}", r, (u + (r == "b" and u == v)) % 3) for v in range(4) for u in range(5) for r in "ab"]
    path = tmp_path / "ratings.csv"
    pl.DataFrame(rows, schema=["video", "unit", "rater", "said"], orient="row").write_csv(path)
    done = call("agreement", str(path), "--unit", "unit", "--rater", "rater", "--label", "said", "--video", "video")
    assert done.exit_code == 0, done.output
    assert "cohen kappa" in done.stdout
    missing = call("agreement", str(tmp_path / "none.csv"), "--rater", "rater", "--label", "said", "--unit", "unit")
    assert isinstance(missing.exception, FileUnreadable)


def test_an_unknown_model_is_one_line(table: str) -> None:
    assert isinstance(call("compare", table, "M2", "M7").exception, UnknownName)


def test_profiles_show_both_tables_and_refuse_what_is_no_number(table: str, tmp_path: Path) -> None:
    done = call("profiles", table, "--thresholds", "1", "--out", str(tmp_path / "out"))
    assert done.exit_code == 0, done.output
    assert "probability of improvement" in done.stdout
    assert {"profiles.csv", "improvement.csv"} <= {path.name for path in (tmp_path / "out").iterdir()}
    refused = call("profiles", table, "--thresholds", "1,high")
    assert isinstance(refused.exception, Misuse)
    assert "--thresholds: '1,high' is no list of numbers" in str(refused.exception)


def test_a_separated_effect_is_warned_about(tmp_path: Path) -> None:
    frame = nested_frame().with_columns(leak=pl.col("value"))
    frame.filter(pl.col("model") == "M0").write_csv(tmp_path / "scores.csv")
    done = call("adjusted", str(tmp_path / "scores.csv"), "--effects", "leak", "--json")
    assert [row["z"] for row in json.loads(done.stdout)["rows"]] == [None, None]
    assert "Warning: M0: " in done.stderr


def test_weights_of_an_ensemble_come_from_a_file(tmp_path: Path) -> None:
    frame = nested_frame().with_columns(response=pl.col("value").cast(pl.String))
    frame.write_csv(tmp_path / "scores.csv")
    (tmp_path / "weights.json").write_text(json.dumps({"M0": 9, "M1": 1, "M2": 1}))
    words = ("ensembles", str(tmp_path / "scores.csv"), "--kinds", "weighted", "--boot", "20", "--json")
    done = call(*words, "--weights", str(tmp_path / "weights.json"))
    alone = frame.filter(pl.col("model") == "M0")["value"].mean()
    assert json.loads(done.stdout)["rows"][0]["value"] == pytest.approx(alone)
