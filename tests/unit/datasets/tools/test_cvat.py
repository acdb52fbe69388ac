"""CVAT 1.1 XML: what the format means, and what cannot be true."""

from pathlib import Path

import pytest

from annotation_files import CVAT_IMAGES, CVAT_VIDEO
from procedures import tiny_procedure
from shared_data import shared
from surgvalid.datasets import About
from surgvalid.datasets.tools.cvat import read, write
from surgvalid.errors import FileUnreadable, ProcedureInvalid
from surgvalid.schema.procedures.tracks import AttributeChange, Procedure, Visibility, track_from_points


def saved(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "annotations.xml"
    path.write_text(text, encoding="utf-8")
    return path


def one(path: Path, about: About | None = None) -> tuple[Procedure, dict[str, str]]:
    procedures, findings = read(path, about)
    return procedures[0], {finding.code: finding.message for finding in findings}


def track_xml(*boxes: str, label: str = "Clip", number: int = 0) -> str:
    return f'<annotations><track id="{number}" label="{label}">{"".join(boxes)}</track></annotations>'


def box_xml(frame: object, xtl: object = 1, ytl: object = 1, xbr: object = 5, ybr: object = 5, inner: str = "") -> str:
    return f'<box frame="{frame}" xtl="{xtl}" ytl="{ytl}" xbr="{xbr}" ybr="{ybr}">{inner}</box>'


def test_video_tracks_are_interpolated_between_listed_frames_and_end_outside(tmp_path: Path) -> None:
    procedure, notes = one(saved(tmp_path, CVAT_VIDEO), About(fps=25, center="A", procedure_type="Appendectomy"))
    assert (procedure.video, procedure.duration_s, procedure.width_px) == ("case 12", 5, 640)
    sponge, needle = procedure.tracks
    assert sponge.seconds.tolist() == [0, 1, 2]
    assert sponge.boxes.tolist() == [[10, 20, 20, 40], [15, 20, 20, 40], [20, 20, 20, 40]]
    assert sponge.visibility.tolist() == [Visibility.VISIBLE, Visibility.VISIBLE, Visibility.OCCLUDED]
    assert dict(sponge.attributes) == {"soaked": "no"}
    assert sponge.changes == (AttributeChange(2, "soaked", "yes"),)
    assert needle.boxes.tolist() == [[5, 5, 4, 6]]
    assert set(notes) == {"interpolated", "shape-as-box"}


def test_frames_between_two_seconds_are_counted_not_lost_silently(tmp_path: Path) -> None:
    _, notes = one(saved(tmp_path, track_xml(box_xml(0), box_xml(3), box_xml(25))), About(fps=25))
    assert notes["between-seconds"].startswith("1 boxes")


def test_images_keep_identity_only_by_attribute_and_say_what_became_a_box(tmp_path: Path) -> None:
    procedure, notes = one(saved(tmp_path, CVAT_IMAGES))
    clip, sponge = procedure.tracks
    assert clip.instance == "clip A"
    assert clip.boxes.tolist() == [[15, 5, 10, 20], [15, 18, 10, 4]]
    assert sponge.boxes.tolist() == [[40, 5, 3, 2]]
    assert {"rotation", "mask-as-box", "tags", "no-identity", "shape-as-box"} <= set(notes)


def test_tracks_of_one_instance_are_joined_and_overlapping_jobs_that_disagree_are_refused(tmp_path: Path) -> None:
    named = '<attribute name="instance">clip A</attribute>'
    first = f'<track id="0" label="Clip">{box_xml(0, inner=named)}{box_xml(1, inner=named)}</track>'
    alike = f'<track id="1" label="Clip">{box_xml(1, inner=named)}{box_xml(2, inner=named)}</track>'
    procedure, notes = one(saved(tmp_path, f"<annotations>{first}{alike}</annotations>"))
    assert procedure.tracks[0].seconds.tolist() == [0, 1, 2]
    assert "told-twice" in notes
    apart = alike.replace('xtl="1"', 'xtl="3"')
    with pytest.raises(ProcedureInvalid, match="'clip A' at second 1: two different boxes"):
        read(saved(tmp_path, f"<annotations>{first}{apart}</annotations>"))


def test_every_problem_is_listed(tmp_path: Path) -> None:
    text = (
        '<annotations><track id="0" label="Clip">'
        + box_xml("x") + box_xml(-1) + box_xml(1, "nan") + box_xml(2, 9, 1, 5, 5) + box_xml(10**12)
        + '<mask frame="3" rle="1,1" left="0" top="0" width="5" height="5"/><polygon frame="4" points="1,2;3"/>'
        + '<mask frame="5" rle="4" left="0" top="0" width="2" height="2"/>'
        + f'</track><track id="0" label="Clip">{box_xml(7)}</track><track id="3">{box_xml(7)}</track></annotations>'
    )  # fmt: skip
    with pytest.raises(ProcedureInvalid) as refused:
        read(saved(tmp_path, text))
    for part in ("'x' is no frame", "'-1'", "xtl='nan'", "no positive size", "no such second", "the runs cover", "'3'",
                 "no pixel", "ids are unique", "has no label"):  # fmt: skip
        assert any(part.replace("no such second", "no video has such a second") in p for p in refused.value.problems), (
            part
        )


def test_what_cvat_cannot_hold_is_named_and_boxes_survive(tmp_path: Path) -> None:
    lost = {finding.code for finding in write(tiny_procedure(), tmp_path / "a.xml")}
    bare = {"lost-procedure-type", "lost-center", "lost-events", "lost-phases", "lost-masked", "lost-outside"}
    assert lost == bare | {"lost-declaration"}


def test_attributes_survive_wherever_they_change(tmp_path: Path) -> None:
    changes = [AttributeChange(3, "a", "y\r\n<&"), AttributeChange(20, "a", "x"), AttributeChange(22, "b", " ")]
    track = track_from_points(
        "c <1>", "Clip", [(3, (1, 1, 2, 2)), (9, (1, 1, 2, 2))], attributes={"a": "x"}, changes=changes
    )
    empty = track_from_points('"never"', "Clip", [], attributes={"a": "x"})
    write(Procedure("v", "T", "A", 30, 64, 64, (track, empty)), tmp_path / "a.xml")
    assert read(tmp_path / "a.xml").procedures[0].tracks == (track, empty)


def test_texts_that_xml_cannot_hold_are_refused(tmp_path: Path) -> None:
    track = track_from_points("a\x00", "Clip", [(0, (1, 1, 2, 2))])
    with pytest.raises(ProcedureInvalid, match="XML cannot"):
        write(Procedure("v", "T", "A", 30, 64, 64, (track,)), tmp_path / "a.xml")


BOMB = '<!DOCTYPE a [<!ENTITY b "ha"><!ENTITY c "&b;&b;&b;">]><annotations><track id="0" label="&c;"/></annotations>'
OUTSIDE = '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/hostname">]><annotations><meta>&b;</meta></annotations>'


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (BOMB.encode(), "document type"),
        (OUTSIDE.encode(), "document type"),
        (BOMB.encode("utf-16"), "document type"),
        (b"<annotations><track>", "not XML"),
        (b"", "not XML"),
        (b"<annotations/>", "holds no <meta>"),
        (b"<annotations><track label='\xff'/></annotations>", "not XML"),
        (b'<?xml version="1.0" encoding="klingon"?><annotations/>', "not XML"),
        (b"<annotations>" + b"<g>" * 5000, "deep"),
    ],
)
def test_hostile_files_are_refused(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "a.xml").write_bytes(content)
    with pytest.raises(FileUnreadable, match=message):
        read(tmp_path / "a.xml")


def real(place: str) -> Path:
    return shared("data", "real_formats", place)


def test_a_real_job_is_not_named_after_its_first_label() -> None:
    annotations = read(real("cvat/real_video_job/annotations.xml"), About(fps=30))
    assert [one.video for one in annotations.procedures] == ["annotations"]
    assert "no-video-name" in {finding.code for finding in annotations.findings}
    named = read(real("cvat/real_video_job/annotations.xml"), About(fps=30, video="case 7"))
    assert "no-video-name" not in {finding.code for finding in named.findings}


@pytest.mark.parametrize("name", ["annotations_images.xml", "annotations_video.xml"])
def test_a_project_gives_one_procedure_per_task_with_its_own_frames(name: str) -> None:
    annotations = read(real(f"surgical/lookalike/cvat_project/{name}"))  # the second task's frames begin at 50
    assert [one.video for one in annotations.procedures] == ["case_A", "case_B"]
    for one in annotations.procedures:
        assert one.duration_s == 50
        assert max(int(track.seconds.max()) for track in one.tracks) < 50


def project(tmp_path: Path, second: int) -> Path:
    tasks = "".join(
        f"<task><id>{n}</id><name>case {n}</name><size>10</size><start_frame>0</start_frame><stop_frame>9</stop_frame>"
        "<original_size><width>64</width><height>48</height></original_size></task>"
        for n in (1, 2)
    )
    images = "".join(
        f'<image id="{frame}" name="a" task_id="{n}" width="64" height="48">'
        '<box label="clip" occluded="0" xtl="1" ytl="1" xbr="9" ybr="9"></box></image>'
        for n, frame in ((1, 3), (2, second))
    )
    path = tmp_path / "annotations.xml"
    meta = f"<meta><project><name>ward</name><tasks>{tasks}</tasks></project></meta>"
    path.write_text(f"<annotations>{meta}{images}</annotations>")
    return path


@pytest.mark.parametrize("second", [3, 13])
def test_frames_of_a_project_are_read_whether_they_are_numbered_through_or_not(second: int, tmp_path: Path) -> None:
    procedures = read(project(tmp_path, second)).procedures
    assert [[int(track.seconds[0]) for track in one.tracks] for one in procedures] == [[3], [3]]
