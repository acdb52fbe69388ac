"""Half a run has no value, says so wherever its scores go, and ends with 1."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from fake_server import Answer, completion, serving
from surgvalid import compare, interval, rank
from surgvalid.cli import build_app
from surgvalid.errors import TableInvalid
from surgvalid.schema.tables.score_table import read_score_table
from surgvalid.tasks import parse_run
from surgvalid.tasks.board import task_board
from surgvalid.video.images import write_png

CASES, ANSWERED = 48, 8


@pytest.fixture
def clips(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A task of one's own with 48 cases of 12 videos."""
    monkeypatch.setattr("surgvalid.asking.chat.random.uniform", lambda low, high: 0.0)
    rows = ["case,video,file,object"]
    for number in range(CASES):
        write_png(np.full((8, 8, 3), 5 * number, dtype=np.uint8), tmp_path / f"{number}.png")
        rows.append(f"c{number:02},v{number // 4:02},{number}.png,{'clip' if number % 2 else 'nothing'}")
    (tmp_path / "cases.csv").write_text("\n".join(rows), encoding="utf-8")
    prompt = "[[prompt]]\nfamily = 'chat'\nversion = 'mended'\ntext = 'clip or nothing?'\n"
    (tmp_path / "prompts.toml").write_text(prompt)
    (tmp_path / "clip.toml").write_text(
        'title = "Clip"\nsummary = "Whether a clip is there"\nprompts = "prompts.toml"\n[data]\nlayout = "cases"\n'
        '[media]\nkind = "image"\nfiles = ["{file}"]\n[answer]\nform = "choice"\nclasses = ["clip", "nothing"]\n'
        'column = "object"\n[metrics]\nnames = ["accuracy", "macro_f1"]\nheadline = "accuracy"\n'
        '[published]\nsource = "A study, 2025"\n[[published.rows]]\nmodel = "GPT-4o"\naccuracy = 0.4\n'
    )
    return tmp_path


def dying(number: int, body: dict[str, Any]) -> Answer:
    """Answers eight times, then never again."""
    return completion("clip") if number < ANSWERED else Answer(b"", 503)


def run(clips: Path, url: str, *more: str) -> Any:
    words = ["task", "run", str(clips / "clip.toml"), "--data", str(clips), "--store", str(clips / "store")]
    words += ["--model", f"openai:m@{url}", "--model-option", "concurrency=1", "--out", str(clips / "runs"), *more]
    return CliRunner().invoke(build_app(), words)


@pytest.fixture
def half(clips: Path) -> Path:
    """The folder of a run whose server died after 8 of 48 cases."""
    with serving(dying) as server:
        done = run(clips, server.url)
    assert done.exit_code == 1, done.output
    assert "the run is not finished: 40 of 48 requests have no answer" in done.output
    assert "run the same command again with --force to go on" in done.output
    return next((clips / "runs").rglob("run.json")).parent


def test_a_server_that_dies_after_8_of_48_gives_no_value(half: Path) -> None:
    metrics = pl.read_csv(half / "metrics.csv")
    assert metrics.select(pl.col("value", "low", "high").is_null().all()).row(0) == (True, True, True)
    scores = pl.read_parquet(half / "scores.parquet")
    per_case = scores.filter(pl.col("metric") == "correct")
    assert per_case["value"].drop_nulls().to_list() == [0.0, 1.0] * 4
    assert dict(per_case.group_by("status").len().rows()) == {"answered": 8, "infrastructure": 40}
    assert not (half / "statistics.parquet").exists()
    assert not (half / "per_video.csv").exists()
    assert parse_run(half).is_finished is False
    printed = pl.read_csv(half / "reading_policies.csv").select("reading_policy", "value", "low", "cases")
    assert printed.rows() == [("published", 0.4, None, None)]


@pytest.mark.parametrize("metric", ["correct", "accuracy"])
def test_every_verb_refuses_half_a_run_until_somebody_says_what_it_counts_as(half: Path, metric: str) -> None:
    for verb in (interval, rank):
        with pytest.raises(TableInvalid, match="infrastructure"):
            verb(half, metric=metric)


def test_the_mark_is_in_the_table_and_every_verb_repeats_it(half: Path, tmp_path: Path) -> None:
    told = "the run of 'openai:m@{}' is not finished: 8 of 48 cases were answered, and 40 are still to be asked"
    url = json.loads((half / "run.json").read_text())["model"].partition("@")[2]
    (tmp_path / "alone").mkdir()
    (tmp_path / "alone" / "moved.parquet").write_bytes((half / "scores.parquet").read_bytes())
    for source in (half, tmp_path / "alone" / "moved.parquet"):
        result = interval(source, metric="correct", missing="drop-case")
        marks = [one for one in result.findings if one.code == "run-unfinished"]
        assert [one.message for one in marks] == [told.format(url)]
    table = read_score_table(half)
    assert read_score_table(half, unit="case").read_as.marks == table.read_as.marks
    table.to_dir(tmp_path / "alone")
    assert read_score_table(tmp_path / "alone").read_as.marks == table.read_as.marks != ()


def test_the_mark_stays_beside_a_finished_run(half: Path, clips: Path, tmp_path: Path) -> None:
    with serving(lambda number, body: completion("nothing")) as server:
        words = ["task", "run", str(clips / "clip.toml"), "--data", str(clips), "--store", str(tmp_path / "other")]
        done = CliRunner().invoke(
            build_app(), [*words, "--model", f"openai:n@{server.url}", "--out", str(tmp_path / "whole")]
        )
    assert done.exit_code == 0, done.output
    whole = next((tmp_path / "whole").rglob("run.json")).parent
    models = read_score_table([half, whole]).models
    result = compare([half, whole], *models, metric="correct", missing="drop-case")
    assert any(one.code == "run-unfinished" for one in result.findings)
    board = task_board([half, whole]).table
    assert board["value"].null_count() == 1
    assert board["doubt"].str.contains("not finished: 40 requests").sum() == 1


def test_the_next_run_asks_what_is_left_and_then_the_value_stands(clips: Path, half: Path) -> None:
    asked = []

    def healthy(number: int, body: dict[str, Any]) -> Answer:
        asked.append(number)
        return completion("clip")

    url = json.loads((half / "run.json").read_text())["model"].partition("@")[2]
    port = int(url.rpartition(":")[2].partition("/")[0])
    with serving(healthy, port=port):
        done = run(clips, url, "--force")
    assert done.exit_code == 0, done.output
    assert len(asked) == 40
    value = pl.read_csv(half / "metrics.csv").filter(pl.col("metric") == "accuracy")["value"].item()
    assert value == 0.5


def test_a_case_that_the_server_refuses_is_finished_and_wrong(clips: Path) -> None:
    def picky(number: int, body: dict[str, Any]) -> Answer:
        return Answer(b"image is truncated", 400) if number < 5 else completion("clip")

    with serving(picky) as server:
        done = run(clips, server.url)
    assert done.exit_code == 0, done.output
    assert "5 of 48 cases have no answer and count as wrong" in done.output


def test_an_interruption_says_how_far_it_came(clips: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopping(*_: object, progress: Any, **__: object) -> None:
        progress.expect(48)
        progress.count(8)
        raise KeyboardInterrupt

    monkeypatch.setattr("surgvalid.tasks.run.run_task", stopping)
    done = run(clips, "http://127.0.0.1:9/v1")
    assert done.exit_code == 130
    assert "interrupted after" in done.output
    assert "8 of 48" in done.output
    assert "run again to go on" in done.output
