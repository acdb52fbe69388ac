"""Folders of results: whole, or as they were before."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from surgvalid import results
from surgvalid.errors import FileUnreadable, Misuse, WouldOverwrite
from surgvalid.results import manifest
from surgvalid.results.folder import WRITTEN, finish
from surgvalid.results.manifest import MANIFEST, manifest_of, write_manifest
from surgvalid.results.request import VerbRequest, plain_value, requested
from surgvalid.results.result import Result
from surgvalid.schema.findings import Finding, Severity
from surgvalid.schema.questions.question_files import split_source


def made(*names: str, verb: str = "rank", value: int = 1) -> Result:
    frame = pl.DataFrame({"model": ["A"], "place": [value]})
    return Result(tables=dict.fromkeys(names, frame), prose="What was done.", request=VerbRequest(verb))


def files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_what_an_earlier_result_left_goes_and_other_files_stay(tmp_path: Path) -> None:
    made("one", "two").to_dir(tmp_path)
    (tmp_path / "mine.csv").write_text("x")
    with pytest.raises(WouldOverwrite):
        made("three").to_dir(tmp_path)
    made("three").to_dir(tmp_path, force=True)
    assert files(tmp_path) == {"three.csv", "mine.csv", "methods.txt", MANIFEST}


def test_a_file_of_the_user_is_not_overwritten_even_by_force(tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text("x")
    with pytest.raises(WouldOverwrite):
        made("one").to_dir(tmp_path)
    assert files(tmp_path) == {"one.csv"}
    with pytest.raises(WouldOverwrite, match=r"one.csv exists already.*move it away: no manifest lists it"):
        made("one").to_dir(tmp_path, force=True)
    assert (tmp_path / "one.csv").read_text() == "x"
    (tmp_path / "two.csv").mkdir()
    with pytest.raises(Misuse, match="is a folder"):
        made("two").to_dir(tmp_path, force=True)


@pytest.mark.parametrize(
    "listed", ["../outside.csv", "/etc/x.csv", "inner/../../outside.csv", ".hidden.csv", "a.bin", 3]
)
def test_a_manifest_from_anywhere_cannot_have_other_files_removed(tmp_path: Path, listed: object) -> None:
    out = tmp_path / "out"
    out.mkdir()
    kept = [tmp_path / "outside.csv", out / ".hidden.csv", out / "a.bin"]
    for path in kept:
        path.write_text("x")
    (out / MANIFEST).write_text(json.dumps({"verb": "rank", "outputs": [listed, {"file": listed}]}))
    made("one").to_dir(out, force=True)
    assert all(path.exists() for path in kept)


def test_links_are_not_followed_when_an_earlier_result_is_taken_away(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "x.csv").write_text("x")
    out = tmp_path / "out"
    out.mkdir()
    (out / "link").symlink_to(tmp_path / "elsewhere")
    (out / MANIFEST).write_text(json.dumps({"verb": "rank", "outputs": ["link/x.csv"]}))
    made("one").to_dir(out, force=True)
    assert (tmp_path / "elsewhere" / "x.csv").exists()


def test_a_write_that_fails_leaves_the_earlier_result_whole(tmp_path: Path) -> None:
    made("one").to_dir(tmp_path)
    nested = pl.DataFrame({"no csv holds this": [[1]]})
    before = {name: (tmp_path / name).read_bytes() for name in files(tmp_path)}
    with pytest.raises(pl.exceptions.ComputeError):
        Result(tables={"one": made("one").table, "two": nested}).to_dir(tmp_path, force=True)
    assert {name: (tmp_path / name).read_bytes() for name in files(tmp_path)} == before


_KILLED = """
import os, sys
from pathlib import Path
import polars as pl
from surgvalid.results import folder
from surgvalid.results.request import VerbRequest
from surgvalid.results.result import Result
steps = int(sys.argv[2])
def ending(function):
    def counted(*arguments, **options):
        global steps
        if steps == 0:
            os._exit(9)
        steps -= 1
        return function(*arguments, **options)
    return counted
os.replace, Path.rename, Path.unlink = ending(os.replace), ending(Path.rename), ending(Path.unlink)
pl.DataFrame.write_csv = ending(pl.DataFrame.write_csv)
frame = pl.DataFrame({"model": ["A"], "place": [2]})
Result(tables={"two": frame, "three": frame}, prose="New.", request=VerbRequest("rank")).to_dir(sys.argv[1], force=True)
"""


@pytest.mark.long
def test_a_run_that_is_killed_at_any_step_leaves_the_old_result_or_the_new_one(tmp_path: Path) -> None:
    found = []
    for steps in range(12):
        out = tmp_path / str(steps)
        made("one", "two").to_dir(out)
        (out / "mine.csv").write_text("x")
        done = subprocess.run([sys.executable, "-c", _KILLED, str(out), str(steps)], check=False, env=os.environ)
        stored = results.read(out)
        assert (out / "mine.csv").read_text() == "x"
        found.append((sorted(stored.tables), [frame["place"].item() for frame in stored.tables.values()]))
        made("four").to_dir(out, force=True)
        assert files(out) == {"four.csv", "mine.csv", "methods.txt", MANIFEST}
        if done.returncode == 0:
            break
        assert done.returncode == 9
    old, new = (["one", "two"], [1, 1]), (["three", "two"], [2, 2])
    assert found == sorted(found, key=lambda one: one == new)
    assert found.count(old) + found.count(new) == len(found) > 6
    assert found.count(new) > 2


def test_a_result_that_waits_is_moved_to_its_place_by_the_next_writer(tmp_path: Path) -> None:
    made("one").to_dir(tmp_path / "new")
    made("two").to_dir(tmp_path / "out")
    (tmp_path / "new").rename(tmp_path / "out" / WRITTEN)
    finish(tmp_path / "out")
    assert files(tmp_path / "out") == {"one.csv", "methods.txt", MANIFEST}


def test_reading_gives_back_what_was_written(tmp_path: Path) -> None:
    finding = Finding("cycle", Severity.WARNING, "a circle", subject="technical leaderboard")
    result = Result(
        tables={"a": pl.DataFrame({"x": [1.5, None]}), "b": pl.DataFrame({"model": ["01"]})}, main="b",
        records={"c": {"d": [1, None]}}, prose="First.\n\nSecond.", findings=(finding,),
        request=VerbRequest("odd verb", {"seed": 3}, given={"table": "x.csv"}, settled={"limit": 2}),
    )  # fmt: skip
    stored = results.read(result.to_dir(tmp_path / "out"))
    assert all(stored.tables[name].equals(frame) for name, frame in result.tables.items())
    assert (stored.records, stored.prose, stored.findings) == (result.records, result.prose, result.findings)
    assert stored.table.equals(result.table)
    assert (stored.request.verb, stored.options, stored.request.given) == (
        "odd verb",
        {"seed": 3, "limit": 2},
        {"table": "x.csv"},
    )


def test_a_folder_without_a_result_is_no_result(tmp_path: Path) -> None:
    with pytest.raises(FileUnreadable, match="expected a folder"):
        results.read(tmp_path)
    with pytest.raises(FileUnreadable):
        results.read(tmp_path / "nowhere")
    made("one").to_dir(tmp_path)
    (tmp_path / "one.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FileUnreadable, match=r"one\.csv"):
        results.read(tmp_path)


def test_equal_runs_give_equal_manifests_without_clock_or_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @requested("count", files=("table", "more"))
    def count(
        table: object, *, more: object = None, seed: int = 0, progress: object = None, **options: object
    ) -> Result:
        return Result(tables={"n": pl.DataFrame({"n": [1]})})

    texts = []
    for name in ("a", "b"):
        (tmp_path / name / "in").mkdir(parents=True)
        monkeypatch.chdir(tmp_path / name)
        Path("in/scores.parquet").write_bytes(b"x")
        result = count(["in"], more=pl.DataFrame(), seed=7, progress=print, extra=(1, Path("in")))
        texts.append((result.to_dir("out") / MANIFEST).read_text())
    assert texts[0] == texts[1]
    assert str(tmp_path) not in texts[0]
    data = json.loads(texts[0])
    assert (data["verb"], data["options"], data["seeds"]) == ("count", {"seed": 7, "extra": [1, "in"]}, {"seed": 7})
    assert data["given"] == {"table": ["in"], "more": {"in memory": "DataFrame"}}
    assert [(entry["parameter"], entry["file"]) for entry in data["inputs"]] == [("table", "scores.parquet")]


def test_a_manifest_of_the_first_version_is_read_with_its_notes_as_findings(tmp_path: Path) -> None:
    (tmp_path / "effects.csv").write_text("term,odds_ratio\nsmoke,0.5\n")
    old = {"schema": "1", "surgvalid": "0.1.0", "verb": "odd", "options": {"n": 1}, "notes": ["beware"], "outputs": []}
    write_manifest(tmp_path / MANIFEST, old)
    stored = results.read(tmp_path)
    assert stored.findings == (Finding("note", Severity.WARNING, "beware"),)
    assert stored.options == {"n": 1}
    assert manifest_of(stored.request)["options"] == {"n": 1}


@requested("count", files=("table",))
def counted(table: str | Path | list[str], *, root: Path | None = None) -> Result:
    """A verb that needs the files which it is given."""
    sources = table if isinstance(table, list) else [table]
    folders = [split_source(source)[1] for source in sources] + ([root] if root else [])
    return Result(tables={"n": pl.DataFrame({"n": [sum(len(list(folder.iterdir())) for folder in folders)]})})


@pytest.mark.parametrize(
    "written", [".", "./", "../data set", "../data set/", "~", "~/", "../link", "../link/../data set/.", "inner/.."]
)
def test_a_folder_is_recorded_however_its_path_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: str
) -> None:
    folder = tmp_path / "data set"
    (folder / "inner").mkdir(parents=True)
    (folder / "a.csv").write_text("x")
    (folder / "inner" / "metrics.json").write_text("{}")
    (tmp_path / "link").symlink_to(folder)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(folder))
    for source in (written, Path(written), [f"name={written}"]):
        result = counted(source, root=Path(written))
        stored = results.read(result.to_dir(tmp_path / "out", force=True)).stored
        assert [entry["file"] for entry in stored["inputs"]] == ["a.csv", "metrics.json"]
        assert (stored["given"]["table"], result.table.item()) == (plain_value(source), 4)


def test_an_input_that_cannot_be_read_any_more_costs_its_hash_and_not_the_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("x")
    result = counted(tmp_path / "in")
    hashed = manifest.sha256_of

    def refusing(path: str | Path) -> str:
        if Path(path).name == "a.csv":
            raise PermissionError(13, "Permission denied")
        return hashed(path)

    monkeypatch.setattr(manifest, "sha256_of", refusing)
    stored = results.read(result.to_dir(tmp_path / "out"))
    assert stored.stored["inputs"] == [{"parameter": "table", "file": "a.csv", "sha256": None}]
    assert stored.tables["n"].item() == 1


def test_whatever_is_wrong_with_recording_is_said_before_the_work_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worked = []

    @requested("work {kind}")
    def work(table: Path) -> Result:
        worked.append(table)
        return Result()

    with pytest.raises(KeyError, match="kind"):
        work(tmp_path)
    assert not worked


def test_the_manifest_names_the_commit_of_the_checkout_that_it_runs_from(tmp_path: Path) -> None:
    def git(*words: str, folder: Path = tmp_path / "code") -> str:
        named = ["-c", "user.name=a", "-c", "user.email=a@b"]
        done = subprocess.run(["git", "-C", str(folder), *named, *words], check=True, capture_output=True, text=True)
        return done.stdout.strip()

    assert manifest.commit_of(tmp_path) is None
    (tmp_path / "code").mkdir()
    git("init", "-q")
    assert manifest.commit_of(tmp_path / "code") is None, "nothing is committed yet"
    git("commit", "-q", "--allow-empty", "-m", "first")
    commit = git("rev-parse", "HEAD")
    assert manifest.commit_of(tmp_path / "code") == commit
    git("worktree", "add", "-q", str(tmp_path / "beside"))
    assert manifest.commit_of(tmp_path / "beside") == commit
    git("pack-refs", "--all")
    assert manifest.commit_of(tmp_path / "code") == manifest.commit_of(tmp_path / "beside") == commit
    git("checkout", "-q", "--detach")
    assert manifest.commit_of(tmp_path / "code") == commit
    assert set(manifest_of(VerbRequest("rank"))) >= {"surgvalid", "commit"}
