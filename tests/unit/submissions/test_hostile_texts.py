"""Whatever a participant writes, says or is called: no terminal obeys it, no page runs it, no table computes it."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from hostile_programs import script
from surgvalid.asking.journal import Record
from surgvalid.asking.messages import ExchangeOutcome
from surgvalid.cli import build_app
from surgvalid.schema.documents import json_text
from surgvalid.submissions.handing_in import take_submission
from surgvalid.submissions.inputs import QuestionFolder
from surgvalid.submissions.phase import read_phase
from surgvalid.submissions.phase_status import mark_submission, submission_status
from surgvalid.submissions.rehearsal import RehearsalSettings, rehearse
from surgvalid.submissions.rehearsal_report import findings_of
from surgvalid.submissions.results import RunFacts
from surgvalid.submissions.starter import new_pack

EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m\x7f\u202egnp.exe\u2066\u200b\U000e0041\r"
"""Sets the title of a terminal, clears it, colours it, turns text round, hides some."""
STEERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]")
FORMULA = '=HYPERLINK("http://evil")'
PROGRAM = r"""
import json, os, socket, sys
evil = EVIL
print("log " + evil + " <script>alert(1)</script>\nscore      1.0000", flush=True)
def reply(connection, body, status="200 OK"):
    head = "HTTP/1.1 " + status + "\r\nContent-Length: %d\r\n\r\n" % len(body)
    connection.sendall(head.encode() + body)
server = socket.socket(socket.AF_UNIX)
server.bind(os.environ["SURG_SOCKET"])
server.listen()
count = 0
while True:
    connection, _ = server.accept()
    data = b""
    while b"\r\n\r\n" not in data:
        data += connection.recv(65536)
    head, _, body = data.partition(b"\r\n\r\n")
    if head.startswith(b"GET"):
        reply(connection, json.dumps({"protocol": "1", "name": evil + "=1+1"}).encode())
        connection.close()
        continue
    length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
    while len(body) < length:
        body += connection.recv(65536)
    count += 1
    asked = json.loads(body)["qID"]
    if count == 1:
        reply(connection, json.dumps({"qID": asked, "content": evil + FORMULA, "extra": {evil: evil}}).encode())
    elif count == 2:
        reply(connection, json.dumps({"qID": evil, "content": "x"}).encode())
    else:
        reply(connection, evil.encode(), "500 " + evil.replace("\r", "").replace("\n", ""))
    connection.close()
"""


@pytest.fixture
def command(tmp_path: Path) -> tuple[str, ...]:
    return script(tmp_path / "program", PROGRAM.replace("EVIL", ascii(EVIL)).replace("FORMULA", ascii(FORMULA)))


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    new_pack(tmp_path / "pack")
    return tmp_path / "pack"


def verb(*words: object) -> str:
    """Everything that a verb says, on both channels."""
    done = CliRunner().invoke(build_app(), list(map(str, words)))
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.output


def assert_tame(text: str, where: object = "") -> None:
    assert not (match := STEERS.search(text)), (where, ascii(match.group()), ascii(text[:300]))


def texts_below(folder: Path) -> dict[Path, str]:
    kinds = (".json", ".jsonl", ".txt", ".csv", ".md")
    return {path: path.read_text() for path in folder.rglob("*") if path.is_file() and path.suffix in kinds}


def test_answers_logs_names_and_replies_of_a_rehearsal(command: tuple[str, ...], pack: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = [
        "submission",
        "rehearse",
        "--command",
        " ".join(command),
        "--input",
        pack / "example_input",
        "--out",
        out,
        "--resamples",
        "10",
    ]
    said = verb(*words, "--rules", "state=free", "--rules", "budget_s=30")
    assert "container-said" in said, "the log was shown"
    assert_tame(said)
    assert "\nscore      1.0000" not in said, "a line of the log must not pass for one of the report"
    assert_tame(verb(*words, "--rules", "state=free", "--rules", "budget_s=30", "--json"))
    written = texts_below(out)
    assert {"answers.jsonl", "events.jsonl", "log.txt", "responses.jsonl", "answer.json"} <= {p.name for p in written}
    for path, text in written.items():
        assert_tame(text, path)
    kept = [json.loads(line) for line in (out / "answers.jsonl").read_text().splitlines()]
    assert any(row.get("content") == EVIL + FORMULA for row in kept), "what is kept is what was answered"


def test_a_result_in_python_is_tame_too(command: tuple[str, ...], pack: Path, tmp_path: Path) -> None:
    made = rehearse(
        pack / "example_input",
        out=tmp_path / "out",
        command=command,
        settings=RehearsalSettings(replicates=10, budget_s=30.0),
    )
    assert_tame(repr(made))
    assert_tame(made.prose)
    assert "<script>" not in made._repr_html_()
    made.to_dir(tmp_path / "copy")
    for path, text in texts_below(tmp_path / "copy").items():
        assert_tame(text, path)


def test_names_of_files_in_what_a_team_hands_in(tmp_path: Path) -> None:
    (tmp_path / "phase.toml").write_text('name = "p"\ntrack = "frame"\nengines = ["process"]\n[weights]\nsize_mb = 1\n')
    weights = tmp_path / "weights"
    weights.mkdir()
    (weights / f"=1+1{EVIL}").symlink_to("/etc/passwd")
    with zipfile.ZipFile(tmp_path / "method.zip", "w") as packed:
        packed.writestr(f"{FORMULA.replace('/', '')}{EVIL}.exe", "x")
        packed.writestr(f"@SUM(1){EVIL}.md", "<img src=x onerror=alert(1)>" + EVIL)
    given = ["--phase", tmp_path / "phase.toml", "--description", tmp_path / "method.zip", "--weights", weights]
    said = verb("submission", "check", *given, "--out", tmp_path / "checks")
    assert "intake_refused" in said
    assert_tame(said)
    assert_tame(verb("submission", "check", *given, "--json"))
    phase = read_phase(tmp_path / "phase.toml")
    run = tmp_path / "runs" / "a"
    refused = take_submission(phase, run, team=f"=team{EVIL}", description=tmp_path / "method.zip", weights=weights)
    assert refused.is_refused
    mark_submission(run, "disqualified", reason=f"-1+1{EVIL}")
    for path, text in {**texts_below(tmp_path / "checks"), **texts_below(run)}.items():
        assert_tame(text, path)
    assert_no_formula(tmp_path / "checks" / "checks.csv")
    assert_tame(repr(submission_status(run)))
    said = verb(
        "host", "phase", "status", "--phase", tmp_path / "phase.toml", "--run", run, "--out", tmp_path / "status"
    )
    assert_tame(said)
    for path, text in texts_below(tmp_path / "status").items():
        assert_tame(text, path)
    assert_no_formula(tmp_path / "status" / "history.csv")


def assert_no_formula(path: Path) -> None:
    for column in pl.read_csv(path, infer_schema=False).iter_columns():
        for cell in column.drop_nulls():
            assert not cell.startswith(("=", "+", "-", "@", "\t", "\r")), (path, cell)


def test_json_is_tame_and_loses_nothing() -> None:
    data = {EVIL: [EVIL, "plain ä 手 😀"]}
    for indent in (None, 2):
        assert_tame(json_text(data, indent=indent))
        assert json.loads(json_text(data, indent=indent)) == data
    assert "ä 手 😀" in json_text(data)


def test_what_engines_tell_of_a_program_is_tame_in_a_report() -> None:
    """Runtimes name the program that an image starts, and that name is the participant's."""
    lost = Record("q0", "v0", ExchangeOutcome.CRASHED, detail=f"it ended {EVIL}")
    facts = RunFacts(
        outcomes={"crashed": 1}, p50_s=0.0, p95_s=0.0, max_s=0.0, total_s=0.0, slowest=None, lost=(lost,), empty=0,
        distinct=0, start_problems=(f"exec {EVIL}: no such file or directory",),
    )  # fmt: skip
    findings = findings_of(facts, QuestionFolder((), Path("request.json"), None, None))
    assert {finding.code for finding in findings} >= {"answer-crashed", "start-failed"}
    for finding in findings:
        assert_tame(str(finding))
