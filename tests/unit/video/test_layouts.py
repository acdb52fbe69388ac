from __future__ import annotations

import json
import zipfile

import pytest

from challenge_inputs import input_problems, read_inputs
from surgvalid.errors import FileUnreadable, InputInvalid, Misuse, UnknownName, WouldOverwrite
from surgvalid.schema.procedures.foreign_objects import CLASS_NAMES
from surgvalid.schema.questions.questions import Request
from surgvalid.video import LAYOUTS, build_clip, sample, write_inputs
from timecode_videos import read_stamp, stamped_video

pytest.importorskip("av")


@pytest.fixture(scope="module")
def videos(tmp_path_factory):
    folder = tmp_path_factory.mktemp("v")
    steady = stamped_video(folder / "a.mp4", range(0, 20_000, 40), size=(192, 144))
    return {"a": steady, "b": stamped_video(folder / "b.mp4", range(0, 8000, 80), offset_ms=500, size=(192, 144))}


def question(case: str, video: str = "a", start_s: float = 0, end_s: float = 6) -> Request:
    return Request(case, video, start_s, end_s, "Cholecystectomy", "How many clips are visible?")


SEGMENTS = [question("q1"), question("heico/q2", start_s=3, end_s=9.5), question("q3", "b", 1, 7), question("q4")]
STILLS = [question("f1", start_s=4, end_s=4), question("f2", "b", 5.5, 5.5)]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_stated_second_shows_the_right_frame_in_every_layout(videos, tmp_path, layout):
    write_inputs(SEGMENTS, videos, tmp_path / "input", track="segment", layout=layout)
    inputs = read_inputs(tmp_path / "input")
    assert input_problems(inputs, videos) == []
    for request in SEGMENTS:
        with inputs.pictures["plain"][request.case].open() as stream:
            seconds = range(int(request.end_s - request.start_s) + 1)
            shown = [read_stamp(shot.rgb()) for shot in sample(stream, list(seconds))]
        gap_ms = 40 if request.video == "a" else 80
        assert shown == [round((request.start_s + second) * 1000) // gap_ms * gap_ms for second in seconds]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_stills_are_exact_in_every_layout(videos, tmp_path, layout):
    write_inputs(STILLS, videos, tmp_path, track="frame", layout=layout)
    inputs = read_inputs(tmp_path)
    assert input_problems(inputs, videos) == []
    with inputs.pictures["frames"]["f2"].open() as stream:
        [shot] = sample(stream, [0.0], how="in-order")
        assert read_stamp(shot.rgb()) == 5440


def test_the_describing_files_are_those_of_the_challenge(videos, tmp_path):
    write_inputs(SEGMENTS, videos, tmp_path, track="procedure", layout="zip", definitions="Tack\n----\nA fastener.")
    requests = json.loads((tmp_path / "request.json").read_text())
    assert list(requests[0]) == ["qID", "videoID", "start_time", "end_time", "procedure_type", "question"]
    batch = json.loads((tmp_path / "batch.json").read_text())
    assert batch["qIDs"] == ["q1", "heico/q2", "q3", "q4"]
    assert batch["batch_size"] == 4
    assert batch["layout"] == {"plain": "plain/<qID>.mp4", "overlayed": "overlayed/<qID>.mp4"}
    assert json.loads((tmp_path / "FO_definitions.json").read_text()) == "Tack\n----\nA fastener."
    assert zipfile.ZipFile(tmp_path / "batch-videos.zip").namelist()[0] == "plain/heico/q2.mp4"
    assert [kind.name for kind in read_inputs(tmp_path).classes] == ["Tack"]


def test_the_definitions_default_to_the_ten_classes(videos, tmp_path):
    write_inputs(STILLS, videos, tmp_path, track="frame")
    assert tuple(kind.name for kind in read_inputs(tmp_path).classes) == CLASS_NAMES
    assert isinstance(json.loads((tmp_path / "FO_definitions.json").read_text()), str)


def test_equal_windows_are_cut_once(videos, tmp_path):
    steps = []
    write_inputs(SEGMENTS, videos, tmp_path, track="segment", progress=lambda done, total: steps.append((done, total)))
    assert steps == [(1, 3), (2, 3), (3, 3)]
    assert (tmp_path / "plain/q1.mp4").read_bytes() == (tmp_path / "plain/q4.mp4").read_bytes()


@pytest.mark.parametrize(("shift_s", "forgiven"), [(-1, 12), (-0.2, 255), (0.2, 255), (1, 255), (5, 12)])
def test_a_shifted_clip_is_found_out(videos, tmp_path, monkeypatch, shift_s, forgiven):
    monkeypatch.setattr("challenge_inputs._MAX_ERROR", forgiven)
    write_inputs([question("q", start_s=6, end_s=12)], videos, tmp_path, track="segment")
    build_clip(videos["a"], start_s=6 + shift_s, end_s=12 + shift_s, plain=tmp_path / "plain/q.mp4")
    problems = input_problems(read_inputs(tmp_path), videos)
    assert problems
    assert all("plain of question 'q'" in text and ("shows" in text) for text in problems)


def test_a_wrong_clock_is_found_out(videos, tmp_path):
    write_inputs([question("q", start_s=6, end_s=12)], videos, tmp_path, track="segment")
    (tmp_path / "overlayed/q.mp4").write_bytes((tmp_path / "plain/q.mp4").read_bytes())
    problems = input_problems(read_inputs(tmp_path), videos)
    assert problems[0].startswith("overlayed of question 'q': at 6 s the clock shows nothing readable, not 00:00:06")


def test_another_specification_and_another_frame_are_found_out(videos, tmp_path):
    write_inputs([question("q")], videos, tmp_path / "clips", track="segment")
    (tmp_path / "clips/plain/q.mp4").write_bytes(videos["a"].read_bytes())
    problems = " ".join(input_problems(read_inputs(tmp_path / "clips"), videos))
    assert "500 frames, not 31" in problems
    assert "not exactly 5 per second" in problems
    write_inputs(STILLS, videos, tmp_path / "frames", track="frame")
    (tmp_path / "frames/frames/f1.png").write_bytes((tmp_path / "frames/frames/f2.png").read_bytes())
    assert "differs from the video at 4 s" in input_problems(read_inputs(tmp_path / "frames"), videos)[0]


def test_every_problem_of_the_requests_is_listed_before_anything_is_written(videos, tmp_path):
    bad = [question("q"), question("q"), question("../up"), question("x", "gone"), question("long", "a", 0, 301)]
    with pytest.raises(InputInvalid) as caught:
        write_inputs(bad, videos, tmp_path / "new", track="segment")
    text = str(caught.value)
    assert all(part in text for part in ("4 problems", "twice", "'../up'", "'gone'", "at most 300 s"))
    assert not (tmp_path / "new").exists()


def test_inputs_are_not_overwritten_unless_forced(videos, tmp_path):
    write_inputs(STILLS, videos, tmp_path, track="frame", layout="zip")
    with pytest.raises(WouldOverwrite):
        write_inputs(STILLS, videos, tmp_path, track="frame")
    write_inputs(STILLS[:1], videos, tmp_path, track="frame", force=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "FO_definitions.json", "batch.json", "frames", "request.json",
    ]  # fmt: skip


def test_unknown_names_and_empty_batches_are_refused(videos, tmp_path):
    with pytest.raises(UnknownName, match="did you mean 'segment'"):
        write_inputs(SEGMENTS, videos, tmp_path, track="segments")
    with pytest.raises(UnknownName, match="layout"):
        write_inputs(SEGMENTS, videos, tmp_path, track="segment", layout="tar")
    with pytest.raises(Misuse, match="at least one"):
        write_inputs([], videos, tmp_path, track="segment")


@pytest.fixture
def stills(videos, tmp_path):
    return write_inputs(STILLS, videos, tmp_path, track="frame", layout="zip")


def repack(folder, change):
    with zipfile.ZipFile(folder / "batch-frames.zip") as old:
        members = {name: old.read(name) for name in old.namelist()}
    with zipfile.ZipFile(folder / "batch-frames.zip", "w", zipfile.ZIP_DEFLATED) as new:
        for name, data in change(members).items():
            new.writestr(name, data)


def test_deflated_archives_deeper_folders_and_upper_case_endings_are_read(stills, videos):
    repack(stills, lambda members: {f"Batch 7/{name.replace('.png', '.PNG')}": data for name, data in members.items()})
    assert input_problems(read_inputs(stills), videos) == []


@pytest.mark.parametrize("name", ["../frames/f1.png", "/frames/f1.png", "c:/frames/f1.png", "..\\frames\\f1.png"])
def test_members_that_point_outside_are_refused(stills, name):
    repack(stills, lambda members: members | {name: b"x"})
    with pytest.raises(FileUnreadable, match="points outside"):
        read_inputs(stills)


def test_bombs_and_deep_nesting_are_refused(stills):
    repack(stills, lambda members: members | {"frames/x.png": bytes(1 << 25)})
    with pytest.raises(FileUnreadable, match="claims to unpack"):
        read_inputs(stills)
    for _ in range(3):
        whole = (stills / "batch-frames.zip").read_bytes()
        repack(stills, lambda members, whole=whole: {"inner.zip": whole})
    with pytest.raises(FileUnreadable, match="nested more than"):
        read_inputs(stills)


def test_missing_pictures_and_contradictions_are_all_listed(stills):
    repack(stills, lambda members: {"frames/f1.png": members["frames/f1.png"]})
    batch = json.loads((stills / "batch.json").read_text()) | {"qIDs": ["f1", "f9"], "batch_size": 5}
    (stills / "batch.json").write_text(json.dumps(batch))
    with pytest.raises(InputInvalid) as caught:
        read_inputs(stills)
    assert len(caught.value.problems) == 3
    assert "nothing for question 'f2'" in str(caught.value)


@pytest.mark.parametrize(
    ("file", "content", "match"),
    [
        ("batch.json", "[1]", "expected an object"),
        ("batch.json", '{"layout": {"films": 1}}', "must name some of"),
        ("batch.json", "{", "not readable as JSON"),
        ("FO_definitions.json", '{"a": 1}', "one JSON string"),
        ("batch-frames.zip", "no zip", "damaged"),
        ("request.json", "{}", "JSON array"),
    ],
)
def test_broken_files_are_named(stills, file, content, match):
    (stills / file).write_text(content)
    with pytest.raises(FileUnreadable, match=match) as caught:
        read_inputs(stills)
    assert file in str(caught.value)


def test_a_missing_description_is_named(stills):
    (stills / "FO_definitions.json").unlink()
    with pytest.raises(FileUnreadable, match="no such file"):
        read_inputs(stills)


def test_a_clip_damaged_within_its_archive_is_named(videos, tmp_path):
    write_inputs(SEGMENTS[:1], videos, tmp_path, track="segment", layout="zip")
    data = bytearray((tmp_path / "batch-videos.zip").read_bytes())
    data[200:2000] = bytes(1800)
    (tmp_path / "batch-videos.zip").write_bytes(data)
    with pytest.raises(FileUnreadable, match=r"q1\.mp4"):
        input_problems(read_inputs(tmp_path), videos)
