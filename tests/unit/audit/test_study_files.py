"""Studies from files: TOML with its tables, folders, score tables; every problem is listed at once."""

from __future__ import annotations

import json
import re
from pathlib import Path

import polars as pl
import pytest
from docs.planted_studies import clean_study

from data_set_files import put_workbook
from nested_tables import nested_frame
from surgvalid.audit.audit import audited
from surgvalid.audit.study_files import read_study
from surgvalid.errors import FileUnreadable, InputInvalid, Misuse
from surgvalid.schema.tables.score_table import ScoreTable


@pytest.fixture
def study_file(tmp_path: Path) -> Path:
    """A study as its authors would write it: their column names, some answers."""
    made = clean_study(0, videos=9)
    assert made.scores is not None
    made.scores.frame.rename({"model": "algorithm"}).write_csv(tmp_path / "scores.csv")
    made.tables["frames"].write_csv(tmp_path / "frames.csv")
    made.tables["segments"].rename({"rater": "annotator", "label": "phase"}).write_csv(tmp_path / "raters.csv")
    path = tmp_path / "study.toml"
    path.write_text(
        """
        title = "phases"
        [data]
        scores = ["scores.csv"]
        frames = "frames.csv"
        segments = "raters.csv"
        [columns.scores]
        model = "algorithm"
        [columns.segments]
        rater = "annotator"
        label = "phase"
        [metrics.segment_edit]
        idle = "none"
        [answers]
        tolerance = 5
        ethics = false
        """,
        encoding="utf-8",
    )
    return path


def test_a_study_file_is_read_with_its_tables(study_file: Path) -> None:
    study, findings = read_study(study_file)
    assert findings == ()
    assert study.name == "phases"
    assert study.matrix.models == ["steady", "middling", "weak"]
    assert study.tables["segments"].columns[:2] == ["video", "start_s"]
    assert set(study.tables["segments"]["rater"]) == {"one", "two", "three"}
    assert study.has_answer("tolerance")
    assert not study.has_answer("ethics")


def test_a_table_of_a_study_may_be_a_sheet_of_a_workbook(study_file: Path, tmp_path: Path) -> None:
    frames = pl.read_csv(tmp_path / "frames.csv").cast(pl.String)
    put_workbook(tmp_path / "book.xlsx", [["remarks"], ["none"]], frames=[frames.columns, *map(list, frames.rows())])
    study_file.write_text(study_file.read_text().replace('"frames.csv"', '"book.xlsx#frames"'))
    study, _ = read_study(study_file)
    assert study.tables["frames"].height == frames.height
    assert tmp_path / "book.xlsx" in study.files
    study_file.write_text(study_file.read_text().replace("book.xlsx#frames", "book.xlsx"))
    with pytest.raises(InputInvalid, match=r"name one of them behind the file, such as .*book.xlsx#frames"):
        read_study(study_file)


def test_a_folder_with_a_study_file_is_that_study(study_file: Path) -> None:
    assert read_study(study_file.parent)[0].name == "phases"


def test_an_audit_of_files_is_that_of_the_same_study_in_memory(study_file: Path) -> None:
    checks = audited(study_file, pitfalls=["P1.5", "P2.4", "P3.5"]).tables["checks"]
    assert dict(checks.select("pitfall", "outcome").rows()) == {
        "P1.5": "needs an answer", "P2.4": "pass", "P3.5": "fail",
    }  # fmt: skip


def test_every_problem_of_a_study_file_is_listed_at_once(tmp_path: Path) -> None:
    (tmp_path / "ragged.csv").write_text("a,b\n1,2,3\n")
    (tmp_path / "frames.csv").write_text("model,video,time_s,reference\nA,v,soon,x\n")
    (tmp_path / "cases.csv").write_text("case,video\nq,v\nq,v\n")
    path = tmp_path / "study.toml"
    path.write_text(
        """
        titel = "x"
        [data]
        scores = ["none.csv", "ragged.csv"]
        frames = "frames.csv"
        cases = "cases.csv"
        tracks = 3
        [better]
        dsc = "up"
        [answers]
        tolerance = "ten"
        target = {center = {A = 0.9}}
        ethic = "yes"
        """
    )
    with pytest.raises(InputInvalid) as caught:
        read_study(path)
    problems = "\n".join(caught.value.problems)
    for words in (
        "titel is not known; did you mean 'title'?",
        "data.scores: none.csv does not exist",
        "ragged.csv",
        "data.frames: column 'prediction' is missing",
        "data.frames: column 'time_s' has 1 entries that are no numbers (first: 'soon')",
        "data.cases: 2 rows repeat (case=q first)",
        "data.tracks must be a path or a list of paths, got 3",
        "better.dsc must be one of larger, smaller, got 'up'",
        "answers.tolerance must be a number",
        "answers.target.center: the shares add up to 0.9, not to 1",
        "answers.ethic is not known; did you mean 'ethics'?",
    ):
        assert words in problems
    assert len(caught.value.problems) == 11


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("study.toml", "title = [", "is no TOML file"),
        ("study.toml", "data = 3", "data must be a section"),
        ("study.toml", '[columns]\nscores = "x"', "columns.scores must be a section"),
    ],
)
def test_a_broken_study_file_says_what_is_wrong(tmp_path: Path, name: str, text: str, words: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputInvalid, match=re.escape(words)):
        read_study(tmp_path / name)


def test_nothing_and_nowhere_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FileUnreadable, match="nothing to audit; expected a study file"):
        read_study(tmp_path)
    with pytest.raises(FileUnreadable, match="no such file or folder"):
        read_study(tmp_path / "gone")
    (tmp_path / "study.toml").write_text("")
    with pytest.raises(Misuse, match=r"columns\.scores"):
        read_study(tmp_path, columns={"model": "algorithm"})


def test_a_score_table_is_a_study(tmp_path: Path) -> None:
    nested_frame().rename({"model": "algorithm"}).write_csv(tmp_path / "scores.csv")
    study, _ = read_study(tmp_path / "scores.csv", columns={"model": "algorithm"})
    assert study.matrix.models == ["M0", "M1", "M2"]


def test_cases_without_videos_are_not_assessed_as_if_they_had_some() -> None:
    rows = nested_frame().drop("video").with_columns(case=pl.col("case").rank("dense").cast(pl.String))
    checks = audited(ScoreTable.of(rows), pitfalls=["P1.2", "P3.1"]).tables["checks"]
    assert set(checks["outcome"]) <= {"not assessable", "needs an answer"}
    assert "column `video`" in " ".join((*checks["evidence"], *checks["not_seen"]))


def test_an_unknown_direction_is_asked_for_and_not_guessed() -> None:
    rows = nested_frame().with_columns(metric=pl.lit("wobble"))
    seen = audited(ScoreTable.of(rows), pitfalls=["P3.2"]).tables["evidence"]
    assert "which values of 'wobble' are better" in " ".join(seen["sentence"])


def test_a_log_of_a_harness_is_audited_as_a_table_is(tmp_path: Path) -> None:
    samples = [
        {"id": f"q{n}", "epoch": 1, "metadata": {"video_id": f"v{n // 3}"}, "scores": {"match": {"value": "CI"[n % 2]}}}
        for n in range(24)
    ]
    log = {"version": 2, "status": "success", "eval": {"model": "m"}, "samples": samples}
    (tmp_path / "a.json").write_text(json.dumps(log))
    study, findings = read_study(tmp_path / "a.json")
    assert study.scores is not None
    assert (study.scores.frame["video"].n_unique(), findings, study.tables) == (8, (), {})
