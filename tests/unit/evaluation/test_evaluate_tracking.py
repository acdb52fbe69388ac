"""Tracking: hand-checked tracks in MOT files, py-motmetrics' definition by hand, and bad input."""

from pathlib import Path

import polars as pl
import pytest

import surgvalid
from surgvalid.errors import FileUnreadable, InputInvalid, Misuse


def write(folder: Path, **videos: list[str]) -> Path:
    folder.mkdir(exist_ok=True)
    for name, lines in videos.items():
        (folder / f"{name}.txt").write_text("\n".join(lines) + "\n")
    return folder


def track(identity: int, frames: range, tail: str = "1,1,1") -> list[str]:
    return [f"{frame},{identity},10,10,20,20,{tail}" for frame in frames]


@pytest.fixture
def sides(tmp_path: Path) -> tuple[Path, Path]:
    ours = write(tmp_path / "ours", a=track(1, range(1, 11)), b=track(1, range(1, 11)))
    theirs = write(tmp_path / "theirs", a=track(5, range(1, 11)), b=track(5, range(1, 6)) + track(6, range(6, 11)))
    return theirs, ours


def test_an_identity_switch_halfway_costs_what_it_should(sides: tuple[Path, Path]) -> None:
    result = surgvalid.evaluate("tracking", *sides, replicates=20)
    inside = {(row["video"], row["metric"]): row["value"] for row in result.per_video.to_dicts()}
    assert inside["a", "hota"] == inside["a", "mota"] == inside["a", "idf1"] == pytest.approx(1.0)
    assert inside["b", "id_switches"] == 1
    assert inside["b", "mota"] == pytest.approx(1 - 1 / 10)
    assert inside["b", "idf1"] == pytest.approx(2 * 5 / 20)
    assert inside["b", "assa"] == pytest.approx(0.5)
    assert inside["b", "deta"] == pytest.approx(1.0)
    assert result.value("mota") == pytest.approx(1 - 1 / 20)
    assert result.value("id_switches") == 0.5  # per video
    table = result.scores.frame.filter(pl.col("metric") == "mota")
    assert table.select("case", "video", "value").rows() == [("a", "a", 1.0), ("b", "b", 0.9)]


def test_references_of_mot_archives_are_found_and_marks_of_0_left_out(sides: tuple[Path, Path], tmp_path: Path) -> None:
    theirs, ours = sides
    for video in ("a", "b"):
        (tmp_path / "zip" / video / "gt").mkdir(parents=True)
        text = (ours / f"{video}.txt").read_text() + "3,9,80,80,5,5,0,1,1\n"
        (tmp_path / "zip" / video / "gt" / "gt.txt").write_text(text)
    stored = surgvalid.evaluate("tracking", theirs, tmp_path / "zip", replicates=20)
    assert stored.metrics.equals(surgvalid.evaluate("tracking", *sides, replicates=20).metrics)
    assert "2 references marked 0 were left out." in stored.notes


def test_strata_of_whole_videos_equal_running_on_them_alone(sides: tuple[Path, Path], tmp_path: Path) -> None:
    properties = {"video": ["a", "b"], "center": ["north", "south"]}
    result = surgvalid.evaluate("tracking", *sides, properties=properties, by=["center"], replicates=20)
    inside = {(row["video"], row["metric"]): row["value"] for row in result.per_video.to_dicts()}
    for row in result.per_stratum.to_dicts():
        assert row["value"] == inside[{"north": "a", "south": "b"}[row["stratum_value"]], row["metric"]]
        assert "one video only" in row["note"]
    with pytest.raises(InputInvalid, match="1 videos have no row"):
        surgvalid.evaluate("tracking", *sides, properties={"video": ["a"], "center": ["x"]}, by=["center"])


def test_classes_keep_boxes_apart(tmp_path: Path) -> None:
    ours = write(tmp_path / "ours", a=track(1, range(1, 5), "1,1,1"))
    theirs = write(tmp_path / "theirs", a=track(1, range(1, 5), "1,2,1"))
    assert surgvalid.evaluate("tracking", theirs, ours, replicates=10).value("deta") == pytest.approx(1.0)
    apart = surgvalid.evaluate("tracking", theirs, ours, use_classes=True, replicates=10)
    assert apart.value("deta") == 0.0
    assert apart.per_class.filter(pl.col("metric") == "deta").select("class", "references").rows() == [
        ("1", 4),
        ("2", 0),
    ]


def test_every_problem_of_every_file_is_listed(sides: tuple[Path, Path]) -> None:
    theirs, ours = sides
    write(ours, c=track(1, range(3)))
    write(theirs, a=[*track(1, range(1, 3)), *track(1, range(1, 2))], b=["1,1,10,10,0,20,1"], d=["x,y"])
    with pytest.raises(InputInvalid) as caught:
        surgvalid.evaluate("tracking", theirs, ours)
    text = "\n".join(caught.value.problems)
    for part in (
        "'c' has references but no predictions",
        "'d' has predictions but no references",
        "1 identities twice in a frame (first: 1 in frame 1)",
        "1 boxes without positive size (first: row 1)",
    ):
        assert part in text


@pytest.mark.parametrize("line", ["1,2,3", "a,b,c,d,e,f", "1,nan,1,1,2,2", "1.5,1,1,1,2,2", "1,1,1,1,inf,2"])
def test_lines_that_are_no_boxes_are_refused(line: str, tmp_path: Path) -> None:
    ours = write(tmp_path / "ours", a=track(1, range(1, 3)))
    with pytest.raises(InputInvalid):
        surgvalid.evaluate("tracking", write(tmp_path / "theirs", a=[line]), ours)


def test_tracks_at_different_frame_rates_are_refused(tmp_path: Path) -> None:
    ours = write(tmp_path / "ours", a=track(1, range(0, 1000, 25)))
    theirs = write(tmp_path / "theirs", a=track(1, range(40)))
    with pytest.raises(InputInvalid, match="different rates"):
        surgvalid.evaluate("tracking", theirs, ours)


def test_predictions_between_the_annotated_frames_are_refused(tmp_path: Path) -> None:
    """All frames predicted, every 25th annotated: 24 of 25 boxes would be false without a mistake of the tracker."""
    ours = write(tmp_path / "ours", a=track(1, range(0, 1000, 25)))
    theirs = write(tmp_path / "theirs", a=track(1, range(1000)))
    with pytest.raises(InputInvalid, match="every 25th frame, and 960 of 1000 predicted frames lie between"):
        surgvalid.evaluate("tracking", theirs, ours)
    write(theirs, a=track(1, range(0, 1000, 25)))
    assert surgvalid.evaluate("tracking", theirs, ours, replicates=10).value("mota") == 1.0
    write(ours, a=track(1, range(0, 225, 25)))
    write(theirs, a=track(1, range(225)))
    assert surgvalid.evaluate("tracking", theirs, ours, replicates=10).value("mota") < 0, "nine frames tell no step"


def test_missing_sources_and_strata_are_refused(sides: tuple[Path, Path], tmp_path: Path) -> None:
    with pytest.raises(FileUnreadable):
        surgvalid.evaluate("tracking", sides[0], tmp_path / "nothing")
    with pytest.raises(Misuse, match="--references"):
        surgvalid.evaluate("tracking", sides[0])
    with pytest.raises(Misuse, match="--by needs --properties"):
        surgvalid.evaluate("tracking", *sides, by=["center"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputInvalid, match="neither"):
        surgvalid.evaluate("tracking", tmp_path / "empty", sides[1])
