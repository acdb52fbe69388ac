import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from fake_server import Answer, comparing, fields_of, says, serving, verdict
from surgvalid.cli import build_app
from surgvalid.errors import Misuse, SurgvalidError
from surgvalid.judges import check_size
from surgvalid.judges._canaries import gold_pairs


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr("surgvalid.asking.chat._LONGEST_WAIT_S", 0.0)


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(build_app(), ["score", "judge", *map(str, arguments)])


def knowing(number, body):  # type: ignore[no-untyped-def]
    """A server that knows the gold pairs and rejects everything else."""
    fields = fields_of(body)
    pairs = {(p.case.reference, p.case.candidate): p.correct for p in gold_pairs()}
    return verdict("CORRECT" if pairs.get((fields["reference"], fields["candidate"])) else "INCORRECT")


def test_a_judge_that_knows_its_business_exits_0() -> None:
    with serving(knowing) as server:
        result = run("check", "--judge", f"openai:m@{server.url}")
    assert result.exit_code == 0
    assert "gold accuracy 1.000" in result.stdout
    assert "canaries accepted 0" in result.stdout
    assert "fit for use" in result.stderr


def test_a_judge_that_accepts_canaries_exits_1_and_shows_them_visibly() -> None:
    with serving(says(verdict("CORRECT"))) as server:
        result = run("check", "--judge", f"openai:m@{server.url}", "--min", "accuracy=0")
    assert result.exit_code == 1
    assert "NOT fit for use" in result.stderr
    assert "\\u202e" in result.stdout
    assert "\u202e" not in result.stdout


def test_a_judge_below_the_accuracy_exits_1_and_at_it_0() -> None:
    assert run("check", "--judge", "exact").exit_code == 1
    assert run("check", "--judge", "exact", "--min", "accuracy=0.5").exit_code == 0


def test_a_dead_judge_is_not_fit() -> None:
    result = run("check", "--judge", "none", "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["gold_accuracy"] == 0.0


def test_a_judge_that_cannot_be_reached_says_so() -> None:
    result = run("check", "--judge", "openai:m@http://127.0.0.1:9/v1")
    assert result.exit_code == 1
    assert f"{check_size()} of {check_size()} cases got no answer (first: cannot be reached" in result.stderr
    assert "got no answer" not in run("check", "--judge", "exact").stderr


def test_a_server_that_dies_in_the_middle_has_failed_and_not_abstained() -> None:
    with serving(lambda n, b: knowing(n, b) if n < 20 else Answer(b"", 500)) as server:
        result = run("check", "--judge", f"openai:m@{server.url}", "--json")
    report = json.loads(result.stdout)
    assert result.exit_code == 1
    assert "105 of 125 cases got no answer (first: " in result.stderr
    assert "HTTP 500)" in result.stderr
    assert sum(kind["failed"] for kind in report["kinds"]) == 105
    assert sum(kind["abstained"] for kind in report["kinds"]) == 0
    assert {rate["value"] for rate in report["rates"] if rate["rate"] == "abstention"} == {0.0}


def test_check_prints_json() -> None:
    with serving(comparing) as server:
        report = json.loads(run("check", "--judge", f"openai:m@{server.url}", "--json").stdout)
    assert report["fit"] is False
    assert report["canaries"] >= 30
    assert report["gold_pairs"] >= 40
    assert {"part", "kind", "cases", "acceptance"} <= set(report["kinds"][0])


def a_file(folder: Path, judge: str, verdicts: list[bool | None]) -> Path:
    path = folder / f"{judge}.jsonl"
    rows = [
        {"judge": judge, "qID": f"q{i}", "reference": "r", "candidate": "c", "verdict": said}
        for i, said in enumerate(verdicts)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_agreement_prints_pairs_common_kappa_and_disagreements(tmp_path: Path) -> None:
    files = [
        a_file(tmp_path, "a", [True, True, False, False]),
        a_file(tmp_path, "b", [True, False, False, None]),
        a_file(tmp_path, "c", [True, True, False, False]),
    ]
    result = run("agreement", *files)
    assert result.exit_code == 0
    assert "Fleiss' kappa of all 3 judges" in result.stdout
    assert "disagreements: 1" in result.stdout
    report = json.loads(run("agreement", *files, "--json").stdout)
    assert [pair["kappa"] for pair in report["pairs"]] == pytest.approx([0.4, 1.0, 0.4])
    assert report["disagreements"][0]["qID"] == "q1"


def test_the_rest_of_many_disagreements_is_counted(tmp_path: Path) -> None:
    files = [a_file(tmp_path, "a", [True] * 9), a_file(tmp_path, "b", [False] * 9)]
    result = run("agreement", *files, "--limit", "2")
    assert "7 more disagreements" in result.stderr


def test_misuse_is_a_deliberate_error(tmp_path: Path) -> None:
    assert isinstance(run("check", "--judge", "oracle").exception, Misuse)
    assert isinstance(run("agreement", tmp_path / "nowhere.jsonl").exception, SurgvalidError)
