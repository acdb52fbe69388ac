"""A run is repeated from its manifest: equal files where nothing changed, and plain words where something did."""

import json
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from data_set_files import put_workbook
from nested_tables import nested_frame
from small_questions import answers, questions
from surgvalid.cli import build_app
from surgvalid.cli._group import MOVED
from surgvalid.errors import FileUnreadable, Misuse

APP = build_app()


def run(*words: object) -> None:
    done = CliRunner().invoke(APP, [str(word) for word in words])
    assert isinstance(done.exception, SystemExit | None), (done.output, done.exception)
    assert done.exit_code in (0, 1), done.output


def again(manifest: Path, *words: object):
    return CliRunner().invoke(APP, ["tools", "rerun", str(manifest), *map(str, words)])


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "scores.csv"
    response = pl.when(pl.col("value") == 1).then(pl.lit("yes")).otherwise(pl.lit("no"))
    frame = nested_frame(videos=8).with_columns(task=pl.col("view"), labels=pl.lit("a;b"), response=response)
    frame.write_csv(path)
    return path


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    requests, references = questions()
    given = answers("steady", requests, references, seed=1)
    rows = {"requests": requests, "references": references, "responses": given}
    for name, entries in rows.items():
        text = json.dumps([entry.as_row() for entry in entries])
        (tmp_path / f"{name}.json").write_text(text)
    return {name: tmp_path / f"{name}.json" for name in rows}


TABLE_VERBS = {
    "interval": ("--by", "view"),
    "compare": ("M0", "M1"),
    "strata": ("--by", "view"),
    "aggregate": ("--condition", "view"),
    "rank": ("--rule", "mean-then-rank", "--resamples", 20, "--condition", "task"),
    "adjusted": ("--fixed", "view", "--method", "bootstrap", "--resamples", 20),
    "cooccurrence": ("--primary", "view", "--secondary", "labels", "--resamples", 20),
    "dependence": (),
    "ensembles": ("--by", "view", "--resamples", 20),
    "profiles": ("--thresholds", "0.5,1", "--by", "view"),
    "agreement": (
        "--model-column",
        "model",
        "--case",
        "case",
        "--unit",
        "video",
        "--label",
        "response",
        "--resamples",
        20,
    ),
    "failures": ("--outcome", "value", "--fixed", "view", "--random", "model,video"),
}


@pytest.mark.parametrize("verb", TABLE_VERBS)
def test_a_run_on_a_table_is_repeated_with_equal_files(verb: str, table: Path, tmp_path: Path) -> None:
    run(*MOVED.get(verb, verb).split(), table, *TABLE_VERBS[verb], "--out", tmp_path / "first")
    repeated = again(tmp_path / "first", "--out", tmp_path / "second")
    assert repeated.exit_code == 0, repeated.output
    first = json.loads((tmp_path / "first" / "manifest.json").read_text())
    second = json.loads((tmp_path / "second" / "manifest.json").read_text())
    assert first["outputs"] == second["outputs"] != []


@pytest.mark.parametrize("verb", TABLE_VERBS)
def test_a_sheet_of_a_workbook_is_read_and_recorded_by_every_verb(verb: str, table: Path, tmp_path: Path) -> None:
    frame = pl.read_csv(table)
    rows = [frame.columns, *map(list, frame.with_columns(pl.col(pl.Boolean).cast(pl.Int64)).rows())]
    put_workbook(tmp_path / "book.xlsx", [["remarks"], ["of 2025"]], scores=rows)
    run(*MOVED.get(verb, verb).split(), f"{tmp_path}/book.xlsx#scores", *TABLE_VERBS[verb], "--out", tmp_path / "first")
    manifest = json.loads((tmp_path / "first" / "manifest.json").read_text())
    assert [entry["file"] for entry in manifest["inputs"]] == ["book.xlsx"]
    if verb == "interval":
        repeated = again(tmp_path / "first")
        assert repeated.exit_code == 0, repeated.output
        put_workbook(tmp_path / "book.xlsx", [["remarks"], ["of 2026"]], scores=rows)
        assert "other content than is there now: book.xlsx" in again(tmp_path / "first").output


@pytest.mark.parametrize("verb", ["score", "lint", "floors"])
def test_a_run_on_questions_is_repeated_with_equal_files(verb: str, files: dict[str, Path], tmp_path: Path) -> None:
    needed = ("requests", "references") if verb == "floors" else tuple(files)
    named = [word for name in needed for word in (f"--{name}", files[name])]
    judged = ("--judge", "exact", "--store", tmp_path / "store") if verb == "score" else ()
    run(*MOVED.get(verb, verb).split(), *named, *judged, "--out", tmp_path / "first")
    repeated = again(tmp_path / "first")
    assert repeated.exit_code == 0, repeated.output


def test_an_evaluation_is_repeated_with_equal_files(tmp_path: Path) -> None:
    frames = {"video": list("uuvvww"), "frame": [0, 1] * 3, "reference": list("ababab"), "prediction": list("abaabb")}
    pl.DataFrame(frames).write_csv(tmp_path / "frames.csv")
    words = ("--predictions", tmp_path / "frames.csv", "--metric", "accuracy", "--resamples", 20)
    run("evaluate", "classification", *words, "--out", tmp_path / "first")
    repeated = again(tmp_path / "first")
    assert repeated.exit_code == 0, repeated.output


def test_a_difference_of_two_scorings_is_repeated_with_equal_files(files: dict[str, Path], tmp_path: Path) -> None:
    requests, references = questions()
    other = json.dumps([entry.as_row() for entry in answers("moody", requests, references, seed=2)])
    (tmp_path / "moody.json").write_text(other)
    named = ("--requests", files["requests"], "--references", files["references"], "--judge", "exact")
    for name in ("responses", "moody"):
        run("score", *named, "--responses", tmp_path / f"{name}.json", "--resamples", 20, "--out", tmp_path / name)
    run("score", "diff", tmp_path / "responses", tmp_path / "moody", "--out", tmp_path / "first")
    repeated = again(tmp_path / "first")
    assert repeated.exit_code == 0, repeated.output


def test_a_benchmark_is_made_again_with_equal_files(tmp_path: Path) -> None:
    run(
        "data",
        "simulate",
        tmp_path / "procedures",
        "--procedures",
        2,
        "--without",
        "video",
        "--minutes",
        "2-3",
        "--height",
        90,
        "--workers",
        1,
    )
    run("data", "questions", tmp_path / "procedures" / "procedures", "--out", tmp_path / "first", "--per-video", 4)
    repeated = again(tmp_path / "first")
    assert repeated.exit_code == 0, repeated.output


def test_a_changed_input_is_named_and_is_no_success(table: Path, tmp_path: Path) -> None:
    run("analyse", "interval", table, "--out", tmp_path / "first")
    nested_frame(videos=9).write_csv(table)
    repeated = again(tmp_path / "first")
    assert repeated.exit_code == 1
    assert "scores.csv" in repeated.stderr


@pytest.mark.parametrize("name", ["one.csv", "one.parquet"])
def test_a_single_table_is_repeated_from_the_manifest_beside_it(name: str, table: Path, tmp_path: Path) -> None:
    run("analyse", "interval", table, "--out", tmp_path / name)
    assert again(tmp_path / "one.manifest.json").exit_code == 0
    refused = again(tmp_path / name)
    assert isinstance(refused.exception, Misuse)
    assert "one.manifest.json" in str(refused.exception)


def test_simulated_procedures_are_repeated(tmp_path: Path) -> None:
    run(
        "data",
        "simulate",
        tmp_path / "first",
        "--procedures",
        1,
        "--without",
        "video",
        "--minutes",
        1,
        "--height",
        90,
        "--with",
        "masks",
    )
    repeated = again(tmp_path / "first")
    assert repeated.exit_code == 0, (repeated.output, repeated.exception)


def test_an_output_that_was_edited_is_named(table: Path, tmp_path: Path) -> None:
    run("analyse", "interval", table, "--out", tmp_path / "first")
    path = tmp_path / "first" / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["outputs"][0]["sha256"] = "0" * 64
    path.write_text(json.dumps(manifest))
    repeated = again(path)
    assert repeated.exit_code == 1
    assert manifest["outputs"][0]["file"] in repeated.output + repeated.stderr


def test_paths_are_seen_from_where_the_run_was_started(table: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    run("analyse", "interval", table.name, "--out", "first")
    monkeypatch.chdir("/")
    assert again(tmp_path / "first", "--from", tmp_path).exit_code == 0


def test_a_manifest_of_the_first_version_cannot_be_repeated_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"verb": "interval", "options": {}, "inputs": [], "outputs": []}')
    repeated = again(tmp_path)
    assert isinstance(repeated.exception, FileUnreadable)
    assert "given" in str(repeated.exception)


@pytest.mark.parametrize("verb", ["rehearse", "annotate screen", "report", "nonsense"])
def test_what_cannot_be_repeated_says_why(verb: str, tmp_path: Path) -> None:
    empty = {"verb": verb, "options": {}, "given": {}, "inputs": [], "outputs": []}
    (tmp_path / "manifest.json").write_text(json.dumps(empty))
    assert isinstance(again(tmp_path).exception, Misuse)


def test_a_bootstrap_that_was_recorded_as_percentile_is_repeated(table: Path, tmp_path: Path) -> None:
    run("analyse", "interval", table, "--method", "bootstrap", "--resamples", 20, "--out", tmp_path / "first")
    manifest = tmp_path / "first" / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"method": "bootstrap"', '"method": "percentile"'))
    assert '"method": "percentile"' in manifest.read_text()
    repeated = again(tmp_path / "first")
    assert repeated.exit_code == 0, repeated.output
