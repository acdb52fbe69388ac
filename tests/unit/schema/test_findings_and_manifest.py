import hashlib
import json
from pathlib import Path

from surgvalid.results.manifest import sha256_of, version_of
from surgvalid.schema.findings import Finding, Severity


def test_a_finding_reads_as_one_line() -> None:
    finding = Finding("unreadable-answer", Severity.ERROR, "no digits", case="q1", where="a.json row 3", nearest="2")
    assert str(finding) == "error unreadable-answer a.json row 3 [q1]: no digits; nearest legal text: '2'"
    assert str(Finding("late", Severity.NOTE, "slow")) == "note late: slow"


def test_a_finding_is_plain_data_without_empty_fields() -> None:
    data = Finding("late", Severity.NOTE, "slow", case="q1").as_dict()
    assert data == {"code": "late", "severity": "note", "message": "slow", "case": "q1"}
    assert json.loads(json.dumps(data)) == data


def test_an_empty_suggestion_is_kept() -> None:
    assert Finding("x", Severity.NOTE, "m", nearest="").as_dict()["nearest"] == ""


def test_hashes_and_versions(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"abc")
    assert sha256_of(tmp_path / "x") == hashlib.sha256(b"abc").hexdigest()
    assert version_of("numpy")[0].isdigit()
    assert version_of("no-such-package-anywhere") == "unknown"


def test_a_finding_names_its_subject_and_comes_back_from_plain_data() -> None:
    finding = Finding("cycle", Severity.WARNING, "models dominate each other", subject="technical leaderboard")
    assert finding.text == "technical leaderboard: models dominate each other"
    assert Finding.of_dict(finding.as_dict()) == finding
    assert Finding.of_dict({"message": "x", "severity": "odd"}) == Finding("note", Severity.WARNING, "x")
