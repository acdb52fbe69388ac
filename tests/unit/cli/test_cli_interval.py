import json
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from nested_tables import nested_frame
from surgvalid.cli import build_app
from surgvalid.errors import Misuse, TableInvalid, WouldOverwrite

RUN = CliRunner()


@pytest.fixture
def table(tmp_path: Path) -> str:
    path = tmp_path / "scores.csv"
    nested_frame().rename({"model": "algorithm", "video": "patient"}).write_csv(path)
    return str(path)


COLUMNS = ["--model-column", "algorithm", "--unit", "patient", "--resamples", "30"]


def test_intervals_are_printed_with_their_paragraph(table: str) -> None:
    done = RUN.invoke(build_app(), ["analyse", "interval", table, *COLUMNS])
    assert done.exit_code == 0, done.output
    assert "M0" in done.stdout
    assert "leaving out one video at a time" in done.stdout
    drawn = RUN.invoke(
        build_app(), ["analyse", "interval", table, *COLUMNS, "--method", "bootstrap", "--resample", "two-stage"]
    )
    assert "30 two-stage bootstrap resamples" in drawn.stdout


def test_json_is_one_document(table: str) -> None:
    done = RUN.invoke(build_app(), ["analyse", "interval", table, *COLUMNS, "--json", "--by", "view"])
    data = json.loads(done.stdout)
    assert {row["view"] for row in data["rows"]} == {"smoke", "clear"}


def test_files_are_written_with_a_manifest_and_never_over_others(table: str, tmp_path: Path) -> None:
    out = tmp_path / "intervals.parquet"
    call = ["analyse", "interval", table, *COLUMNS, "--out", str(out)]
    assert RUN.invoke(build_app(), call).exit_code == 0
    assert pl.read_parquet(out).height == 3
    manifest = json.loads((tmp_path / "intervals.manifest.json").read_text())
    assert manifest["options"]["replicates"] == 30
    assert manifest["inputs"][0]["file"] == "scores.csv"
    again = RUN.invoke(build_app(), call)
    assert isinstance(again.exception, WouldOverwrite)
    assert RUN.invoke(build_app(), [*call, "--force"]).exit_code == 0


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (["--columns", "model"], "is not OURS=THEIRS"),
        (["--columns", "center=a,center=b"], "given twice"),
        (["--columns", "model=a"], "write --model-column a for model=a"),
        (["--out", "x.txt"], "expected .csv, .parquet or a folder"),
        (["--out", "nowhere/x.csv"], "does not exist"),
        (["--resample", "rows>video"], "cannot be read"),
    ],
)
def test_misuse_is_said_in_one_line(table: str, extra: list[str], message: str) -> None:
    done = RUN.invoke(build_app(), ["analyse", "interval", table, *COLUMNS, *extra])
    assert isinstance(done.exception, Misuse)
    assert message in str(done.exception)


def test_a_column_under_a_name_that_no_verb_knows_is_refused(table: str) -> None:
    done = RUN.invoke(
        build_app(), ["analyse", "interval", table, "--model-column", "algorithm", "--columns", "surgeon=patient"]
    )
    assert isinstance(done.exception, TableInvalid)
    assert "'surgeon' (for 'patient') is none of our names" in str(done.exception)


@pytest.mark.parametrize(("frames", "said"), [(5, "40 rows from 8 cases"), (1, "8 cases")])
def test_frames_within_cases_are_called_rows_beside_them(frames: int, said: str, tmp_path: Path) -> None:
    places = [(f"op {case}", frame) for case in range(8) for frame in range(frames)]
    rows = [(*place, model, 0.7 + 0.02 * k % 0.1) for k, place in enumerate(places) for model in "AB"]
    pl.DataFrame(rows, schema=["case", "frame", "model", "dice"], orient="row").write_csv(tmp_path / "t.csv")
    shown = RUN.invoke(build_app(), ["analyse", "interval", str(tmp_path / "t.csv")]).stdout
    assert said in shown
    assert ("cases from" in shown, "rows from" in shown) == (False, frames > 1)
    assert ("rows" in shown.splitlines()[0].split() or "rows" in shown.splitlines()[1].split()) == (frames > 1)
