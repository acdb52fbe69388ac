"""Where results may go: never over what they are made from, never half a folder, and a copy is whole."""

import json
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import surgvalid
from nested_tables import nested_frame
from small_questions import answers, questions
from surgvalid import results
from surgvalid.cli import build_app
from surgvalid.errors import Misuse

APP = build_app()


def run(*words: object):
    return CliRunner().invoke(APP, [str(word) for word in words])


@pytest.fixture
def scored(tmp_path: Path) -> Path:
    requests, references = questions()
    given = answers("steady", requests, references, seed=1)
    return surgvalid.score(requests, references, given, model="steady", judges=["exact"]).to_dir(tmp_path / "scored")


@pytest.fixture
def other(tmp_path: Path) -> Path:
    requests, references = questions()
    given = answers("steady", requests, references, seed=2)
    return surgvalid.score(requests, references, given, model="other", judges=["exact"]).to_dir(tmp_path / "other")


@pytest.mark.parametrize(
    "verb",
    [
        ("analyse interval",),
        ("rank", "--rule", "mean-then-rank"),
        ("analyse strata", "--by", "format"),
    ],
)
@pytest.mark.parametrize("given", ["folder", "file"])
def test_a_result_is_never_written_over_its_input(verb: tuple[str, ...], given: str, scored: Path, other: Path) -> None:
    before = {path.name: path.read_bytes() for path in scored.iterdir()}
    source = scored if given == "folder" else scored / "scores.parquet"
    done = run(*verb[0].split(), source, other, *verb[1:], "--out", scored, "--force")
    assert isinstance(done.exception, Misuse)
    assert "scores.parquet" in str(done.exception)
    assert {path.name: path.read_bytes() for path in scored.iterdir()} == before


def test_python_refuses_to_write_over_an_input_too(scored: Path) -> None:
    with pytest.raises(Misuse, match="would be lost"):
        surgvalid.interval(scored).to_dir(scored, force=True)


@pytest.mark.parametrize("name", ["rank.csv", "rank.parquet", "rank.json"])
def test_a_verb_with_several_tables_wants_a_folder_and_leaves_nothing(name: str, tmp_path: Path) -> None:
    nested_frame().write_csv(tmp_path / "scores.csv")
    done = run("rank", tmp_path / "scores.csv", "--rule", "mean-then-rank", "--out", tmp_path / name)
    assert isinstance(done.exception, Misuse)
    assert "name a folder" in str(done.exception)
    assert not (tmp_path / name).exists()


def test_a_verb_that_fails_leaves_no_folder(tmp_path: Path) -> None:
    (tmp_path / "scores.csv").write_text("model,case,value\nA,q1,much\n")
    assert run("rank", tmp_path / "scores.csv", "--out", tmp_path / "ranked").exception is not None
    assert not (tmp_path / "ranked").exists()


def test_a_result_that_was_read_is_copied_whole(scored: Path, tmp_path: Path) -> None:
    results.read(scored).to_dir(tmp_path / "copy")
    assert {p.name: p.read_bytes() for p in (tmp_path / "copy").iterdir()} == {
        p.name: p.read_bytes() for p in scored.iterdir()
    }


def test_a_single_table_is_read_with_its_manifest(scored: Path, tmp_path: Path) -> None:
    assert run("analyse", "interval", scored, "--out", tmp_path / "one.csv").exit_code == 0
    stored = results.read(tmp_path / "one.csv")
    assert stored.kind == "interval"
    assert stored.table.height == pl.read_csv(tmp_path / "one.csv").height


def test_facts_beside_a_table_are_among_the_inputs(tmp_path: Path) -> None:
    nested_frame().with_columns(metric=pl.lit("err")).write_csv(tmp_path / "scores.csv")
    facts = {"version": 1, "metrics": {"err": {"name": "err", "better": "smaller", "low": 0, "high": 1}}}
    (tmp_path / "scores.metrics.json").write_text(json.dumps(facts))
    manifest = surgvalid.interval(tmp_path / "scores.csv").manifest()
    assert [entry["file"] for entry in manifest["inputs"]] == ["scores.csv", "scores.metrics.json"]
