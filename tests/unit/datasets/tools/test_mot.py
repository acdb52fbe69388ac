"""MOT tables: counting from 1, ignored rows, and what cannot be true."""

from pathlib import Path

import pytest

from annotation_files import MOT_TABLE
from annotation_writers import write_any
from procedures import tiny_procedure
from shared_data import shared
from surgvalid.datasets import About
from surgvalid.datasets.tools.mot import read
from surgvalid.errors import FileUnreadable, ProcedureInvalid
from surgvalid.schema.procedures.tracks import Procedure, Visibility, track_from_points


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "case12" / "gt").mkdir(parents=True)
    (tmp_path / "case12" / "gt" / "gt.txt").write_text(MOT_TABLE)
    (tmp_path / "case12" / "gt" / "labels.txt").write_text("Clip\nSponge\n")
    return tmp_path / "case12"


def test_frames_and_classes_count_from_one(folder: Path) -> None:
    procedures, findings = read(folder)
    sponge, clip = procedures[0].tracks
    assert (procedures[0].video, sponge.instance, clip.instance) == ("case12", "Sponge 4", "Clip 5")
    assert sponge.seconds.tolist() == [0, 1]
    assert sponge.visibility.tolist() == [Visibility.VISIBLE, Visibility.OCCLUDED]
    assert clip.seconds.tolist() == [1]
    assert {"ignored", "no-duration", "no-width", "no-height"} <= {f.code for f in findings}


def test_the_sequence_file_tells_rate_length_and_size(folder: Path) -> None:
    (folder / "seqinfo.ini").write_text("[Sequence]\nname=s\nframeRate=2\nseqLength=9\nimWidth=64\nimHeight=48\n")
    procedures, findings = read(folder)
    assert (procedures[0].video, procedures[0].duration_s, procedures[0].width_px) == ("s", 5, 64)
    assert "2 boxes" in next(f.message for f in findings if f.code == "between-seconds")
    with pytest.raises(ProcedureInvalid, match="the file counts 2 frames per second, --fps says 1"):
        read(folder, About(fps=1))
    (folder / "seqinfo.ini").write_text("name=s")
    with pytest.raises(FileUnreadable, match=r"seqinfo\.ini"):
        read(folder)


def test_a_table_alone_names_classes_by_number(folder: Path) -> None:
    (folder / "gt" / "labels.txt").unlink()
    procedures, findings = read(folder / "gt" / "gt.txt", About(instruments=["class 1"]))
    assert [t.class_name for t in procedures[0].tracks] == ["class 2"]
    assert [t.class_name for t in procedures[0].instruments] == ["class 1"]
    assert "no-labels" in {f.code for f in findings}


def test_every_problem_is_listed(folder: Path) -> None:
    rows = [
        "0,1,1,1,5,5,1,1,1",
        "1,1.5,1,1,5,5,1,1,1",
        "1,1,1,1,5,5,1,9,1",
        "1,2,a,1,5,5,1,1,1",
        "1,3,1,1",
        "2,7,1,1,0,5,1,1,1",
        "3,8,1,1,5,5,1,1,1",
        "3,8,2,1,5,5,1,1,1",
        "4,9,1e400,1,5,5,1,1,1",
    ]
    (folder / "gt" / "gt.txt").write_text("\n".join(rows))
    with pytest.raises(ProcedureInvalid) as refused:
        read(folder)
    text = "\n".join(refused.value.problems)
    for part in (
        "line 1: frame 0",
        "line 2: track 1.5",
        "line 3: class 9",
        "line 4: expected",
        "line 5: expected",
        "'Clip 7' at second 1: the box has no positive size",
        "two different boxes",
        "line 9",
    ):
        assert part in text, part


def test_wrong_encoding_is_told(folder: Path) -> None:
    (folder / "gt" / "labels.txt").write_bytes(b"Tupfer gro\xdf\n")
    with pytest.raises(FileUnreadable, match=r"labels\.txt: not UTF-8"):
        read(folder)


def test_what_mot_cannot_hold_is_named_and_boxes_survive(tmp_path: Path) -> None:
    lost = {f.code for f in write_any(tiny_procedure(), tmp_path / "s", tool="mot")}
    assert {"lost-names", "lost-events", "lost-phases", "lost-attributes"} <= lost
    assert not {"lost-points", "lost-digits", "lost-visibility", "lost-class"} & lost


def test_names_with_line_breaks_are_refused(tmp_path: Path) -> None:
    track = track_from_points("a", "Clip\n", [(0, (1, 1, 2, 2))])
    with pytest.raises(ProcedureInvalid, match="cannot keep the name"):
        write_any(Procedure("v", "T", "A", 3, 64, 64, (track,)), tmp_path / "s", tool="mot")


def test_the_ten_columns_of_motchallenge_are_read() -> None:
    table = shared("data", "real_formats", "mot", "tud_campus", "gt.txt")
    annotations = read(table, About(fps=25, width_px=640, height_px=480))
    assert {track.class_name for track in annotations.procedures[0].tracks} == {"object"}
    assert "no-class" in {finding.code for finding in annotations.findings}


def test_ten_columns_with_a_class_are_not_taken_for_world_coordinates(tmp_path: Path) -> None:
    (tmp_path / "gt.txt").write_text("1,3,10,20,30,40,1,2,1,5\n")
    annotations = read(tmp_path / "gt.txt", About(width_px=640, height_px=480))
    assert [track.class_name for track in annotations.procedures[0].tracks] == ["class 2"]
