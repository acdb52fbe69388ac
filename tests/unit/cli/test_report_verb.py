"""`surgvalid report` from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import surgvalid
from surgvalid.cli import build_app
from surgvalid.errors import FileUnreadable, Misuse, UnknownName, WouldOverwrite


def run(*arguments: str | Path) -> str:
    result = CliRunner().invoke(build_app(), ["report", *map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def refused(*arguments: str | Path) -> BaseException:
    result = CliRunner().invoke(build_app(), ["report", *map(str, arguments)])
    assert result.exception is not None
    return result.exception


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rows = [(m, f"q{q}", f"v{q % 5}", float(q % 3 > 0)) for m in ("a", "b") for q in range(30)]
    path = tmp_path / "scores.csv"
    pl.DataFrame(rows, schema=["algorithm", "case", "video", "value"], orient="row").write_csv(path)
    return path


@pytest.mark.long
def test_it_ends_with_the_path_of_the_page(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    assert run(table, "--model-column", "algorithm", "--out", out, "--title", "My challenge") == f"{out}\n"
    assert "My challenge</p><h1>" in out.read_text(), "the title stands above the finding"


def test_pdf_lies_beside_the_page(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    said = run(table, "--model-column", "algorithm", "--out", out, "--pdf")
    assert said.splitlines() == [str(out), str(tmp_path / "page.pdf")]
    assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF")


def test_json_says_what_was_written_found_and_missing(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    said = json.loads(run(table, "--model-column", "algorithm", "--out", out, "--json", "--template", "challenge"))
    assert said["written"] == [str(out)]
    assert json.loads(Path(said["manifest"]).read_text())["inputs"][0]["file"] == "scores.csv"
    assert said["template"] == "challenge"
    assert any("surgvalid rank" in text for text in said["missing"])
    assert any("Only 5 videos" in text for text in said["limitations"])


def test_how_the_table_was_read_is_said_recorded_and_shown(tmp_path: Path) -> None:
    rows = [(m, f"p{q // 4:02}_frame_{q}.png", 0.7 + q % 5 / 50) for m in ("a", "b") for q in range(32)]
    table, out = tmp_path / "scores.csv", tmp_path / "page.html"
    pl.DataFrame(rows, schema=["model", "image", "dice"], orient="row").write_csv(table)
    result = CliRunner().invoke(build_app(), ["report", str(table), "--out", str(out), "--json"])
    printed = json.loads(result.stdout)
    said = printed["interpreted"]
    assert said == [one.sentence for one in surgvalid.interval(table).request.interpreted]
    assert said[0].startswith("8 patients read from the names in 'image': p00")
    assert f"interpreted: {said[0]}" in result.stderr
    recorded = json.loads(Path(printed["manifest"]).read_text())["interpreted"]
    assert [one["sentence"] for one in recorded] == said
    assert "How this table was read" in out.read_text()


def test_nothing_is_overwritten_without_force(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    out.write_text("mine")
    assert isinstance(refused(table, "--out", out), WouldOverwrite)
    assert out.read_text() == "mine"
    run(table, "--model-column", "algorithm", "--out", out, "--force")
    assert "surgvalid" in out.read_text()


def test_misuse_is_refused_before_any_work(table: Path, tmp_path: Path) -> None:
    assert isinstance(refused(table, "--out", tmp_path / "x.docx"), Misuse)
    assert isinstance(refused(table, "--out", tmp_path / "no" / "x.html"), Misuse)
    assert isinstance(refused(tmp_path / "nowhere", "--out", tmp_path / "x.html"), FileUnreadable)
    wrong = refused(table, "--model-column", "algorithm", "--template", "single-model", "--out", tmp_path / "x.html")
    assert isinstance(wrong, UnknownName)
    assert not (tmp_path / "x.html").exists()


def test_a_tree_that_is_no_project_is_not_read_unasked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(60):
        (tmp_path / "home" / f"of-somebody-{number:02}").mkdir(parents=True)
    home, out = tmp_path / "home", tmp_path / "page.html"
    assert "name the folder that holds the results" in str(refused(home, "--out", out))
    (home / "manifest.json").write_text('{"name": "an app of the web"}')
    assert "no result of surgvalid in its first 50 folders" in str(refused(home, "--out", out))
    asked: list[str] = []
    monkeypatch.setattr("surgvalid.cli.report.agreed", lambda question: asked.append(question) is not None)
    assert isinstance(refused(home, "--out", out), Misuse)
    monkeypatch.setattr("surgvalid.cli.report.agreed", lambda _: True)
    assert isinstance(refused(home, "--out", out), FileUnreadable)
    assert asked == [f"{home}: no result of surgvalid in its first 50 folders. Read everything below it?"]
    surgvalid.study(
        {"patient": list("abcdefg"), "A": [0.1 * n for n in range(7)], "B": [0.5] * 7}, better="larger"
    ).to_dir(home / "of-somebody-07")
    assert run(home, "--out", out) == f"{out}\n"
