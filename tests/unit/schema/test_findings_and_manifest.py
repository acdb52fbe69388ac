import hashlib
import json
from pathlib import Path

from surgeval.results.manifest import Manifest, remove_outputs, sha256_of, version_of
from surgeval.schema.findings import Finding, Severity


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


def test_equal_runs_give_equal_manifests_without_paths_or_clock(tmp_path: Path) -> None:
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder in folders:
        folder.mkdir()
        (folder / "in.json").write_text("[]")
        Manifest("lint", {"n": 1}, [folder / "in.json", folder / "absent.json"], seeds={"boot": 42}).to_dir(folder)
    first, second = ((folder / "manifest.json").read_text() for folder in folders)
    assert first == second
    assert str(tmp_path) not in first
    data = json.loads(first)
    assert data["inputs"] == [{"file": "in.json", "sha256": hashlib.sha256(b"[]").hexdigest()}]
    assert (data["verb"], data["options"], data["seeds"]) == ("lint", {"n": 1}, {"boot": 42})


def test_hashes_and_versions(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"abc")
    assert sha256_of(tmp_path / "x") == hashlib.sha256(b"abc").hexdigest()
    assert version_of("numpy")[0].isdigit()
    assert version_of("no-such-package-anywhere") == "unknown"


def test_outputs_that_a_manifest_lists_are_taken_away_and_nothing_else(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    (folder / "inner.csv").mkdir(parents=True)
    kept = [tmp_path / "outside.csv", folder / "mine.csv", folder / "model.bin"]
    for path in (*kept, folder / "places.csv"):
        path.write_text("x")
    listed = ["places.csv", "../outside.csv", str(kept[0]), "model.bin", "inner.csv", "gone.csv", 3]
    Manifest("rank", {}, outputs=listed).to_dir(folder)  # type: ignore[arg-type]
    remove_outputs(folder)
    assert not (folder / "places.csv").exists()
    assert all(path.exists() for path in (*kept, folder / "inner.csv"))
    for text in ("[", "[1]", '{"outputs": 3}'):
        (folder / "manifest.json").write_text(text)
        remove_outputs(folder)
    assert (folder / "mine.csv").exists()
