"""The command line of check: counts, findings in order, exit codes."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from data_set_files import BUILDERS
from surgvalid.cli import build_app
from surgvalid.errors import UnknownName


def run(*arguments: object):
    return CliRunner().invoke(build_app(), ["data", "check", *map(str, arguments)])


def test_a_folder_without_errors_or_differing_counts_is_clean(tmp_path: Path) -> None:
    BUILDERS["dresden"](tmp_path)
    result = run("dresden", tmp_path)
    assert result.exit_code == 0
    assert result.stdout.splitlines()[0].split() == ["task", "what", "found", "published"]
    assert result.stdout.splitlines()[-1] == "usable"


def test_counts_that_differ_from_the_published_ones_are_findings(tmp_path: Path) -> None:
    BUILDERS["cholec80"](tmp_path)
    result = run("cholec80", tmp_path)
    assert result.exit_code == 1
    assert "warning count-differs phase: 120 rows; published: 4,612,532" in result.stdout
    assert result.stdout.index("warning") < result.stdout.index("note")
    assert "tool" not in run("cholec80", tmp_path, "--task", "phase").stdout.split("note")[0]


def test_many_findings_of_a_kind_are_cut_and_json_holds_all(tmp_path: Path) -> None:
    BUILDERS["cholecseg8k"](tmp_path)
    for number in range(9):
        (tmp_path / "video01" / "video01_00080" / f"frame_{number}_endo_watershed_mask.png").write_bytes(b"")
    result = run("cholecseg8k", tmp_path)
    assert result.exit_code == 1
    assert result.stdout.count("error unreadable") == 5
    assert "... and 4 more unreadable; --json lists all" in result.stdout
    assert result.stdout.splitlines()[-1] == "not usable as it is: mend the errors first"
    report = json.loads(run("cholecseg8k", tmp_path, "--json").stdout)
    assert report["ok"] is False
    assert len([finding for finding in report["findings"] if finding["code"] == "unreadable"]) == 9
    assert {"task": "masks", "what": "videos", "found": 2, "published": 17} in report["counts"]


@pytest.mark.parametrize("words", [("cholec8", "."), ("cholec80", ".", "--task", "phse")])
def test_unknown_names_are_misuse(words: tuple[str, ...]) -> None:
    assert isinstance(run(*words).exception, UnknownName)
