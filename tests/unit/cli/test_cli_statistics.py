import json
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from nested_tables import nested_frame
from surgvalid.cli import build_app
from surgvalid.cli._option import read_bins
from surgvalid.errors import FileUnreadable, Misuse, UnknownName

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
    done = call("analyse", "compare", table, "M2", "M0", "--resamples", "30")
    assert done.exit_code == 0, done.output
    assert "'M2' minus 'M0'" in done.stdout
    out = tmp_path / "compare.csv"
    assert call("analyse", "compare", table, "M2", "M0", "--by", "view", "--out", str(out)).exit_code == 0
    assert pl.read_csv(out)["view"].to_list() == ["clear", "smoke"]


def test_several_tables_are_stacked(tmp_path: Path) -> None:
    frame = nested_frame()
    for model in ("M0", "M1"):
        frame.filter(pl.col("model") == model).write_parquet(tmp_path / f"{model}.parquet")
    done = call("analyse", "compare", str(tmp_path / "M0.parquet"), str(tmp_path / "M1.parquet"), "M0", "M1", "--json")
    assert json.loads(done.stdout)["rows"][0]["model_b"] == "M1"


def test_strata_are_shown_with_bins(table: str) -> None:
    done = call("analyse", "strata", table, "--by", "smoke", "--bins", "window_s=2:4", "--resamples", "30", "--json")
    names = {row["stratum"] for row in json.loads(done.stdout)["rows"]}
    assert names == {"smoke", "below 2", "2 to 4", "4 and more"}


def test_bins_that_cannot_be_read_are_named() -> None:
    for text in ("window_s", "window_s=a:b", "window_s="):
        with pytest.raises(Misuse, match="is not COL=EDGE:EDGE"):
            read_bins(text)


def test_aggregation_is_shown_with_its_agreement(table: str, tmp_path: Path) -> None:
    weights = tmp_path / "weights.json"
    weights.write_text('{"smoke": 3, "clear": 1}')
    done = call(
        "analyse", "aggregate", table, "--statistic", "q05", "--name-weights", str(weights), "--combine", "ranks"
    )
    assert done.exit_code == 0, done.output
    assert "weighted phase-wise" in done.stdout
    assert "agreement with frame-wise" in done.stdout
    data = json.loads(call("analyse", "aggregate", table, "--json").stdout)
    assert data["agreement"][0]["strategy"] == "frame-wise"


@pytest.mark.parametrize("text", ["[1, 2]", "{", ""])
def test_weights_without_names_are_refused(table: str, tmp_path: Path, text: str) -> None:
    weights = tmp_path / "weights.json"
    weights.write_text(text)
    assert isinstance(call("analyse", "aggregate", table, "--name-weights", str(weights)).exception, FileUnreadable)


def test_agreement_reads_units_and_segments(tmp_path: Path) -> None:
    rows = [(f"v{v}", f"u{u}", r, (u + (r == "b" and u == v)) % 3) for v in range(4) for u in range(5) for r in "ab"]
    path = tmp_path / "ratings.csv"
    pl.DataFrame(rows, schema=["video", "unit", "rater", "said"], orient="row").write_csv(path)
    done = call(
        "analyse",
        "agreement",
        str(path),
        "--case",
        "unit",
        "--model-column",
        "rater",
        "--label",
        "said",
        "--unit",
        "video",
    )
    assert done.exit_code == 0, done.output
    assert "cohen kappa" in done.stdout
    missing = call(
        "analyse",
        "agreement",
        str(tmp_path / "none.csv"),
        "--model-column",
        "rater",
        "--label",
        "said",
        "--case",
        "unit",
    )
    assert isinstance(missing.exception, FileUnreadable)


def test_an_unknown_model_is_one_line(table: str) -> None:
    assert isinstance(call("analyse", "compare", table, "M2", "M7").exception, UnknownName)


def test_profiles_show_both_tables_and_refuse_what_is_no_number(table: str, tmp_path: Path) -> None:
    done = call("analyse", "profiles", table, "--thresholds", "1", "--out", str(tmp_path / "out"))
    assert done.exit_code == 0, done.output
    assert "probability of improvement" in done.stdout
    assert {"profiles.csv", "improvement.csv"} <= {path.name for path in (tmp_path / "out").iterdir()}
    refused = call("analyse", "profiles", table, "--thresholds", "1,high")
    assert isinstance(refused.exception, Misuse)
    assert "--thresholds: '1,high' is no list of numbers" in str(refused.exception)


def test_a_separated_effect_is_warned_about(tmp_path: Path) -> None:
    frame = nested_frame().with_columns(leak=pl.col("value"))
    frame.filter(pl.col("model") == "M0").write_csv(tmp_path / "scores.csv")
    done = call("analyse", "failures", str(tmp_path / "scores.csv"), "--form", "marginal", "--fixed", "leak", "--json")
    assert [row["t"] for row in json.loads(done.stdout)["rows"]] == [None, None]
    assert "Warning: M0: " in done.stderr


def test_weights_of_an_ensemble_come_from_a_file(tmp_path: Path) -> None:
    frame = nested_frame().with_columns(response=pl.col("value").cast(pl.String))
    frame.write_csv(tmp_path / "scores.csv")
    (tmp_path / "weights.json").write_text(json.dumps({"M0": 9, "M1": 1, "M2": 1}))
    words = ("analyse", "ensembles", str(tmp_path / "scores.csv"), "--kinds", "weighted", "--resamples", "20", "--json")
    done = call(*words, "--name-weights", str(tmp_path / "weights.json"))
    alone = frame.filter(pl.col("model") == "M0")["value"].mean()
    assert json.loads(done.stdout)["rows"][0]["value"] == pytest.approx(alone)
