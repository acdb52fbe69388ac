"""The demo as a newcomer runs it: every part is written, what was planted is found, the participant is really asked."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from docs.figures.report_page import PICTURE, RECORD, shown

from quick_demo import quick_demo
from repository import REPOSITORY
from surgvalid.cli._demo import chain, painting, participant
from surgvalid.cli._demo.cast import BASELINES, BLIND, COMPETITORS

ROOT = REPOSITORY


def surgvalid(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "NO_COLOR": "1"}
    return subprocess.run(
        [sys.executable, "-m", "surgvalid", *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=1800,
    )


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    ran = quick_demo(tmp_path_factory, tmp_path_factory.mktemp("demo") / "demo", name="demo")
    assert ran.code == 0, ran.stderr
    return ran.folder, ran.stdout, ran.stderr


def test_every_planted_weakness_is_found(demo: tuple[Path, str, str]) -> None:
    _, printed, _ = demo
    lines = printed[printed.index("What was planted") :].splitlines()[3:7]
    assert [line.split()[0] for line in lines] == ["smoke-blind", "stay-at-home", "cannot-count", "slow-thinker"]
    assert all(line.endswith("yes") for line in lines), lines
    shares = [re.search(r"of 100 .* (\d+) wrong, (?:of 100 others|by all-rounder) (\d+) ", line) for line in lines[:3]]
    assert all(found and 100 >= int(found[1]) > int(found[2]) >= 0 for found in shares), lines


def test_the_page_shows_what_was_planted_in_words_of_a_surgeon(demo: tuple[Path, str, str]) -> None:
    page = (demo[0] / "report.html").read_text(encoding="utf-8")
    text = " ".join(re.sub(r"<[^>]+>", " ", page.partition("<h1>")[2].partition("Look closer")[0]).split())
    best = max(COMPETITORS, key=lambda model: model.skill).name
    assert re.match(rf"{best} is clearly the best on [2-5] of 6 leaderboards", text), (
        "some ranks differ, some cannot be told"
    )
    for words in (
        "smoke-blind : it fails on background smoke: of 100 such questions it gets ",
        "stay-at-home : it fails on cases unlike the training data: of 100 such questions it gets ",
        "cannot-count : it is behind the mean of the other models on counting",
        "slow-thinker : 8.3 % of its answers came too late",
        f"{best} : it shows no weakness of its own",
    ):
        assert words in text, words
    assert len(page.encode()) < 400_000


def test_the_baselines_of_the_gate_are_said_to_be_simulated(demo: tuple[Path, str, str]) -> None:
    folder, printed, _ = demo
    places = pl.read_csv(folder / "rank" / "frame" / "places.csv")
    gating = places.filter("baseline")["model"].unique(maintain_order=True).to_list()
    assert sorted(gating) == ["frontier-example", "tuned-example"]
    said = " ".join(printed[printed.index("Answers are drawn by chance") :].split())
    assert said.startswith("Answers are drawn by chance from known skills, for the organisers' baselines too: tuned-")
    assert all(f"{name} " in said[:200] for name in gating)


def test_every_part_of_the_chain_leaves_its_files(demo: tuple[Path, str, str]) -> None:
    folder, printed, talked = demo
    for track in chain.TRACKS:
        assert (folder / "questions" / "test" / track / "references.json").is_file()
        assert (folder / "floors" / track / "floors.csv").is_file()
        models = {path.name for path in (folder / "scores" / track).iterdir()}
        assert models == {model.name for model in (*COMPETITORS, *BASELINES)} | {BLIND}
        boards = set(pl.read_csv(folder / "rank" / track / "places.csv")["board"])
        assert boards == {"technical", "clinical"}
    assert (folder / "failures" / "per_model.csv").is_file()
    assert (folder / "report.html").stat().st_size > 100_000
    assert f"report: {Path('demo') / 'report.html'}" in printed
    assert "What to look at first" in talked
    assert "[6/6] writing the report" in talked


def test_scores_carry_the_strata_of_their_questions(demo: tuple[Path, str, str]) -> None:
    table = pl.read_parquet(demo[0] / "scores" / "segment" / "all-rounder" / "scores.parquet")
    assert set(table["track"]) == {"segment"}
    assert set(table.filter("ood")["center"]) == {"Center E", "Center F"}


def test_nothing_is_overwritten_unless_asked(demo: tuple[Path, str, str]) -> None:
    again = surgvalid("demo", "--quick", "--out", str(demo[0]), folder=demo[0].parent)
    assert again.returncode == 2
    assert "exists already" in again.stderr


def test_the_entrant_sees_pictures_and_answers_over_the_protocol(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chain, "MINUTES", (1.0, 1.2))
    demo = chain.Demo(tmp_path, chain.Size(procedures=8, per_video=6, replicates=20, pictures=True), 7)
    simulation = chain.simulated(demo)
    made = chain.asked(demo, lambda _: None)
    painted: list[int] = []
    frames = painting.paint(demo, simulation, made, painted.append)
    asked = {q.request.case for q in made.questions if (q.split, q.track) == ("test", "frame")}
    assert {path.stem for path in frames.iterdir()} == asked
    assert len(painted) == painting.pieces(made)
    found = participant.programs()
    assert {entrant.name for entrant in found} == {"clock-and-colours", "sees"}
    for entrant, program in found.items():
        ran = participant.run_participant(demo, entrant, program, lambda _: None)
        assert ran.run.answered == len(asked)
        given = json.loads(demo.answers("frame", entrant.name).read_text(encoding="utf-8"))
        assert {row["qID"] for row in given} == asked
        assert all(row["latency"] > 0 for row in given)


def test_the_picture_in_the_readme_is_of_this_demo(demo: tuple[Path, str, str]) -> None:
    assert json.loads(RECORD.read_text(encoding="utf-8")) == shown(demo[0]), "run python -m docs.figures.report_page"
    assert PICTURE.read_bytes().startswith(b"\x89PNG")
    assert "docs/figures/report.png" in (ROOT / "README.md").read_text(encoding="utf-8")
