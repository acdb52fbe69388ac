"""Segment CSV: columns under their many names, times, tiers and their meaning."""

from pathlib import Path

import pytest

from annotation_files import SEGMENTS
from annotation_writers import write_any
from procedures import tiny_procedure
from surgvalid.datasets import About
from surgvalid.datasets.tools.segments import read
from surgvalid.errors import FileUnreadable, Misuse, ProcedureInvalid, UnknownName
from surgvalid.schema.procedures.tracks import Event, EventKind, Phase, Span

HEAD = "tier,start_s,end_s,label,instance,details\n"


def saved(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "case12.csv"
    path.write_text(text, encoding="utf-8", newline="")
    return path


def test_columns_of_elan_are_understood(tmp_path: Path) -> None:
    procedures, findings = read(saved(tmp_path, SEGMENTS), About(width_px=64, height_px=48, center="A"))
    assert procedures[0].video == "case12"
    assert procedures[0].phases == (Phase("preparation", 0, 10), Phase("dissection", 10, 60))
    assert procedures[0].masked == (Span(50, 60),)
    found = {f.code: f.message for f in findings}
    assert "1 segments of tier 'gaze'" in found["unknown-tier"]
    assert found["rounded"].startswith("1 times")


def test_a_tier_of_another_name_can_be_given_its_meaning(tmp_path: Path) -> None:
    path = saved(tmp_path, "tier;start;end;label\nSurgical phases;0;9;a\n")
    assert read(path, tiers={"Surgical phases": "phase"}).procedures[0].phases == (Phase("a", 0, 9),)
    with pytest.raises(UnknownName, match="did you mean 'phase'"):
        read(path, tiers={"Surgical phases": "phases"})


def test_events_name_their_object(tmp_path: Path) -> None:
    path = saved(tmp_path, HEAD + 'object,,,Clip,c1,\nevent,4,5,placed,c1,"{""structure"": ""cystic duct""}"\n')
    assert read(path).procedures[0].events == (Event(EventKind.PLACED, 4, "c1", {"structure": "cystic duct"}),)


def test_a_column_video_tells_videos_apart(tmp_path: Path) -> None:
    path = saved(tmp_path, "video,tier,start,end,label\nv1,phase,0,4,a\nv2,phase,0,9,a\n")
    assert [(p.video, p.duration_s) for p in read(path).procedures] == [("v1", 4), ("v2", 9)]
    with pytest.raises(Misuse, match="cannot all be named"):
        read(path, About(video="x"))


def test_every_problem_is_listed(tmp_path: Path) -> None:
    rows = [
        "phase,x,9,a,,",
        "phase,0,1:2:3:4,a,,",
        "event,3,4,plcaed,c1,",
        "event,3,4,placed,c9,",
        "event,3,4,placed,c1,[]",
        "object,,,Clip,,",
        "object,,,Clip,c1,",
        "object,,,Clip,c1,",
        "attribute,,,colour,c1,",
        "procedure,,,duration_s=-3,,",
        "masked,-4,2,,,",
        "masked,1e300,2,,,",
    ]
    with pytest.raises(ProcedureInvalid) as refused:
        read(saved(tmp_path, HEAD + "\n".join(rows)))
    assert [problem.split(":")[0] for problem in refused.value.problems] == [
        f"row {n}" for n in (2, 3, 4, 6, 7, 9, 10, 11, 12, 13)
    ]
    assert "did you mean 'placed'" in refused.value.problems[2]


def test_overlapping_phases_and_unknown_objects_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ProcedureInvalid) as refused:
        read(saved(tmp_path, HEAD + "phase,0,9,a,,\nphase,5,12,b,,\nevent,3,4,placed,c9,\n"))
    assert len(refused.value.problems) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no column 'tier'"),
        ("tier,begin\n", "no column 'label'"),
        (HEAD, "no rows"),
        (HEAD + 'phase,"0', "no usable CSV"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(FileUnreadable, match=message):
        read(saved(tmp_path, text))


def test_only_the_view_is_lost_and_it_is_said(tmp_path: Path) -> None:
    procedure = tiny_procedure()
    lost = write_any(procedure, tmp_path / "a.csv", tool="segments")
    assert {f.code for f in lost} == {
        "lost-points",
        "lost-outside",
        "lost-declaration",
    }
    back = read(tmp_path / "a.csv").procedures[0]
    assert (back.events, back.phases, back.masked) == (procedure.events, procedure.phases, procedure.masked)
