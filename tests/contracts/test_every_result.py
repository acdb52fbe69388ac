"""What holds of every result, whichever verb or function made it."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from repository import REPOSITORY
from surgvalid import results
from surgvalid.results.result import Result
from surgvalid.schema.documents import json_text
from verb_runs import FOLDER_VERBS, MADE_IN_PYTHON, files_in, inputs_folder, run_verb

NAMES = list(FOLDER_VERBS)
OLD = REPOSITORY / "tests" / "golden" / "v0_1_0" / "early-results"


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every verb's folder, each written by a first run."""
    root = tmp_path_factory.mktemp("written")
    for name in NAMES:
        run_verb(name, root / name)
    return root


@pytest.fixture(scope="module")
def made() -> Mapping[str, Result]:
    """The same results, made in Python from the same files."""
    here = Path.cwd()
    os.chdir(inputs_folder())
    try:
        return {name: make() for name, make in MADE_IN_PYTHON.items()}
    finally:
        os.chdir(here)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.long
def test_python_and_verb_write_the_same(
    name: str, written: Path, made: Mapping[str, Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(inputs_folder())
    made[name].to_dir(tmp_path / "out")
    assert files_in(tmp_path / "out") == files_in(written / name)
    tables = [file for file in files_in(written / name) if file.endswith(".csv")]
    assert all((tmp_path / "out" / file).read_bytes() == (written / name / file).read_bytes() for file in tables)
    python, verb = (json.loads((folder / "manifest.json").read_text()) for folder in (tmp_path / "out", written / name))
    assert set(python) == set(verb)
    assert set(python["options"]) <= {*verb["options"], *verb["given"]}, "the verb records less than Python"
    assert python["inputs"] == verb["inputs"]
    assert python["verb"] == verb["verb"]


@pytest.mark.parametrize("name", NAMES)
def test_what_is_written_is_read_again(name: str, written: Path, made: Mapping[str, Result]) -> None:
    result, stored = made[name], results.read(written / name)
    tables = getattr(result, "written_tables", result.tables)
    assert set(stored.tables) == set(tables)
    for table, frame in tables.items():
        assert_frame_equal(_plain(stored.tables[table]), _plain(frame), check_dtypes=False)
    facts = {"metrics"} if hasattr(result, "scores") else set()
    assert set(stored.records) == {*result.records, *facts}
    assert {name: stored.records[name] for name in result.records} == json.loads(json_text(dict(result.records)))
    assert stored.findings == result.findings
    assert stored.prose == result.prose
    assert_frame_equal(_plain(stored.table), _plain(result.tables[result.main] if result.main else stored.table))


def _plain(frame: pl.DataFrame) -> pl.DataFrame:
    """The table as CSV can hold it: whole numbers and floats alike, nothing and NaN alike, truth as text."""
    texts = frame.with_columns(pl.col(pl.Boolean).cast(pl.String), pl.selectors.numeric().cast(pl.Float64))
    empty = [name for name, kind in texts.schema.items() if kind == pl.Null or texts[name].is_null().all()]
    return texts.with_columns(pl.lit(None, dtype=pl.String).alias(name) for name in empty).with_columns(
        pl.selectors.float().fill_nan(None)
    )


# Every kind twice as the older and twice as the newer: what goes is listed by the older one, whatever comes.
NEIGHBOURS = [(NAMES[at - step], NAMES[at]) for step in (1, 5) for at in range(len(NAMES))]


@pytest.mark.parametrize(("before", "after"), NEIGHBOURS)
def test_a_result_in_place_of_another_leaves_nothing_of_it(
    before: str, after: str, written: Path, made: Mapping[str, Result], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    shutil.copytree(written / before, out)
    (out / "notes of mine.md").write_text("kept")
    made[after].to_dir(out, force=True)
    assert files_in(out) == files_in(written / after) | {"notes of mine.md"}


@pytest.mark.parametrize(("before", "after"), [("failures per model", "failures"), ("score", "score official")])
def test_a_verb_with_force_leaves_nothing_of_an_earlier_run(
    before: str, after: str, written: Path, tmp_path: Path
) -> None:
    shutil.copytree(written / before, tmp_path / "out")
    run_verb(after, tmp_path / "out", "--force")
    assert files_in(tmp_path / "out") == files_in(written / after)


@pytest.mark.parametrize("name", NAMES)
def test_the_manifest_names_every_option_and_every_file(name: str, written: Path) -> None:
    manifest = json.loads((written / name / "manifest.json").read_text())
    assert manifest["inputs"] or name == "task board", "no input is recorded"  # published rows alone need none
    assert all(len(entry["sha256"]) == 64 and entry["parameter"] in manifest["given"] for entry in manifest["inputs"])
    assert {entry["file"] for entry in manifest["outputs"]} == files_in(written / name) - {"manifest.json"}
    assert str(inputs_folder()) not in json.dumps(manifest)
    if name.startswith("failures"):
        asked = {"per_model", "role", "family", "transform", "leave_out", "symmetric", "metric", "spec", "level"}
        assert asked <= set(manifest["options"])


@pytest.mark.parametrize("name", ["rank-mean", "failures", "score", "evaluate", "lint"])
def test_a_folder_of_the_first_version_is_read_and_replaced(
    name: str, made: Mapping[str, Result], written: Path, tmp_path: Path
) -> None:
    stored = results.read(OLD / name)
    assert stored.stored["surgvalid"] == "0.1.0"
    assert stored.tables or stored.records
    shutil.copytree(OLD / name, tmp_path / "out")
    made["diff"].to_dir(tmp_path / "out", force=True)
    assert files_in(tmp_path / "out") == files_in(written / "diff")


def test_notes_of_the_first_version_are_findings() -> None:
    old: dict[str, Any] = json.loads((OLD / "rank-mean" / "manifest.json").read_text())
    stored = results.read(OLD / "rank-mean")
    assert [finding.message for finding in stored.findings] == old["notes"]
    assert {finding.code for finding in stored.findings} <= {"note"}
