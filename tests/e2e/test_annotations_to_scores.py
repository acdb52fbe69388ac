"""From raw annotations of simulated people to scored answers, through the command line alone."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from examples.erring_annotators import BoxAnnotator, Detector, annotate, detect
from typer.testing import CliRunner

from small_truth import small_truth
from surgvalid.cli import build_app
from surgvalid.datasets import write_annotations

PEOPLE = ("ann", "bob", "eve")


def run(*words: object) -> str:
    done = CliRunner().invoke(build_app(), [str(word) for word in words])
    assert done.exit_code == 0, (words, done.stderr, done.exception)
    return done.stdout


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Boxes of three people in CVAT files, and detections, for two videos."""
    folder = tmp_path_factory.mktemp("raw")
    seen = []
    for number in range(2):
        truth = small_truth(31, number, (4, 5))
        for name in PEOPLE:
            drawn = annotate(truth, BoxAnnotator(name, missed=0.05, spurious_per_minute=0.5), seed=3).procedure
            write_annotations(drawn, folder / f"{name}_{number}.xml", tool="cvat")
        seen.append(detect(truth, Detector(), seed=9).drop("real"))
    pl.concat(seen).write_csv(folder / "detections.csv")
    return folder


def test_raw_annotations_become_questions_and_perfect_answers_score_one(raw: Path, tmp_path: Path) -> None:
    sources = [f"{name}={raw}/{name}_{number}.xml" for name in PEOPLE for number in range(2)]
    run("data", "annotate", "run", "boxes", *sources, "--out", tmp_path / "boxes", "--resamples", 20)
    boxes = tmp_path / "boxes" / "boxes.csv"
    run(
        "data",
        "annotate",
        "run",
        "cross-check",
        boxes,
        "--predictions",
        raw / "detections.csv",
        "--out",
        tmp_path / "flags",
    )
    assert len(list((tmp_path / "flags" / "review").glob("*.xml"))) == 2
    more = ("--procedure-type", "Cholecystectomy", "--center", "A")
    run("data", "annotate", "run", "instances", boxes, "--out", tmp_path / "instances", *more)
    procedures = tmp_path / "instances" / "procedures"
    run(
        "data",
        "questions",
        procedures,
        "--out",
        tmp_path / "set",
        "--track",
        "segment",
        "--per-video",
        20,
        "--test-share",
        0.5,
        "--with",
        "unverified",
    )
    place = tmp_path / "set" / "test" / "segment"
    references = json.loads((place / "references.json").read_text())
    answers = [{"qID": row["qID"], "content": row["answer"], "latency": 0.1} for row in references]
    (tmp_path / "answers.json").write_text(json.dumps(answers))
    files = ("--requests", place / "requests.json", "--references", place / "references.json")
    run("score", "lint", *files, "--responses", tmp_path / "answers.json")
    run(
        "score",
        *files,
        "--responses",
        tmp_path / "answers.json",
        "--out",
        tmp_path / "scored",
        "--judge",
        "exact",
        "--resamples",
        20,
    )
    scores = pl.read_parquet(tmp_path / "scored" / "scores.parquet").filter(pl.col("metric") == "correct")
    assert scores.height == len(references) > 5
    assert scores["value"].mean() == 1.0
