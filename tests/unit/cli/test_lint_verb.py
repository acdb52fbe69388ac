import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from builders import reference_row, request_row, response_row, write_json
from surgvalid.cli import build_app, main
from surgvalid.errors import WouldOverwrite

runner = CliRunner()


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    return {
        "requests": str(write_json(tmp_path / "requests.json", [request_row("q1"), request_row("q2")])),
        "references": str(write_json(tmp_path / "references.json", [reference_row("q1"), reference_row("q2")])),
        "good": str(write_json(tmp_path / "good.json", [response_row("q1"), response_row("q2", "no")])),
        "bad": str(write_json(tmp_path / "bad.json", [response_row("q1", "Yes!"), response_row("q2", None)])),
    }


def options(files: dict[str, str], answers: str, *more: str) -> list[str]:
    known = ["--requests", files["requests"], "--references", files["references"]]
    return ["score", "lint", *known, "--responses", files.get(answers, answers), *more]


def test_a_clean_file_exits_with_0(files: dict[str, str]) -> None:
    done = runner.invoke(build_app(), options(files, "good"))
    assert done.exit_code == 0
    assert "2 responses, 2 questions" in done.stdout
    assert done.stdout.rstrip().endswith("Clean: nothing to mend.")


def test_findings_are_grouped_with_examples_and_exit_with_1(files: dict[str, str]) -> None:
    done = runner.invoke(build_app(), options(files, "bad"))
    assert done.exit_code == 1
    assert "2 ERRORS" in done.stdout
    assert "unreadable-answer (1): The answer breaks the rules of its format and counts as wrong." in done.stdout
    assert "bad.json row 1 [q1]: binary: expected yes or no alone, got 'Yes!'; probably meant: 'yes'" in done.stdout
    assert "The official toolkit would stop without a score (no-content)." in done.stdout


def test_notes_alone_exit_with_0(files: dict[str, str]) -> None:
    known = ["--requests", files["requests"], "--responses", files["good"]]
    done = runner.invoke(build_app(), ["score", "lint", *known])
    assert done.exit_code == 0
    assert "formats-unchecked" in done.stdout


def test_json_is_the_whole_report(files: dict[str, str]) -> None:
    done = runner.invoke(build_app(), options(files, "bad", "--json"))
    data = json.loads(done.stdout)
    assert data["severities"] == {"error": 2, "warning": 0, "note": 0}
    assert {finding["code"] for finding in data["findings"]} == {"unreadable-answer", "no-content"}


def test_out_writes_two_files_and_never_over_others(files: dict[str, str], tmp_path: Path) -> None:
    out = tmp_path / "out"
    arguments = options(files, "bad", "--out", str(out))
    assert runner.invoke(build_app(), arguments).exit_code == 1
    assert sorted(path.name for path in out.iterdir()) == ["lint.json", "manifest.json"]
    again = runner.invoke(build_app(), arguments)
    assert isinstance(again.exception, WouldOverwrite)
    assert runner.invoke(build_app(), [*arguments, "--force"]).exit_code == 1


def test_data_sets_are_merged_by_name(files: dict[str, str]) -> None:
    arguments = ["score", "lint"]
    for option, name in (("--requests", "requests"), ("--references", "references"), ("--responses", "good")):
        arguments += [option, f"heico={files[name]}", option, f"lapchole={files[name]}"]
    done = runner.invoke(build_app(), arguments)
    assert done.exit_code == 0
    assert "4 responses, 4 questions" in done.stdout


def test_an_absent_file_is_a_finding(files: dict[str, str], tmp_path: Path) -> None:
    done = runner.invoke(
        build_app(), options(files, str(tmp_path / "absent.json"), "--definitions", str(tmp_path / "no"))
    )
    assert done.exit_code == 1
    assert "absent.json: no such file" in done.stdout
    assert "file-unreadable (2)" in done.stdout


def test_misuse_exits_with_2(files: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    done = runner.invoke(build_app(), ["score", "lint", "--requests", files["requests"]])
    assert str(done.exception) == "surgvalid score lint: --responses is missing"
    (tmp_path / "lint.json").write_text("mine")
    monkeypatch.setattr("sys.argv", ["surgvalid", *options(files, "good", "--out", str(tmp_path))])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    assert (tmp_path / "lint.json").read_text() == "mine"
