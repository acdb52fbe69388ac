"""What a report says about itself: the line that makes it again, versions, and hashes of what was read."""

from __future__ import annotations

import hashlib
import json
import shlex
import shutil
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from report_folder import shared_challenge
from surgvalid.cli import build_app
from surgvalid.report.inputs import ReportInputs, read_inputs
from surgvalid.report.record import digests, report_manifest, reproduction_line
from surgvalid.report.report import make_report
from surgvalid.report.section import Prose


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rows = [(m, f"q{q}", f"v{q % 5}", float(q % 3 > 0)) for m in ("a", "b") for q in range(30)]
    path = tmp_path / "my scores.csv"
    pl.DataFrame(rows, schema=["algorithm", "case", "video", "value"], orient="row").write_csv(path)
    return path


def test_the_line_in_the_report_makes_the_same_page_again(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = make_report(table, template="study", title="It's $mine", columns={"model": "algorithm"})
    line = reproduction_line(made.inputs)
    [own] = [section for section in made.sections if section.name == "reproduction"]
    assert Prose(f"This page: {line}") in own.blocks
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(build_app(), shlex.split(line)[1:], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == made.html()


def test_every_file_that_was_read_is_named_with_its_hash(tmp_path: Path) -> None:
    folder = shutil.copytree(shared_challenge(), tmp_path / "copy")
    named = dict(digests(read_inputs(folder)))
    for name in ("rank/places.csv", "rank/manifest.json", "model-0/scores.parquet", "failures/fit.json"):
        assert named[name] == hashlib.sha256((folder / name).read_bytes()).hexdigest()
    assert "requests.json" not in named, "what is not read is not named"


def test_a_change_in_any_file_shows_in_the_manifest(tmp_path: Path) -> None:
    folder = shutil.copytree(shared_challenge() / "rank", tmp_path / "rank")
    before = report_manifest(read_inputs(folder))
    (folder / "buckets.csv").write_text((folder / "buckets.csv").read_text() + "\n")
    after = report_manifest(read_inputs(folder))
    changed = [a["file"] for a, b in zip(before["inputs"], after["inputs"], strict=True) if a != b]
    assert changed == ["buckets.csv"]
    assert before | {"inputs": []} == after | {"inputs": []}


def test_an_earlier_report_in_the_folder_changes_nothing(tmp_path: Path) -> None:
    folder = shutil.copytree(shared_challenge() / "rank", tmp_path / "rank")
    before = report_manifest(read_inputs(folder))
    (folder / "report.manifest.json").write_text(json.dumps(before))
    assert report_manifest(read_inputs(folder)) == before


def test_the_manifest_holds_versions_options_and_what_was_left_out(tmp_path: Path) -> None:
    folder = shutil.copytree(shared_challenge() / "rank", tmp_path / "rank")
    (folder / "pairs.csv").write_text("no,such\n1,2\n")
    made = make_report(folder, title="A title").manifest
    assert made["verb"] == "report"
    assert made["options"] == {"source": "rank", "title": "A title"}
    assert {"numpy", "polars"} <= set(made["packages"])
    assert any("pairs.csv" in finding["message"] for finding in made["findings"])


def test_the_page_says_where_the_files_are_listed_that_it_was_made_from() -> None:
    made = make_report(shared_challenge())
    [own] = [section for section in made.sections if section.name == "reproduction"]
    count = len(digests(made.inputs))
    assert Prose(f"The SHA-256 of the {count} files that it was made from are in report.manifest.json.") in own.blocks
    assert len(made.manifest["inputs"]) == count


def test_a_folder_with_a_hostile_name_stays_one_word_of_the_line() -> None:
    line = reproduction_line(ReportInputs(Path("/x/$(reboot)\u202e; rm -rf")))
    assert shlex.split(line)[2] == "$(reboot)\ufffd; rm -rf"
