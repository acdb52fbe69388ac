"""Several files about one video become one procedure, or say where they disagree."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from annotation_writers import write_any
from procedures import random_procedure, tiny_procedure
from surgvalid import make_questions
from surgvalid.cli._annotations import read_procedures
from surgvalid.datasets import About, VideoFile, join_procedures, read_annotations
from surgvalid.errors import ProcedureInvalid
from surgvalid.schema.procedures.foreign_objects import Declaration
from surgvalid.schema.procedures.procedure_files import read_procedure, write_procedure
from surgvalid.schema.procedures.tracks import Procedure, Track, track_from_points


def part(track: Track, low: int, high: int) -> Track:
    keep = (track.seconds >= low) & (track.seconds < high)
    return track.at_points(keep)


@pytest.mark.parametrize("seed", range(5))
def test_overlapping_jobs_that_agree_give_the_whole(seed: int) -> None:
    whole = random_procedure(seed)
    middle = whole.duration_s // 2
    jobs = [
        replace(whole, tracks=tuple(part(t, low, high) for t in whole.tracks))
        for low, high in ((0, middle + 5), (middle, whole.duration_s))
    ]
    assert join_procedures(jobs) == [whole]


def test_boxes_of_one_tool_and_segments_of_another_give_the_whole(tmp_path: Path) -> None:
    whole = tiny_procedure()
    write_any(whole, tmp_path / "a.xml", tool="cvat")
    write_any(whole, tmp_path / "b.csv", tool="segments")
    (both,) = join_procedures(p for name in ("a.xml", "b.csv") for p in read_annotations(tmp_path / name).procedures)
    assert (both.events, both.phases, both.masked, both.center) == (whole.events, whole.phases, whole.masked, "A")
    for track in whole.tracks:
        assert np.array_equal(both.track(track.instance).boxes, track.boxes[track.in_view])


def test_every_contradiction_is_listed() -> None:
    def one(box: tuple[int, ...], kind: str, colour: str, center: str) -> Procedure:
        track = track_from_points("c", kind, [(3, box)], attributes={"colour": colour})
        return Procedure("v", "T", center, 10, 64, 64, (track,), facts={"device": colour})

    with pytest.raises(ProcedureInvalid) as refused:
        join_procedures([one((1, 1, 5, 5), "Clip", "red", "A"), one((2, 1, 5, 5), "Mesh", "blue", "B")])
    text = "\n".join(refused.value.problems)
    for words in (
        "center",
        "'Clip' in one file and a 'Mesh'",
        "attribute 'colour'",
        "1 seconds have different boxes",
        "fact",
    ):
        assert words in text


def test_different_videos_stay_apart() -> None:
    assert join_procedures([tiny_procedure(), random_procedure(2)]) == [tiny_procedure(), random_procedure(2)]


FRAMES = """<?xml version="1.0" encoding="utf-8"?>
<annotations><version>1.1</version>
  <meta><task><name>case 12</name><size>751</size><stop_frame>750</stop_frame>
    <original_size><width>640</width><height>360</height></original_size></task></meta>
  <track id="0" label="Sponge" source="manual">
    <box frame="0" keyframe="1" outside="0" occluded="0" xtl="10" ytl="20" xbr="70" ybr="60"/>
    <box frame="500" keyframe="1" outside="1" occluded="0" xtl="30" ytl="20" xbr="90" ybr="60"/>
  </track>
</annotations>"""
IMAGES = {
    "images": [{"id": n, "file_name": f"case12/{25 * n:06d}.png", "width": 640, "height": 360} for n in range(9)],
    "categories": [{"id": 1, "name": "Sponge"}],
    "annotations": [
        {"id": n, "image_id": n, "category_id": 1, "bbox": [9, 9, 9, 9], "attributes": {"instance": "s"}}
        for n in range(9)
    ],
}


@pytest.mark.parametrize(("name", "text"), [("a.xml", FRAMES), ("a.json", json.dumps(IMAGES))])
def test_frame_numbers_without_a_rate_make_no_question_and_no_boxes(tmp_path, name, text):
    (tmp_path / name).write_text(text, encoding="utf-8")
    untold, told = (read_annotations(tmp_path / name, about=About(fps=fps)) for fps in (None, 25))
    assert "fps" in untold.procedures[0].assumed
    assert "no-frame-rate" in [finding.code for finding in untold.findings]
    assert "fps" not in told.procedures[0].assumed
    assert "no-frame-rate" not in [finding.code for finding in told.findings]
    with pytest.raises(ProcedureInvalid, match=r"nobody told the rate of its frame numbers.*--fps"):
        make_questions(untold.procedures, unverified=True)
    with pytest.raises(ProcedureInvalid, match="nobody told the rate of its frame numbers"):
        read_procedures([tmp_path / name], About())
    assert read_procedures([tmp_path / name], About(fps=25))


def test_a_guessed_rate_travels_through_files_and_joining(tmp_path):
    (tmp_path / "a.xml").write_text(FRAMES, encoding="utf-8")
    [guessed] = read_annotations(tmp_path / "a.xml").procedures
    write_procedure(guessed, tmp_path / "a.json")
    assert read_procedure(tmp_path / "a.json").assumed == ("fps",)
    [joined] = join_procedures([guessed, replace(guessed, tracks=(), assumed=())])
    assert "fps" in joined.assumed


def test_a_rate_that_the_file_contradicts_is_refused_and_one_of_a_film_is_told(tmp_path):
    write_any(tiny_procedure(), tmp_path / "ours.xml", tool="cvat")
    with pytest.raises(ProcedureInvalid, match=r"counts 1 frames per second, --fps says 25; leave --fps out"):
        read_annotations(tmp_path / "ours.xml", about=About(fps=25))
    (tmp_path / "a.xml").write_text(FRAMES, encoding="utf-8")
    film = {"case 12": VideoFile(640, 360, 25.0, 31)}
    alike, other = (read_annotations(tmp_path / "a.xml", about=About(fps=fps, video_files=film)) for fps in (25.1, 5))
    assert [finding.code for finding in alike.findings if "rate" in finding.code] == []
    assert [finding.code for finding in other.findings if "rate" in finding.code] == ["other-rate"]
    assert other.procedures[0].tracks[0].seconds[-1] == 99


def looked(*, classes=(), events=(), phases=False, spans=None) -> Procedure:
    declared = Declaration(classes=classes, events=events, phases=phases, spans=spans)
    return Procedure("v", "p", "c", 1000, 64, 48, declared=declared)


@pytest.mark.parametrize(
    ("parts", "whole"),
    [
        # Jobs that looked for the same in turn have looked at all of it together.
        (
            [looked(classes=None, spans=((0, 400),)), looked(classes=None, spans=((400, 1000),))],
            Declaration(classes=None, spans=((0, 1000),)),
        ),
        # Nobody looked for needles after second 400.
        (
            [looked(classes=None, spans=((0, 400),)), looked(classes=("Clip",), spans=((400, 1000),))],
            Declaration(classes=("Clip",), spans=((0, 1000),)),
        ),
        # Events of the whole do not make boxes of the whole.
        (
            [looked(classes=None, spans=((0, 400),)), looked(events=("retrieved",), phases=True)],
            Declaration(classes=None, events=("retrieved",), phases=True, spans=((0, 400),)),
        ),
        ([looked(classes=("Clip",)), looked(classes=("Needle",))], Declaration(classes=("Clip", "Needle"))),
        # A file that declares nothing does not widen what another one looked at.
        (
            [looked(classes=None, spans=((0, 400),)), replace(looked(), declared=None)],
            Declaration(classes=None, spans=((0, 400),)),
        ),
        ([replace(looked(), declared=None)] * 2, None),
    ],
)
def test_parts_together_have_looked_for_no_more_than_each_says(parts, whole):
    for order in (parts, parts[::-1]):
        [joined] = join_procedures(order)
        declared = joined.declared
        if declared is not None and declared.classes is not None:
            declared = replace(declared, classes=tuple(sorted(declared.classes)))
        assert declared == whole


def test_names_that_differ_in_blanks_and_underscores_are_one_video_which_is_said() -> None:
    told: list[str] = []
    whole = random_procedure(2)
    boxes = replace(whole, video="case_12", events=(), phases=())
    [joined] = join_procedures([boxes, replace(whole, video="case 12", tracks=(), instruments=())], told.append)
    assert joined.video == "case_12"
    assert (joined.tracks, joined.events) == (boxes.tracks, whole.events)
    assert told == ["'case 12' is interpreted as the video 'case_12'"]
