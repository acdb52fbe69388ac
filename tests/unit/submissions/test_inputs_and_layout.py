"""Every input layout is read, every layout is written, and what cannot be read is said."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from surgvalid.asking.plan import Aliases
from surgvalid.errors import FileUnreadable, QuestionsInvalid, UnknownName
from surgvalid.schema.questions.questions import Request
from surgvalid.submissions.batch_files import LAYOUTS, batch_names, write_batch
from surgvalid.submissions.inputs import media_problem, read_inputs
from surgvalid.submissions.starter import plain_png

PNG = plain_png(4, 4, (1, 2, 3))
MP4 = b"\0\0\0\x18ftypisom" + b"\0" * 16


def questions(folder: Path, count: int = 3) -> list[Request]:
    folder.mkdir(parents=True, exist_ok=True)
    requests = [Request(f"q{i}", f"v{i % 2}", 0.0, 5.0, "p", f"Question {i}?") for i in range(count)]
    (folder / "request.json").write_text(json.dumps([r.as_row() for r in requests]))
    return requests


def put(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kinds", [("frames",), ("plain",), ("plain", "overlayed")])
def test_what_is_written_in_a_layout_is_read_back(tmp_path: Path, layout: str, kinds: tuple[str, ...]) -> None:
    requests = questions(tmp_path / "source")
    data = {k: PNG if k == "frames" else MP4 + k.encode() for k in kinds}
    ending = ".png" if kinds == ("frames",) else ".mp4"
    media = {r.case: {k: put(tmp_path / "source" / k / f"{r.case}{ending}", data[k]) for k in kinds} for r in requests}
    write_batch(tmp_path / "batch", requests, media, batch_names(requests, Aliases()), layout=layout)
    found = read_inputs(tmp_path / "batch", scratch=tmp_path / "scratch")
    assert found.requests == tuple(requests)
    assert found.problems == {}
    assert {case: {k: p.read_bytes() for k, p in kinds.items()} for case, kinds in found.media.items()} == {
        r.case: data for r in requests
    }
    assert found.has_only_frames == (kinds == ("frames",))


def test_the_batch_files_are_the_official_ones(tmp_path: Path) -> None:
    requests = questions(tmp_path / "s")
    media = {r.case: {"frames": put(tmp_path / "s" / "frames" / f"{r.case}.png", PNG)} for r in requests}
    write_batch(tmp_path / "b", requests, media, batch_names(requests, Aliases()))
    batch = json.loads((tmp_path / "b" / "batch.json").read_text())
    assert batch == {"qIDs": ["q0", "q1", "q2"], "batch_size": 3, "layout": {"frames": "frames/<qID>.png"}}
    assert "Sponge" in json.loads((tmp_path / "b" / "FO_definitions.json").read_text())
    rows = json.loads((tmp_path / "b" / "request.json").read_text())
    assert list(rows[0]) == ["qID", "videoID", "start_time", "end_time", "procedure_type", "question"]


def test_the_archives_have_the_names_that_the_platform_used(tmp_path: Path) -> None:
    requests = questions(tmp_path / "s", 1)
    media = {"q0": {"plain": put(tmp_path / "s" / "q0.mp4", MP4)}}
    for layout, members in (("zip", ["plain/q0.mp4"]), ("nested-zip", ["plain.zip"])):
        write_batch(tmp_path / layout, requests, media, {"q0": "q0"}, layout=layout)
        with zipfile.ZipFile(tmp_path / layout / "batch-videos.zip") as archive:
            assert archive.namelist() == members


def test_names_that_are_no_file_names_become_opaque(tmp_path: Path) -> None:
    requests = [Request(case, "v", 0, 1, "p", "?") for case in ("../../etc/passwd", "b")]
    names = batch_names(requests, Aliases())
    assert all(len(name) == 32 and name.isalnum() for name in names.values())
    media = {r.case: {"frames": put(tmp_path / "x.png", PNG)} for r in requests}
    write_batch(tmp_path / "b", requests, media, names)
    assert sorted(p.stem for p in (tmp_path / "b" / "frames").iterdir()) == sorted(names.values())


def test_an_unknown_layout_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="did you mean 'nested-zip'"):
        write_batch(tmp_path, [], {}, {}, layout="nested_zip")


def test_a_video_serves_all_its_questions(tmp_path: Path) -> None:
    requests = questions(tmp_path)
    put(tmp_path / "videos" / "v0.mp4", MP4)
    found = read_inputs(tmp_path, scratch=tmp_path / "scratch")
    assert [t.request.case for t in found.tasks() if t.media] == ["q0", "q2"]
    assert "none for video v1 in videos/" in found.problems["q1"]
    assert {r.case for r in requests} == {*found.media, *found.problems}


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("q0.png", b"", "is empty"),
        ("q0.png", b"<html>404</html>", "not what its name says"),
        ("q0.mp4", PNG, "not what"),
    ],
)
def test_a_file_that_cannot_be_what_it_says_is_found_before_anything_runs(
    tmp_path: Path, name: str, data: bytes, reason: str
) -> None:
    questions(tmp_path, 1)
    put(tmp_path / "frames" / name, data)
    assert reason in read_inputs(tmp_path, scratch=tmp_path / "s").problems["q0"]


def test_a_broken_file_is_not_offered_where_another_is_usable(tmp_path: Path) -> None:
    questions(tmp_path, 1)
    put(tmp_path / "plain" / "q0.mp4", b"")
    clip = put(tmp_path / "overlayed" / "q0.mp4", MP4)
    found = read_inputs(tmp_path, scratch=tmp_path / "s")
    assert found.media == {"q0": {"overlayed": clip}}


def test_the_video_with_a_clock_can_be_preferred(tmp_path: Path) -> None:
    questions(tmp_path, 1)
    plain, clock = put(tmp_path / "videos" / "v0.mp4", MP4), put(tmp_path / "overlayed" / "v0.mp4", MP4)
    found = read_inputs(tmp_path, scratch=tmp_path / "s")
    assert found.tasks()[0].media == plain
    assert found.tasks(clock=True)[0].media == clock


def test_endings_in_capitals_are_found(tmp_path: Path) -> None:
    questions(tmp_path, 1)
    put(tmp_path / "frames" / "q0.PNG", PNG)
    assert read_inputs(tmp_path, scratch=tmp_path / "s").problems == {}


def test_a_file_that_is_gone_is_a_problem_in_words(tmp_path: Path) -> None:
    assert "cannot be read" in str(media_problem(tmp_path / "gone.png"))


def test_a_folder_without_requests_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(FileUnreadable, match=r"no request\.json"):
        read_inputs(tmp_path, scratch=tmp_path / "s")


def test_requests_that_contradict_themselves_are_refused(tmp_path: Path) -> None:
    row = Request("q0", "v", 0, 1, "p", "?").as_row()
    (tmp_path / "request.json").write_text(json.dumps([row, row]))
    with pytest.raises(QuestionsInvalid, match="twice"):
        read_inputs(tmp_path, scratch=tmp_path / "s")


def test_a_broken_archive_is_named(tmp_path: Path) -> None:
    questions(tmp_path, 1)
    put(tmp_path / "batch-frames.zip", b"PK\x03\x04 broken")
    with pytest.raises(FileUnreadable, match=r"batch-frames\.zip.*archive"):
        read_inputs(tmp_path, scratch=tmp_path / "s")


def test_an_archive_that_points_elsewhere_or_explodes_is_refused(tmp_path: Path) -> None:
    questions(tmp_path / "in", 1)
    for name, data, said in (
        ("../../../q0.png", PNG, "points outside"),
        ("q0.png", bytes(1 << 25), "claims to unpack"),
    ):
        with zipfile.ZipFile(tmp_path / "in" / "batch-frames.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(name, data)
        with pytest.raises(FileUnreadable, match=said):
            read_inputs(tmp_path / "in", scratch=tmp_path / "scratch")
    assert not (tmp_path / "scratch").exists()


@pytest.mark.parametrize("member", ["q0.png", "frames/q0.png", "deep/er/q0.PNG", "Batch 7/frames/set/q0.png"])
def test_a_member_is_found_by_its_name_wherever_it_lies(tmp_path: Path, member: str) -> None:
    questions(tmp_path / "in", 1)
    with zipfile.ZipFile(tmp_path / "in" / "batch-frames.zip", "w") as archive:
        archive.writestr(member, PNG)
        archive.writestr("frames/unasked.png", PNG)
    found = read_inputs(tmp_path / "in", scratch=tmp_path / "scratch")
    assert found.media["q0"]["frames"].read_bytes() == PNG
    assert len([path for path in (tmp_path / "scratch").rglob("*") if path.is_file()]) == 1
    assert found.notes == ("batch-frames.zip: 2 videos or frames",)
