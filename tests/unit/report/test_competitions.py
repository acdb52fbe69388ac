"""A folder with several rankings: each gets its own sections, scores and sentences."""

from __future__ import annotations

import shutil
from pathlib import Path

import polars as pl
import pytest

from ranking_tables import focus_frame
from surgvalid.report.inputs import StoredResult, competitions, distinct_parts, read_inputs, without_rehearsed
from surgvalid.report.report import make_report
from surgvalid.report.section import Prose, Standings
from surgvalid.results.manifest import MANIFEST, manifest_of, write_manifest
from surgvalid.results.request import VerbRequest
from surgvalid.stats.ranking import rank


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("tracks")
    for track, seed in (("segment", 1), ("frame", 2)):
        frame = focus_frame(3, seed=seed).with_columns(
            pl.col("case").cast(pl.String) + f"-{track}", latency=pl.lit(6.0)
        )
        rank(frame, "focus", replicates=50).to_dir(root / "rank" / track)
        for (model,), own in frame.group_by("model", maintain_order=True):
            if (track, model) == ("segment", frame["model"][0]):
                continue
            place = root / "scores" / track / str(model)
            place.mkdir(parents=True)
            own.write_parquet(place / "scores.parquet")
            options = {"model": model, "max_latency_s": 5.0 if track == "frame" else 15.0}
            write_manifest(place / MANIFEST, manifest_of(VerbRequest("score", options)))
    return root


def test_what_tells_paths_apart_names_the_competitions() -> None:
    assert distinct_parts(["rank/frame", "rank/segment"]) == ["frame", "segment"]
    assert distinct_parts(["frame/rank", "segment/rank"]) == ["frame", "segment"]
    assert distinct_parts(["2025/a/rank", "2026/a/rank"]) == ["2025", "2026"]
    assert distinct_parts(["rank", "rank/again"]) == ["rank", "rank/again"]


def test_tracks_come_in_their_usual_order_each_with_its_own_scores(folder: Path) -> None:
    found = competitions(read_inputs(folder))
    assert [one.label for one in found] == ["frame", "segment"]
    for one in found:
        assert [part.label for part in one.inputs.of("rank")] == [f"rank/{one.label}"]
        assert {part.label.split("/")[1] for part in one.inputs.of("score")} == {one.label}
        assert all(case.endswith(one.label) for case in one.inputs.rows["case"])
    assert [len(one.inputs.scores.models) for one in found if one.inputs.scores] == [3, 2]


def test_sections_figures_and_sentences_name_their_competition(folder: Path) -> None:
    made = make_report(folder)
    names = [section.name for section in made.sections]
    assert names.index("board-frame") < names.index("significance-frame") < names.index("board-segment")
    assert len(names) == len(set(names))
    blocks = [block.name for section in made.sections for block in section.blocks if hasattr(block, "name")]
    assert len(blocks) == len(set(blocks))
    [table] = [block for block in made.sections[0].blocks if isinstance(block, Standings)]
    assert [head.split(":")[0] for head, _ in table.columns][::2] == ["Single frame", "Video segment"]
    assert any(": frame, technical leaderboard" in text for text in made.limitations)


def test_what_holds_for_several_competitions_is_said_once(folder: Path) -> None:
    made = make_report(folder)
    beginnings = [text.partition(":")[0] for text in made.limitations]
    assert len(beginnings) == len(set(beginnings))
    [methods] = [section for section in made.sections if section.name == "methods"]
    told = " ".join(block.text for block in methods.blocks if isinstance(block, Prose))
    assert told.count("every pair of models was compared") == 1
    assert "frame: 3 models were ranked" in told
    assert "segment: 3 models were ranked" in told


def test_a_single_ranking_needs_no_name(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / "rank" / "frame", tmp_path / "rank" / "frame")
    made = make_report(tmp_path)
    assert "board" in [section.name for section in made.sections]


def test_every_time_limit_is_looked_at_by_itself(folder: Path) -> None:
    [section] = [section for section in make_report(folder).sections if section.name == "latency"]
    said = [block.text for block in section.blocks if isinstance(block, Prose)]
    assert [text.split(" took")[0].split(";")[0] for text in said] == [
        "Answers were allowed 5 s each",
        "Answers were allowed 15 s each",
    ]
    assert "100 % of" in said[0]
    assert "0 % of" in said[1]


def test_scores_that_a_rehearsal_gave_itself_do_not_compete(tmp_path: Path) -> None:
    def part(name: str, verb: str) -> StoredResult:
        return StoredResult(label=name, kind=verb, path=tmp_path / name)

    rehearsal, own, other = part("run", "rehearse"), part("run/scores", "score"), part("scores/a", "score")
    assert without_rehearsed([rehearsal, own, other]) == (rehearsal, other)
    assert without_rehearsed([rehearsal, own]) == (rehearsal, own)
