"""Folders that version 0.1.0 wrote are still read: its interval columns under today's names, with a note."""

import polars as pl
import pytest

from repository import REPOSITORY
from surgvalid.report.inputs import read_inputs
from surgvalid.schema.findings import Severity

OLDER = REPOSITORY / "tests" / "golden" / "v0_1_0" / "early"
NOTE = "columns ci_low, ci_high of an older version were read as low, high"
RENAMED = [
    ("score", "summary"), ("rank", "buckets"), ("rank", "differences"), ("rank", "gate_evidence"),
    ("failures", "effects"), ("failures", "per_model"), ("failures", "marginal_means"),
]  # fmt: skip


@pytest.mark.parametrize(("folder", "name"), RENAMED)
def test_the_ends_of_intervals_are_read_under_their_new_names(folder: str, name: str) -> None:
    inputs = read_inputs(OLDER / folder)
    written = pl.read_csv(OLDER / folder / f"{name}.csv", infer_schema_length=None)
    table = inputs.parts[0].tables[name]
    for old, new in (("ci_low", "low"), ("ci_high", "high")):
        assert old not in table.columns
        assert table[new].to_list() == written[old].cast(pl.Float64).fill_nan(None).to_list()
    notes = [finding for finding in inputs.findings if finding.code == "older-columns"]
    assert f"{name}.csv: {NOTE}" in [finding.message for finding in notes]
    assert {finding.severity for finding in notes} == {Severity.NOTE}


def test_every_table_of_an_older_folder_is_read() -> None:
    inputs = read_inputs(OLDER)
    assert [finding.message for finding in inputs.findings if finding.severity is not Severity.NOTE] == []
    read = {file.relative_to(OLDER) for file in inputs.files}
    assert {path.relative_to(OLDER) for path in OLDER.rglob("*.csv")} <= read
    assert {part.kind for part in inputs.parts} == {"score", "rank", "rank-tasks", "failures", "evaluate", "interval"}
    tables = {table for part in inputs.parts for table in part.tables}
    assert {path.stem for path in OLDER.rglob("*.csv") if path.parent != OLDER} <= tables


def test_an_official_summary_is_not_called_old() -> None:
    inputs = read_inputs(OLDER / "official")
    assert [finding for finding in inputs.findings if finding.code == "older-columns"] == []
    assert inputs.parts[0].tables["summary"].columns == ["level", "name", "accuracy", "low", "high", "count"]


@pytest.mark.parametrize("folder", ["rank-tasks", "evaluate"])
def test_tables_without_such_columns_are_read_without_a_note(folder: str) -> None:
    assert [finding for finding in read_inputs(OLDER / folder).findings if finding.code == "older-columns"] == []
