"""Tables of predictions: reading, joining, refusing."""

import json
from pathlib import Path

import polars as pl
import pytest

from surgvalid.errors import FileUnreadable, InputInvalid
from surgvalid.evaluation.records import checked_rows, joined, read_records, texts, typical_step


def side(frames: list[int], label: str, video: str = "v1") -> pl.DataFrame:
    return pl.DataFrame({"video": [video] * len(frames), "frame": frames, label: ["a"] * len(frames)})


def test_all_formats_give_the_same_rows(tmp_path: Path) -> None:
    frame = pl.DataFrame({"video": ["07", "07"], "frame": [0, 1], "reference": ["a", "b"]})
    frame.write_csv(tmp_path / "t.csv")
    frame.write_parquet(tmp_path / "t.parquet")
    (tmp_path / "t.json").write_text(json.dumps(frame.to_dicts()))
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, frame.to_dicts())))
    for name in ("t.csv", "t.parquet", "t.json", "t.jsonl"):
        assert read_records(tmp_path / name).to_dicts() == frame.to_dicts()


@pytest.mark.parametrize("text", ["{", "3", '"text"', "[1, 2"])
def test_json_that_is_no_table_is_unreadable(text: str, tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(text)
    with pytest.raises(FileUnreadable):
        read_records(tmp_path / "t.json")


def test_columns_are_renamed_and_make_way() -> None:
    frame = pl.DataFrame({"video": ["x"], "patient": ["p"], "frame": [0]})
    assert read_records(frame, {"video": "patient"}).to_dicts() == [{"video": "p", "frame": 0}]


def test_every_bad_cell_and_repeat_is_listed() -> None:
    frame = pl.DataFrame({"video": ["a", None, "b", "b"], "frame": [0.0, 1.0, 2.0, 2.0]})
    with pytest.raises(InputInvalid) as caught:
        checked_rows(frame.with_columns(frame=pl.Series([0.0, 1.5, 2.0, 2.0])), "rows")
    assert caught.value.problems == [
        "column 'video': 1 entries are not given (first: row 2, None)",
        "column 'frame': 1 entries are not whole numbers (first: row 2, 1.5)",
        "1 moments have several rows (first: video 'b', frame 2)",
    ]


def test_a_frame_beyond_all_numbers_is_listed() -> None:
    with pytest.raises(InputInvalid, match="not whole numbers"):
        checked_rows(pl.DataFrame({"video": ["a"], "frame": [1e30]}), "rows")


def test_tables_without_video_or_moment_are_refused() -> None:
    with pytest.raises(InputInvalid, match="--unit"):
        checked_rows(pl.DataFrame({"frame": [1]}), "rows")
    with pytest.raises(InputInvalid, match="'frame', 'second', 'case'"):
        checked_rows(pl.DataFrame({"video": ["a"]}), "rows")
    with pytest.raises(InputInvalid, match="no rows"):
        checked_rows(pl.DataFrame({"video": [], "frame": []}), "rows")


def test_lists_and_objects_in_cells_are_refused() -> None:
    frame = pl.DataFrame({"video": [["a"]], "frame": [{"n": 1}], "score:x": [[1.0]], "other": [[1]]})
    with pytest.raises(InputInvalid) as caught:
        checked_rows(frame, "rows")
    assert [problem.split("'")[1] for problem in caught.value.problems] == ["video", "frame", "score:x"]


def test_rows_are_joined_by_moment_and_not_by_place() -> None:
    ours = pl.DataFrame({"video": ["a", "a"], "frame": [0, 1], "reference": ["x", "y"]})
    theirs = pl.DataFrame({"video": ["a", "a"], "frame": [1, 0], "prediction": ["Y", "X"]})
    assert joined(ours, theirs, wanted=("prediction",))["prediction"].to_list() == ["X", "Y"]


@pytest.mark.parametrize(("videos", "moment"), [(list("ab"), "frame"), (["9", "10"], "second"), (list("ba"), "case")])
def test_rows_in_any_order_are_joined_alike(videos: list[str], moment: str) -> None:
    moments = [str(n) for n in range(12)] if moment == "case" else list(range(12))
    ours = pl.DataFrame({"video": sorted(videos * 12), moment: moments * 2, "reference": range(24)})
    theirs = ours.select("video", moment, prediction=pl.col("reference") + 100).with_columns(side=pl.lit("x"))
    whole = joined(ours, theirs, wanted=("prediction",))
    assert whole.columns == ["video", moment, "reference", "prediction"]
    assert (whole["prediction"] - whole["reference"] == 100).all()
    assert whole.equals(whole.sort("video", moment))
    for seed in range(4):
        mixed = ours.sample(24, shuffle=True, seed=seed), theirs.sample(24, shuffle=True, seed=seed // 2)
        assert joined(*mixed, wanted=("prediction",)).equals(whole)


def test_repeats_next_to_empty_cells_are_named_too() -> None:
    with pytest.raises(InputInvalid) as caught:
        checked_rows(pl.DataFrame({"video": ["a"] * 3, "frame": [2, None, 2]}), "rows")
    assert [problem.split(" ")[0] for problem in caught.value.problems] == ["column", "1"]


def test_25_fps_against_1_fps_is_refused_with_the_reason() -> None:
    with pytest.raises(InputInvalid, match="different frame rates") as caught:
        joined(side([0, 1, 2, 3], "reference"), side([0, 25, 50, 75], "prediction"))
    assert "references step by 1 and predictions by 25" in caught.value.problems[0]
    assert "4 references and 4 predictions" in caught.value.problems[0]


def test_missing_extra_and_unpaired_videos_are_all_named() -> None:
    ours = pl.concat([side([0, 1, 2], "reference"), side([0], "reference", "only_ours")])
    theirs = pl.concat([side([0, 1, 3], "prediction"), side([0], "prediction", "only_theirs")])
    with pytest.raises(InputInvalid) as caught:
        joined(ours, theirs)
    text = "\n".join(caught.value.problems)
    assert "'only_ours' has references but no predictions" in text
    assert "'only_theirs' has predictions but no references" in text
    assert "1 frames without prediction (first: 2)" in text
    assert "1 frames without reference (first: 3)" in text


def test_seconds_are_not_joined_with_frames() -> None:
    theirs = side([0], "prediction").rename({"frame": "second"})
    with pytest.raises(InputInvalid, match="count by 'frame', predictions by 'second'"):
        joined(side([0], "reference"), theirs)


def test_labels_are_text_whatever_they_were_read_as() -> None:
    assert texts(pl.Series([1.0, None, 2.0])).to_list() == ["1", None, "2"]
    assert texts(pl.Series([" a ", "", None])).to_list() == ["a", None, None]
    assert typical_step([5]) == 1.0


def test_many_videos_on_one_side_are_counted_instead_of_listed() -> None:
    ours = pl.DataFrame({"video": [f"v{n}" for n in range(40)], "frame": 0, "reference": "a"})
    theirs = pl.DataFrame({"video": ["v0"], "frame": 0, "prediction": "a"})
    with pytest.raises(InputInvalid) as caught:
        joined(ours, theirs, wanted=("prediction",))
    assert len(caught.value.problems) == 6
    assert caught.value.problems[0] == "video 'v1' has references but no predictions (1 rows)"
    assert "34 more videos, each of which has references but no predictions" in caught.value.problems[-1]
