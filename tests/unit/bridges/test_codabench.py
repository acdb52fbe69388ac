"""The bundle for Codabench, and its scoring program."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import polars as pl
import pytest
import yaml

from surgvalid import compare, rank
from surgvalid.bridges import codabench
from surgvalid.errors import FileUnreadable, WouldOverwrite
from unit.bridges.test_grand_challenge import CASES, answered, pack, run


def bundle(folder: Path) -> Path:
    place = pack(folder / "pack")
    return codabench.write(
        place, folder / "bundle.zip", title="VQA", image="example.org/surgvalid:1", start="2026-01-01"
    )


def unpacked(folder: Path) -> tuple[Path, Path, Path]:
    """What the platform mounts: program, input, output."""
    with zipfile.ZipFile(bundle(folder)) as archive:
        archive.extractall(folder / "app")
    program, given, out = folder / "app" / "scoring_program", folder / "input", folder / "output"
    (given / "res").mkdir(parents=True)
    out.mkdir()
    (folder / "app" / "reference_data").rename(given / "ref")
    rows = "".join(f"{case},{answered(case, right)}\n" for case, _, _, right in CASES)
    (given / "res" / "predictions.csv").write_text("case,prediction\n" + rows)
    return program, given, out


def test_the_bundle_has_what_the_platform_asks_for(tmp_path: Path) -> None:
    with zipfile.ZipFile(bundle(tmp_path)) as archive:
        names = set(archive.namelist())
        document = yaml.safe_load(archive.read("competition.yaml"))
        command = yaml.safe_load(archive.read("scoring_program/metadata.yaml"))["command"]
    assert {"version", "title", "image", "terms", "pages", "phases", "tasks", "leaderboards"} <= document.keys()
    assert document["version"] == 2
    assert {document["image"], document["terms"], *(page["file"] for page in document["pages"])} <= names
    assert {one["index"] for one in document["tasks"]} == {
        one for phase in document["phases"] for one in phase["tasks"]
    }
    for task in document["tasks"]:
        assert any(name.startswith(f"{task['scoring_program']}/") for name in names)
        assert f"{task['reference_data']}/references.csv" in names
    assert command.startswith("python3 -m surgvalid.bridges.codabench")
    with pytest.raises(WouldOverwrite):
        codabench.write(tmp_path / "pack", tmp_path / "bundle.zip", title="", image="", start="")


def test_scores_have_the_keys_of_the_columns_and_the_numbers_of_the_other_platform(tmp_path: Path) -> None:
    program, given, out = unpacked(tmp_path / "codabench")
    codabench.run(program, given, out)
    scores = json.loads((out / "scores.json").read_text())
    with zipfile.ZipFile(tmp_path / "codabench" / "bundle.zip") as archive:
        (leaderboard,) = yaml.safe_load(archive.read("competition.yaml"))["leaderboards"]
    columns = sorted(leaderboard["columns"], key=lambda one: one["index"])
    assert list(scores) == [one["key"] for one in columns]
    assert columns[1]["key"] == "baselines_ahead"
    (tmp_path / "other").mkdir()
    told = json.loads(run(tmp_path / "other")["metrics.json"])
    assert [scores[key] for key in ("value", "low", "high")] == [told[key] for key in ("value", "low", "high")]


def test_few_videos_have_no_ends_and_a_refusal_is_one_line(tmp_path: Path) -> None:
    program, given, out = unpacked(tmp_path)
    for place in (given / "ref" / "references.csv", given / "res" / "predictions.csv"):
        lines = place.read_text().splitlines()
        place.write_text("\n".join([lines[0], *(line for line in lines if line.startswith(("v0-", "v1-")))]))
    (given / "ref" / "baselines.csv").unlink()
    assert set(codabench.run(program, given, out)) == {"value", "baselines_ahead"}
    (given / "res" / "predictions.csv").unlink()
    asked = [sys.executable, "-m", "surgvalid.bridges.codabench", program, given, out]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "there is no predictions.csv and no predictions.json\n")


def test_the_last_day_of_a_phase_is_part_of_it(tmp_path: Path) -> None:
    bundle(tmp_path)
    asked = {"title": "VQA", "image": "i", "start": "2026-01-01", "end": "2026-02-01", "force": True}
    with zipfile.ZipFile(codabench.write(tmp_path / "pack", tmp_path / "bundle.zip", **asked)) as archive:
        (phase,) = yaml.safe_load(archive.read("competition.yaml"))["phases"]
    assert str(phase["end"]) == "2026-02-01T23:59:59"


def test_the_page_holds_nothing_from_elsewhere_and_no_case(tmp_path: Path) -> None:
    program, given, out = unpacked(tmp_path)
    codabench.run(program, given, out)
    page = (out / "detailed_results.html").read_text()
    assert "<script" not in page
    assert "http" not in page
    assert "minus prior" in page
    assert not [case for case, *_ in CASES if case in page]


def test_submissions_as_downloaded_give_the_ranking_of_their_table(tmp_path: Path) -> None:
    place, folder = pack(tmp_path / "pack"), tmp_path / "submissions"
    folder.mkdir()
    for name, every in (("ann", 7), ("bob", 3)):
        lines = [f"{case},{right if n % every else 'maybe'}" for n, (case, _, _, right) in enumerate(CASES)]
        with zipfile.ZipFile(folder / f"{name}.zip", "w") as archive:
            archive.writestr("predictions.csv", "\n".join(["case,prediction", *lines]))
    (folder / "cleo").mkdir()
    (folder / "cleo" / "predictions.csv").write_text("case,prediction\n")
    (folder / "dan.zip").write_bytes(b"PK")
    scores = codabench.leaderboard(place, folder)
    rows = [
        {"model": name, "case": case, "video": video, "value": float(n % every > 0)}
        for name, every in (("ann", 7), ("bob", 3))
        for n, (case, video, *_) in enumerate(CASES)
    ]
    ours, theirs = (rank(table, better="larger").table for table in (scores.scores, pl.DataFrame(rows)))
    assert ours.select("model", "rank").equals(theirs.select("model", "rank"))
    assert compare(scores.scores, "ann", "bob").table["difference"][0] == pytest.approx(
        compare(pl.DataFrame(rows), "ann", "bob", better="larger").table["difference"][0]
    )
    assert scores.left_out == (
        f"cleo: {len(CASES)} of {len(CASES)} cases have no output, and 0 outputs are of no case",
        "dan: no zip with predictions.csv",
    )
    for path in (folder / "ann.zip", folder / "bob.zip"):
        path.unlink()
    with pytest.raises(FileUnreadable, match=r"dan: no zip with predictions\.csv"):
        codabench.leaderboard(place, folder)
