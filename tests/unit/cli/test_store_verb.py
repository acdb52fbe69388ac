import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from fake_server import comparing, serving
from small_questions import answers, questions
from surgvalid.asking.store import ContentStore, hashed
from surgvalid.cli import build_app
from surgvalid.errors import FileUnreadable
from surgvalid.schema.rows import write_json_rows


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr("surgvalid.asking.chat._LONGEST_WAIT_S", 0.0)
    monkeypatch.chdir(tmp_path)


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(build_app(), list(map(str, arguments)))


def a_store(path: Path, count: int = 2) -> Path:
    with ContentStore(path) as store:
        for number in range(count):
            store.put(hashed(number), {"kind": "answer", "asker": "m", "prompt": "1", "text": "x"})
    return path


def test_a_store_shows_what_it_holds(tmp_path: Path) -> None:
    place = a_store(tmp_path / ".surgvalid")
    result = run("tools", "store", "show", "--json")
    assert json.loads(result.stdout)["replies"] == [{"kind": "answer", "asker": "m", "prompt": "1", "replies": 2}]
    assert "2 replies" in run("tools", "store", "show", place).stdout


def test_damage_is_named_and_exits_1(tmp_path: Path) -> None:
    place = a_store(tmp_path / "s")
    assert run("tools", "store", "verify", place).exit_code == 0
    with open(place / "segment-001.jsonl", "ab") as handle:
        handle.write(b'{"key": "cut')
    result = run("tools", "store", "verify", place)
    assert result.exit_code == 1
    assert "segment-001.jsonl line 3" in result.stdout
    assert "set aside, segment-001.jsonl line 3" in run("tools", "store", "show", place).stderr


def test_a_line_damaged_in_the_middle_is_named_until_it_is_set_aside(tmp_path: Path) -> None:
    place = a_store(tmp_path / "s", 3)
    segment = place / "segment-001.jsonl"
    first, second, third = segment.read_bytes().splitlines(keepends=True)
    hurt = second[:60] + b"\x00" + second[61:]
    segment.write_bytes(first + hurt + third)
    for _ in range(2):
        assert run("tools", "store", "verify", place).exit_code == 1
    done = run("tools", "store", "verify", place, "--set-aside")
    assert (done.exit_code, "line 2" in done.stdout) == (0, True)
    assert (place / "segment-001.jsonl.damaged").read_bytes() == hurt
    assert segment.read_bytes() == first + hurt + third
    again = run("tools", "store", "verify", place)
    assert (again.exit_code, again.stdout) == (0, "")
    shown = run("tools", "store", "show", place)
    assert "2 replies" in shown.stdout
    assert "set aside" not in shown.stderr
    segment.write_bytes(first + hurt + third[:50] + b"\n")
    assert "line 3" in run("tools", "store", "verify", place).stdout


def test_stores_are_merged_and_damage_stays_behind(tmp_path: Path) -> None:
    place = a_store(tmp_path / "s")
    with open(place / "segment-001.jsonl", "ab") as handle:
        handle.write(b'{"key": "cut')
    result = run("tools", "store", "merge", place, "--out", tmp_path / "new")
    assert "2 replies added" in result.stderr
    assert "left behind" in result.stderr
    assert run("tools", "store", "verify", tmp_path / "new").exit_code == 0


def test_a_place_without_a_store_is_named(tmp_path: Path) -> None:
    assert isinstance(run("tools", "store", "show", tmp_path / "nowhere").exception, FileUnreadable)


def question_files(folder: Path) -> list[str]:
    requests, references = questions()
    responses = answers("moody", requests, references, seed=1)
    for name, items in (("requests", requests), ("references", references), ("responses", responses)):
        write_json_rows((item.as_row() for item in items), folder / f"{name}.json")
    return [word for name in ("requests", "references", "responses") for word in (f"--{name}", f"{name}.json")]


def test_a_judge_that_cannot_be_reached_is_named_and_exits_1(tmp_path: Path) -> None:
    options = ["score", *question_files(tmp_path), "--judge", "openai:m@http://127.0.0.1:9/v1", "--resamples", "5"]
    result = run(*options, "--out", "one")
    assert result.exit_code == 1
    assert "cannot be reached" in result.stderr
    assert (tmp_path / "one" / "judges.csv").exists()
    row = json.loads((tmp_path / "one" / "verdicts.jsonl").read_text().splitlines()[0])
    assert (row["verdict"], row["state"]) == (None, "failed")
    assert "cannot be reached" in row["text"]
    # no primary result without verdicts
    assert run(*options, "--out", "two", "--max", "judge_failures=1").exit_code == 1
    allowed = ("--max", "judge_failures=1", "--missing", "not_judged=worst")
    assert run(*options, "--out", "three", *allowed).exit_code == 0


def test_how_many_failures_a_judge_may_have_is_in_the_manifest_and_its_breach_a_finding(tmp_path: Path) -> None:
    options = ["score", *question_files(tmp_path), "--judge", "openai:m@http://127.0.0.1:9/v1", "--resamples", "5"]
    allowed = ("--missing", "not_judged=worst", "--max")
    assert run(*options, "--out", "strict", *allowed, "judge_failures=0.25").exit_code == 1
    assert run(*options, "--out", "lenient", *allowed, "judge_failures=1").exit_code == 0
    manifests = {name: json.loads((tmp_path / name / "manifest.json").read_text()) for name in ("strict", "lenient")}
    assert {name: one["options"]["max_judge_failures"] for name, one in manifests.items()} == {
        "strict": 0.25, "lenient": 1.0
    }  # fmt: skip
    errors = {name: [f["code"] for f in one["findings"] if f["severity"] == "error"] for name, one in manifests.items()}
    assert errors == {"strict": ["judge-failures"], "lenient": []}


def test_two_scorings_of_a_working_folder_ask_once_and_each_keeps_a_copy(tmp_path: Path) -> None:
    files = question_files(tmp_path)
    with serving(comparing) as server:
        options = ["score", *files, "--judge", f"openai:m@{server.url}", "--resamples", "5"]
        assert run(*options, "--out", "one").exit_code == 0
        asked = server.asked
        assert run(*options, "--out", "two").exit_code == 0
        assert server.asked == asked > 0
        segment = tmp_path / ".surgvalid" / "segment-001.jsonl"
        segment.write_bytes(segment.read_bytes()[:-20])
        again = run(*options, "--out", "three")
        assert server.asked == asked + 1
    assert "1 damaged lines of stored verdicts were set aside" in again.stderr
    assert (tmp_path / "one" / "verdicts.jsonl").read_text() == (tmp_path / "two" / "verdicts.jsonl").read_text()
