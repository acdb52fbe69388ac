"""The tracks of the challenge as tasks: asked and scored in one go, from a folder with questions and images."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from fake_server import Answer, completion, serving
from small_questions import questions
from surgvalid import interval
from surgvalid.errors import InputInvalid, Misuse, TableInvalid
from surgvalid.schema.rows import write_json_rows
from surgvalid.tasks.questions import estimate_questions, run_questions
from task_folders import put_image


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("focus")
    requests, references = questions()
    write_json_rows((one.as_row() for one in requests), root / "requests.json")
    write_json_rows((one.as_row() for one in references), root / "references.json")
    for video in {one.video for one in requests}:
        put_image(root / "videos" / f"{video}.png")
    return root


def test_a_track_is_asked_and_scored(folder: Path) -> None:
    result, counts = run_questions("focus-frame", model="constant:yes", root=folder, judges=["exact"])
    assert counts.answered == counts.prompts > 0
    assert set(result.scores.frame["model"]) == {"constant:yes"}
    assert estimate_questions("focus-frame", model="constant:yes", root=folder).requests == counts.prompts


def test_questions_that_nobody_could_ask_have_no_value(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("surgvalid.asking.chat.random.uniform", lambda low, high: 0.0)

    def dying(number: int, body: dict[str, object]) -> Answer:
        return completion("yes") if number < 8 else Answer(b"", 503)

    with serving(dying) as server:
        model = f"openai:m@{server.url}"
        result, counts = run_questions("focus-frame", model=model, root=folder, judges=["exact"], concurrency=1)
    assert counts.is_void
    headline = result.summary.filter(pl.col("level") == "headline")
    assert headline["accuracy"].is_nan().all()
    rows = result.scores.frame.filter(pl.col("metric") == "correct")
    assert rows.filter(pl.col("status") == "infrastructure")["value"].is_null().all()
    assert [mark.code for mark in result.scores.read_as.marks] == ["unfinished"]
    assert {"run-unfinished", "no-headline"} <= {one.code for one in result.findings}
    with pytest.raises(TableInvalid, match="infrastructure"):
        interval(result.scores, metric="correct")


def test_a_folder_that_lacks_something_and_other_tasks_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputInvalid, match=r"requests\.json is missing"):
        run_questions("focus-segment", model="constant:yes", root=tmp_path)
    with pytest.raises(Misuse, match="not made of questions"):
        run_questions("phase-c80", model="constant:yes", root=tmp_path)
    with pytest.raises(Misuse, match="cannot be run"):
        run_questions("heico-vqa-base", model="constant:yes", root=tmp_path)
