import json
import sys
from pathlib import Path

import pytest

from small_questions import MODELS, answers, questions
from surgvalid.cli import main
from surgvalid.cli.tools import KINDS
from surgvalid.schema.rows import write_json_rows


def run(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr(sys, "argv", ["surgvalid", *words])
    try:
        main()
    except SystemExit as end:
        return int(end.code or 0)
    return 0


@pytest.fixture
def demo(tmp_path: Path) -> Path:
    folder = tmp_path / "demo"
    folder.mkdir()
    requests, references = questions()
    write_json_rows((request.as_row() for request in requests), folder / "requests.json")
    write_json_rows((reference.as_row() for reference in references), folder / "references.json")
    for model in MODELS:
        responses = answers(model, requests, references, seed=42)
        write_json_rows((response.as_row() for response in responses), folder / f"{model}.json")
    return folder


def score_words(demo: Path, *more: str) -> list[str]:
    sources = ["--requests", f"{demo}/requests.json", "--references", f"{demo}/references.json"]
    return [
        "score",
        *sources,
        "--responses",
        f"{demo}/moody.json",
        "--out",
        str(demo.parent / "out"),
        "--resamples",
        "20",
        *more,
    ]


def test_results_go_to_stdout_and_talk_to_stderr(
    demo: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, *score_words(demo, "--judge", "exact", "--json")) == 0
    printed = capsys.readouterr()
    document = json.loads(printed.out)
    assert document["summary"][0]["level"] == "headline"
    assert {"model", "profile", "results", "judges", "prose", "warnings", "notes"} <= document.keys()
    assert document["model"] == "moody"
    assert "written to" in printed.err


def test_nothing_is_overwritten_without_force(
    demo: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, *score_words(demo)) == 1
    assert "no primary result: 23 of 108 questions have no verdict (not_judged: 23)" in capsys.readouterr().err
    before = (demo.parent / "out" / "results.csv").read_bytes()
    assert run(monkeypatch, *score_words(demo, "--judge", "exact")) == 2
    assert "exists already" in capsys.readouterr().err
    assert (demo.parent / "out" / "results.csv").read_bytes() == before
    assert run(monkeypatch, *score_words(demo, "--judge", "exact", "--force")) == 0


def test_an_error_is_one_line_that_says_what_to_do(
    demo: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, *score_words(demo, "--profile", "nativ")) == 2
    assert capsys.readouterr().err == "unknown profile 'nativ'; did you mean 'native'?\n"


def test_a_truncated_answer_file_is_an_error_with_line_and_column(
    demo: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (demo / "moody.json").read_text()
    (demo / "moody.json").write_text(text[:1000])
    assert run(monkeypatch, *score_words(demo)) == 2
    error = capsys.readouterr().err
    assert error.startswith(str(demo))
    assert "line 68" in error
    assert "column" in error


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_everything_can_be_listed(
    kind: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "tools", "list", kind, "--json") == 0
    assert len(json.loads(capsys.readouterr().out)) >= 3


def test_an_unknown_kind_to_list_gets_a_suggestion(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "tools", "list", "judge") == 2
    assert "did you mean 'judges'" in capsys.readouterr().err


def test_who_interrupts_a_scoring_is_told_what_is_kept(
    demo: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from surgvalid.judges.exact import ExactJudge

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(ExactJudge, "judge", interrupted)
    assert run(monkeypatch, *score_words(demo, "--judge", "exact")) == 130
    told = capsys.readouterr().err
    assert "interrupted, judging: 0 of " in told
    assert "verdicts are kept in .surgvalid: run again to go on" in told


def test_an_only_judge_that_cannot_be_reached_is_named_with_the_reason(
    demo: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    store = str(demo.parent / "store-of-nothing")
    words = score_words(demo, "--judge", "openai:m@http://127.0.0.1:9/v1", "--store", store, "--force")
    assert run(monkeypatch, *words) == 1
    told = " ".join(capsys.readouterr().err.split())
    assert "no primary result" in told
    assert "judge openai:m@http://127.0.0.1:9/v1 failed on" in told
    assert "cannot be reached" in told
