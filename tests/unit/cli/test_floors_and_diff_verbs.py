import json
import re
import sys
from pathlib import Path

import polars as pl
import pytest

from repository import REPOSITORY
from surgvalid.cli import main

GOLDEN = REPOSITORY / "tests" / "golden"
QUESTIONS = (
    "--requests",
    str(GOLDEN / "floors" / "requests.json"),
    "--references",
    str(GOLDEN / "floors" / "references.json"),
)


@pytest.fixture
def run(monkeypatch, capsys):
    """Calls the command line and gives back exit code, results and talk."""

    def call(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["surgvalid", *words])
        code = 0
        try:
            main()
        except SystemExit as stop:
            code = int(stop.code or 0)
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return call


def test_floors_prints_the_floors_and_keeps_talk_apart(run) -> None:
    code, results, talk = run("score", "baselines", *QUESTIONS)
    assert code == 0
    assert "fit: leave-one-video-out" in results
    assert "temporal_grounding_ood" in results
    assert "note: 3 free-text questions" in talk


def test_floors_writes_a_folder_once(run, tmp_path) -> None:
    out = str(tmp_path / "out")
    assert run("score", "baselines", *QUESTIONS, "--out", out)[0] == 0
    code, _, talk = run("score", "baselines", *QUESTIONS, "--out", out)
    assert code == 2
    assert "pass --force" in talk
    assert run("score", "baselines", *QUESTIONS, "--out", out, "--force")[0] == 0
    assert {p.name for p in Path(out).iterdir()} == {"floors.csv", "templates.csv", "floor_answers", "manifest.json"}


def test_floors_speaks_json_with_margins_and_training(run, tmp_path) -> None:
    requests = json.loads((GOLDEN / "floors" / "requests.json").read_text())
    rows = {"model": "A", "case": [r["qID"] for r in requests], "video": [r["videoID"] for r in requests]}
    table = pl.DataFrame(rows).with_columns(value=pl.lit(1.0), metric=pl.lit("correct"))
    table.write_parquet(tmp_path / "scores.parquet")
    train = [word.replace("--re", "--train-re") for word in QUESTIONS]
    out = str(tmp_path / "out")
    code, results, _ = run("score", "baselines", *QUESTIONS, *train, "--results", str(tmp_path), "--out", out, "--json")
    found = json.loads(results)
    assert code == 0
    assert found["fit"] == "training set"
    assert found["unseen_templates"][0]["unseen"] == 0
    assert found["margins"][0]["level"] == "headline"
    assert found["margins"][0]["margin"] == 0.0
    assert pl.read_csv(Path(out) / "margins.csv").height == len(found["margins"])


def test_floors_reads_class_definitions(run, tmp_path) -> None:
    path = tmp_path / "definitions.json"
    path.write_text(json.dumps(["Tack"]))
    code, _, talk = run("score", "baselines", *QUESTIONS, "--definitions", str(path))
    assert code == 0
    assert "3 references break their own format" in talk


def test_floors_prints_what_training_never_showed(run) -> None:
    train = [word.replace("--re", "--train-re") for word in QUESTIONS]
    assert "template the training set never shows" in run("score", "baselines", *QUESTIONS, *train)[1]


def test_half_a_training_set_is_misuse(run) -> None:
    code, _, talk = run("score", "baselines", *QUESTIONS, "--train-requests", QUESTIONS[1])
    assert code == 2
    assert "a training set needs both" in talk


def test_diff_exits_with_one_when_anything_differs(run, tmp_path) -> None:
    paths = [str(GOLDEN / "diff" / name) for name in ("a.csv", "b.csv")]
    code, results, _ = run("score", "diff", *paths, "--out", str(tmp_path / "out"))
    assert code == 1
    assert "2 verdicts: wrong -> right" in results
    assert "What moved each number" in results
    assert re.search(r"headline .* \d\.\d{4} ", results.split("What moved each number")[1])
    assert (tmp_path / "out" / "moved.csv").exists()
    code, results, _ = run("score", "diff", *paths, "--json")
    assert code == 1
    assert len(json.loads(results)["changes"]) == 8


def test_diff_exits_with_zero_when_equal(run) -> None:
    code, results, _ = run("score", "diff", *[str(GOLDEN / "diff" / "a.csv")] * 2)
    assert code == 0
    assert "no difference" in results


def test_diff_prints_only_the_first_changes(run, tmp_path) -> None:
    head = "qID,primary,answer_format,correctness"
    for name, verdict in (("a.csv", True), ("b.csv", False)):
        (tmp_path / name).write_text("\n".join([head, *(f"q{i},1a,binary,{verdict}" for i in range(50))]))
    assert "... and 10 more" in run("score", "diff", str(tmp_path / "a.csv"), str(tmp_path / "b.csv"))[1]


def test_a_file_that_is_not_there_is_misuse(run, tmp_path) -> None:
    code, _, talk = run("score", "diff", str(tmp_path / "a.csv"), str(tmp_path / "b.csv"))
    assert code == 2
    assert "no such file" in talk
